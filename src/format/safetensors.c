#include "config.h"

#include "src/format/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/format/format.h"
#include "src/format/json.h"
#include "src/format/st_plain.h"

#define METADATA "__metadata__"
#define FIRST_READ 4096u	/* headers of one-tensor blobs come with the first read; the
				 * data behind them would be read for nothing */

/* What the checks of one header share. */
struct reader {
	struct st_header *h;
	const char *what;		/* the file, for messages */
	uint64_t data_len;
};

/* A name in a message leaves room for the rest of the sentence. */
#define BAD(r, t, fmt, ...) \
	tb_fail(err, TB_EFORMAT, "%.200s: tensor %.120s: " fmt, (r)->what, (t)->name, __VA_ARGS__)

static enum tb_status
st_read_shape(const struct reader *r, struct st_tensor *t, const cJSON *shape, struct tb_err *err)
{
	uint64_t elems = 1, bytes;

	if (!json_is_array(shape))
		return BAD(r, t, "%s", "has no shape");
	for (const cJSON *d = json_first(shape); d; d = json_next(d)) {
		if (t->ndim == TB_MAX_DIMS)
			return tb_fail(err, TB_EUNSUP, "%.200s: tensor %.120s: more than %d"
				       " dimensions", r->what, t->name, TB_MAX_DIMS);
		if (!json_u64(d, &t->dim[t->ndim]))
			return BAD(r, t, "dimension %u is no exact integer", t->ndim);
		if (__builtin_mul_overflow(elems, t->dim[t->ndim], &elems))
			return BAD(r, t, "%s", "shape overflows");
		t->ndim++;
	}
	if (!dtype_bytes(t->dtype, elems, &bytes))
		return BAD(r, t, "%ju elements of %s are no whole number of bytes",
			   (uintmax_t)elems, dtype_name(t->dtype));
	if (bytes != t->len)
		return BAD(r, t, "shape needs %ju bytes of %s, data_offsets give %ju at %ju",
			   (uintmax_t)bytes, dtype_name(t->dtype), (uintmax_t)t->len,
			   (uintmax_t)t->off);
	return TB_OK;
}

/* Keys besides the three are ignored, as the reference reader does. */
static enum tb_status
st_read_tensor(const struct reader *r, struct st_tensor *t, const cJSON *entry, struct tb_err *err)
{
	const cJSON *offsets = json_get(entry, "data_offsets");
	const char *dtype = json_str(json_get(entry, "dtype"));
	uint64_t begin, end;

	*t = (struct st_tensor){ .name = json_key(entry) };
	if (!json_is_object(entry))
		return BAD(r, t, "%s", "is not described by an object");
	if (!dtype)
		return BAD(r, t, "%s", "has no dtype");
	if (!dtype_parse(dtype, &t->dtype))
		return BAD(r, t, "unknown dtype \"%.40s\"", dtype);
	if (!json_is_array(offsets) || json_count(offsets) != 2 ||
	    !json_u64(json_first(offsets), &begin) ||
	    !json_u64(json_next(json_first(offsets)), &end))
		return BAD(r, t, "%s", "data_offsets are not two exact integers");
	if (begin > end)
		return BAD(r, t, "data_offsets run backwards (%ju to %ju)",
			   (uintmax_t)begin, (uintmax_t)end);
	if (end > r->data_len)
		return BAD(r, t, "data ends at offset %ju, the file at %ju",
			   (uintmax_t)(r->h->data_off + end),
			   (uintmax_t)(r->h->data_off + r->data_len));
	t->off = r->h->data_off + begin;
	t->len = end - begin;
	return st_read_shape(r, t, json_get(entry, "shape"), err);
}

static enum tb_status
st_read_meta(const struct reader *r, const cJSON *meta, struct tb_err *err)
{
	struct st_header *h = r->h;

	if (json_is_null(meta))
		return TB_OK;		/* MLX writes it when it has nothing to say */
	if (!json_is_object(meta))
		return tb_fail(err, TB_EFORMAT, "%.200s: " METADATA " is neither null nor an object",
			       r->what);
	h->meta = tb_calloc(json_count(meta), sizeof(*h->meta));
	if (!h->meta)
		return tb_nomem(err);
	for (const cJSON *v = json_first(meta); v; v = json_next(v)) {
		if (!json_str(v))
			return tb_fail(err, TB_EFORMAT, "%.200s: " METADATA " %.120s is not a string",
				       r->what, json_key(v));
		h->meta[h->nmeta++] = (struct st_meta){ json_key(v), json_str(v) };
	}
	return TB_OK;
}

static enum tb_status
read_entries(const struct reader *r, const cJSON *doc, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct st_header *h = r->h;

	h->tensors = tb_calloc(json_count(doc), sizeof(*h->tensors));
	if (!h->tensors)
		return tb_nomem(err);
	for (const cJSON *v = json_first(doc); v && !status; v = json_next(v)) {
		if (strcmp(json_key(v), METADATA) == 0)
			status = st_read_meta(r, v, err);
		else
			status = st_read_tensor(r, &h->tensors[h->ntensors++], v, err);
	}
	return status;
}

