#include "config.h"

#include "tests/unit/models.h"

#include <stdio.h>

#include "src/store/store.h"
#include "tests/unit/unit.h"

void
models_begin(struct ollama_writer *w, const char *root)
{
	struct tb_err err = { 0 };

	assert_ok(ollama_writer_init(w, fixture_dir(root), &err), err);
}

void
models_json(struct ollama_writer *w, const char *name, const char *text)
{
	struct tb_err err = { 0 };

	assert_ok(ollama_add_bytes(w, MEDIA_JSON, name, text, strlen(text), &err), err);
}

static void
same_part(const struct tensor_part *a, const struct tensor_part *b)
{
	assert_int_equal(a->file, b->file);
	assert_int_equal(a->dtype, b->dtype);
	assert_int_equal(a->ndim, b->ndim);
	assert_memory_equal(a->dim, b->dim, sizeof(a->dim));
	assert_int_equal(a->off, b->off);
	assert_int_equal(a->len, b->len);
}

static void
same_tensor(const struct tensor *a, const struct tensor *b)
{
	assert_string_equal(a->name, b->name);
	assert_true(scheme_equal(&a->scheme, &b->scheme));
	assert_int_equal(a->origin, b->origin);
	assert_int_equal(a->ndim, b->ndim);
	assert_memory_equal(a->dim, b->dim, sizeof(a->dim));
	assert_int_equal(a->elems, b->elems);
	assert_int_equal(a->bytes, b->bytes);
	same_part(&a->weight, &b->weight);
	assert_int_equal(a->has_scale, b->has_scale);
	assert_int_equal(a->has_bias, b->has_bias);
	assert_int_equal(a->has_global, b->has_global);
	assert_int_equal(a->has_order, b->has_order);
	if (a->has_scale)
		same_part(&a->scale, &b->scale);
	if (a->has_bias)
		same_part(&a->bias, &b->bias);
	if (a->has_global)
		same_part(&a->global, &b->global);
}

/* Headers that are kept make no difference: not when they are new, nor later. */
static void
same_with_cache(const struct model *m, const struct model_loc *loc)
{
	struct model_cache *cache = model_cache_new();
	struct tb_err err = { 0 };
	struct model *c;

	assert_non_null(cache);
	for (int i = 0; i < 3; i++) {
		assert_ok(model_open_cached(&c, loc, cache, &err), err);
		assert_int_equal(c->ntensors, m->ntensors);
		assert_int_equal(c->nfiles, m->nfiles);
		assert_int_equal(c->nproblems, m->nproblems);
		assert_int_equal(c->params, m->params);
		assert_int_equal(c->bytes, m->bytes);
		assert_string_equal(c->scheme, m->scheme);
		for (size_t k = 0; k < m->ntensors; k++)
			same_tensor(&m->tensors[k], &c->tensors[k]);
		for (size_t k = 0; k < m->nproblems; k++)
			assert_string_equal(c->problems[k].message, m->problems[k].message);
		model_free(c);
	}
	model_cache_free(cache);
}

/* Commits as `name` with a config blob, opens it through the store. */
struct model *
models_finish(struct ollama_writer *w, const char *name, const char *config)
{
	struct store_roots roots;
	struct tb_err err = { 0 };
	struct model_name n;
	struct model_loc loc;
	struct model *m;

	assert_ok(ollama_add_bytes(w, MEDIA_CONFIG, NULL, config, strlen(config), &err), err);
	assert_ok(name_parse(name, &n, &err), err);
	assert_ok(ollama_commit(w, &n, false, &err), err);
	assert_ok(store_roots_init(&roots, (const char *[]){ w->root }, 1, &err), err);
	assert_ok(store_resolve(&roots, name, &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	same_with_cache(m, &loc);
	model_loc_free(&loc);
	store_roots_free(&roots);
	ollama_writer_free(w);
	return m;
}

void
models_clean(const struct model *m)
{
	if (m->nproblems)
		fail_msg("%s", m->problems[0].message);
}

void
models_problem(const struct model *m, const char *part)
{
	for (size_t i = 0; i < m->nproblems; i++)
		if (strstr(m->problems[i].message, part))
			return;
	fail_msg("no problem says \"%s\" (%zu, first: %s)", part, m->nproblems,
		 m->nproblems ? m->problems[0].message : "none");
}

/* A tensor must be there, as `scheme`, from `origin`, with the logical shape. */
const struct tensor *
models_expect(const struct model *m, const char *name, const char *scheme, enum origin origin,
       const uint64_t dims[4])
{
	const struct tensor *t = model_tensor(m, name);
	char got[SCHEME_NAME_MAX];
	uint64_t elems = 1;
	unsigned n = 0;

	if (!t)
		fail_msg("%s: not there", name);
	if (strcmp(scheme_name(&t->scheme, got), scheme) != 0 || t->origin != origin)
		fail_msg("%s: %s from %s", name, got, origin_name(t->origin));
	for (; n < 3 && dims[n]; n++) {
		assert_int_equal(t->dim[n], dims[n]);
		elems *= dims[n];
	}
	assert_int_equal(t->ndim, n);
	assert_int_equal(t->elems, elems);
	return t;
}

struct model *
models_open(const char *rel)
{
	struct store_roots none = { 0 };
	struct tb_err err = { 0 };
	struct model_loc loc;
	struct model *m;

	assert_ok(store_resolve(&none, unit_path(rel), &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	return m;
}
