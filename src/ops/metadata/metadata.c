#include "config.h"

#include "src/ops/metadata/metadata.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/format/safetensors.h"
#include "src/ops/metadata/metadata_parts.h"
#include "src/store/model.h"
#include "src/store/model_meta.h"

static const char *const from_names[] = {
#define X(id, name) [id] = name,
	META_FROM_LIST(X)
#undef X
};

const char *
meta_from_name(enum meta_from f)
{
	return from_names[f];
}

static void
row_free(struct meta_row *r)
{
	free(r->key);
	free(r->type);
	free(r->text);
}

void
metadata_free(struct metadata *md)
{
	while (md->n)
		row_free(&md->rows[--md->n]);
	free(md->rows);
	*md = (struct metadata){ 0 };
}

bool
meta_add(struct metadata *md, enum meta_from from, const char *key, const char *type,
	 const char *text, bool whole)
{
	struct meta_row r = { .key = tb_strdup(key), .type = tb_strdup(type),
			      .text = tb_strdup(text), .whole = whole, .from = from, .files = 1 };

	if (r.key && r.type && r.text &&
	    tb_grow(&md->rows, &md->cap, md->n + 1, sizeof(*md->rows))) {
		md->rows[md->n++] = r;
		return true;
	}
	row_free(&r);
	return false;
}

/* ---- __metadata__ ---- */

/* Not every file of a model has tensors: a header that is none is passed over. */
typedef enum tb_status header_fn(void *arg, const struct st_header *h, struct tb_err *err);

static enum tb_status
each_header(const struct model *m, header_fn *fn, void *arg, struct tb_job *job,
	    struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < m->nfiles && !status; i++) {
		const struct model_file *mf = &m->files[i];
		const struct format *format = model_file_format(m, mf);
		struct tb_file f;
		struct st_header h;

		if (mf->missing || !format || format->keys)
			continue;
		if ((status = tb_job_check(job, err)) || tb_file_open(&f, mf->path, NULL))
			continue;
		if (!format->read(&h, &f, NULL)) {
			status = fn(arg, &h, err);
			st_free(&h);
		}
		tb_file_close(&f);
	}
	return status;
}

static enum tb_status
gather_rows(void *arg, const struct st_header *h, struct tb_err *err)
{
	struct metadata *md = arg;

	for (size_t i = 0; i < h->nmeta; i++) {
		const char *value = h->meta[i].value;
		bool whole = strlen(value) < META_LINE && !strchr(value, '\n');
		char *text = tb_strndup(value, META_LINE);
		bool ok = text && meta_add(md, META_SAFETENSORS, h->meta[i].key, "string", text,
					   whole);

		free(text);
		if (!ok)
			return tb_nomem(err);
	}
	return TB_OK;
}

static int
by_key(const void *a, const void *b)
{
	const struct meta_row *x = a, *y = b;
	int d = strcmp(x->key, y->key);

	return d ? d : strcmp(x->text, y->text);
}

/* What many files say alike is one row. */
static enum tb_status
header_rows(const struct model *m, struct metadata *md, struct tb_job *job, struct tb_err *err)
{
	size_t first = md->n, n = first;
	enum tb_status status = each_header(m, gather_rows, md, job, err);

	if (md->n > first + 1)
		qsort(md->rows + first, md->n - first, sizeof(*md->rows), by_key);
	for (size_t i = first; i < md->n; i++) {
		if (n > first && !by_key(&md->rows[n - 1], &md->rows[i])) {
			md->rows[n - 1].files++;
			row_free(&md->rows[i]);
		} else {
			md->rows[n++] = md->rows[i];
		}
	}
	md->n = n;
	return status;
}

/* ---- all ---- */

static enum tb_status
meta_config(const struct model *m, cJSON **out, struct tb_err *err)
{
	char *text;
	size_t len;
	enum tb_status status = model_read(m, "config.json", META_CONFIG_MAX, &text, &len, err);

	*out = NULL;
	if (status)
		return status;
	status = json_parse_python(out, text, len, "config.json", err);
	free(text);
	return status;
}

enum tb_status
metadata_read(const struct model *m, struct tb_job *job, struct metadata *out,
	      struct tb_err *err)
{
	struct model_meta mm = { .file = { .fd = -1 } };
	cJSON *config = NULL;
	enum tb_status status = TB_OK;

