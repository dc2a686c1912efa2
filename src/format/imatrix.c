#include "config.h"

#include "src/format/imatrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/base/text.h"
#include "src/format/gguf.h"
#include "src/format/gguf_array.h"

#define SUMS ".in_sum2"
#define COUNTS ".counts"
#define GRAM ".in_gram"
#define VALUES_MAX (1u << 28)		/* of one entry */
#define DATASETS_MAX 1000
#define DATASET_LEN_MAX 65536
#define GRAM_MAX 8192

void
imatrix_free(struct imatrix *im)
{
	for (size_t i = 0; i < im->n; i++) {
		free(im->entries[i].name);
		free(im->entries[i].mean);
		free(im->entries[i].counts);
	}
	for (size_t i = 0; i < im->ndatasets; i++)
		free(im->datasets[i]);
	free(im->entries);
	free(im->datasets);
	tb_file_close(&im->file);
	*im = (struct imatrix){ .file = { .fd = -1 } };
}

/* Numbers of a file, each finite and not negative. */
static enum tb_status
read_numbers(const struct imatrix *im, uint64_t off, size_t n, const char *what, float **out,
	     struct tb_err *err)
{
	float *v = *out = tb_calloc(n, sizeof(*v));
	enum tb_status status = v ? tb_file_read(&im->file, off, v, n * sizeof(*v), err)
				  : tb_nomem(err);

	for (size_t i = 0; i < n && !status; i++)
		if (!(v[i] >= 0 && isfinite(v[i])))
			status = tb_fail(err, TB_EFORMAT, "%s: %s: number %zu is %s", im->file.path,
					 what, i, v[i] < 0 ? "negative" : "not finite");
	return status;
}

static enum tb_status
sums_to_means(const struct imatrix *im, struct imatrix_entry *e, struct tb_err *err)
{
	size_t cols = e->n / e->ncounts;

	for (size_t m = 0; m < e->ncounts; m++)
		for (size_t i = m * cols; i < (m + 1) * cols; i++)
			e->mean[i] = e->counts[m] > 0 ? e->mean[i] / e->counts[m] : 1;
	for (size_t i = 0; i < e->n; i++)
		if (!isfinite(e->mean[i]))
			return tb_fail(err, TB_EFORMAT, "%s: %s: sum %zu is too large for its count",
				       im->file.path, e->name, i);
	return TB_OK;
}

static uint64_t
elements(const struct gguf_tensor *t)
{
	uint64_t n = 1;

	for (unsigned i = 0; i < GGUF_DIMS; i++)
		n *= t->ne[i];
	return n;
}

static const struct gguf_tensor *
companion(const struct gguf *g, const char *name, size_t len, const char *end)
{
	char key[GGUF_NAME_MAX + 16];
	size_t i;

	snprintf(key, sizeof(key), "%.*s%s", (int)len, name, end);
	i = TB_FIRST(g->ntensors, k, strcmp(g->tensors[k].name, key) < 0);
	return i < g->ntensors && !strcmp(g->tensors[i].name, key) ? &g->tensors[i] : NULL;
}

uint64_t
imatrix_blocks(uint64_t cols, uint32_t gram)
{
	return (cols + gram - 1) / gram;
}

static enum tb_status
take_gram(const struct imatrix *im, struct imatrix_entry *e, const struct gguf_tensor *t,
	  struct tb_err *err)
{
	uint64_t mats = e->ncounts, blocks;

	if (!t)
		return TB_OK;
	blocks = t->ne[0] && t->ne[0] <= GRAM_MAX
		 ? imatrix_blocks(e->n / mats, (uint32_t)t->ne[0]) : 0;
	if (t->type != GGML_F32 || !blocks || t->ne[1] != t->ne[0] || t->ne[2] != blocks * mats ||
	    t->ne[3] != 1)
		return tb_fail(err, TB_EFORMAT, "%s: %s: not blocks of F32 for %zu columns",
			       im->file.path, t->name, e->n / e->ncounts);
	e->gram = (uint32_t)t->ne[0];
	e->gram_off = t->off;
	return TB_OK;
}

/* One pair of tensors. */
static enum tb_status
take_entry(struct imatrix *im, const struct gguf *g, const struct gguf_tensor *sums, size_t len,
	   struct tb_err *err)
{
	const struct gguf_tensor *counts = companion(g, sums->name, len, COUNTS);
	struct imatrix_entry *e = &im->entries[im->n];
	enum tb_status status;

	if (!counts)
		return tb_fail(err, TB_EFORMAT, "%s: %s has no %.*s" COUNTS, im->file.path,
			       sums->name, (int)len, sums->name);
	if (sums->type != GGML_F32 || counts->type != GGML_F32)
		return tb_fail(err, TB_EFORMAT, "%s: %s: sums and counts must be F32",
			       im->file.path, sums->name);
	e->n = elements(sums);
	e->ncounts = elements(counts);
	if (!e->n || e->n > VALUES_MAX || !e->ncounts || e->n % e->ncounts)
		return tb_fail(err, TB_EFORMAT, "%s: %s: %zu sums and %zu counts do not go together",
			       im->file.path, sums->name, e->n, e->ncounts);
	im->n++;
	e->name = tb_strndup(sums->name, len);
	if (!e->name)
		return tb_nomem(err);
	if ((status = read_numbers(im, sums->off, e->n, sums->name, &e->mean, err)) ||
	    (status = read_numbers(im, counts->off, e->ncounts, counts->name, &e->counts, err)) ||
	    (status = sums_to_means(im, e, err)))
		return status;
	return take_gram(im, e, companion(g, sums->name, len, GRAM), err);
}

