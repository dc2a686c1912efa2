#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/format/safetensors.h"

#define METADATA "__metadata__"

/* One key of the top-level object: a tensor, or the metadata (t == NULL). */
struct entry {
	const char *key;
	const struct st_tensor *t;
	const char *value;	/* of a metadata pair */
};

static int
st_write_entry_cmp(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static enum tb_status
sort_entries(struct entry *e, size_t n, struct tb_err *err)
{
	if (n > 1)
		qsort(e, n, sizeof(*e), st_write_entry_cmp);
	for (size_t i = 1; i < n; i++)
		if (strcmp(e[i - 1].key, e[i].key) == 0)
			return tb_fail(err, TB_EFORMAT, "%.200s: is there twice", e[i].key);
	return TB_OK;
}

static enum tb_status
put_meta(struct tb_buf *out, const struct st_meta *meta, size_t n, struct tb_err *err)
{
	struct entry *e = tb_calloc(n, sizeof(*e));
	enum tb_status status;

	if (!e)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++)
		e[i] = (struct entry){ .key = meta[i].key, .value = meta[i].value };
	status = sort_entries(e, n, err);
	for (size_t i = 0; i < n && !status; i++) {
		tb_buf_chr(out, i ? ',' : '{');
		json_quote_go(out, e[i].key);
		tb_buf_chr(out, ':');
		json_quote_go(out, e[i].value);
	}
	tb_buf_chr(out, '}');
	free(e);
	return status;
}

/* Sets len and, for now, off as the header counts it: from the data's start. */
static enum tb_status
st_write_place(struct st_tensor *tensors, size_t n, struct tb_err *err)
{
	uint64_t at = 0, elems;

	for (size_t i = 0; i < n; i++) {
		struct st_tensor *t = &tensors[i];
		bool fits = t->ndim <= TB_MAX_DIMS;

		elems = 1;
		for (unsigned d = 0; fits && d < t->ndim; d++)
			fits = !__builtin_mul_overflow(elems, t->dim[d], &elems);
		t->off = at;
		if (!fits || !dtype_bytes(t->dtype, elems, &t->len) ||
		    __builtin_add_overflow(at, t->len, &at) || at > INT64_MAX - ST_HEADER_MAX - 8)
			return tb_fail(err, TB_EFORMAT, "tensor %.200s: shape does not fit a file",
				       t->name);
		if (strcmp(t->name, METADATA) == 0 || !tb_utf8_valid(t->name, strlen(t->name)))
			return tb_fail(err, TB_EFORMAT, "tensor %.200s: not a name for a tensor",
				       t->name);
	}
	return TB_OK;
}

static enum tb_status
st_write_put_header(struct tb_buf *json, const struct st_tensor *tensors, size_t n,
		    const struct st_meta *meta, size_t nmeta, struct tb_err *err)
{
	struct entry *e = tb_calloc(n + 1, sizeof(*e));
	enum tb_status status;
	size_t count = n;

	if (!e)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++)
		e[i] = (struct entry){ .key = tensors[i].name, .t = &tensors[i] };
	if (nmeta)
		e[count++] = (struct entry){ .key = METADATA };
	status = sort_entries(e, count, err);
	tb_buf_chr(json, '{');
	for (size_t i = 0; i < count && !status; i++) {
		const struct st_tensor *t = e[i].t;

		if (i)
			tb_buf_chr(json, ',');
		json_quote_go(json, e[i].key);
		tb_buf_chr(json, ':');
		if (!t) {
			status = put_meta(json, meta, nmeta, err);
			continue;
		}
		tb_buf_printf(json, "{\"dtype\":\"%s\",\"shape\":[", dtype_name(t->dtype));
		for (unsigned d = 0; d < t->ndim; d++)
			tb_buf_printf(json, "%s%ju", d ? "," : "", (uintmax_t)t->dim[d]);
		tb_buf_printf(json, "],\"data_offsets\":[%ju,%ju]}", (uintmax_t)t->off,
			      (uintmax_t)(t->off + t->len));
	}
	tb_buf_chr(json, '}');
	while (json->len % 8 && !json->failed)
		tb_buf_chr(json, ' ');
	free(e);
	return status;
}

enum tb_status
st_layout(struct st_tensor *tensors, size_t n, const struct st_meta *meta, size_t nmeta,
	  struct tb_buf *out, struct tb_err *err)
{
	struct tb_buf json = TB_BUF(ST_HEADER_MAX);
	enum tb_status status = st_write_place(tensors, n, err);
	unsigned char le[8];

	if (!status)
		status = st_write_put_header(&json, tensors, n, meta, nmeta, err);
	if (!status)
		status = tb_buf_status(&json, "the safetensors header", err);
	if (!status) {
		for (int i = 0; i < 8; i++)
			le[i] = (unsigned char)((uint64_t)json.len >> 8 * i);
		for (size_t i = 0; i < n; i++)
			tensors[i].off += 8 + json.len;
		tb_buf_add(out, le, 8);
		tb_buf_add(out, json.p, json.len);
		status = tb_buf_status(out, "the safetensors header", err);
	}
	tb_buf_free(&json);
	return status;
}
