#include "config.h"

#include "ui/beside.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/talk.h"
#include "src/ops/home/home.h"
#include "src/text/tokenizer.h"
#include "ui/view.h"

#define SIDE_BY_SIDE 100	/* columns from which on there are two */

/* Who answers: its jobs may outlive the screen. */
struct beside_other {
	atomic_uint refs;
	pthread_mutex_t speaks;		/* one answer after the other */
	struct chat_model *model;	/* owned; NULL: it is elsewhere */
	struct speaker *speaker;	/* owned */
	struct chat_opts opts;
};

static void
other_unref(struct beside_other *o)
{
	if (!o || atomic_fetch_sub(&o->refs, 1) > 1)
		return;
	speaker_free(o->speaker);
	chat_model_free(o->model);
	pthread_mutex_destroy(&o->speaks);
	free(o);
}

/* Opening it. */

struct open_job {
	const struct op_ctx *ctx;	/* borrowed from the frame, which waits for jobs */
	char *ref;			/* owned */
	struct beside_other *other;
};

static enum tb_status
open_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct open_job *j = arg;
	struct beside_other *o = j->other = tb_calloc(1, sizeof(*o));
	enum tb_status status;

	if (!o)
		return tb_nomem(err);
	atomic_init(&o->refs, 1);
	pthread_mutex_init(&o->speaks, NULL);
	if (speaker_is_remote(j->ref))
		return speaker_remote_new(&o->speaker, j->ref, &o->opts, job, err);
	status = chat_model_open(&o->model, j->ctx, j->ref, job, err);
	if (status)
		return status;
	chat_opts_init(&o->opts, o->model);
	return speaker_local_new(&o->speaker, o->model, &o->opts, err);
}

static void
open_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct open_job *j = arg;
	struct beside *b = chat_beside_of(v);

	b->opening = NULL;
	if (status) {
		view_complain(v, err);
		beside_close(b);
		return;
	}
	b->other = j->other;
	j->other = NULL;
	snprintf(b->name, sizeof(b->name), "%s", speaker_name(b->other->speaker));
	beside_ask(v, b, NULL);
}

static void
open_free(void *arg)
{
	struct open_job *j = arg;

	other_unref(j->other);
	free(j->ref);
	free(j);
}

static const struct job_ops open_job = { .run = open_run, .done = open_done, .free = open_free };

static void
open_other(struct view *v, struct beside *b, const char *ref)
{
	struct open_job *j = tb_calloc(1, sizeof(*j));

	if (!j || !(j->ref = tb_strdup(ref))) {
		free(j);
		return;
	}
	j->ctx = view_ctx(v);
	snprintf(b->name, sizeof(b->name), "%s", ref);
	b->opening = view_job(v, &open_job, j, "load %s", ref);
	if (!b->opening)
		beside_close(b);
}

static void
named(void *arg, const char *text)
{
	struct beside *b = arg;

	if (text && *text)
		open_other(b->view, b, text);
}

/* The line is no message: it is typed where all others are. */
void
beside_name(struct view *v, struct beside *b, struct talk *talk)
{
	b->view = v;
	b->talk = talk;
	prompt_open(&(struct prompt_spec){
		.label = "Beside it (a model or URL): ", .history = "beside", .done = named, .arg = b,
	});
}

/* An answer. */

struct ask_job {
	struct beside_other *other;	/* a reference */
	struct chat_path path;		/* owned */
	struct chat_message *messages;	/* owned; texts of the path, and of `text` */
	size_t n;
	char *text;
	struct chat_opts opts;
	struct chat_answer out;
};

static enum tb_status
ask_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct ask_job *j = arg;
	struct beside_other *o = j->other;
	enum tb_status status;

	pthread_mutex_lock(&o->speaks);
	status = speaker_answer(o->speaker, j->messages, j->n, &j->opts, job, &j->out, err);
	pthread_mutex_unlock(&o->speaks);
	return status;
}

static void
ask_message(struct view *v, void *arg, const struct tb_msg *msg)
{
	struct beside *b = v ? chat_beside_of(v) : NULL;
	const struct ask_job *j = arg;
	struct gen_figures figures;

	if (!b || b->other != j->other)
		return;
	if (msg->kind == GEN_MSG_FIGURES && msg->len == sizeof(figures)) {
		memcpy(&figures, msg->data, sizeof(figures));
		b->rate = gen_decode_rate(&figures);
	} else if (msg->kind == GEN_MSG_NOTE) {
		transcript_note(&b->text, msg->data);
	} else if (msg->kind == GEN_MSG_TEXT || msg->kind == GEN_MSG_THINKING) {
		transcript_piece(&b->text, msg->kind, msg->data, msg->len);
	}
}

