#include "config.h"

#include "ui/hints.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/net/hub_api.h"
#include "src/net/hub_name.h"
#include "src/net/registry.h"
#include "src/ops/home/home.h"
#include "ui/view.h"

#define NAMES_MAX 500		/* of the index */
#define THERE_MAX 5000		/* of a server */
#define BARE_MAX 255

static const char *const ways[] = { "hf:", "docker://", "https://", "http://" };

void
hints_free(struct hints *h)
{
	tb_names_free(&h->found);
	tb_names_free(&h->there);
	tb_names_free(&h->seen);
	free(h->front);
	free(h->asked);
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

/* ---- what a server knows ---- */

struct asking {
	const struct op_ctx *ctx;	/* borrowed */
	char *front;			/* owned */
	hints_fn *come;
	struct tb_names names;
};

const char *
hints_kind(const char *front)
{
	return !hub_name_is(front) ? "tag" : front[strlen(front) - 1] == '@' ? "revision" : "file";
}

/* As somebody would type it. */
static enum tb_status
add_whole(struct asking *q, const char *bare, struct tb_err *err)
{
	char *name;
	enum tb_status status;

	/* a word on a line that somebody has to read, and no option beside it */
	if (q->names.n >= THERE_MAX || strlen(bare) > BARE_MAX || strpbrk(bare, " \t\r\n\033"))
		return TB_OK;
	name = tb_asprintf("%s%s", q->front, bare);
	status = name ? tb_names_add(&q->names, name, err) : tb_nomem(err);

	free(name);
	return status;
}

static enum tb_status
add_all(struct asking *q, const struct tb_names *bare, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < bare->n && !status; i++)
		status = add_whole(q, bare->v[i], err);
	return status;
}

static enum tb_status
ask_tags(struct asking *q, const char *repo, struct http *h, struct tb_job *job, struct tb_err *err)
{
	struct image_name n;
	struct config_registry said;
	struct registry_opts opts;
	struct registry *r = NULL;
	struct tb_names bare = { 0 };
	enum tb_status status = image_name_parse(&n, repo, err);

	if (status)
		return status;
	config_registry_opts(&q->ctx->config, &n, false, false, &said, &opts);
	status = registry_new(&r, &n, &opts, err);
	if (!status)
		status = registry_tags(r, h, job, &bare, err);
	if (!status)
		status = add_all(q, &bare, err);
	tb_names_free(&bare);
	registry_free(r);
	image_name_free(&n);
	return status;
}

/* The first of a split one stands for all. */
static bool
is_gguf(const char *path)
{
	const char *of = strstr(path, "-of-");

	return tb_ends(path, ".gguf") && (!of || of - path < 6 || !strncmp(of - 6, "-00001", 6));
}

static enum tb_status
ask_files(struct asking *q, struct hub *hub, const char *revision, struct http *h,
	  struct tb_job *job, struct tb_err *err)
{
	struct hub_files files = { 0 };
	char commit[41];
	enum tb_status status = hub_commit(hub, h, revision, job, commit, err);

	if (!status)
		status = hub_list(hub, h, commit, job, &files, err);
	for (size_t i = 0; i < files.n && !status; i++)
		if (is_gguf(files.v[i].path))
			status = add_whole(q, files.v[i].path, err);
	hub_files_free(&files);
	return status;
}

static enum tb_status
ask_hub(struct asking *q, const char *repo, struct http *h, struct tb_job *job, struct tb_err *err)
{
	struct tb_names refs = { 0 };
	struct hub_name n;
	struct hub *hub;
	enum tb_status status = hub_name_parse(&n, repo, err);

	if (status)
		return status;
	status = hub_new(&hub, n.repo, NULL, err);
	if (!status && q->front[strlen(q->front) - 1] == ':') {
		status = ask_files(q, hub, n.revision, h, job, err);
	} else if (!status) {
		status = hub_refs(hub, h, job, &refs, err);
		if (!status)
			status = add_all(q, &refs, err);
	}
	tb_names_free(&refs);
	hub_free(hub);
	hub_name_free(&n);
	return status;
}

static enum tb_status
names_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct asking *q = arg;
	char *repo = tb_strndup(q->front, strlen(q->front) - 1);
	struct http *h = NULL;
	enum tb_status status = repo ? http_new(&h, err) : tb_nomem(err);

	if (!status)
		status = hub_name_is(repo) ? ask_hub(q, repo, h, job, err) : ask_tags(q, repo, h, job, err);
	http_free(h);
	free(repo);
	return status;
}

static void
names_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct asking *q = arg;

	q->come(v, q->front, status ? NULL : &q->names, err);
}

static void
names_free(void *arg)
{
	struct asking *q = arg;

	tb_names_free(&q->names);
	free(q->front);
	free(q);
}

static const struct job_ops names_job = {
	.run = names_run, .done = names_done, .free = names_free,
};

/* "host:5000/ns/model:ta", "hf:org/name@v": up to the sign behind which a server knows more. */
static size_t
front_len(const char *word)
{
	const char *slash = strrchr(word, '/'), *sign;

	if (strchr(word, ' '))
		return 0;
	if (hub_name_is(word)) {
		sign = slash ? strpbrk(strchr(word, '/'), "@:") : NULL;
		if (sign && *sign == '@' && strchr(sign, ':'))
			sign = strchr(sign, ':');
	} else {
		sign = strrchr(word, ':');
		if (sign == word || (slash && slash > sign))
			sign = NULL;
	}
	return sign ? (size_t)(sign - word) + 1 : 0;
}

static bool
is_front(const char *front, const char *word, size_t len)
{
	return front && strlen(front) == len && !strncmp(front, word, len);
}

static void
add_there(struct view *v, struct hints *h, const char *word, hints_fn *come)
{
	size_t len = front_len(word);
	struct asking *q;

	if (!len || is_front(h->asked, word, len))	/* an impatient key */
		return;
	if (is_front(h->front, word, len)) {
		for (size_t i = 0; i < h->there.n; i++)
			add_like(h, word, h->there.v[i]);
		return;
	}
	q = view_alloc(v, sizeof(*q));
	if (!q)
		return;
	*q = (struct asking){ .ctx = view_ctx(v), .front = tb_strndup(word, len), .come = come };
	free(h->asked);
	h->asked = NULL;
	if (!q->front)
		names_free(q);
	else if (view_job(v, &names_job, q, "%ss of %s", hints_kind(q->front), q->front))
		h->asked = tb_strndup(word, len);
}

void
hints_take(struct hints *h, const char *front, struct tb_names *names)
{
	if (h->asked && !strcmp(h->asked, front)) {
		free(h->asked);
		h->asked = NULL;
	}
	if (!names)
		return;
	free(h->front);
	tb_names_free(&h->there);
	h->front = tb_strdup(front);
	h->there = *names;
	*names = (struct tb_names){ 0 };
}

const char *
hints_at(struct view *v, struct hints *h, const char *word, size_t i, hints_fn *come)
{
	if (!i) {
		tb_names_free(&h->found);
		for (size_t k = 0; k < h->seen.n; k++)
			add_like(h, word, h->seen.v[k]);
		for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
			add_like(h, word, ways[k]);
		add_models(v, h, word);
		add_there(v, h, word, come);
	}
	return i < h->found.n ? h->found.v[i] : NULL;
}