static enum tb_status
take_datasets(struct imatrix *im, const struct gguf_kv *kv, struct tb_err *err)
{
	struct gguf_array *a;
	struct gguf_item item;
	enum tb_status status;

	if (!kv || kv->type != GGUF_ARRAY || kv->elem != GGUF_STRING || !kv->count)
		return TB_OK;
	if (kv->count > DATASETS_MAX)
		return tb_fail(err, TB_ELIMIT, "%s: %" PRIu64 " datasets", im->file.path, kv->count);
	if (!(im->datasets = tb_calloc(kv->count, sizeof(*im->datasets))))
		return tb_nomem(err);
	if ((status = gguf_array_open(&a, kv, &im->file, err)))
		return status;
	while (im->ndatasets < kv->count && gguf_array_next(a, &item))
		if ((im->datasets[im->ndatasets] = tb_strndup(item.s, item.len)))
			im->ndatasets++;
		else
			status = tb_nomem(err);
	if (status) {
		(void)!gguf_array_close(a);
		return status;
	}
	return gguf_array_close(a);
}

static uint32_t
key_u32(const struct gguf *g, const char *key)
{
	const struct gguf_kv *kv = gguf_find(g, key);
	uint64_t n;

	return kv && gguf_u64(kv, &n) && n <= UINT32_MAX ? (uint32_t)n : 0;
}

/* Are there sums in it?  A model of that format has none. */
static bool
any_sums(const struct gguf *g)
{
	for (size_t i = 0; i < g->ntensors; i++)
		if (tb_ends(g->tensors[i].name, SUMS))
			return true;
	return false;
}

static enum tb_status
read_gguf(struct imatrix *im, struct tb_err *err)
{
	struct gguf g;
	enum tb_status status = gguf_read(&g, &im->file, err);

	if (status)
		return status;
	if (!any_sums(&g))
		status = tb_fail(err, TB_EFORMAT, "%s: no importance matrix: no tensor ends in "
				 SUMS "; tbtui calibrate makes one", im->file.path);
	else if (!(im->entries = tb_calloc(g.ntensors, sizeof(*im->entries))))
		status = tb_nomem(err);
	else
		status = take_datasets(im, gguf_find(&g, "imatrix.datasets"), err);
	im->chunks = key_u32(&g, "imatrix.chunk_count");
	im->chunk_size = key_u32(&g, "imatrix.chunk_size");
	for (size_t i = 0; i < g.ntensors && !status; i++) {
		const char *name = g.tensors[i].name;
		size_t len = strlen(name);

		if (tb_ends(name, SUMS) && len > strlen(SUMS))
			status = take_entry(im, &g, &g.tensors[i], len - strlen(SUMS), err);
		else if (tb_ends(name, COUNTS) && !companion(&g, name, len - strlen(COUNTS), SUMS))
			status = tb_fail(err, TB_EFORMAT, "%s: %s has no sums", im->file.path, name);
	}
	gguf_free(&g);
	return status;
}

/* Where a ".dat" is being read. */
struct dat { struct imatrix *im; uint64_t at; struct tb_err *err; };

static enum tb_status
dat_bytes(struct dat *d, void *out, size_t len)
{
	uint64_t left = d->im->file.id.size - d->at;
	enum tb_status status;

	if (len > left)
		return tb_fail(d->err, TB_EFORMAT, "%s: no importance matrix: it ends at %" PRIu64
			       ", and %zu bytes are wanted at %" PRIu64, d->im->file.path,
			       d->im->file.id.size, len, d->at);
	if (!(status = tb_file_read(&d->im->file, d->at, out, len, d->err)))
		d->at += len;
	return status;
}

/* A count: positive (or not negative), and what it counts may still be in the file. */
static enum tb_status
dat_count(struct dat *d, int32_t least, uint64_t each, const char *what, int32_t *out)
{
	uint64_t at = d->at;
	enum tb_status status = dat_bytes(d, out, 4);

	if (!status && (*out < least || (uint64_t)*out * each > d->im->file.id.size - d->at))
		status = tb_fail(d->err, TB_EFORMAT, "%s: no importance matrix: %" PRId32 " %s at %"
				 PRIu64, d->im->file.path, *out, what, at);
	return status;
}

static enum tb_status
dat_string(struct dat *d, size_t max, char **out)
{
	int32_t len;
	enum tb_status status = dat_count(d, 0, 1, "bytes of a text", &len);

	if (!status && (size_t)len > max)
		status = tb_fail(d->err, TB_ELIMIT, "%s: a text of %" PRId32 " bytes",
				 d->im->file.path, len);
	if (!status && !(*out = tb_calloc((size_t)len + 1, 1)))
		status = tb_nomem(d->err);
	return status ? status : dat_bytes(d, *out, (size_t)len);
}