static void
ask_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct beside *b = chat_beside_of(v);
	struct ask_job *j = arg;

	if (b->other != j->other)
		return;
	b->working = NULL;
	transcript_end(&b->text);
	if (status)
		transcript_note(&b->text, err->msg);
	else if (j->out.gen.stop == GEN_CANCELLED)
		transcript_note(&b->text, "stopped");
}

static void
ask_free(void *arg)
{
	struct ask_job *j = arg;

	chat_answer_free(&j->out);
	chat_path_free(&j->path);
	other_unref(j->other);
	free(j->messages);
	free(j->text);
	free(j);
}

static const struct job_ops ask_job = {
	.run = ask_run, .message = ask_message, .done = ask_done, .free = ask_free,
};

/* The path as messages, up to the last question there, or with `text` behind it. */
static bool
gather(struct ask_job *j, const char *text)
{
	size_t n = j->path.n;

	while (!text && n && strcmp(j->path.turns[n - 1].said.role, "user"))
		n--;
	j->messages = tb_calloc(n + 2, sizeof(*j->messages));
	if (!j->messages || (!text && !n))
		return false;
	if (*j->path.system)
		j->messages[j->n++] = (struct chat_message){ .role = "system",
							     .content = j->path.system };
	for (size_t i = 0; i < n; i++)
		j->messages[j->n++] = j->path.turns[i].said;
	if (!text)
		return true;
	j->text = tb_strdup(text);
	j->messages[j->n++] = (struct chat_message){ .role = "user", .content = j->text };
	return j->text;
}

/* What its person has set goes for both. */
static void
set_opts(struct ask_job *j, const struct talk *t)
{
	j->opts = j->other->opts;
	j->opts.system = NULL;
	for (size_t i = 0; i < t->nsets; i++)
		(void)chat_opts_set(&j->opts, t->sets[i].name, t->sets[i].value);
}

void
beside_ask(struct view *v, struct beside *b, const char *text)
{
	struct ask_job *j = b->other ? tb_calloc(1, sizeof(*j)) : NULL;
	struct tb_err err;

	if (!j)
		return;
	j->other = b->other;
	atomic_fetch_add(&b->other->refs, 1);
	if (chat_path(b->talk->chat, &j->path, &err) || !gather(j, text)) {
		ask_free(j);
		return;
	}
	set_opts(j, b->talk);
	(void)beside_stop(b);
	transcript_ask(&b->text, j->messages[j->n - 1].content);
	b->working = view_job(v, &ask_job, j, "answer of %s", b->name);
}

bool
beside_stop(struct beside *b)
{
	if (b->working)
		jobs_cancel(b->working);
	return b->working;
}

void
beside_init(struct beside *b, bool steady)
{
	*b = (struct beside){ 0 };
	transcript_init(&b->text, steady);
}

void
beside_close(struct beside *b)
{
	if (prompt_owner() == b)
		prompt_close();
	if (b->opening)
		jobs_cancel(b->opening);
	(void)beside_stop(b);
	other_unref(b->other);
	transcript_clear(&b->text);
	b->other = NULL;
	b->opening = b->working = NULL;
	*b->name = 0;
	b->focus = false;
}

/* The difference. */

struct compare_job {
	struct talk *talk;		/* references */
	struct beside_other *other;
	struct score_pair out;
	struct tb_buf said;
};

/* Where the answer stands in the conversation as its model reads it; false: nobody answered. */
static bool
find_answer(struct chat *chat, const char *text, size_t *from, size_t *to)
{
	struct chat_path path;
	struct tb_err err;
	const char *answer = NULL, *at = NULL;

	if (chat_path(chat, &path, &err))
		return false;
	for (size_t i = path.n; i-- > 0 && !answer; )
		if (!strcmp(path.turns[i].said.role, "assistant") && *path.turns[i].said.content)
			answer = path.turns[i].said.content;
	for (const char *p = text; answer && (p = strstr(p, answer)); p++)
		at = p;
	*from = at ? (size_t)(at - text) : 0;
	*to = at ? *from + strlen(answer) : 0;
	chat_path_free(&path);
	return at;
}

