#include "config.h"

#include "ui/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/words.h"
#include "src/net/hub_name.h"
#include "src/ops/hub_pull/hub_pull.h"

#define WORDS_MAX 32

/* ---- what was typed ---- */

void
pull_words_free(struct pull_words *w)
{
	free(w->line);
	free(w->words);
	tb_strs_free(&w->include);
	tb_strs_free(&w->exclude);
	*w = (struct pull_words){ 0 };
}

/* Cuts it at blanks, in place; behind words[0], which is the program's in an argv. */
static int
cut_words(char *text, char *words[WORDS_MAX + 1])
{
	int n = 1;

	words[0] = text;
	for (char *p = strtok_r(text, " \t", &text); p && n < WORDS_MAX;
	     p = strtok_r(NULL, " \t", &text))
		words[n++] = p;
	words[n] = NULL;
	return n;
}

static enum tb_status
end_list(struct tb_strs *l, struct tb_err *err)
{
	if (!l->n)
		return TB_OK;
	if (!tb_grow(&l->v, &l->cap, l->n + 1, sizeof(*l->v)))
		return tb_nomem(err);
	l->v[l->n] = NULL;
	return TB_OK;
}

/* What is only of registries, or only of hubs. */
static enum tb_status
words_fit(const struct pull_words *w, struct tb_err *err)
{
	const struct pull_request *r = &w->req;

	if (!w->hub && (w->include.n || w->exclude.n))
		return tb_fail(err, TB_EUSAGE, "--include and --exclude choose files of hf:ORG/NAME; a"
			       " registry's model is one thing.");
	if (w->hub && (r->as || r->replace))
		return tb_fail(err, TB_EUSAGE, "A model of a hub is called as it is there, and its"
			       " revisions lie side by side.");
	if (w->hub && r->insecure)
		return tb_fail(err, TB_EUSAGE, "A hub without TLS is named by HF_ENDPOINT=http://HOST.");
	return TB_OK;
}

static enum tb_status
read_words(struct pull_words *w, struct tb_err *err)
{
	struct pull_request *r = &w->req;
	char *argv[WORDS_MAX + 1];
	uint64_t streams = 0;
	const struct tb_opt opts[] = {
		{ 's', "store", TB_OPT_STR, &r->store, "DIR", "" },
		{ 0, "include", TB_OPT_LIST, &w->include, "GLOB", "" },
		{ 0, "exclude", TB_OPT_LIST, &w->exclude, "GLOB", "" },
		{ 0, "insecure", TB_OPT_FLAG, &r->insecure, NULL, "" },
		{ 0, "tls-skip-verify", TB_OPT_FLAG, &r->skip_verify, NULL, "" },
		{ 'f', "replace", TB_OPT_FLAG, &r->replace, NULL, "" },
		{ 0, "streams", TB_OPT_U64, &streams, "N", "" },
		{ .name = NULL },
	};
	int n = cut_words(w->words, argv);
	enum tb_status status = tb_opt_parse(opts, &n, argv, false, err);

	if (!status && (n < 2 || n > 3))
		status = tb_fail(err, TB_EUSAGE, "Type the model's name, and behind it what it shall"
				 " be called here if that is something else.");
	if (!status && streams > FETCH_STREAMS_MAX)
		status = tb_fail(err, TB_EUSAGE, "--streams is %u at most", FETCH_STREAMS_MAX);
	if (!status)
		status = end_list(&w->include, err);
	if (!status)
		status = end_list(&w->exclude, err);
	if (status)
		return status;
	r->streams = (unsigned)streams;
	r->name = argv[1];
	r->as = argv[2];
	w->hub = hub_name_is(r->name);
	return words_fit(w, err);
}

enum tb_status
pull_words_read(struct pull_words *out, const char *line, struct tb_err *err)
{
	enum tb_status status;

	*out = (struct pull_words){ .line = tb_strdup(line), .words = tb_strdup(line) };
	status = out->line && out->words ? read_words(out, err) : tb_nomem(err);
	if (status)
		pull_words_free(out);
	return status;
}

/* ---- one or the other ---- */

struct loader {
	struct pull *pull;		/* owned; one of both */
	struct hub_pull *hub;
};

