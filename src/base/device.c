#include "config.h"

#include "src/base/device.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "src/base/mem.h"

#define READERS_REMOTE 4u	/* answers come late: some are under way at a time */

/* Of file systems whose files come from elsewhere; some headers do not name all. */
static bool
remote(const char *path)
{
	static const unsigned kinds[] = {
		NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0xff534d42u /* cifs */, 0xfe534d42u /* smb2 */,
		V9FS_MAGIC, 0x65735546u /* fuse */, 0x00c36400u /* ceph */, AFS_FS_MAGIC,
		CODA_SUPER_MAGIC, 0x0bd00bd0u /* lustre */,
	};
	struct statfs fs;

	if (statfs(path, &fs))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((unsigned)fs.f_type == kinds[i])
			return true;
	return false;
}

/* A virtual disk says that it turns, whatever is behind it. */
static bool
virtual_disk(const char *device)
{
	char *real = realpath(device, NULL);
	bool is = real && (strstr(real, "/virtio") || strstr(real, "/vbd-"));

	free(real);
	return is;
}

/* '0' or '1', 0: there is no such file. */
static char
first_char(const char *path)
{
	FILE *f = fopen(path, "re");
	int c = f ? fgetc(f) : EOF;

	if (f)
		fclose(f);
	return c == EOF ? 0 : (char)c;
}

unsigned
tb_device_readers_in(const char *sys, uint64_t dev)
{
	/* A partition has no queue of its own, but lies in the folder of its disk. */
	static const char *const queues[] = { "queue/rotational", "../queue/rotational" };
	char *device = tb_asprintf("%s/dev/block/%u:%u", sys, major(dev), minor(dev));
	char turns = 0;
	bool one;

	for (size_t i = 0; device && !turns && i < 2; i++) {
		char *path = tb_asprintf("%s/%s", device, queues[i]);

		turns = path ? first_char(path) : 0;
		free(path);
	}
	one = turns == '1' && !virtual_disk(device);
	free(device);
	return one ? 1 : TB_READERS_ANY;
}

unsigned
tb_device_readers(const char *path, uint64_t dev)
{
	return remote(path) ? READERS_REMOTE : tb_device_readers_in("/sys", dev);
}
