#include "config.h"

#include "src/format/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/format.h"
#include "src/format/gguf_cursor.h"

#define DEFAULT_ALIGNMENT 32
#define TEXT_CHUNK 65536u	/* GGUF_KEY_MAX and a NUL */

/* Keys and tensors' names, in pieces that never move. */
struct gguf_text {
	struct gguf_text *next;
	size_t used;
	char p[TEXT_CHUNK];
};

static const unsigned value_bytes[] = {
#define X(id, name, bytes) [id] = bytes,
	GGUF_VALUE_LIST(X)
#undef X
};

/* A key or a tensor's name leaves room in a message for the rest of the sentence. */
#define BAD(c, what, name, fmt, ...) \
	tb_fail(err, TB_EFORMAT, "%.200s: " what " %.120s: " fmt, (c)->path, name, __VA_ARGS__)

static char *
text_room(struct gguf *g, size_t n)
{
	struct gguf_text *t = g->names;

	if (!t || TEXT_CHUNK - t->used < n) {
		t = malloc(sizeof(*t));
		if (!t)
			return NULL;
		t->next = g->names;
		t->used = 0;
		g->names = t;
	}
	t->used += n;
	return t->p + t->used - n;
}

/* A length and so many bytes, none of them NUL, fewer than `max`. */
static enum tb_status
read_name(struct gguf *g, struct gguf_cursor *c, uint64_t max, const char *what, size_t i,
	  const char **out, struct tb_err *err)
{
	uint64_t at = c->at, n;
	enum tb_status status = gguf_number(c, 8, &n, what, err);
	char *p;

	*out = NULL;
	if (status)
		return status;
	if (n >= max)
		return tb_fail(err, TB_EFORMAT, "%.200s: %s %zu at offset %ju has %ju bytes, fewer"
			       " than %ju are allowed", c->path, what, i, (uintmax_t)at,
			       (uintmax_t)n, (uintmax_t)max);
	p = text_room(g, (size_t)n + 1);
	if (!p)
		return tb_nomem(err);
	status = gguf_bytes(c, p, (size_t)n, what, err);
	if (!status && memchr(p, 0, (size_t)n))
		status = tb_fail(err, TB_EFORMAT, "%.200s: %s %zu at offset %ju holds a NUL",
				 c->path, what, i, (uintmax_t)at);
	p[n] = 0;
	*out = p;
	return status;
}

/* ---- metadata ---- */

static enum tb_status
check_items(const struct gguf_cursor *c, const char *key, uint64_t n, const char *unit,
	    struct tb_err *err)
{
	if (n <= GGUF_ITEMS_MAX)
		return TB_OK;
	return BAD(c, "key", key, "%ju %s at offset %ju, at most %u are allowed", (uintmax_t)n,
		   unit, (uintmax_t)c->at, GGUF_ITEMS_MAX);
}

static enum tb_status
gguf_read_type(struct gguf_cursor *c, const char *key, enum gguf_value *out, struct tb_err *err)
{
	uint64_t at = c->at, n;
	enum tb_status status = gguf_number(c, 4, &n, key, err);

	if (!status && n >= GGUF_VALUE_COUNT)
		status = BAD(c, "key", key, "unknown type %ju at offset %ju", (uintmax_t)n,
			     (uintmax_t)at);
	*out = (enum gguf_value)n;
	return status;
}

static enum tb_status
skip_strings(struct gguf_cursor *c, const struct gguf_kv *kv, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t n;

	for (uint64_t i = 0; i < kv->count && !status; i++) {
		status = gguf_number(c, 8, &n, kv->key, err);
		if (!status)
			status = check_items(c, kv->key, n, "bytes of a string", err);
		if (!status)
			status = gguf_skip(c, n, kv->key, err);
	}
	return status;
}

