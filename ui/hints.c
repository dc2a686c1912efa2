#include "config.h"

#include "ui/hints.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/registry.h"
#include "src/ops/home/home.h"
#include "ui/view.h"

#define NAMES_MAX 500		/* of the index */

static const char *const ways[] = { "hf:", "docker://", "https://", "http://" };

void
hints_free(struct hints *h)
{
	tb_names_free(&h->found);
	tb_names_free(&h->tags);
	tb_names_free(&h->seen);
	free(h->repo);
	*h = (struct hints){ 0 };
}

static void
names_add(struct tb_names *to, const char *name)
{
	for (size_t i = 0; i < to->n; i++)
		if (!strcmp(to->v[i], name))
			return;
	if (tb_names_add(to, name, NULL))
		return;		/* one less is offered */
}

void
hints_seen(struct hints *h, const char *name)
{
	names_add(&h->seen, name);
}

static void
add_like(struct hints *h, const char *word, const char *name)
{
	if (tb_starts(name, word))
		names_add(&h->found, name);
}

/* Folders that are models are in no registry. */
static void
add_models(struct view *v, struct hints *h, const char *word)
{
	const struct db_query q = { .filter = word, .limit = NAMES_MAX };
	struct db_models list = { 0 };

	if (!db_models(view_db(v), &q, &list, NULL))
		for (size_t i = 0; i < list.n; i++)
			if (kind_has_manifest(list.rows[i].kind))
				add_like(h, word, list.rows[i].name);
	tb_arena_free(&list.mem);
}

/* ---- tags ---- */

struct tagging {
	const struct op_ctx *ctx;	/* borrowed */
	char *repo;			/* owned */
	hints_tags_fn *tell;
	struct tb_names tags;
};

/* As somebody would type them: with what stands before the colon. */
static enum tb_status
whole_names(struct tagging *t, const struct tb_names *bare, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < bare->n && !status; i++) {
		char *name = tb_asprintf("%s:%s", t->repo, bare->v[i]);

		status = name ? tb_names_add(&t->tags, name, err) : tb_nomem(err);
		free(name);
	}
	return status;
}

static enum tb_status
tags_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct tagging *t = arg;
	struct image_name n;
	struct config_registry said;
	struct registry_opts opts;
	struct registry *r = NULL;
	struct tb_names bare = { 0 };
	struct http *h = NULL;
	enum tb_status status = image_name_parse(&n, t->repo, err);

	if (status)
		return status;
	config_registry_opts(&t->ctx->config, &n, false, false, &said, &opts);
	status = registry_new(&r, &n, &opts, err);
	if (!status)
		status = http_new(&h, err);
	if (!status)
		status = registry_tags(r, h, job, &bare, err);
	if (!status)
		status = whole_names(t, &bare, err);
	tb_names_free(&bare);
	http_free(h);
	registry_free(r);
	image_name_free(&n);
	return status;
}

static void
tags_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct tagging *t = arg;

	t->tell(v, t->repo, status ? NULL : &t->tags, err);
}

static void
tags_free(void *arg)
{
	struct tagging *t = arg;

	tb_names_free(&t->tags);
	free(t->repo);
	free(t);
}

static const struct job_ops tags_job = {
	.run = tags_run, .done = tags_done, .free = tags_free,
};

/* "host:5000/ns/model:ta": up to the last colon, if a repository stands there. */
static size_t
repo_len(const char *word)
{
	const char *colon = strrchr(word, ':'), *slash = strrchr(word, '/');

	return !colon || colon == word || (slash && slash > colon) || strchr(word, ' ') ||
	       tb_starts(word, "hf:") ? 0 : (size_t)(colon - word);
}

static void
add_tags(struct view *v, struct hints *h, const char *word, hints_tags_fn *tell)
{
	size_t len = repo_len(word);
	struct tagging *t;

	if (!len)
		return;
	if (h->repo && strlen(h->repo) == len && !strncmp(h->repo, word, len)) {
		for (size_t i = 0; i < h->tags.n; i++)
			add_like(h, word, h->tags.v[i]);
		return;
	}
	t = view_alloc(v, sizeof(*t));
	if (!t)
		return;
	*t = (struct tagging){ .ctx = view_ctx(v), .repo = tb_strndup(word, len), .tell = tell };
	if (t->repo)
		(void)view_job(v, &tags_job, t, "tags of %s", t->repo);
	else
		tags_free(t);
}

void
hints_take_tags(struct hints *h, const char *repo, struct tb_names *tags)
{
	free(h->repo);
	tb_names_free(&h->tags);
	h->repo = tb_strdup(repo);
	h->tags = *tags;
	*tags = (struct tb_names){ 0 };
}

const char *
hints_at(struct view *v, struct hints *h, const char *word, size_t i, hints_tags_fn *tags)
{
	if (!i) {
		tb_names_free(&h->found);
		for (size_t k = 0; k < h->seen.n; k++)
			add_like(h, word, h->seen.v[k]);
		for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
			add_like(h, word, ways[k]);
		add_models(v, h, word);
		add_tags(v, h, word, tags);
	}
	return i < h->found.n ? h->found.v[i] : NULL;
}