	*out = (struct metadata){ 0 };
	if (!model_meta_open(&mm, m, NULL))
		status = meta_gguf_rows(out, &mm, err);
	model_meta_close(&mm);
	if (!status && !meta_config(m, &config, NULL))
		status = meta_config_rows(out, config, err);
	json_free(config);
	if (!status)
		status = header_rows(m, out, job, err);
	if (status)
		metadata_free(out);
	return status;
}

/* ---- one ---- */

/* What a key was looked for as, and where to put it. */
struct sought {
	const char *key;
	meta_item_fn *fn;	/* NULL: into o */
	void *arg;
	cJSON *o;
	struct tb_job *job;
	bool found;
};

static enum tb_status
look_gguf(const struct model *m, struct sought *l, struct tb_err *err)
{
	struct model_meta mm;
	const struct gguf_kv *kv;
	enum tb_status status;

	if ((status = model_meta_open(&mm, m, err)))
		return status == TB_ENOENT ? TB_OK : status;
	kv = gguf_find(&mm.g, l->key);
	l->found = kv != NULL;
	if (kv && l->fn)
		status = meta_gguf_each(&mm, kv, l->fn, l->arg, l->job, err);
	else if (kv)
		status = meta_gguf_json(&mm, kv, "value", l->o, l->job, err);
	model_meta_close(&mm);
	return status;
}

static enum tb_status
look_config(const struct model *m, struct sought *l, struct tb_err *err)
{
	cJSON *config;
	const cJSON *v;
	enum tb_status status = meta_config(m, &config, err);

	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	v = meta_config_find(config, l->key);
	l->found = v != NULL;
	if (v && l->fn)
		status = meta_config_each(v, l->fn, l->arg, err);
	else if (v)
		json_set(l->o, "value", json_copy(v));
	json_free(config);
	return status;
}

/* The first file that has it. */
static enum tb_status
look_header(void *arg, const struct st_header *h, struct tb_err *err)
{
	struct sought *l = arg;
	const char *s = l->found ? NULL : st_meta_find(h, l->key);

	if (!s)
		return TB_OK;
	l->found = true;
	if (l->fn)
		return l->fn(l->arg, s, strlen(s), err);
	json_set_str(l->o, "value", s);
	return TB_OK;
}

static enum tb_status
look_everywhere(const struct model *m, struct sought *l, struct tb_err *err)
{
	enum tb_status status = look_gguf(m, l, err);

	if (!status && !l->found)
		status = look_config(m, l, err);
	if (!status && !l->found)
		status = each_header(m, look_header, l, l->job, err);
	if (!status && !l->found)
		status = tb_fail(err, TB_ENOENT, "%s: has no key \"%s\"", m->loc.name, l->key);
	return status;
}

enum tb_status
metadata_each(const struct model *m, const char *key, meta_item_fn *fn, void *arg,
	      struct tb_job *job, struct tb_err *err)
{
	struct sought l = { .key = key, .fn = fn, .arg = arg, .job = job };

	return look_everywhere(m, &l, err);
}

enum tb_status
metadata_value(const struct model *m, const char *key, cJSON *o, struct tb_job *job,
	       struct tb_err *err)
{
	struct sought l = { .key = key, .o = o, .job = job };

	return look_everywhere(m, &l, err);
}

static enum tb_status
set_header(void *arg, const struct st_header *h, struct tb_err *err)
{
	cJSON *o = arg;

	(void)err;
	for (size_t i = 0; i < h->nmeta; i++)
		if (!json_get(o, h->meta[i].key))
			json_set_str(o, h->meta[i].key, h->meta[i].value);
	return TB_OK;
}

enum tb_status
metadata_all(const struct model *m, cJSON *o, struct tb_job *job, struct tb_err *err)
{
	struct model_meta mm;
	enum tb_status status = model_meta_open(&mm, m, NULL);

	if (!status) {
		for (size_t i = 0; i < mm.g.nkv && !status; i++)
			status = meta_gguf_json(&mm, &mm.g.kv[i], mm.g.kv[i].key, o, job, err);
		model_meta_close(&mm);
	} else {
		status = TB_OK;
	}
	return status ? status : each_header(m, set_header, o, job, err);
}