enum tb_status
loader_new(struct loader **out, struct op_ctx *ctx, const struct pull_words *w, struct tb_err *err)
{
	const struct hub_pull_request of_hub = {
		.name = w->req.name, .store = w->req.store, .include = w->include.v,
		.exclude = w->exclude.v, .skip_verify = w->req.skip_verify, .streams = w->req.streams,
	};
	struct loader *l = *out = tb_calloc(1, sizeof(*l));
	enum tb_status status = !l ? tb_nomem(err)
			      : w->hub ? hub_pull_new(&l->hub, ctx, &of_hub, err)
				       : pull_new(&l->pull, ctx, &w->req, err);

	if (status) {
		loader_free(l);
		*out = NULL;
	}
	return status;
}

void
loader_free(struct loader *l)
{
	if (!l)
		return;
	pull_free(l->pull);
	hub_pull_free(l->hub);
	free(l);
}

size_t
loader_look(struct loader *l, struct fetch_row *rows, size_t max)
{
	return l->hub ? hub_pull_look(l->hub, rows, max) : pull_look(l->pull, rows, max);
}

/* ---- before ---- */

void
load_plan_free(struct load_plan *p)
{
	free(p->name);
	free(p->from);
	free(p->root);
	*p = (struct load_plan){ 0 };
}

static void
take_hub_plan(struct load_plan *out, struct hub_pull_plan *p)
{
	char text[WORD_MAX], bytes[16];

	*out = (struct load_plan){
		.name = p->name, .root = p->root, .taken = p->current ? PULL_SAME : PULL_NEW,
		.files = p->files, .come_files = p->come_files, .bytes = p->bytes,
		.come = p->come, .unsure = p->unsure, .begun = p->begun, .room = p->room,
	};
	if (p->left_files)
		snprintf(out->left, sizeof(out->left), "%s, %s, as %s",
			 word_count(p->left_files, "file", text), tb_human_bytes(p->left, bytes),
			 p->left_names);
	p->name = p->root = NULL;
}

static void
take_plan(struct load_plan *out, struct pull_plan *p)
{
	*out = (struct load_plan){
		.name = p->name, .from = p->from, .root = p->root, .taken = p->taken,
		.files = p->blobs, .come_files = p->come_blobs, .bytes = p->bytes,
		.come = p->come, .unsure = p->unsure, .begun = p->begun, .room = p->room,
	};
	p->name = p->from = p->root = NULL;
}

enum tb_status
loader_plan(struct loader *l, struct tb_job *job, struct load_plan *out, struct tb_err *err)
{
	struct hub_pull_plan of_hub = { 0 };
	struct pull_plan plan = { 0 };
	enum tb_status status = l->hub ? op_hub_pull_plan(l->hub, job, &of_hub, err)
				       : op_pull_plan(l->pull, job, &plan, err);

	*out = (struct load_plan){ 0 };
	if (!status && l->hub)
		take_hub_plan(out, &of_hub);
	else if (!status)
		take_plan(out, &plan);
	pull_plan_free(&plan);
	hub_pull_plan_free(&of_hub);
	return status;
}

/* ---- doing it ---- */

void
load_result_free(struct load_result *r)
{
	free(r->name);
	free(r->root);
	free(r->path);
	free(r->kept);
	*r = (struct load_result){ 0 };
}

static enum tb_status
run_hub(struct hub_pull *p, struct tb_job *job, struct load_result *out, struct tb_err *err)
{
	struct hub_pull_result r = { 0 };
	enum tb_status status = op_hub_pull(p, job, &r, err);

	*out = (struct load_result){
		.name = r.plan.name, .root = r.plan.root, .path = r.plan.snapshot,
		.current = r.plan.current && !r.moved, .files = r.plan.files,
		.come_files = r.plan.come_files, .mended = r.mended, .moved = r.moved, .undo = r.undo,
	};
	r.plan.name = r.plan.root = r.plan.snapshot = NULL;
	hub_pull_result_free(&r);
	return status;
}

enum tb_status
loader_run(struct loader *l, struct tb_job *job, struct load_result *out, struct tb_err *err)
{
	struct pull_result r = { 0 };
	enum tb_status status;

	if (l->hub)
		return run_hub(l->hub, job, out, err);
	status = op_pull(l->pull, job, &r, err);
	*out = (struct load_result){
		.name = r.name, .root = r.root, .kept = r.kept.where, .current = r.current,
		.files = r.blobs, .come_files = r.come_blobs, .mended = r.mended, .moved = r.moved,
		.undo = r.undo,
	};
	r.name = r.root = r.kept.where = NULL;
	pull_result_free(&r);
	return status;
}
