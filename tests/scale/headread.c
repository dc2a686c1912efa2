/* headread.c - the least that anybody can do to know what is in a store: opens each
 * file of a list once and reads the bytes of its header.  What a scan is compared with.
 *
 *	headread LIST		lines "BYTES PATH", as mkstore writes them */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/text.h"

#define LIST_MAX (1u << 30)

/* Reads n bytes; false: the file has fewer, or is not there. */
static bool
read_head(const char *path, size_t n, char **buf, size_t *cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t got = 1;

	if (fd < 0)
		return false;
	if (n > *cap) {
		*buf = realloc(*buf, n);
		*cap = *buf ? n : 0;
	}
	while (*buf && at < n && (got = pread(fd, *buf + at, n - at, (off_t)at)) > 0)
		at += (size_t)got;
	close(fd);
	return at == n;
}

int
main(int argc, char **argv)
{
	char *list = NULL, *buf = NULL, *path, *end;
	uint64_t files = 0, bytes = 0, failed = 0;
	struct tb_err err;
	size_t cap = 0;
	double start;

	if (argc != 2 || tb_file_slurp(argv[1], LIST_MAX, &list, NULL, &err)) {
		fprintf(stderr, "headread: %s\n", argc == 2 ? err.msg : "headread LIST");
		return 1;
	}
	start = tb_monotonic();
	for (char *line = list; *line; line = end + 1) {
		size_t n = strtoul(line, &path, 10);

		end = strchr(line, '\n');
		if (!end || *path != ' ')
			break;
		*end = 0;
		if (read_head(path + 1, n, &buf, &cap))
			bytes += n;
		else
			failed++;
		files++;
	}
	printf("%.3f s, %ju files, %ju bytes, %ju not read\n", tb_monotonic() - start,
	       (uintmax_t)files, (uintmax_t)bytes, (uintmax_t)failed);
	free(list);
	free(buf);
	return 0;
}
