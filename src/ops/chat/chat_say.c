/* chat_say.c - what is said and answered, as turns of the tree. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/chat/chat_parts.h"

#define COMING_MAX (64u << 20)

/* One answer on its way. */
struct coming {
	struct chat *c;
	size_t question;		/* id */
	size_t before;			/* the leaf if nothing comes of it */
	const struct token_ids *begins;
	const char *prefix;
	chat_piece_fn *fn;
	void *arg;
	struct tb_job *job;
	struct tb_buf text, thinking;	/* what came until now */
};

void
chat_answer_free(struct chat_answer *a)
{
	gen_result_free(&a->gen);
	free(a->thinking);
	free(a->tool_calls);
	*a = (struct chat_answer){ 0 };
}

static void
take_piece(void *arg, enum gen_msg kind, const char *text, size_t len)
{
	struct coming *k = arg;

	tb_buf_add(kind == GEN_MSG_THINKING ? &k->thinking : &k->text, text, len);
	if (!k->fn)
		tb_job_post(k->job, kind, text, len);
	else
		k->fn(k->arg, kind, text, len);
	kept_write_coming(k->c, k->question, tb_buf_cstr(&k->text), tb_buf_cstr(&k->thinking));
}

static void
tell_dropped(struct coming *k, struct chat_answer *out)
{
	char note[80];

	if (out->left_out > k->c->left_out)
		out->dropped = (uint32_t)(out->left_out - k->c->left_out);
	k->c->left_out = out->left_out;
	if (!out->dropped)
		return;
	snprintf(note, sizeof(note), "dropped %u turn%s from the beginning: the context is full",
		 out->dropped, tb_plural(out->dropped));
	tb_job_post(k->job, GEN_MSG_NOTE, note, strlen(note));
}

/* What came becomes a turn.  status: of the speaker; what it handed on before it failed is kept
 * as what broke off. */
static enum tb_status
keep_answer(struct coming *k, enum tb_status status, struct chat_answer *out, struct tb_err *err)
{
	struct chat_message m = { .role = "assistant", .content = out->gen.text,
				  .thinking = out->thinking, .tool_calls = out->tool_calls };
	struct chat *c = k->c;
	struct turn *t;
	size_t id;

	if (status) {
		m.content = tb_buf_cstr(&k->text);
		m.thinking = k->thinking.len ? tb_buf_cstr(&k->thinking) : NULL;
	}
	chat_lock(c);
	id = turns_add(&c->turns, k->question, &m, speaker_name(c->speaker));
	if (id) {
		t = turns_at(&c->turns, id);
		t->finished = !status;
		t->stop = status ? GEN_CANCELLED : out->gen.stop;
		t->figures = out->gen.figures;
	}
	chat_unlock(c);
	out->turn = id;
	return id || status ? status : tb_nomem(err);
}

/* Nothing came: the path is what it was, and what was asked can be asked again. */
static void
forget_question(struct coming *k)
{
	chat_lock(k->c);
	k->c->turns.leaf = k->before;
	k->c->unanswered = k->question;
	chat_unlock(k->c);
	kept_write(k->c, false);
}

static void
tell_notice(struct coming *k, struct chat_answer *out)
{
	snprintf(out->note, sizeof(out->note), "%s", chat_notice(k->c));
	if (*out->note)
		tb_job_post(k->job, GEN_MSG_NOTE, out->note, strlen(out->note));
}

/* Has the speaker answer the path, which ends with the question. */
static enum tb_status
answer(struct coming *k, struct chat_answer *out, struct tb_err *err)
{
	struct chat *c = k->c;
	struct speaker_ask ask = {
		.grammar = c->grammar,
		.opts = &c->o, .tools = c->tools, .left_out = c->left_out, .begins = k->begins,
		.prefix = k->prefix, .piece = take_piece, .arg = k,
	};
	bool came;
	enum tb_status status = TB_OK;

	k->text = k->thinking = TB_BUF(COMING_MAX);
	chat_lock(c);
	c->turns.leaf = k->question;
	c->unanswered = 0;
	chat_unlock(c);
	kept_write(c, true);
	ask.messages = chat_messages(c, &ask.n);
	if (!ask.messages)
		status = tb_nomem(err);
	if (!status)
		status = c->speaker->ops->answer(c->speaker, &ask, k->job, out, err);
	if (!status)
		tell_dropped(k, out);
	came = status ? k->text.len + k->thinking.len > 0
		      : out->gen.ids.n || out->gen.stop != GEN_CANCELLED || out->gen.text[0] ||
			out->thinking;
	if (came)
		status = keep_answer(k, status, out, err);
	else
		forget_question(k);
	if (status && !came)
		chat_answer_free(out);
	if (c->o.sampler.seed != UINT64_MAX)	/* chosen elsewhere */
		c->o.sampler.seed++;	/* the same question again may be answered otherwise */
	if (came)
		kept_write(c, true);
	tell_notice(k, out);
	tb_buf_free(&k->text);
	tb_buf_free(&k->thinking);
	return status;
}

/* Says m behind `parent`, in the place of what else was said there. */
static enum tb_status
say_behind(struct coming *k, size_t parent, const struct chat_message *m, struct chat_answer *out,
	   struct tb_err *err)
{
	struct chat *c = k->c;

