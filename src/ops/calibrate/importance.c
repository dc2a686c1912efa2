/* importance.c - a file's entries, by the tensors of a model. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/base/sha256.h"
#include "src/base/text.h"
#include "src/engine/canon.h"
#include "src/format/imatrix.h"
#include "src/ops/calibrate/calibrate.h"
#include "src/ops/calibrate/feeds.h"
#include "src/store/model.h"

struct key {
	char *name;			/* canonical; owned */
	const struct imatrix_entry *e;
};

struct known {
	const struct imatrix_entry *e;	/* NULL: nothing */
	const struct imatrix_entry *gram;	/* with products: it, or what meets the same */
	uint64_t nth, of;		/* one expert of so many; 0 of n: a stack */
};

struct importance {
	struct imatrix im;
	const struct model *m;		/* borrowed */
	struct key *keys;		/* by name; owned */
	struct known *rows;		/* [m->ntensors]; owned */
	size_t known;			/* tensors that it says something of */
	struct feeds *feeds;		/* owned */
	uint64_t key;			/* of what the file says but for products */
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

/* Matrices that meet the same share its products: they are those of the first. */
static const struct imatrix_entry *
find_gram(const struct importance *imp, const struct imatrix_entry *e, const char *name)
{
	static const char *const shared[][2] = {
		{ ".k.weight", ".q.weight" }, { ".v.weight", ".q.weight" },
		{ ".up.weight", ".gate.weight" },
	};
	const struct imatrix_entry *with = e;
	char other[CANON_MAX];
	uint64_t nth;

	for (size_t i = 0; i < 3 && !with->gram; i++) {
		if (!tb_ends(name, shared[i][0]))
			continue;
		snprintf(other, sizeof(other), "%.*s%s",
			 (int)(strlen(name) - strlen(shared[i][0])), name, shared[i][1]);
		with = find_key(imp, other);
		if (!with)
			with = find_stack(imp, other, &nth);
		if (!with || with->n != e->n || with->ncounts != e->ncounts)
			return NULL;
	}
	return with->gram ? with : NULL;
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
	k->gram = find_gram(imp, k->e, c.name);
	imp->known++;
	return TB_OK;
}

/* Of names, means and how wide blocks of products are.  The products themselves are gigabytes
 * and not read for it: those of two runs that are not the same differ in their means, too, but
 * nothing makes sure of it. */
static enum tb_status
make_key(struct importance *imp, struct tb_err *err)
{
	struct tb_sha256 sha;
	char digest[TB_DIGEST_MAX];
	enum tb_status status = tb_sha256_init(&sha, err);

	if (status)
		return status;
	for (size_t i = 0; i < imp->im.n; i++) {
		const struct imatrix_entry *e = &imp->im.entries[i];

		tb_sha256_add(&sha, e->name, strlen(e->name) + 1);
		tb_sha256_add(&sha, e->mean, e->n * sizeof(*e->mean));
		tb_sha256_add(&sha, &e->gram, sizeof(e->gram));
	}
	tb_sha256_done(&sha, digest);
	tb_sha256_free(&sha);
	memcpy(&imp->key, digest + strlen("sha256:"), sizeof(imp->key));
	imp->key &= ~(uint64_t)1;
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
	if (!status)
		status = feeds_new(&imp->feeds, err);
	if (!status)
		status = make_key(imp, err);
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
	feeds_free(imp->feeds);
	imatrix_free(&imp->im);
	free(imp);
}

static const struct known *
known_of(const struct importance *imp, const struct tensor *t, uint64_t matrix, uint64_t *nth)
{
	const struct known *k = &imp->rows[t - imp->m->tensors];

	*nth = t->ndim == 3 ? matrix : k->nth;
	return k;
}

static const float *
care_weights(const void *arg, const struct tensor *t, uint64_t matrix)
{
	uint64_t nth;
	const struct known *k = known_of(arg, t, matrix, &nth);

	return k->e ? imatrix_columns(k->e, t->dim[t->ndim - 1], nth, k->of, NULL) : NULL;
}

static enum tb_status
care_feedback(const void *arg, const struct tensor *t, uint64_t matrix,
	      const struct quant_feedback **out, struct tb_err *err)
{
	const struct importance *imp = arg;
	uint64_t nth;
	const struct known *k = known_of(imp, t, matrix, &nth);

	*out = NULL;
	return k->gram ? feeds_take(imp->feeds, &imp->im, k->gram, t->dim[t->ndim - 1], nth, out, err)
		       : TB_OK;
}

static void
care_done(const void *arg, const struct quant_feedback *f)
{
	const struct importance *imp = arg;

	feeds_give(imp->feeds, f);
}

enum tb_status
importance_care(const struct importance *imp, bool feedback, struct plan_care *out,
		struct tb_err *err)
{
	bool any = false;

	for (size_t i = 0; i < imp->im.n && !any; i++)
		any = imp->im.entries[i].gram != 0;
	if (feedback && !any)
		return tb_fail(err, TB_EUSAGE, "%s: has no products of columns: make it with "
			       "tbtui calibrate --gram", imp->im.file.path);
	*out = (struct plan_care){ .weights = care_weights, .arg = imp, .search = 1,
				   .key = imp->key + feedback };
	if (feedback) {
		out->feedback = care_feedback;
		out->done = care_done;
	}
	return TB_OK;
}
