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
