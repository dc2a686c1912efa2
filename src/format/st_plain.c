/* st_plain.c - headers as everybody writes them, in one pass and without a tree.
 *
 * What is accepted here is exactly what safetensors.c would accept, with the same result;
 * what is not is left to it.  tests/unit/test_safetensors.c compares the two. */
#include "config.h"

#include "src/format/st_plain.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/format/json_plain.h"

#define METADATA "__metadata__"

struct reader {
	struct plain in;
	struct st_header *h;
	size_t cap, meta_cap;
	uint64_t data_len;
	bool meta;		/* there was one */
};

static bool
st_plain_read_shape(struct reader *r, struct st_tensor *t)
{
	if (!plain_char(&r->in, '['))
		return false;
	if (plain_char(&r->in, ']'))
		return true;
	do {
		if (t->ndim == TB_MAX_DIMS || !plain_u64(&r->in, &t->dim[t->ndim++]))
			return false;
	} while (plain_char(&r->in, ','));
	return plain_char(&r->in, ']');
}

static bool
read_offsets(struct reader *r, struct st_tensor *t)
{
	uint64_t begin, end;

	if (!plain_char(&r->in, '[') || !plain_u64(&r->in, &begin) || !plain_char(&r->in, ',') ||
	    !plain_u64(&r->in, &end) || !plain_char(&r->in, ']'))
		return false;
	t->off = r->h->data_off + begin;
	t->len = end - begin;
	return begin <= end && end <= r->data_len;
}

static bool
read_dtype(struct reader *r, struct st_tensor *t)
{
	struct plain_str s;
	char name[16];

	if (!plain_string(&r->in, &s) || s.n >= sizeof(name))
		return false;
	memcpy(name, s.s, s.n);
	name[s.n] = 0;
	plain_blanks(&r->in);
	return dtype_parse(name, &t->dtype);
}

/* The three keys in any order, each once. */
static bool
st_plain_read_keys(struct reader *r, struct st_tensor *t)
{
	unsigned seen = 0;
	struct plain_str key;

	do {
		unsigned bit;

		if (!plain_string(&r->in, &key) || !plain_char(&r->in, ':'))
			return false;
		bit = plain_is(&key, "dtype") ? 1 : plain_is(&key, "shape") ? 2
		    : plain_is(&key, "data_offsets") ? 4 : 0;
		if (!bit || seen & bit)
			return false;
		seen |= bit;
		if (!(bit == 1 ? read_dtype(r, t) : bit == 2 ? st_plain_read_shape(r, t)
					: read_offsets(r, t)))
			return false;
	} while (plain_char(&r->in, ','));
	return seen == 7;
}

static bool
st_plain_read_tensor(struct reader *r, const struct plain_str *name)
{
	struct st_header *h = r->h;
	uint64_t elems = 1, bytes;
	struct st_tensor *t;

	if (!tb_grow(&h->tensors, &r->cap, h->ntensors + 1, sizeof(*h->tensors))) {
		r->in.nomem = true;
		return false;
	}
	t = &h->tensors[h->ntensors++];
	*t = (struct st_tensor){ .name = name->s };
	if (!plain_char(&r->in, '{') || !st_plain_read_keys(r, t) || !plain_char(&r->in, '}'))
		return false;
	for (unsigned i = 0; i < t->ndim; i++)
		if (__builtin_mul_overflow(elems, t->dim[i], &elems))
			return false;
	return dtype_bytes(t->dtype, elems, &bytes) && bytes == t->len;
}

