/* importance.c - a file's entries, by the tensors of a model. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/engine/canon.h"
#include "src/ops/calibrate/calibrate.h"
#include "src/store/model.h"

struct key {
	char *name;			/* canonical; owned */
	const struct imatrix_entry *e;
};

struct known {
	const struct imatrix_entry *e;	/* NULL: nothing */
	uint64_t nth, of;		/* one expert of so many; 0 of n: a stack */
};

struct importance {
	struct imatrix im;
	const struct model *m;		/* borrowed */
	struct key *keys;		/* by name; owned */
	struct known *rows;		/* [m->ntensors]; owned */
	size_t known;
};

static int
key_cmp(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static enum tb_status
make_keys(struct importance *imp, const struct canon_model *of, struct tb_err *err)
{
	struct canon_model gguf = *of;

	gguf.gguf = true;
	if (!(imp->keys = tb_calloc(imp->im.n, sizeof(*imp->keys))))
		return tb_nomem(err);
	for (size_t i = 0; i < imp->im.n; i++) {
		/* A rule that is not for stacks does not ask. */
		const struct tensor t = { .name = imp->im.entries[i].name, .ndim = 3 };
		struct canon c;

		imp->keys[i].e = &imp->im.entries[i];
		imp->keys[i].name = tb_strdup(canon_of(&gguf, &t, &c) ? c.name : t.name);
		if (!imp->keys[i].name)
			return tb_nomem(err);
	}
	qsort(imp->keys, imp->im.n, sizeof(*imp->keys), key_cmp);
	return TB_OK;
}

static const struct imatrix_entry *
find_key(const struct importance *imp, const char *name)
{
	size_t i = TB_FIRST(imp->im.n, k, strcmp(imp->keys[k].name, name) < 0);

	return i < imp->im.n && !strcmp(imp->keys[i].name, name) ? imp->keys[i].e : NULL;
}

/* "layers.0.ffn.experts.3.up.weight" is in the stack "layers.0.ffn.experts.*.up.weight". */
static const struct imatrix_entry *
find_stack(const struct importance *imp, const char *name, uint64_t *nth)
{
	static const char experts[] = ".experts.";
	const char *at = strstr(name, experts), *digits;
	char star[CANON_MAX], *end;

	if (!at)
		return NULL;
	digits = at + sizeof(experts) - 1;
	*nth = strtoull(digits, &end, 10);
	if (end == digits ||
	    (size_t)(digits - name) + 1 + strlen(end) >= sizeof(star))
		return NULL;
	snprintf(star, sizeof(star), "%.*s*%s", (int)(digits - name), name, end);
	return find_key(imp, star);
}

static enum tb_status
find_row(struct importance *imp, const struct canon_model *cm, const struct tensor *t,
	 struct tb_err *err)
{
	struct known *k = &imp->rows[t - imp->m->tensors];
	uint64_t cols = t->ndim ? t->dim[t->ndim - 1] : 0;
	struct canon c;

	if (t->ndim < 2 || !cols || !canon_of(cm, t, &c))
		return TB_OK;
	k->of = t->ndim == 3 ? t->dim[0] : 1;
	k->e = find_key(imp, c.name);
	if (!k->e && t->ndim == 2 && (k->e = find_stack(imp, c.name, &k->nth)))
		k->of = k->e->n / cols;
	if (!k->e)
		k->e = imatrix_find(&imp->im, t->name);
	if (!k->e)
		return TB_OK;
	if (k->nth >= k->of || !imatrix_columns(k->e, cols, k->nth, k->of, err))
		return tb_wrap(err, TB_EFORMAT, "%s is not for this model: %s", imp->im.file.path,
			       t->name);
	imp->known++;
	return TB_OK;
}

enum tb_status
importance_open(struct importance **out, const char *path, const struct model *m,
		struct tb_err *err)
{
	struct importance *imp = tb_calloc(1, sizeof(*imp));
	struct canon_model cm;
	enum tb_status status;

	*out = NULL;
	if (!imp)
		return tb_nomem(err);
	imp->m = m;
	canon_model(&cm, m);
	status = imatrix_read(&imp->im, path, err);
	if (!status)
		status = make_keys(imp, &cm, err);
	if (!status && !(imp->rows = tb_calloc(m->ntensors, sizeof(*imp->rows))))
		status = tb_nomem(err);
	for (size_t i = 0; i < m->ntensors && !status; i++)
		status = find_row(imp, &cm, &m->tensors[i], err);
	if (!status && !imp->known)
		status = tb_fail(err, TB_EFORMAT, "%s: is not for this model: no name in it is that "
				 "of one of its tensors", path);
	if (status)
		importance_free(imp);
	else
		*out = imp;
	return status;
}

void
importance_free(struct importance *imp)
{
	if (!imp)
		return;
	for (size_t i = 0; imp->keys && i < imp->im.n; i++)
		free(imp->keys[i].name);
	free(imp->keys);
	free(imp->rows);
	imatrix_free(&imp->im);
	free(imp);
}

const struct imatrix *
importance_file(const struct importance *imp)
{
	return &imp->im;
}

size_t
importance_known(const struct importance *imp)
{
	return imp->known;
}

const float *
importance_columns(const struct importance *imp, const struct tensor *t, uint64_t first)
{
	const struct known *k = &imp->rows[t - imp->m->tensors];
	uint64_t cols, nth = k->nth;

	if (!k->e)
		return NULL;
	cols = t->dim[t->ndim - 1];
	if (t->ndim == 3)
		nth = first / (t->dim[1] * cols);
	return imatrix_columns(k->e, cols, nth, k->of, NULL);
}