static enum tb_status
read_array(struct gguf_cursor *c, struct gguf_kv *kv, struct tb_err *err)
{
	enum tb_status status = gguf_read_type(c, kv->key, &kv->elem, err);

	if (!status && kv->elem == GGUF_ARRAY)
		status = BAD(c, "key", kv->key, "an array of arrays at offset %ju",
			     (uintmax_t)c->at - 4);
	if (!status)
		status = gguf_number(c, 8, &kv->count, kv->key, err);
	if (!status)
		status = check_items(c, kv->key, kv->count, "elements", err);
	kv->off = c->at;
	if (!status && kv->elem == GGUF_STRING)
		status = skip_strings(c, kv, err);
	else if (!status)
		status = gguf_skip(c, kv->count * value_bytes[kv->elem], kv->key, err);
	kv->len = c->at - kv->off;
	return status;
}

static enum tb_status
read_kv(struct gguf *g, struct gguf_cursor *c, struct gguf_kv *kv, struct tb_err *err)
{
	enum tb_status status;

	status = read_name(g, c, GGUF_KEY_MAX + 1, "key", g->nkv - 1, &kv->key, err);
	if (!status)
		status = gguf_read_type(c, kv->key, &kv->type, err);
	if (status)
		return status;
	if (kv->type == GGUF_ARRAY)
		return read_array(c, kv, err);
	if (kv->type == GGUF_STRING) {
		status = gguf_number(c, 8, &kv->count, kv->key, err);
		if (!status)
			status = check_items(c, kv->key, kv->count, "bytes", err);
		kv->off = c->at;
		kv->len = kv->count;
		return status ? status : gguf_skip(c, kv->count, kv->key, err);
	}
	kv->count = 1;
	kv->off = c->at;
	kv->len = value_bytes[kv->type];
	return gguf_number(c, value_bytes[kv->type], &kv->bits, kv->key, err);
}

static int
kv_cmp(const void *a, const void *b)
{
	return strcmp(((const struct gguf_kv *)a)->key, ((const struct gguf_kv *)b)->key);
}

static enum tb_status
read_kvs(struct gguf *g, struct gguf_cursor *c, uint64_t n, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t cap = 0;

	for (uint64_t i = 0; i < n && !status; i++) {
		if (!tb_grow(&g->kv, &cap, g->nkv + 1, sizeof(*g->kv)))
			return tb_nomem(err);
		g->nkv++;
		status = read_kv(g, c, &g->kv[i], err);
	}
	if (status)
		return status;
	if (n > 1)
		qsort(g->kv, g->nkv, sizeof(*g->kv), kv_cmp);
	for (size_t i = 1; i < g->nkv; i++)
		if (strcmp(g->kv[i - 1].key, g->kv[i].key) == 0)
			return BAD(c, "key", g->kv[i].key, "is there twice, at offset %ju and %ju",
				   (uintmax_t)g->kv[i - 1].off, (uintmax_t)g->kv[i].off);
	return TB_OK;
}

static enum tb_status
read_alignment(struct gguf *g, const struct gguf_cursor *c, struct tb_err *err)
{
	const struct gguf_kv *kv = gguf_find(g, "general.alignment");

	g->alignment = DEFAULT_ALIGNMENT;
	if (!kv)
		return TB_OK;
	if (kv->type != GGUF_U32)
		return BAD(c, "key", kv->key, "is %s at offset %ju, not u32",
			   gguf_value_name(kv->type), (uintmax_t)kv->off);
	if (!kv->bits || (kv->bits & (kv->bits - 1)))
		return BAD(c, "key", kv->key, "%ju at offset %ju is no power of two",
			   (uintmax_t)kv->bits, (uintmax_t)kv->off);
	g->alignment = kv->bits;
	return TB_OK;
}

/* ---- tensors ---- */

