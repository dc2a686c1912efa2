/* gguf_value.c - what is said under a key. */
#include "config.h"

#include "src/format/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"

const char *
gguf_value_name(enum gguf_value v)
{
#define X(id, name, bytes) [id] = name,
	static const char *const names[] = { GGUF_VALUE_LIST(X) };
#undef X

	return v < GGUF_VALUE_COUNT ? names[v] : "?";
}

static int
key_cmp(const void *a, const void *b)
{
	return strcmp(((const struct gguf_kv *)a)->key, ((const struct gguf_kv *)b)->key);
}

const struct gguf_kv *
gguf_find(const struct gguf *g, const char *key)
{
	const struct gguf_kv want = { .key = key };

	return g->nkv ? bsearch(&want, g->kv, g->nkv, sizeof(want), key_cmp) : NULL;
}

bool
gguf_u64(const struct gguf_kv *kv, uint64_t *out)
{
	if (!kv)
		return false;
	*out = kv->bits;
	switch (kv->type) {
	case GGUF_U8:
	case GGUF_U16:
	case GGUF_U32:
	case GGUF_U64:
		return true;
	case GGUF_I8:
	case GGUF_I16:
	case GGUF_I32:
	case GGUF_I64:
		return !(kv->bits >> (8 * kv->len - 1));
	default:
		return false;
	}
}

enum tb_status
gguf_string(const struct gguf_kv *kv, const struct tb_file *f, size_t max, char **out,
	    struct tb_err *err)
{
	enum tb_status status;

	*out = NULL;
	if (kv->type != GGUF_STRING)
		return tb_fail(err, TB_EFORMAT, "%.200s: key %.120s: is %s, not a string", f->path,
			       kv->key, gguf_value_name(kv->type));
	if (kv->len > max)
		return tb_fail(err, TB_ELIMIT, "%.200s: key %.120s: a string of %ju bytes at offset"
			       " %ju", f->path, kv->key, (uintmax_t)kv->len, (uintmax_t)kv->off);
	*out = tb_calloc((size_t)kv->len + 1, 1);
	if (!*out)
		return tb_nomem(err);
	status = tb_file_read(f, kv->off, *out, (size_t)kv->len, err);
	if (!status && memchr(*out, 0, (size_t)kv->len))
		status = tb_fail(err, TB_EFORMAT, "%.200s: key %.120s: its string at offset %ju holds"
				 " a NUL", f->path, kv->key, (uintmax_t)kv->off);
	if (status) {
		free(*out);
		*out = NULL;
	}
	return status;
}
