#include "config.h"

#include "src/format/gguf_write.h"

#include <string.h>

#include "src/base/file.h"

static void
put_le(struct tb_buf *b, uint64_t v, unsigned bytes)
{
	char le[8];

	for (unsigned i = 0; i < bytes; i++)
		le[i] = (char)(v >> 8 * i);
	tb_buf_few(b, le, bytes);
}

static void
put_string(struct tb_buf *b, const char *s, size_t len)
{
	put_le(b, len, 8);
	tb_buf_add(b, s, len);
}

static void
put_key(struct gguf_keys *k, const char *key, enum gguf_value type)
{
	k->n++;
	put_string(&k->buf, key, strlen(key));
	put_le(&k->buf, type, 4);
}

static uint32_t
float_bits(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

void
gguf_keys_free(struct gguf_keys *k)
{
	tb_buf_free(&k->buf);
	k->n = 0;
}

void
gguf_put_u16(struct gguf_keys *k, const char *key, uint16_t v)
{
	put_key(k, key, GGUF_U16);
	put_le(&k->buf, v, 2);
}

void
gguf_put_u32(struct gguf_keys *k, const char *key, uint32_t v)
{
	put_key(k, key, GGUF_U32);
	put_le(&k->buf, v, 4);
}

void
gguf_put_i32(struct gguf_keys *k, const char *key, int32_t v)
{
	put_key(k, key, GGUF_I32);
	put_le(&k->buf, (uint32_t)v, 4);
}

void
gguf_put_f32(struct gguf_keys *k, const char *key, float v)
{
	put_key(k, key, GGUF_F32);
	put_le(&k->buf, float_bits(v), 4);
}

void
gguf_put_bool(struct gguf_keys *k, const char *key, bool v)
{
	put_key(k, key, GGUF_BOOL);
	put_le(&k->buf, v, 1);
}

void
gguf_put_str(struct gguf_keys *k, const char *key, const char *s)
{
	put_key(k, key, GGUF_STRING);
	put_string(&k->buf, s, strlen(s));
}

void
gguf_put_array(struct gguf_keys *k, const char *key, enum gguf_value elem, uint64_t n)
{
	put_key(k, key, GGUF_ARRAY);
	put_le(&k->buf, elem, 4);
	put_le(&k->buf, n, 8);
}

void
gguf_item_str(struct gguf_keys *k, const char *s, size_t len)
{
	put_string(&k->buf, s, len);
}

void
gguf_item_i32(struct gguf_keys *k, int32_t v)
{
	put_le(&k->buf, (uint32_t)v, 4);
}

void
gguf_item_f32(struct gguf_keys *k, float v)
{
	put_le(&k->buf, float_bits(v), 4);
}

void
gguf_item_bool(struct gguf_keys *k, bool v)
{
	put_le(&k->buf, v, 1);
}

void
gguf_put_keys(struct gguf_keys *k, const struct gguf_keys *from)
{
	k->n += from->n;
	tb_buf_add(&k->buf, from->buf.p, from->buf.len);
	k->buf.failed |= from->buf.failed;
	k->buf.over |= from->buf.over;
}

enum tb_status
gguf_put_copy(struct gguf_keys *k, const struct gguf_kv *kv, const struct tb_file *f,
	      struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char buf[4096];

	put_key(k, kv->key, kv->type);
	if (kv->type == GGUF_ARRAY)
		put_le(&k->buf, kv->elem, 4);
	if (kv->type == GGUF_ARRAY || kv->type == GGUF_STRING)
		put_le(&k->buf, kv->count, 8);
	for (uint64_t at = 0, n; at < kv->len && !status; at += n) {
		n = kv->len - at < sizeof(buf) ? kv->len - at : sizeof(buf);
		status = tb_file_read(f, kv->off + at, buf, (size_t)n, err);
		if (!status)
			tb_buf_add(&k->buf, buf, (size_t)n);
	}
	return status ? status : tb_buf_status(&k->buf, "the keys of a GGUF file", err);
}

/* Bytes of a tensor, from its type and shape. */
static enum tb_status
tensor_bytes(struct gguf_tensor *t, struct tb_err *err)
{
	const struct ggml_info *info = ggml_info(t->type);
	uint64_t elems = 1;

	if (!*t->name || strlen(t->name) >= GGUF_NAME_MAX)
		return tb_fail(err, TB_EFORMAT, "%.200s: GGUF holds names of 1 to %u bytes", t->name,
			       GGUF_NAME_MAX - 1);
	if (!info || t->ndim < 1 || t->ndim > GGUF_DIMS || t->ne[0] % info->block)
		return tb_fail(err, TB_EFORMAT, "%s: GGUF has no place for a tensor of that shape"
			       " and type", t->name);
	for (unsigned d = 0; d < t->ndim; d++)
		if (__builtin_mul_overflow(elems, t->ne[d], &elems) || elems > INT64_MAX / 8)
			return tb_fail(err, TB_EFORMAT, "%s: too large for a file", t->name);
	t->len = elems / info->block * info->bytes;
	return TB_OK;
}

static uint64_t
aligned(uint64_t at)
{
	return (at + GGUF_ALIGNMENT - 1) / GGUF_ALIGNMENT * GGUF_ALIGNMENT;
}

enum tb_status
gguf_layout(const struct gguf_keys *k, struct gguf_tensor *tensors, size_t n, struct tb_buf *out,
	    uint64_t *size, struct tb_err *err)
{
	uint64_t at = 0, start = out->len;
	enum tb_status status = tb_buf_status(&k->buf, "the keys of a GGUF file", err);

	tb_buf_add(out, "GGUF", 4);
	put_le(out, 3, 4);
	put_le(out, n, 8);
	put_le(out, k->n, 8);
	tb_buf_add(out, k->buf.p, k->buf.len);
	for (size_t i = 0; i < n && !status; i++) {
		struct gguf_tensor *t = &tensors[i];

		if ((status = tensor_bytes(t, err)))
			break;
		put_string(out, t->name, strlen(t->name));
		put_le(out, t->ndim, 4);
		for (unsigned d = 0; d < t->ndim; d++)
			put_le(out, t->ne[d], 8);
		put_le(out, t->type, 4);
		put_le(out, at, 8);
		t->off = at;
		if (__builtin_add_overflow(at, aligned(t->len), &at) || at > INT64_MAX / 2)
			status = tb_fail(err, TB_EFORMAT, "%s: does not fit a file", t->name);
	}
	while ((out->len - start) % GGUF_ALIGNMENT && !tb_buf_failed(out))
		tb_buf_chr(out, 0);
	for (size_t i = 0; i < n; i++)
		tensors[i].off += out->len - start;
	*size = out->len - start + at;
	return status ? status : tb_buf_status(out, "the head of a GGUF file", err);
}
