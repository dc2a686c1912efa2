/* gguf_cursor.h - a place in a file of known size that cannot leave it.  Reads go
 * through a window of bounded size.  Private to src/format/gguf*.c. */
#ifndef TBTUI_FORMAT_GGUF_CURSOR_H
#define TBTUI_FORMAT_GGUF_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct tb_file;

struct gguf_cursor {
	const struct tb_file *f;	/* NULL: memory */
	const uint8_t *win;		/* bytes [win_off, win_off + win_len) */
	uint64_t win_off;
	size_t win_len;
	uint8_t *buf;			/* the window's memory; owned; NULL for memory */
	uint64_t at, size;
	const char *path;		/* for messages */
};

enum tb_status gguf_cursor_file(struct gguf_cursor *c, const struct tb_file *f,
				struct tb_err *err) TB_MUST_USE;
/* The first n of `size` bytes are at p; the others cannot be read. */
void gguf_cursor_memory(struct gguf_cursor *c, const void *p, size_t n, uint64_t size,
			const char *path);
void gguf_cursor_free(struct gguf_cursor *c);

/* `what` names what is read, for the message if the file ends before. */
enum tb_status gguf_bytes(struct gguf_cursor *c, void *out, size_t n, const char *what,
			  struct tb_err *err) TB_MUST_USE;
enum tb_status gguf_skip(struct gguf_cursor *c, uint64_t n, const char *what,
			 struct tb_err *err) TB_MUST_USE;
/* Little endian, at most 8 bytes. */
enum tb_status gguf_number(struct gguf_cursor *c, unsigned bytes, uint64_t *out,
			   const char *what, struct tb_err *err) TB_MUST_USE;
#endif
