/* gguf_value.c - what is said under a key. */
#include "config.h"

#include "src/format/gguf_array.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/search.h"

const char *
gguf_value_name(enum gguf_value v)
{
#define X(id, name, bytes) [id] = name,
	static const char *const names[] = { GGUF_VALUE_LIST(X) };
#undef X

	return v < GGUF_VALUE_COUNT ? names[v] : "?";
}

const struct gguf_kv *
gguf_find(const struct gguf *g, const char *key)
{
	size_t at = TB_FIRST(g->nkv, i, strcmp(g->kv[i].key, key) < 0);

	return at < g->nkv && !strcmp(g->kv[at].key, key) ? &g->kv[at] : NULL;
}

/* Two's complement of so many bits. */
static int64_t
gguf_value_widen(uint64_t bits, unsigned n)
{
	uint64_t sign = 1ull << (n - 1);

	return (int64_t)((bits ^ sign) - sign);
}

bool
gguf_number_f64(enum gguf_value type, uint64_t bits, double *out)
{
	uint32_t low = (uint32_t)bits;
	float f;

	switch (type) {
	case GGUF_F32:
		memcpy(&f, &low, sizeof(f));
		*out = (double)f;
		return true;
	case GGUF_F64:
		memcpy(out, &bits, sizeof(*out));
		return true;
	case GGUF_I8:
		*out = (double)gguf_value_widen(bits, 8);
		return true;
	case GGUF_I16:
		*out = (double)gguf_value_widen(bits, 16);
		return true;
	case GGUF_I32:
		*out = (double)gguf_value_widen(bits, 32);
		return true;
	case GGUF_I64:
		*out = (double)gguf_value_widen(bits, 64);
		return true;
	case GGUF_STRING:
	case GGUF_ARRAY:
	case GGUF_VALUE_COUNT:
		return false;
	default:
		*out = (double)bits;
		return true;
	}
}

bool
gguf_number_u64(enum gguf_value type, uint64_t bits, uint64_t *out)
{
	double value;

	if (type == GGUF_BOOL || type == GGUF_F32 || type == GGUF_F64 ||
	    !gguf_number_f64(type, bits, &value) || value < 0)
		return false;
	*out = bits;
	return true;
}

bool
gguf_u64(const struct gguf_kv *kv, uint64_t *out)
{
	return kv && gguf_number_u64(kv->type, kv->bits, out);
}

bool
gguf_f64(const struct gguf_kv *kv, double *out)
{
	return kv && gguf_number_f64(kv->type, kv->bits, out);
}

bool
gguf_bool(const struct gguf_kv *kv, bool *out)
{
	if (!kv || kv->type != GGUF_BOOL)
		return false;
	*out = kv->bits != 0;
	return true;
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
