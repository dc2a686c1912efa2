#include "config.h"

#include "src/format/gguf_array.h"

#include <stdlib.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/gguf_cursor.h"

struct gguf_array {
	struct gguf_cursor cursor;
	const struct gguf_kv *kv;
	uint64_t next;			/* index of the next element */
	char *text;			/* the last string; owned */
	size_t cap;
	enum tb_status status;
	struct tb_err *err;
};

enum tb_status
gguf_array_open(struct gguf_array **out, const struct gguf_kv *kv, const struct tb_file *f,
		struct tb_err *err)
{
	struct gguf_array *a;
	enum tb_status status;

	*out = NULL;
	if (kv->type != GGUF_ARRAY)
		return tb_fail(err, TB_EFORMAT, "%.200s: key %.120s: is %s, not an array", f->path,
			       kv->key, gguf_value_name(kv->type));
	a = tb_calloc(1, sizeof(*a));
	if (!a)
		return tb_nomem(err);
	a->kv = kv;
	a->err = err;
	status = gguf_cursor_file(&a->cursor, f, err);
	if (!status)
		status = gguf_skip(&a->cursor, kv->off, kv->key, err);
	if (status) {
		gguf_cursor_free(&a->cursor);
		free(a);
		return status;
	}
	*out = a;
	return TB_OK;
}

static enum tb_status
array_read_string(struct gguf_array *a, struct gguf_item *out)
{
	uint64_t at = a->cursor.at, n;
	enum tb_status status = gguf_number(&a->cursor, 8, &n, a->kv->key, a->err);

	if (status)
		return status;
	if (n > GGUF_ITEM_MAX)
		return tb_fail(a->err, TB_ELIMIT, "%.200s: key %.120s: a string of %ju bytes at "
			       "offset %ju", a->cursor.path, a->kv->key, (uintmax_t)n,
			       (uintmax_t)at);
	if (!tb_grow(&a->text, &a->cap, (size_t)n + 1, 1))
		return tb_nomem(a->err);
	a->text[n] = '\0';
	out->s = a->text;
	out->len = (size_t)n;
	return gguf_bytes(&a->cursor, a->text, (size_t)n, a->kv->key, a->err);
}

bool
gguf_array_next(struct gguf_array *a, struct gguf_item *out)
{
	*out = (struct gguf_item){ 0 };
	if (a->status || a->next == a->kv->count)
		return false;
	a->next++;
	if (a->kv->elem == GGUF_STRING)
		a->status = array_read_string(a, out);
	else	/* all elements of numbers have one width */
		a->status = gguf_number(&a->cursor, (unsigned)(a->kv->len / a->kv->count),
					&out->bits, a->kv->key, a->err);
	return !a->status;
}

enum tb_status
gguf_array_close(struct gguf_array *a)
{
	enum tb_status status = a->status;

	gguf_cursor_free(&a->cursor);
	free(a->text);
	free(a);
	return status;
}
