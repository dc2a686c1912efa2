/* gguf_make.h - GGUF files made by hand, a field at a time. */
#ifndef TBTUI_TESTS_GGUF_MAKE_H
#define TBTUI_TESTS_GGUF_MAKE_H

#include "src/base/buf.h"

void make_num(struct tb_buf *b, uint64_t v, unsigned bytes);
void make_str(struct tb_buf *b, const char *s);
/* Version 3, and the counts. */
struct tb_buf make_head(uint64_t tensors, uint64_t keys);
/* The value is the caller's to add. */
void make_key(struct tb_buf *b, const char *name, unsigned type);
/* Of two dimensions. */
void make_tensor(struct tb_buf *b, const char *name, uint64_t cols, uint64_t rows, unsigned type,
		 uint64_t off);
/* Zeros up to a multiple, then `more` ones. */
void make_pad(struct tb_buf *b, size_t alignment, size_t more);
#endif