static enum tb_status
read_dims(struct gguf_cursor *c, struct gguf_tensor *t, struct tb_err *err)
{
	uint64_t at = c->at, n, elems = 1;
	enum tb_status status = gguf_number(c, 4, &n, t->name, err);

	if (!status && n > GGUF_DIMS)
		status = BAD(c, "tensor", t->name, "%ju dimensions at offset %ju, at most %d are"
			     " allowed", (uintmax_t)n, (uintmax_t)at, GGUF_DIMS);
	t->ndim = (unsigned)n;
	for (unsigned i = 0; i < GGUF_DIMS; i++)
		t->ne[i] = 1;
	for (unsigned i = 0; i < n && !status; i++) {
		at = c->at;
		status = gguf_number(c, 8, &t->ne[i], t->name, err);
		if (!status && t->ne[i] > INT64_MAX)
			status = BAD(c, "tensor", t->name, "dimension %u at offset %ju is negative",
				     i, (uintmax_t)at);
		if (!status && (__builtin_mul_overflow(elems, t->ne[i], &elems) ||
				elems > INT64_MAX))
			status = BAD(c, "tensor", t->name, "shape overflows at offset %ju",
				     (uintmax_t)at);
	}
	return status;
}

static enum tb_status
check_type(const struct gguf_cursor *c, const struct gguf_tensor *t, uint64_t type,
	   struct tb_err *err)
{
	const struct ggml_info *info = ggml_info((uint32_t)type);
	const char *gone = ggml_removed((uint32_t)type);

	if (!info && gone)
		return tb_fail(err, TB_EUNSUP, "%.200s: tensor %.120s: type %ju (%s) at offset %ju"
			       " is no longer part of the format", c->path, t->name,
			       (uintmax_t)type, gone, (uintmax_t)c->at - 4);
	if (!info)
		return BAD(c, "tensor", t->name, "unknown type %ju at offset %ju",
			   (uintmax_t)type, (uintmax_t)c->at - 4);
	if (t->ne[0] % info->block)
		return BAD(c, "tensor", t->name, "%ju columns are no multiple of the %u in a block"
			   " of %s", (uintmax_t)t->ne[0], info->block, info->name);
	return TB_OK;
}

/* Where the data of the tensor must be: behind that of the one before, padded. */
static enum tb_status
gguf_place(const struct gguf *g, struct gguf_cursor *c, struct gguf_tensor *t, uint64_t *end,
	   struct tb_err *err)
{
	const struct ggml_info *info = ggml_info(t->type);
	uint64_t at = c->at, off, blocks = 1, padded;
	enum tb_status status = gguf_number(c, 8, &off, t->name, err);

	if (status)
		return status;
	if (off != *end)
		return BAD(c, "tensor", t->name, "data offset %ju at offset %ju, the tensors before"
			   " it end at %ju", (uintmax_t)off, (uintmax_t)at, (uintmax_t)*end);
	for (unsigned i = 0; i < GGUF_DIMS; i++)
		blocks *= i ? t->ne[i] : t->ne[i] / info->block;
	if (__builtin_mul_overflow(blocks, (uint64_t)info->bytes, &t->len) ||
	    __builtin_add_overflow(off, t->len, &padded) ||
	    __builtin_add_overflow(padded, g->alignment - 1, &padded) || padded > INT64_MAX)
		return BAD(c, "tensor", t->name, "its size overflows, at offset %ju", (uintmax_t)at);
	t->off = off;
	*end = padded & ~(g->alignment - 1);
	return TB_OK;
}

static enum tb_status
gguf_read_tensor(struct gguf *g, struct gguf_cursor *c, struct gguf_tensor *t, uint64_t *end,
		 struct tb_err *err)
{
	uint64_t type = 0;
	enum tb_status status;

	status = read_name(g, c, GGUF_NAME_MAX, "tensor", g->ntensors - 1, &t->name, err);
	if (!status)
		status = read_dims(c, t, err);
	if (!status)
		status = gguf_number(c, 4, &type, t->name, err);
	if (!status)
		status = check_type(c, t, type, err);
	t->type = (enum ggml_type)type;
	return status ? status : gguf_place(g, c, t, end, err);
}

