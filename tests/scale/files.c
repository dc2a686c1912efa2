#include "config.h"

#include "tests/scale/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/format/ggml_type.h"

#define HEADER_MAX (64u << 20)
#define GROUP 64
#define ALIGN 32
#define VOCABULARY 4000		/* pieces in a GGUF file: a small one */

void
die(const char *fmt, ...)
{
	va_list ap;

	fputs("mkstore: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void
folder(const char *path)
{
	struct tb_err err;

	if (tb_mkdirs(path, &err))
		die("%s", err.msg);
}

/* The bytes, then nothing up to `size`. */
static uint64_t
put_file(struct place *p, const char *path, const char *bytes, size_t n, uint64_t size,
	 bool listed)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n ||
	    (size > n && ftruncate(fd, (off_t)size)) || close(fd))
		die("%s: %s", path, strerror(errno));
	if (listed)
		fprintf(p->list, "%zu %s\n", n, path);
	return size;
}

/* ---- safetensors ---- */

struct st_make
st_make_start(bool packed)
{
	struct st_make s = { .text = TB_BUF(HEADER_MAX) };

	tb_buf_str(&s.text, "00000000{");	/* its length comes here */
	if (packed)
		tb_buf_str(&s.text, "\"__metadata__\":{\"quant_type\":\"int4\","
			   "\"group_size\":\"64\"},");
	return s;
}

static void
st_entry(struct st_make *s, const struct item *t, const char *ending, const char *dtype,
	 uint64_t cols, uint64_t bytes)
{
	tb_buf_printf(&s->text, "\"%s%s\":{\"dtype\":\"%s\",\"shape\":[", t->name, ending, dtype);
	if (t->ndim > 1)
		tb_buf_printf(&s->text, "%ju,", (uintmax_t)t->dim[0]);
	tb_buf_printf(&s->text, "%ju],\"data_offsets\":[%ju,%ju]},", (uintmax_t)cols,
		      (uintmax_t)s->data, (uintmax_t)(s->data + bytes));
	s->data += bytes;
}

static uint64_t
elements(const struct item *t)
{
	return t->ndim > 1 ? t->dim[0] * t->dim[1] : t->dim[0];
}

void
st_make_add(struct st_make *s, const struct item *t, enum naming how)
{
	static const char *const endings[2][2] = {
		[NAMING_OLLAMA] = { ".scale", ".bias" }, [NAMING_MLX] = { "scales", "biases" },
	};
	uint64_t n = elements(t), cols = t->dim[t->ndim - 1];
	struct item base = *t;

	if (!t->packed) {
		st_entry(s, t, "", "BF16", cols, 2 * n);
		return;
	}
	st_entry(s, t, "", "U32", cols / 8, n / 2);
	if (how == NAMING_MLX)	/* instead of "weight" */
		base.name[strlen(base.name) - strlen("weight")] = 0;
	for (int i = 0; i < 2; i++)
		st_entry(s, &base, endings[how][i], "BF16", cols / GROUP, 2 * n / GROUP);
}

uint64_t
st_make_write(struct place *p, struct st_make *s, const char *path)
{
	uint64_t len, size;

	s->text.p[s->text.len - 1] = '}';	/* the last comma */
	while (s->text.len % 8)
		tb_buf_chr(&s->text, ' ');
	if (tb_buf_failed(&s->text))
		die("%s: its header is too long", path);
	len = s->text.len - 8;
	for (int i = 0; i < 8; i++)
		s->text.p[i] = (char)(len >> 8 * i);
	size = put_file(p, path, s->text.p, s->text.len, s->text.len + s->data, true);
	tb_buf_free(&s->text);
	return size;
}

/* ---- GGUF ---- */

static void
num(struct tb_buf *b, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		tb_buf_chr(b, (char)(v >> 8 * i));
}

static void
str(struct tb_buf *b, const char *s)
{
	num(b, strlen(s), 8);
	tb_buf_str(b, s);
}

struct gguf_make
gguf_make_start(void)
{
	return (struct gguf_make){ .tensors = TB_BUF(HEADER_MAX) };
}

void
gguf_make_add(struct gguf_make *g, const struct item *t)
{
	unsigned type = t->packed && t->dim[1] % 256 == 0 ? GGML_Q4_K : GGML_F32;
	const struct ggml_info *info = ggml_info(type);

	str(&g->tensors, t->name);
	num(&g->tensors, t->ndim, 4);
	for (unsigned i = t->ndim; i-- > 0; )	/* the fastest first */
		num(&g->tensors, t->dim[i], 8);
	num(&g->tensors, type, 4);
	num(&g->tensors, g->data, 8);
	g->data += (elements(t) / info->block * info->bytes + ALIGN - 1) / ALIGN * ALIGN;
	g->n++;
}

static void
vocabulary(struct tb_buf *b)
{
	char piece[16];

	str(b, "tokenizer.ggml.tokens");
	num(b, 9, 4);		/* an array … */
	num(b, 8, 4);		/* … of strings */
	num(b, VOCABULARY, 8);
	for (int i = 0; i < VOCABULARY; i++) {
		snprintf(piece, sizeof(piece), "piece%d", i);
		str(b, piece);
	}
}

uint64_t
gguf_make_write(struct place *p, struct gguf_make *g, const char *arch, const char *path)
{
	struct tb_buf b = TB_BUF(HEADER_MAX);
	uint64_t size;

	tb_buf_add(&b, "GGUF\3\0\0", 8);
	num(&b, g->n, 8);
	num(&b, 2, 8);
	str(&b, "general.architecture");
	num(&b, 8, 4);
	str(&b, arch);
	vocabulary(&b);
	tb_buf_add(&b, g->tensors.p, g->tensors.len);
	while (b.len % ALIGN)
		tb_buf_chr(&b, 0);
	if (tb_buf_failed(&g->tensors) || tb_buf_failed(&b))
		die("%s: its header is too long", path);
	size = put_file(p, path, b.p, b.len, b.len + g->data, true);
	tb_buf_free(&g->tensors);
	tb_buf_free(&b);
	return size;
}

uint64_t
text_write(struct place *p, struct tb_buf *text, const char *path, bool listed)
{
	uint64_t n = text->len;

	if (tb_buf_failed(text))
		die("%s: too long", path);
	put_file(p, path, tb_buf_cstr(text), n, n, listed);
	tb_buf_free(text);
	return n;
}
