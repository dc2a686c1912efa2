/* heal_plan.c - which files are damaged, and who has their bytes. */
#include "config.h"

#include "src/ops/heal/heal_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/manifest.h"

#define BELIEVED_NS (3600 * INT64_C(1000000000))

static const struct { const char *word, *text; } wrongs[] = {
#define X(id, word, text) [id] = { word, text },
	HEAL_WRONG_LIST(X)
#undef X
};

const char *
heal_wrong_word(enum heal_wrong w)
{
	return wrongs[w].word;
}

const char *
heal_wrong_text(enum heal_wrong w)
{
	return wrongs[w].text;
}

enum tb_status
heal_has_digest(const struct tb_file *f, const char *digest, struct tb_job *job, bool *yes,
		struct tb_err *err)
{
	char actual[TB_DIGEST_MAX];
	enum tb_status status = tb_starts(digest, "gitsha1:")
			      ? tb_gitsha1_file(f, job, actual, err)
			      : tb_sha256_file(f, job, NULL, actual, err);

	*yes = !status && !strcmp(actual, digest);
	return status;
}

/* ---- what is damaged ---- */

/* What is looked at, and what came of it. */
struct looking {
	struct heal_run *r;
	struct look {
		const struct content_file *f;
		const char *expected;
		bool damaged;
		enum heal_wrong wrong;
		const char *why;		/* static */
	} *v;
	size_t n;
};

/* The digest that a file should have, or NULL.  One that only a verify knows has been
 * written anew if its size or time are others: that was somebody's wish, unless the model
 * cannot be read with it. */
static const char *
expected_of(const struct content_file *f)
{
	if (*f->digest)
		return f->digest;
	if (!*f->last)
		return NULL;
	return f->odd || f->missing || f->unread || (f->last_id.size == f->id.size &&
						     f->last_id.mtime_ns == f->id.mtime_ns)
	     ? f->last : NULL;
}

/* The size that it should have; 0: nobody says. */
static uint64_t
size_of(const struct content_file *f)
{
	return f->sized ? f->want_size : !*f->digest ? f->last_id.size : 0;
}

/* Found good a short while ago, and not touched since. */
static bool
is_believed(const struct content_file *f)
{
	int64_t age = tb_now_ns() - f->last_ns;

	return f->last_ok && age >= 0 && age < BELIEVED_NS && f->ctime_ns <= f->last_ns &&
	       tb_ident_equal(&f->last_id, &f->id) &&
	       (!tb_starts(f->digest, "sha256:") || !strcmp(f->digest, f->last)) &&
	       (!f->sized || f->want_size == f->id.size);
}

static enum tb_status
look_at(void *arg, size_t i, unsigned worker, struct tb_err *err)
{
	struct looking *l = arg;
	struct heal_run *r = l->r;
	struct look *k = &l->v[i];
	bool good = false, believed = false;
	struct tb_ident now;
	struct tb_err why;
	struct tb_file f;
	enum tb_status status = TB_OK;

	(void)worker;
	if (k->f->missing && tb_file_ident(k->f->path, &now, NULL) == TB_ENOENT) {
		k->damaged = true;
		k->wrong = HEAL_MISSING;
		if (readlink(k->f->path, &(char){ 0 }, 1) >= 0)
			k->why = "there is a link that leads nowhere: to a disk that is away?";
		return TB_OK;
	}
	tb_job_what(r->job, "%s", r->content.models[k->f->model].loc.name);
	if (is_believed(k->f)) {
		good = believed = true;
		tb_job_step(r->job, k->f->id.size, 0);
	} else if (!(status = tb_file_open(&f, k->f->path, &why))) {
		status = heal_has_digest(&f, k->expected, r->job, &good, &why);
		tb_file_close(&f);
	}
	if (status == TB_ECANCEL || status == TB_ENOMEM)
		return tb_pass(err, &why);
	k->damaged = !good;
	k->wrong = status ? HEAL_UNREADABLE
		 : size_of(k->f) && size_of(k->f) != k->f->id.size ? HEAL_SIZE : HEAL_BYTES;
	if (status && access(k->f->path, R_OK) && errno == EACCES)
		k->why = "this user may not read it, so that nobody knows whether it is damaged";
	pthread_mutex_lock(&r->count);
	r->plan->believed += believed;
	r->plan->bytes += believed || status ? 0 : k->f->id.size;
	pthread_mutex_unlock(&r->count);
	return TB_OK;
}