/* Offsets count from the data region, which begins where the list of tensors ends. */
static enum tb_status
check_data(struct gguf *g, const struct gguf_cursor *c, struct tb_err *err)
{
	uint64_t pad = (g->alignment - c->at % g->alignment) % g->alignment;

	g->data_off = c->at + pad;
	for (size_t i = 0; i < g->ntensors; i++) {
		struct gguf_tensor *t = &g->tensors[i];

		if (__builtin_add_overflow(t->off, g->data_off, &t->off) ||
		    t->off > c->size || t->len > c->size - t->off)
			return BAD(c, "tensor", t->name, "%ju bytes of data at offset %ju, the file"
				   " ends at %ju", (uintmax_t)t->len, (uintmax_t)t->off,
				   (uintmax_t)c->size);
	}
	return TB_OK;
}

static int
tensor_cmp(const void *a, const void *b)
{
	return strcmp(((const struct gguf_tensor *)a)->name,
		      ((const struct gguf_tensor *)b)->name);
}

static enum tb_status
read_tensors(struct gguf *g, struct gguf_cursor *c, uint64_t n, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t end = 0;
	size_t cap = 0;

	for (uint64_t i = 0; i < n && !status; i++) {
		if (!tb_grow(&g->tensors, &cap, g->ntensors + 1, sizeof(*g->tensors)))
			return tb_nomem(err);
		g->ntensors++;
		status = gguf_read_tensor(g, c, &g->tensors[i], &end, err);
	}
	if (!status)
		status = check_data(g, c, err);
	if (status)
		return status;
	if (n > 1)
		qsort(g->tensors, g->ntensors, sizeof(*g->tensors), tensor_cmp);
	for (size_t i = 1; i < g->ntensors; i++)
		if (strcmp(g->tensors[i - 1].name, g->tensors[i].name) == 0)
			return BAD(c, "tensor", g->tensors[i].name, "is there twice, with data at"
				   " offset %ju and %ju", (uintmax_t)g->tensors[i - 1].off,
				   (uintmax_t)g->tensors[i].off);
	return TB_OK;
}

/* ---- the file ---- */

/* Each entry needs some bytes: counts that the file cannot hold are not believed. */
static enum tb_status
read_count(struct gguf_cursor *c, uint64_t least, const char *what, uint64_t *out,
	   struct tb_err *err)
{
	uint64_t at = c->at;
	enum tb_status status = gguf_number(c, 8, out, what, err);

	if (!status && *out > (c->size - c->at) / least)
		status = tb_fail(err, TB_EFORMAT, "%.200s: %jd %s at offset %ju, in a file of %ju"
				 " bytes", c->path, (intmax_t)*out, what, (uintmax_t)at,
				 (uintmax_t)c->size);
	else if (!status && *out > GGUF_COUNT_MAX)
		status = tb_fail(err, TB_ELIMIT, "%.200s: %ju %s at offset %ju, at most %u are read",
				 c->path, (uintmax_t)*out, what, (uintmax_t)at, GGUF_COUNT_MAX);
	return status;
}

static enum tb_status
gguf_read_all(struct gguf *g, struct gguf_cursor *c, struct tb_err *err)
{
	char magic[4];
	uint64_t version = 0, tensors, keys;
	enum tb_status status = gguf_bytes(c, magic, 4, "GGUF header", err);

	if (!status && memcmp(magic, "GGUF", 4) != 0)
		status = tb_fail(err, TB_EFORMAT, "%.200s: does not begin with GGUF", c->path);
	if (!status)
		status = gguf_number(c, 4, &version, "GGUF header", err);
	g->version = (uint32_t)version;
	if (!status && version && !(version & 0xffff))
		status = tb_fail(err, TB_EUNSUP, "%.200s: a big-endian GGUF file (version %u): only"
				 " little-endian ones are read", c->path,
				 __builtin_bswap32(g->version));
	else if (!status && version != 2 && version != 3)
		status = tb_fail(err, TB_EUNSUP, "%.200s: GGUF version %u at offset 4: only 2 and 3"
				 " are read", c->path, g->version);
	if (!status)
		status = read_count(c, 8 + 4 + 4 + 8, "tensors", &tensors, err);
	if (!status)
		status = read_count(c, 8 + 4 + 1, "keys", &keys, err);
	if (!status)
		status = read_kvs(g, c, keys, err);
	if (!status)
		status = read_alignment(g, c, err);
	if (!status)
		status = read_tensors(g, c, tensors, err);
	if (status)
		gguf_free(g);
	return status;
}

