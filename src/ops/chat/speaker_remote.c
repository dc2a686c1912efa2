/* speaker_remote.c - a model behind a URL. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/ops/chat/speaker.h"
#include "src/ops/remote/remote.h"

struct far {
	struct speaker speaker;
	struct remote *remote;		/* owned */
};

static struct far *
far(struct speaker *s)
{
	return (struct far *)s;
}

/* The beginning of the answer as text: of tokens, what they are called. */
static enum tb_status
prefix_of(struct far *f, const struct speaker_ask *ask, struct tb_buf *out, struct tb_err *err)
{
	if (ask->prefix)
		tb_buf_str(out, ask->prefix);
	for (size_t i = 0; ask->begins && i < ask->begins->n; i++)
		if (!remote_token(f->remote, ask->begins->v[i], out))
			return tb_fail(err, TB_EUSAGE, "%s: no such token; continue from one of its own",
				       f->speaker.name);
	return tb_buf_status(out, "the beginning of the answer", err);
}

/* The same without that many turns at the beginning. */
static enum tb_status
answer_without(struct far *f, const struct speaker_ask *ask, size_t turns, struct remote_ask *there,
	       struct tb_job *job, struct remote_answer *out, struct tb_err *err)
{
	struct chat_message *rest = speaker_messages_without(ask, speaker_messages_of(ask, turns),
							     &there->n);
	enum tb_status status;

	if (!rest)
		return tb_nomem(err);
	there->messages = rest;
	status = remote_answer(f->remote, there, job, out, err);
	free(rest);
	return status;
}

/* Only the server knows how much it can read: while that is too much, a quarter of the turns
 * goes, the oldest. */
static enum tb_status
answer_fitting(struct far *f, const struct speaker_ask *ask, struct remote_ask *there,
	       struct tb_job *job, struct chat_answer *out, struct tb_err *err)
{
	size_t turns = speaker_turns(ask), most = turns ? turns - 1 : 0;
	size_t left = ask->left_out < most ? ask->left_out : most;
	struct remote_answer a;
	enum tb_status status;

	while ((status = answer_without(f, ask, left, there, job, &a, err)) == TB_ELIMIT &&
	       left < most)
		left += 1 + (most - left) / 4;
	if (status)
		return status;
	out->gen = a.gen;
	out->thinking = a.thinking;
	out->tool_calls = a.tool_calls;
	out->left_out = left;
	return TB_OK;
}

static enum tb_status
far_answer(struct speaker *s, const struct speaker_ask *ask, struct tb_job *job,
	   struct chat_answer *out, struct tb_err *err)
{
	struct far *f = far(s);
	struct tb_buf prefix = TB_BUF(16u << 20);
	const char *stops[CHAT_STOPS];
	struct remote_ask there = {
		.sampler = &ask->opts->sampler, .max_tokens = ask->opts->max_tokens,
		.top = ask->opts->top, .think = ask->opts->think, .tools = ask->tools,
		.grammar = ask->grammar,
		.stops = stops, .nstops = chat_opts_stops(ask->opts, stops),
		.piece = ask->piece, .arg = ask->arg,
	};
	enum tb_status status = prefix_of(f, ask, &prefix, err);

	there.prefix = prefix.len ? tb_buf_cstr(&prefix) : NULL;
	if (!status)
		status = answer_fitting(f, ask, &there, job, out, err);
	tb_buf_free(&prefix);
	return status;
}

static bool
far_token(struct speaker *s, uint32_t id, struct tb_buf *out)
{
	return remote_token(far(s)->remote, id, out);
}

static void
far_free(struct speaker *s)
{
	struct far *f = far(s);

	remote_free(f->remote);
	free(f);
}

static const struct speaker_ops far_ops = {
	.kind = "remote", .answer = far_answer, .free = far_free, .token = far_token,
};

bool
speaker_is_remote(const char *ref)
{
	return remote_is(ref);
}

enum tb_status
speaker_remote_new(struct speaker **out, const char *url, struct chat_opts *opts,
		   struct tb_job *job, struct tb_err *err)
{
	struct far *f = tb_calloc(1, sizeof(*f));
	enum tb_status status;

	*out = NULL;
	if (!f)
		return tb_nomem(err);
	f->speaker.ops = &far_ops;
	if ((status = remote_open(&f->remote, url, job, err))) {
		free(f);
		return status;
	}
	f->speaker.name = tb_strdup(remote_name(f->remote));
	f->speaker.ref = tb_strdup(remote_ref(f->remote));
	if (!f->speaker.name || !f->speaker.ref) {
		speaker_free(&f->speaker);
		return tb_nomem(err);
	}
	*opts = (struct chat_opts){ .context = 0 };
	remote_sampler_init(&opts->sampler);
	*out = &f->speaker;
	return TB_OK;
}

const char *
speaker_note(const struct speaker *s)
{
	return s->ops == &far_ops ? remote_note(((const struct far *)s)->remote) : "";
}