/* The tokens at which both would go on otherwise, and a sentence about all of them. */
static void
tell(struct compare_job *j)
{
	const struct score_pair *p = &j->out;
	const struct tokenizer *names = j->other->model->tokenizer;

	tb_buf_printf(&j->said, "The answer of %s, read by both: KL divergence %.4f a token, %.4f at "
		      "most; the same first choice at %zu of %zu tokens.", talk_speaker(j->talk),
		      p->kl, p->kl_most, p->same, p->n);
	for (size_t i = 0; i < p->n; i++) {
		const struct score_pair_token *t = &p->token[i];
		struct tb_buf word[2] = { TB_BUF(4096), TB_BUF(4096) };

		if (t->first[0] == t->first[1])
			continue;
		tokenizer_decode(names, t->id, false, &word[0]);
		tokenizer_decode(names, t->first[1], false, &word[1]);
		tb_buf_printf(&j->said, "\n%4zu \"%s\" %.1f %%, here %.1f %%, rather \"%s\"", i + 1,
			      tb_buf_cstr(&word[0]), 100 * exp(t->logprob[0]),
			      100 * exp(t->logprob[1]), tb_buf_cstr(&word[1]));
		tb_buf_free(&word[0]);
		tb_buf_free(&word[1]);
	}
}

static enum tb_status
compare_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct compare_job *j = arg;
	struct chat *chat = j->talk->chat;
	struct tb_buf text = TB_BUF(64u << 20);
	size_t from, to;
	enum tb_status status;

	pthread_mutex_lock(&j->other->speaks);
	status = chat_rendered(chat, &text, err);
	if (!status && !find_answer(chat, tb_buf_cstr(&text), &from, &to))
		status = tb_fail(err, TB_EUSAGE, "there is no answer to compare yet");
	if (!status)
		status = score_pair(j->talk->model, j->other->model, text.p, to, from, job, &j->out,
				    err);
	if (!status)
		tell(j);
	pthread_mutex_unlock(&j->other->speaks);
	tb_buf_free(&text);
	return status;
}

static void
compare_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct beside *b = chat_beside_of(v);
	struct compare_job *j = arg;

	if (status) {
		view_complain(v, err);
	} else if (b->other == j->other) {
		transcript_help(&b->text, tb_buf_cstr(&j->said));
		b->text.pager.follow = true;
	}
	chat_worked(v);
}

static void
compare_free(void *arg)
{
	struct compare_job *j = arg;

	score_pair_free(&j->out);
	tb_buf_free(&j->said);
	other_unref(j->other);
	talk_unref(j->talk);
	free(j);
}

static const struct job_ops compare_job = {
	.run = compare_run, .done = compare_done, .free = compare_free,
};

struct ui_job *
beside_compare(struct view *v, struct beside *b)
{
	struct compare_job *j;

	if (!b->other || !b->other->model || !b->talk->model) {
		view_say(v, !b->other ? "= opens a second model first."
				      : "Only two models that are here can be compared.");
		return NULL;
	}
	if (!(j = tb_calloc(1, sizeof(*j)))) {
		view_say(v, "out of memory");
		return NULL;
	}
	j->said = TB_BUF(1u << 20);
	j->talk = talk_ref(b->talk);
	j->other = b->other;
	atomic_fetch_add(&b->other->refs, 1);
	return view_job(v, &compare_job, j, "difference of %s", b->name);
}

/* Drawing. */

static void
draw_one(struct area a, struct transcript *t, const char *name, const char *state, bool focus)
{
	struct area title = area_top(&a, 1);
	int w = (int)tb_width(state);

	w = w < title.w ? w : title.w;
	put_clip(title.y, title.x + 1, title.w - 1 - w, name, focus ? ROLE_TAB_ON : ROLE_DIM);
	put_clip(title.y, title.x + title.w - w, w, state, ROLE_DIM);
	transcript_draw(a, t);
}

void
beside_draw(struct area a, struct beside *b, struct transcript *first, const char *name)
{
	bool wide = a.w >= SIDE_BY_SIDE;
	int half = (wide ? a.w : a.h) / 2;
	struct area one = a, two = a;
	char state[64] = "";

	if (b->opening)
		snprintf(state, sizeof(state), "loading ");
	else if (b->rate > 0 && !b->text.steady)
		snprintf(state, sizeof(state), "%.1f tok/s ", b->rate);
	if (wide) {
		one.w = half;
		two.x += half + 1;
		two.w -= half + 1;
		for (int y = 0; y < a.h; y++)
			put_clip(a.y + y, a.x + half, 1, theme_utf8() ? "│" : "|", ROLE_DIM);
	} else {
		one.h = half;
		two.y += half;
		two.h -= half;
	}
	draw_one(one, first, name, "", !b->focus);
	draw_one(two, &b->text, b->name, state, b->focus);
}