static enum tb_status
dat_entry(struct dat *d, struct imatrix_entry *e)
{
	int32_t calls = 0, n = 0;
	enum tb_status status;

	if ((status = dat_string(d, DATASET_LEN_MAX, &e->name)) ||
	    (status = dat_bytes(d, &calls, 4)) ||
	    (status = dat_count(d, 1, sizeof(float), "numbers", &n)))
		return status;
	e->n = (size_t)n;
	e->ncounts = 1;
	if (!(e->counts = tb_calloc(1, sizeof(*e->counts))))
		return tb_nomem(d->err);
	e->counts[0] = calls > 0 ? (float)calls : 1;
	if ((status = read_numbers(d->im, d->at, e->n, e->name, &e->mean, d->err)))
		return status;
	d->at += e->n * sizeof(float);
	return sums_to_means(d->im, e, d->err);
}

static int
entry_cmp(const void *a, const void *b)
{
	const struct imatrix_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Chunks and the text's name may be missing at the end. */
static enum tb_status
read_dat(struct imatrix *im, struct tb_err *err)
{
	struct dat d = { im, 0, err };
	int32_t n = 0, chunks = 0;
	enum tb_status status = dat_count(&d, 1, 13, "entries", &n);

	im->old = true;
	if (!status && !(im->entries = tb_calloc((size_t)n, sizeof(*im->entries))))
		status = tb_nomem(err);
	while (im->n < (size_t)n && !status)
		status = dat_entry(&d, &im->entries[im->n++]);
	if (!status && d.at < im->file.id.size && !(status = dat_bytes(&d, &chunks, 4)))
		im->chunks = chunks > 0 ? (uint32_t)chunks : 0;
	if (!status && d.at < im->file.id.size) {
		if (!(im->datasets = tb_calloc(1, sizeof(*im->datasets))))
			return tb_nomem(err);
		im->ndatasets = 1;
		status = dat_string(&d, DATASET_LEN_MAX, &im->datasets[0]);
	}
	if (!status && d.at != im->file.id.size)
		status = tb_fail(err, TB_EFORMAT, "%s: no importance matrix: bytes behind its end",
				 im->file.path);
	if (status)
		return status;
	qsort(im->entries, im->n, sizeof(*im->entries), entry_cmp);
	for (size_t i = 1; i < im->n; i++)
		if (!strcmp(im->entries[i - 1].name, im->entries[i].name))
			return tb_fail(err, TB_EFORMAT, "%s: %s is in it twice", im->file.path,
				       im->entries[i].name);
	return TB_OK;
}

enum tb_status
imatrix_read(struct imatrix *im, const char *path, struct tb_err *err)
{
	char magic[4] = "";
	enum tb_status status;

	*im = (struct imatrix){ .file = { .fd = -1 } };
	status = tb_file_open(&im->file, path, err);
	if (!status && im->file.id.size >= 4)
		status = tb_file_read(&im->file, 0, magic, 4, err);
	if (!status)
		status = memcmp(magic, "GGUF", 4) ? read_dat(im, err) : read_gguf(im, err);
	if (status)
		imatrix_free(im);
	return status;
}

const struct imatrix_entry *
imatrix_find(const struct imatrix *im, const char *name)
{
	size_t i = TB_FIRST(im->n, k, strcmp(im->entries[k].name, name) < 0);

	return i < im->n && !strcmp(im->entries[i].name, name) ? &im->entries[i] : NULL;
}

const float *
imatrix_columns(const struct imatrix_entry *e, uint64_t cols, uint64_t nth, uint64_t of,
		struct tb_err *err)
{
	uint64_t mats = cols ? e->n / cols : 0;

	if (!cols || e->n % cols || (mats != 1 && mats != of) ||
	    (e->ncounts != 1 && e->ncounts != mats)) {
		(void)tb_fail(err, TB_EFORMAT, "the importance of %s is that of %zu columns, and "
			      "the tensor has %" PRIu64 " x %" PRIu64, e->name, e->n, of, cols);
		return NULL;
	}
	return e->mean + (mats == 1 ? 0 : nth * cols);
}

enum tb_status
imatrix_gram(const struct imatrix *im, const struct imatrix_entry *e, uint64_t cols, uint64_t nth,
	     uint64_t b, float *out, struct tb_err *err)
{
	uint64_t each = (uint64_t)e->gram * e->gram, blocks = imatrix_blocks(cols, e->gram);
	uint64_t at = nth * blocks + b;
	float count = e->counts[e->ncounts == 1 ? 0 : nth];
	enum tb_status status = tb_file_read(&im->file, e->gram_off + 4 * each * at, out, 4 * each,
					     err);

	for (uint64_t i = 0; i < each && !status; i++) {
		if (!isfinite(out[i]))
			return tb_fail(err, TB_EFORMAT, "%s: %s" GRAM ": a number is not finite",
				       im->file.path, e->name);
		out[i] = count > 0 ? out[i] / count : 0;
	}
	return status;
}