/* Every byte behind the header belongs to exactly one tensor. */
static enum tb_status
check_cover(const struct reader *r, struct tb_err *err)
{
	const struct st_header *h = r->h;
	uint64_t at = h->data_off, end = h->data_off + r->data_len;
	const struct st_tensor *t;

	st_sort_offsets(r->h);
	for (size_t i = 0; i < h->ntensors; i++) {
		t = &h->tensors[i];
		if (t->off < at)
			return BAD(r, t, "data at %ju overlaps that of %.120s, which ends at %ju",
				   (uintmax_t)t->off, t[-1].name, (uintmax_t)at);
		if (t->off > at)
			return BAD(r, t, "data at %ju, after a hole of %ju bytes",
				   (uintmax_t)t->off, (uintmax_t)(t->off - at));
		at = t->off + t->len;
	}
	if (at != end)
		return tb_fail(err, TB_EFORMAT, "%.200s: %ju bytes at %ju belong to no tensor",
			       r->what, (uintmax_t)(end - at), (uintmax_t)at);
	return TB_OK;
}

enum tb_status
st_parse(struct st_header *h, const char *json, size_t len, uint64_t data_len, const char *what,
	 struct tb_err *err)
{
	struct reader r = { h, what, data_len };
	enum tb_status status;
	cJSON *doc = NULL;
	uint64_t end;
	bool nomem;

	*h = (struct st_header){ .data_off = 8 + len };
	if (len == 0 || *json != '{' || __builtin_add_overflow(h->data_off, data_len, &end))
		return tb_fail(err, TB_EFORMAT, "%.200s: no safetensors header at offset 8", what);
	if (st_plain(h, json, len, data_len, &nomem))
		return TB_OK;
	st_free(h);
	if (nomem)
		return tb_nomem(err);
	h->data_off = 8 + len;
	status = json_parse(&doc, json, len, what, err);
	h->doc = doc;
	if (!status)
		status = read_entries(&r, doc, err);
	if (!status)
		status = check_cover(&r, err);
	if (status) {
		st_free(h);
		return status;
	}
	(void)!st_sort_names(h);	/* the tree had each key once */
	return TB_OK;
}

static uint64_t
le64(const unsigned char *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

enum tb_status
st_read(struct st_header *h, const struct tb_file *f, struct tb_err *err)
{
	size_t have = f->id.size < FIRST_READ ? (size_t)f->id.size : FIRST_READ;
	char first[FIRST_READ], *more = NULL, *buf = first;
	enum tb_status status;
	uint64_t len;

	*h = (struct st_header){ 0 };
	if (have < 8)
		return tb_fail(err, TB_EFORMAT, "%.200s: %zu bytes are no safetensors file",
			       f->path, have);
	status = tb_file_afford(f, 0, 8, &have, err);
	if (!status)
		status = tb_file_read_random(f, 0, buf, have, err);
	len = status ? 0 : le64((unsigned char *)buf);
	if (!status && len > ST_HEADER_MAX)
		status = tb_fail(err, TB_EFORMAT, "%.200s: header of %ju bytes, at most %u are"
				 " allowed", f->path, (uintmax_t)len, ST_HEADER_MAX);
	if (!status && len > f->id.size - 8)
		status = tb_fail(err, TB_EFORMAT, "%.200s: header of %ju bytes in a file of %ju",
				 f->path, (uintmax_t)len, (uintmax_t)f->id.size);
	if (!status && len + 8 > have) {
		buf = more = malloc((size_t)len + 8);
		if (more)
			memcpy(more, first, have);
		status = more ? tb_file_read_random(f, have, more + have, (size_t)len + 8 - have, err)
			      : tb_nomem(err);
	}
	if (!status)
		status = st_parse(h, buf + 8, (size_t)len, f->id.size - 8 - len, f->path, err);
	free(more);
	return status;
}

void
st_free(struct st_header *h)
{
	free(h->tensors);
	free(h->meta);
	json_free(h->doc);
	free(h->text);
	*h = (struct st_header){ 0 };
}

const struct st_tensor *
st_find(const struct st_header *h, const char *name)
{
	size_t at = TB_FIRST(h->ntensors, i, strcmp(h->tensors[i].name, name) < 0);

	return at < h->ntensors && !strcmp(h->tensors[at].name, name) ? &h->tensors[at] : NULL;
}

/* The text against `a` (n bytes) with b behind it. */
static int
pair_cmp(const char *text, const char *a, size_t n, const char *b)
{
	int d = strncmp(text, a, n);

	return d ? d : strcmp(text + n, b);
}

const char *
st_meta_of(const struct st_header *h, const char *tensor, const char *key)
{
	size_t n = strlen(tensor);
	size_t at = TB_FIRST(h->nmeta, i, pair_cmp(h->meta[i].key, tensor, n, key) < 0);

	return at < h->nmeta && !pair_cmp(h->meta[at].key, tensor, n, key) ? h->meta[at].value : NULL;
}

const char *
st_meta_find(const struct st_header *h, const char *key)
{
	return st_meta_of(h, "", key);
}

static bool
st_is(const unsigned char *head, uint64_t size)
{
	uint64_t len = le64(head);

	return len <= ST_HEADER_MAX && len <= size && head[8] == '{';
}

const struct format format_safetensors = {
	.title = "safetensors",
	.ending = ".safetensors",
	.layer = MEDIA_TENSOR,
	.layers = 1u << MEDIA_TENSOR,
	.is = st_is,
	.read = st_read,
	.folder = true,
	.converted = true,
	.written = true,
};