static const char *
keep(struct heal_run *r, const char *s, bool *ok)
{
	const char *copy = tb_arena_str(&r->plan->mem, s);

	*ok &= copy != NULL;
	return copy;
}

static enum tb_status
add_item(struct heal_run *r, const struct look *k, struct tb_err *err)
{
	const struct content_file *f = k->f;
	struct heal_item *item = &r->plan->items[r->plan->n];
	char *store = content_store(&r->content, f);
	bool ok = store != NULL;

	*item = (struct heal_item){
		.path = keep(r, f->path, &ok), .store = ok ? keep(r, store, &ok) : NULL,
		.model = keep(r, r->content.models[f->model].loc.name, &ok),
		.digest = keep(r, k->expected, &ok), .wrong = k->wrong, .why = k->why,
		.size = size_of(f), .manifest = f->manifest,
		.was = { f->id.dev, f->id.ino, f->id.size, f->id.mtime_ns },
		/* a recorded file is what it was at its time; of a blob it says nothing */
		.time_ns = *f->digest ? 0 : f->last_id.mtime_ns,
	};
	free(store);
	r->of[r->plan->n++] = f;
	return ok ? TB_OK : tb_nomem(err);
}

bool
heal_names(const struct model_loc *loc, const char *digest)
{
	char *text = NULL;
	bool yes = !tb_file_slurp(loc->path, MANIFEST_MAX, &text, NULL, NULL) && strstr(text, digest);

	free(text);
	return yes;
}

/* Is it one of those that the plan speaks of, which may be called by another model's name? */
static bool
is_told(const struct heal_plan *p, const struct model_loc *loc)
{
	for (size_t i = 0; i < p->n; i++)
		if (heal_names(loc, p->items[i].digest))
			return true;
	return false;
}

/* Models that are damaged in a way that no digest of theirs says. */
static enum tb_status
tell_bad(struct heal_run *r, struct tb_err *err)
{
	struct heal_plan *p = r->plan;
	bool *told = tb_calloc(r->content.nmodels + 1, sizeof(*told));
	bool ok = told != NULL;

	p->bad = tb_arena_get(&p->mem, (r->content.nmodels + 1) * sizeof(*p->bad));
	for (size_t i = 0; told && i < p->n; i++)
		told[r->of[i]->model] = true;
	for (size_t i = 0; ok && p->bad && i < r->content.nmodels; i++) {
		const struct content_model *m = &r->content.models[i];
		char text[1200];

		p->models += m->wanted;
		if (!m->wanted || told[i] || !(m->failure || m->odd) || is_told(p, &m->loc))
			continue;
		snprintf(text, sizeof(text), "%.150s: %.*s", m->loc.name,
			 m->failure ? 900 : (int)strcspn(m->problems, "\n"),
			 m->failure ? m->failure : m->problems);
		p->bad[p->nbad++] = keep(r, text, &ok);
	}
	free(told);
	return p->bad && ok ? TB_OK : tb_nomem(err);
}