enum tb_status
gguf_read(struct gguf *g, const struct tb_file *f, struct tb_err *err)
{
	struct gguf_cursor c;
	enum tb_status status = gguf_cursor_file(&c, f, err);

	*g = (struct gguf){ 0 };
	if (!status)
		status = gguf_read_all(g, &c, err);
	gguf_cursor_free(&c);
	return status;
}

enum tb_status
gguf_parse(struct gguf *g, const void *p, size_t n, uint64_t size, const char *what,
	   struct tb_err *err)
{
	struct gguf_cursor c;

	*g = (struct gguf){ 0 };
	gguf_cursor_memory(&c, p, n, size, what);
	return gguf_read_all(g, &c, err);
}

void
gguf_free(struct gguf *g)
{
	while (g->names) {
		struct gguf_text *next = g->names->next;

		free(g->names);
		g->names = next;
	}
	free(g->kv);
	free(g->tensors);
	*g = (struct gguf){ 0 };
}

/* ---- the format's row ---- */

static bool
gguf_is(const unsigned char *head, uint64_t size)
{
	(void)size;
	return !memcmp(head, "GGUF", 4);
}

enum tb_status
gguf_list(const struct gguf *g, struct st_header *h, struct tb_err *err)
{
	size_t bytes = 0, len;
	char *name;

	for (size_t i = 0; i < g->ntensors; i++)
		bytes += strlen(g->tensors[i].name) + 1;
	*h = (struct st_header){ .tensors = tb_calloc(g->ntensors, sizeof(*h->tensors)),
				 .text = tb_calloc(bytes, 1), .data_off = g->data_off };
	if (!h->tensors || !h->text) {
		st_free(h);
		return tb_nomem(err);
	}
	name = h->text;
	for (size_t i = 0; i < g->ntensors; i++, name += len) {
		const struct gguf_tensor *from = &g->tensors[i];
		enum dtype dtype = ggml_info(from->type)->dtype;
		struct st_tensor *t = &h->tensors[h->ntensors++];

		len = strlen(from->name) + 1;
		memcpy(name, from->name, len);
		*t = (struct st_tensor){ .name = name, .off = from->off, .len = from->len,
			.ndim = (uint16_t)from->ndim,
			.dtype = dtype == DT_COUNT ? DT_U8 : dtype,
			.blocks = dtype == DT_COUNT ? (uint16_t)(1 + from->type) : 0 };
		for (unsigned k = 0; k < t->ndim; k++)
			t->dim[t->ndim - 1 - k] = from->ne[k];
	}
	return TB_OK;
}

static enum tb_status
gguf_read_list(struct st_header *h, const struct tb_file *f, struct tb_err *err)
{
	struct gguf g;
	enum tb_status status = gguf_read(&g, f, err);

	*h = (struct st_header){ 0 };
	if (status)
		return status;
	status = gguf_list(&g, h, err);
	gguf_free(&g);
	return status;
}

const struct format format_gguf = {
	.title = "GGUF",
	.ending = ".gguf",
	.layer = MEDIA_MODEL,
	.layers = 1u << MEDIA_MODEL | 1u << MEDIA_PROJECTOR | 1u << MEDIA_ADAPTER |
		  1u << MEDIA_DRAFT,
	.is = gguf_is,
	.read = gguf_read_list,
	.keys = gguf_read,
	.written = true,
};