	*out = (struct chat_answer){ 0 };
	k->before = c->turns.leaf;
	chat_lock(c);
	k->question = turns_add(&c->turns, parent, m, NULL);
	chat_unlock(c);
	return k->question ? answer(k, out, err) : tb_nomem(err);
}

enum tb_status
chat_tell(struct chat *c, const struct chat_message *m, struct tb_err *err)
{
	size_t id;

	chat_lock(c);
	id = turns_add(&c->turns, c->turns.leaf, m, NULL);
	if (id)
		c->turns.leaf = id;
	chat_unlock(c);
	if (!id)
		return tb_nomem(err);
	kept_write(c, true);
	return TB_OK;
}

enum tb_status
chat_say_message(struct chat *c, const struct chat_message *m, chat_piece_fn *fn, void *arg,
		 struct tb_job *job, struct chat_answer *out, struct tb_err *err)
{
	struct coming k = { .c = c, .fn = fn, .arg = arg, .job = job };

	return say_behind(&k, c->turns.leaf, m, out, err);
}

enum tb_status
chat_say(struct chat *c, const char *text, chat_piece_fn *fn, void *arg, struct tb_job *job,
	 struct chat_answer *out, struct tb_err *err)
{
	const struct chat_message m = { .role = "user", .content = text };

	return chat_say_message(c, &m, fn, arg, job, out, err);
}

enum tb_status
chat_edit(struct chat *c, uint64_t turn, const char *text, chat_piece_fn *fn, void *arg,
	  struct tb_job *job, struct chat_answer *out, struct tb_err *err)
{
	const struct chat_message m = { .role = "user", .content = text };
	struct coming k = { .c = c, .fn = fn, .arg = arg, .job = job };
	size_t at;
	const struct turn *t = chat_turn_of(c, turn, "user", &at, err);

	*out = (struct chat_answer){ 0 };
	if (!t)
		return TB_ENOENT;
	if (!turns_on_path(&c->turns, at) || t->parent == 0)
		c->left_out = 0;
	return say_behind(&k, t->parent, &m, out, err);
}

/* What is answered by `turn`, or is `turn`; 0: what was asked last. */
static size_t
question_of(struct chat *c, uint64_t turn, struct tb_err *err)
{
	size_t at;
	const struct turn *t;

	if (!turn && c->unanswered)
		return c->unanswered;
	if (!(t = chat_turn_of(c, turn, NULL, &at, err)))
		return 0;
	while (t && turn_is(t, "assistant")) {
		at = t->parent;
		t = turns_at(&c->turns, at);
	}
	if (!t)
		tb_fail(err, TB_ENOENT, "nothing was asked before this turn");
	return t ? at : 0;
}

static enum tb_status
answer_again(struct coming *k, uint64_t turn, struct chat_answer *out, struct tb_err *err)
{
	*out = (struct chat_answer){ 0 };
	k->before = k->c->turns.leaf;
	k->question = question_of(k->c, turn, err);
	return k->question ? answer(k, out, err) : TB_ENOENT;
}

enum tb_status
chat_again(struct chat *c, uint64_t turn, chat_piece_fn *fn, void *arg, struct tb_job *job,
	   struct chat_answer *out, struct tb_err *err)
{
	struct coming k = { .c = c, .fn = fn, .arg = arg, .job = job };

	return answer_again(&k, turn, out, err);
}

enum tb_status
chat_continue(struct chat *c, uint64_t turn, const struct token_ids *ids, const char *text,
	      chat_piece_fn *fn, void *arg, struct tb_job *job, struct chat_answer *out,
	      struct tb_err *err)
{
	struct coming k = { .c = c, .begins = ids, .prefix = text, .fn = fn, .arg = arg,
			    .job = job };

	return answer_again(&k, turn, out, err);
}

enum tb_status
chat_count(struct chat *c, const char *more, uint64_t *tokens, struct tb_err *err)
{
	const struct speaker_ops *ops = c->speaker->ops;
	struct speaker_ask ask = { .opts = &c->o, .tools = c->tools };
	const struct chat_message *path = chat_messages(c, &ask.n);
	struct chat_message *all;
	enum tb_status status;

	*tokens = 0;
	if (!ops->count)
		return tb_fail(err, TB_EUNSUP, "%s cannot say how many tokens that is",
			       speaker_name(c->speaker));
	all = path ? tb_calloc(ask.n + 1, sizeof(*all)) : NULL;
	if (!all)
		return tb_nomem(err);
	memcpy(all, path, ask.n * sizeof(*all));
	if (more)
		all[ask.n++] = (struct chat_message){ .role = "user", .content = more };
	ask.messages = all;
	status = ops->count(c->speaker, &ask, tokens, err);
	free(all);
	return status;
}

enum tb_status
chat_rendered(struct chat *c, struct tb_buf *out, struct tb_err *err)
{
	struct speaker_ask ask = { .opts = &c->o, .tools = c->tools };

	if (!c->speaker->ops->rendered)
		return tb_fail(err, TB_EUNSUP, "%s is elsewhere: how it writes a conversation out is "
			       "not seen here", speaker_name(c->speaker));
	ask.messages = chat_messages(c, &ask.n);
	return ask.messages ? c->speaker->ops->rendered(c->speaker, &ask, out, err)
			    : tb_nomem(err);
}