static enum tb_status
find_damage(struct heal_run *r, struct tb_err *err)
{
	struct looking l = { .r = r, .v = tb_calloc(r->content.n + 1, sizeof(*l.v)) };
	enum tb_status status = l.v ? TB_OK : tb_nomem(err);
	uint64_t total = 0;
	size_t damaged = 0;

	for (size_t i = 0; !status && i < r->content.n; i++) {
		const struct content_file *f = &r->content.files[i];
		const char *expected;

		if (!f->wanted || f->model == CONTENT_NONE || (f->manifest && !*f->digest))
			continue;
		r->plan->files++;
		expected = expected_of(f);
		r->plan->unknown += !expected;
		if (expected) {
			l.v[l.n++] = (struct look){ .f = f, .expected = expected };
			total += f->id.size;
		}
	}
	tb_job_total(r->job, total, l.n);
	if (!status)
		status = tb_pool_try(r->ctx->pool, l.n, look_at, &l, r->job, err);
	for (size_t i = 0; i < l.n; i++)
		damaged += l.v[i].damaged;
	r->plan->items = tb_arena_get(&r->plan->mem, (damaged + 1) * sizeof(*r->plan->items));
	r->of = tb_calloc(damaged + 1, sizeof(*r->of));
	if (!status && (!r->plan->items || !r->of))
		status = tb_nomem(err);
	for (size_t i = 0; !status && i < l.n; i++)
		if (l.v[i].damaged)
			status = add_item(r, &l.v[i], err);
	free(l.v);
	if (!status)
		status = tell_bad(r, err);
	return status ? status : content_unread(&r->content, &r->plan->mem, &r->plan->unread,
						&r->plan->nunread, err);
}

/* ---- the plan ---- */

static enum tb_status
price(struct heal_run *r, struct tb_err *err)
{
	struct heal_plan *p = r->plan;
	char why[200];

	snprintf(why, sizeof(why), "no source has its bytes, of %zu file%s and %zu model%s; \"tbtui heal"
		 " --from DIR\"%s looks elsewhere", r->nfiles, tb_plural(r->nfiles), r->ntwins,
		 tb_plural(r->ntwins), r->req->remote ? "" : " or --remote");
	for (size_t i = 0; i < p->n; i++) {
		struct heal_item *item = &p->items[i];

		if (item->source || item->npatches) {
			p->write += item->size;
			p->come += item->come;
			continue;
		}
		p->failed++;
		if (!item->why && !(item->why = tb_arena_str(&p->mem, why)))
			return tb_nomem(err);
	}
	return TB_OK;
}

static void
run_free(struct heal_run *r)
{
	for (size_t i = 0; i < r->ntwins; i++)
		model_loc_free(&r->twins[i].loc);
	free(r->twins);
	free(r->files);
	free(r->by_size);
	free(r->by_digest);
	free(r->of);
	content_free(&r->content);
	for (size_t i = 0; i < HEAL_LOCKS; i++)
		pthread_mutex_destroy(&r->lock[i]);
	pthread_mutex_destroy(&r->count);
}

enum tb_status
op_heal_plan(struct op_ctx *ctx, const struct heal_request *req, struct tb_job *job,
	     struct heal_plan *out, struct tb_err *err)
{
	struct heal_run r = { .ctx = ctx, .req = req, .job = job, .plan = out };
	double from = tb_monotonic();
	enum tb_status status;

	*out = (struct heal_plan){ 0 };
	for (size_t i = 0; i < HEAL_LOCKS; i++)
		pthread_mutex_init(&r.lock[i], NULL);
	pthread_mutex_init(&r.count, NULL);
	status = content_collect(ctx, req->refs, req->nrefs, req->recover, job, &r.content, err);
	if (!status)	/* before hours of hashing: what was named must be there */
		status = heal_list_sources(&r, err);
	if (!status)
		status = find_damage(&r, err);
	if (!status && out->n)
		status = heal_find_sources(&r, err);
	if (!status && out->n)
		status = heal_find_patches(&r, err);
	if (!status && out->n)
		status = heal_find_remote(&r, err);
	if (!status)
		status = price(&r, err);
	out->seconds = tb_monotonic() - from;
	run_free(&r);
	if (status)
		heal_free(out);
	return status;
}

void
heal_free(struct heal_plan *plan)
{
	heal_remotes_free(plan);
	tb_arena_free(&plan->mem);
	*plan = (struct heal_plan){ 0 };
}