static bool
st_plain_read_meta(struct reader *r)
{
	struct st_header *h = r->h;
	struct plain_str key, value;

	if (r->meta || !plain_char(&r->in, '{'))
		return false;
	r->meta = true;
	if (plain_char(&r->in, '}'))
		return true;
	do {
		if (!plain_string(&r->in, &key) || !plain_char(&r->in, ':') ||
		    !plain_string(&r->in, &value))
			return false;
		if (!tb_grow(&h->meta, &r->meta_cap, h->nmeta + 1, sizeof(*h->meta))) {
			r->in.nomem = true;
			return false;
		}
		h->meta[h->nmeta++] = (struct st_meta){ key.s, value.s };
		plain_blanks(&r->in);
	} while (plain_char(&r->in, ','));
	return plain_char(&r->in, '}');
}

static bool
st_plain_read_all(struct reader *r)
{
	struct plain_str key;

	if (!plain_char(&r->in, '{') || *r->in.p == '}')
		return false;
	do {
		if (!plain_string(&r->in, &key) || !plain_char(&r->in, ':'))
			return false;
		if (plain_is(&key, METADATA) ? !st_plain_read_meta(r) : !st_plain_read_tensor(r, &key))
			return false;
	} while (plain_char(&r->in, ','));
	return plain_char(&r->in, '}');
}

static int
offset_cmp(const void *a, const void *b)
{
	const struct st_tensor *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->len < y->len ? -1 : x->len > y->len;
}

void
st_sort_offsets(struct st_header *h)
{
	qsort(h->tensors, h->ntensors, sizeof(*h->tensors), offset_cmp);
}

/* No hole, no overlap, when they stand in the order of the file. */
static bool
st_plain_covers(const struct st_header *h, uint64_t data_len)
{
	uint64_t at = h->data_off;

	for (size_t i = 0; i < h->ntensors; at += h->tensors[i++].len)
		if (h->tensors[i].off != at)
			return false;
	return at == h->data_off + data_len;
}

/* A name ends where its quote was. */
static void
terminate(const char *s)
{
	*strchr((char *)(uintptr_t)s, '"') = 0;
}

static int
st_plain_name_cmp(const void *a, const void *b)
{
	return strcmp(((const struct st_tensor *)a)->name, ((const struct st_tensor *)b)->name);
}

static int
meta_cmp(const void *a, const void *b)
{
	return strcmp(((const struct st_meta *)a)->key, ((const struct st_meta *)b)->key);
}

/* Sorts; false when two are the same. */
static bool
st_plain_sort_all(void *rows, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	char *p = rows;
	bool sorted = true;

	for (size_t i = 1; i < n && sorted; i++)
		sorted = cmp(p + (i - 1) * size, p + i * size) < 0;
	if (sorted)
		return true;
	qsort(p, n, size, cmp);
	for (size_t i = 1; i < n; i++)
		if (!cmp(p + (i - 1) * size, p + i * size))
			return false;
	return true;
}

bool
st_sort_names(struct st_header *h)
{
	return st_plain_sort_all(h->tensors, h->ntensors, sizeof(*h->tensors), st_plain_name_cmp) &&
	       st_plain_sort_all(h->meta, h->nmeta, sizeof(*h->meta), meta_cmp);
}

bool
st_plain(struct st_header *h, const char *json, size_t len, uint64_t data_len, bool *nomem)
{
	char *text = h->text = malloc(len + 1);
	struct reader r = { .in = { .p = text }, .h = h, .data_len = data_len };
	bool read;

	*nomem = !text;
	if (!text)
		return false;
	memcpy(text, json, len);
	text[len] = 0;
	read = st_plain_read_all(&r);
	*nomem = r.in.nomem;
	if (!read || r.in.p != text + len)
		return false;
	if (!st_plain_covers(h, data_len)) {
		if (!h->ntensors)	/* nothing to sort, and bytes that belong to nobody */
			return false;
		st_sort_offsets(h);
		if (!st_plain_covers(h, data_len))
			return false;
	}
	for (size_t i = 0; i < h->ntensors; i++)
		terminate(h->tensors[i].name);
	for (size_t i = 0; i < h->nmeta; i++) {
		terminate(h->meta[i].key);
		terminate(h->meta[i].value);
	}
	return st_sort_names(h);
}
