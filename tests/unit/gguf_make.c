#include "config.h"

#include "tests/unit/unit.h"

#include "tests/unit/gguf_make.h"

void
make_num(struct tb_buf *b, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		tb_buf_chr(b, (char)(v >> 8 * i));
}

void
make_str(struct tb_buf *b, const char *s)
{
	make_num(b, strlen(s), 8);
	tb_buf_str(b, s);
}

struct tb_buf
make_head(uint64_t tensors, uint64_t keys)
{
	struct tb_buf b = TB_BUF(1 << 20);

	tb_buf_add(&b, "GGUF\3\0\0", 8);
	make_num(&b, tensors, 8);
	make_num(&b, keys, 8);
	return b;
}

void
make_key(struct tb_buf *b, const char *name, unsigned type)
{
	make_str(b, name);
	make_num(b, type, 4);
}

void
make_tensor(struct tb_buf *b, const char *name, uint64_t cols, uint64_t rows, unsigned type,
       uint64_t off)
{
	make_str(b, name);
	make_num(b, 2, 4);
	make_num(b, cols, 8);
	make_num(b, rows, 8);
	make_num(b, type, 4);
	make_num(b, off, 8);
}

void
make_pad(struct tb_buf *b, size_t alignment, size_t more)
{
	while (b->len % alignment)
		tb_buf_chr(b, 0);
	while (more--)
		tb_buf_chr(b, 1);
}
