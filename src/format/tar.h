/* tar.h - headers of tar archives (POSIX ustar, and pax for what that cannot say).  Whoever
 * has a tar can read what is written; what is read is believed only as far as it fits. */
#ifndef TBTUI_FORMAT_TAR_H
#define TBTUI_FORMAT_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"

#define TAR_BLOCK 512u
#define TAR_PATH_MAX 1024u		/* of a path with its NUL */
#define TAR_PAX_MAX (64u << 10)		/* bytes of records before a header */

/* Appends the header of a regular file, its pax records before it if it needs some.  The path
 * is shorter than TAR_PATH_MAX. */
void tar_put(struct tb_buf *out, const char *path, uint64_t size, int64_t mtime);
/* Bytes of zeros behind so many. */
static inline size_t
tar_padding(uint64_t size)
{
	return (size_t)(-size & (TAR_BLOCK - 1));
}

enum tar_block { TAR_HEAD, TAR_ZEROS, TAR_DAMAGED };
struct tar_head {
	char path[TAR_PATH_MAX];
	uint64_t size;
	char type;			/* '0': a regular file; 'x': records for the next header */
};
/* What a block is where a header should be; fills *h of TAR_HEAD. */
enum tar_block tar_parse(const uint8_t block[TAR_BLOCK], struct tar_head *h);

/* What records say of the header behind them. */
struct tar_pax {
	char path[TAR_PATH_MAX];	/* "": nothing */
	bool sized;
	uint64_t size;
};
/* false: they are damaged, or too long. */
bool tar_pax(const char *records, size_t len, struct tar_pax *out);
#endif
