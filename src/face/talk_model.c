/* talk_model.c - who answers. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/text.h"
#include "src/face/talk_rows.h"
#include "src/ops/home/home.h"

/* What its person set goes before what the new one wishes. */
static void
set_opts(const struct talk_call *c, struct chat_opts *opts)
{
	for (size_t i = 0; i < c->nsets; i++)
		(void)chat_opts_set(opts, c->sets[i].name, c->sets[i].value);
	if (c->told)
		opts->system = c->opts.system;
	opts->guess = c->opts.guess;
}

static enum tb_status
open_speaker(const struct talk_call *c, const char *ref, struct chat_model **model,
	     struct speaker **out, struct chat_opts *opts, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status;
	char *url;

	*model = NULL;
	if (!c->talk->ctx)
		return tb_fail(err, TB_EUNSUP, "no other model can be opened here");
	if ((status = config_address(&c->talk->ctx->config, ref, &url, err)))
		return status;
	if (url) {
		status = speaker_remote_new(out, url, opts, job, err);
		free(url);
		if (!status)
			set_opts(c, opts);
		return status;
	}
	if ((status = chat_model_open(model, c->talk->ctx, ref, job, err)))
		return status;
	chat_opts_init(opts, *model);
	set_opts(c, opts);
	status = speaker_local_new(out, *model, opts, err);
	if (status)
		chat_model_free(*model);
	return status;
}

enum tb_status
talk_open(struct talk **out, const struct op_ctx *ctx, const char *ref, struct tb_job *job,
	  struct tb_err *err)
{
	struct chat_model *model;
	struct chat_opts opts;
	struct speaker *speaker;
	enum tb_status status;
	char *url;

	*out = NULL;
	if ((status = config_address(&ctx->config, ref, &url, err)))
		return status;
	if (url) {
		status = speaker_remote_new(&speaker, url, &opts, job, err);
		free(url);
		return status ? status : talk_new_remote(out, speaker, &opts, ctx, err);
	}
	status = chat_model_open(&model, ctx, ref, job, err);
	return status ? status : talk_new(out, model, ctx, err);
}

const char *
talk_note(const struct talk *t)
{
	return t->model ? chat_model_note(t->model) : speaker_note(chat_speaker(t->chat));
}

/* The conversation goes on with another model. */
enum tb_status
talk_change_model(struct talk_call *c, const char *ref, struct tb_job *job, struct tb_err *err)
{
	struct talk *t = c->talk;
	struct chat_model *model;
	struct chat_opts opts = { .system = NULL };
	struct speaker *speaker;
	const char *note;
	enum tb_status status = open_speaker(c, ref, &model, &speaker, &opts, job, err);

	if (status)
		return status;
	note = model ? chat_model_note(model) : speaker_note(speaker);
	tb_buf_printf(&c->say, "%s answers from now on.%s%s", speaker_name(speaker),
		      *note ? " " : "", note);
	if ((status = chat_change_speaker(t->chat, speaker, &opts, err))) {
		chat_model_free(model);
		return status;
	}
	c->was = t->model;	/* freed when its speaker has gone */
	t->model = model;
	t->context = opts.context;
	opts.system = NULL;	/* talk_end() knows */
	c->opts = opts;
	c->switched = true;
	return TB_OK;
}

enum tb_status
talk_run_model(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	if (*c->rest)
		return talk_change_model(c, c->rest, job, err);
	tb_buf_printf(&c->say, "%s answers; /model REF changes that.", talk_speaker(c->talk));
	return TB_OK;
}

enum tb_status
talk_run_load(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status;

	if (!*c->rest)
		return talk_refuse(c, "/load needs a model, or the number of a session.");
	if (!strcmp(c->rest, "last") || strspn(c->rest, "0123456789") == strlen(c->rest))
		return talk_load_session(c, c->rest, job, err);
	if ((status = talk_change_model(c, c->rest, job, err)))
		return status;
	chat_clear(c->talk->chat);
	c->moved = c->other = true;
	return TB_OK;
}
