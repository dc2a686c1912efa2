/* chat_resume.c - a session that was kept goes on, or becomes another. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/chat/chat_parts.h"

static void
read_u32(const cJSON *o, const char *key, uint32_t *out)
{
	uint64_t n;

	if (json_u64(json_get(o, key), &n) && n <= UINT32_MAX)
		*out = (uint32_t)n;
}

static void
read_seconds(const cJSON *o, const char *key, double *out)
{
	double x;

	if (json_f64(json_get(o, key), &x) && x >= 0)
		*out = x;
}

static void
read_figures(struct gen_figures *f, const char *json)
{
	cJSON *o;

	if (json_parse(&o, json, strlen(json), "figures", NULL))
		return;
	read_u32(o, "prompt_tokens", &f->prompt_tokens);
	read_u32(o, "reused_tokens", &f->reused_tokens);
	read_u32(o, "tokens", &f->tokens);
	read_seconds(o, "prefill_seconds", &f->prefill_seconds);
	read_seconds(o, "decode_seconds", &f->decode_seconds);
	read_seconds(o, "first_token_seconds", &f->first_token_seconds);
	read_u32(o, "context_used", &f->context_used);
	read_u32(o, "context", &f->context);
	json_free(o);
}

static enum gen_stop
stop_named(const char *name)
{
	enum gen_stop s = GEN_EOS;

	while (s < GEN_CANCELLED && strcmp(gen_stop_name(s), name))
		s++;
	return s;
}

/* place[n]: the id that turn n of the file has here; 0: it has none.  *whole: the ids are the
 * file's. */
static enum tb_status
take_turns(struct turns *t, const struct db_turns *rows, size_t *place, size_t places, bool *whole,
	   struct tb_err *err)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct db_turn *row = &rows->rows[i];
		const struct chat_message m = {
			.role = row->role, .content = row->content, .thinking = row->thinking,
			.tool_calls = row->tool_calls, .tool_name = row->tool_name,
			.tool_call_id = row->tool_call_id,
		};
		size_t n = row->n > 0 && (uint64_t)row->n < places ? (size_t)row->n : 0;
		struct turn *new;

		if (!n || row->parent < 0 || row->parent >= row->n ||
		    (row->parent && !place[row->parent])) {
			*whole = false;	/* and so is all behind it */
			continue;
		}
		place[n] = turns_add(t, place[row->parent], &m, row->model);
		if (!place[n])
			return tb_nomem(err);
		*whole &= place[n] == n;
		new = turns_at(t, place[n]);
		new->finished = row->finished;
		new->stop = row->finished ? stop_named(row->stop) : GEN_CANCELLED;
		new->created_ns = row->created_ns;
		read_figures(&new->figures, row->figures);
	}
	return TB_OK;
}

/* The tree, and where its leaf is. */
static enum tb_status
take_rows(struct chat *c, const struct db_chat *row, bool *whole, struct tb_err *err)
{
	struct turns t = { 0 };
	struct db_turns rows;
	size_t *place = NULL, places = 1;
	enum tb_status status = db_chats_turns(c->keep.db, row->id, &rows, err);

	*whole = true;
	if (status)
		return status;
	if (rows.n && rows.rows[rows.n - 1].n < (int64_t)rows.n + (1 << 20))
		places = (size_t)rows.rows[rows.n - 1].n + 1;
	place = tb_calloc(places, sizeof(*place));
	status = place ? take_turns(&t, &rows, place, places, whole, err) : tb_nomem(err);
	if (!status) {
		t.leaf = row->leaf > 0 && (uint64_t)row->leaf < places ? place[row->leaf] : 0;
		*whole &= t.leaf || !row->leaf;
		chat_lock(c);
		turns_free(&c->turns);
		c->turns = t;
		c->unanswered = c->left_out = 0;
		if (t.leaf && turn_is(turns_at(&t, t.leaf), "user")) {	/* nobody answered yet */
			c->unanswered = t.leaf;
			c->turns.leaf = turns_at(&t, t.leaf)->parent;
		}
		chat_unlock(c);
	} else {
		turns_free(&t);
	}
	free(place);
	tb_arena_free(&rows.mem);
	return status;
}

/* It goes on as a copy, which is written as soon as something is said. */
static void
become_copy(struct chat *c, int64_t of, const char *why)
{
	struct keeping *k = &c->keep;

	db_chats_unclaim(&k->claim);
	k->id = 0;
	k->written = 0;
	k->from_chat = of;
	k->from_turn = (int64_t)c->turns.leaf;
	snprintf(k->notice, sizeof(k->notice), "session %lld %s: what is said now goes to a copy of it",
		 (long long)of, why);
}

static enum tb_status
take_options(struct chat *c, const struct db_chat *row, struct chat_opts *o, struct tb_err *err)
{
	enum tb_status status;

	*o = c->o;
	if ((status = kept_take_settings(c, row->settings, o, err)))
		return status;
	o->system = *row->system ? row->system : NULL;
	if ((status = chat_configure(c, o, err)))
		return status;
	o->system = c->system;
	return TB_OK;
}

static void
tell_about(struct chat *c, const struct db_chat *row)
{
	struct keeping *k = &c->keep;
	char was[100];

	if (!*k->notice && strcmp(row->ref, c->speaker->ref) && strcmp(row->model, c->speaker->name))
		snprintf(k->notice, sizeof(k->notice), "until now %s answered in this session",
			 tb_text_clean(row->model, was, sizeof(was)));
	else if (!*k->notice && *row->weights && strcmp(row->weights, chat_mark(c)))
		snprintf(k->notice, sizeof(k->notice), "the weights of %s are not those that answered in "
			 "this session until now", tb_text_clean(c->speaker->name, was, sizeof(was)));
	if (!*k->notice && c->unanswered)
		snprintf(k->notice, sizeof(k->notice), "what was asked last was not answered: "
			 "/regen asks it again");
	if (!*k->notice && c->grammar)
		snprintf(k->notice, sizeof(k->notice), "answers are held to %s, as they were; "
			 "/format off ends that", tb_text_clean(c->grammar_name, was, sizeof(was)));
}

static enum tb_status
take_reading(struct chat *c, int64_t id, struct tb_err *err)
{
	void *data;
	size_t len;
	enum tb_status status = TB_OK;

	if (!c->speaker->ops->take_reading)
		return TB_OK;
	status = db_chats_reading(c->keep.db, id, &data, &len, err);
	if (!status && len)
		c->speaker->ops->take_reading(c->speaker, data, len);
	free(data);
	if (!status && len)
		park_take_up(c, id);
	return status;
}

static enum tb_status
resume(struct chat *c, const struct db_chat *row, struct chat_opts *o, struct tb_err *err)
{
	struct keeping *k = &c->keep;
	struct db_claim claim;
	bool whole;
	enum tb_status held = db_chats_claim(k->index, row->id, &claim, err), status;

	if (held && held != TB_EEXIST)
		return held;
	if ((status = take_rows(c, row, &whole, err)) || (status = take_options(c, row, o, err)) ||
	    (status = take_reading(c, row->id, err))) {
		db_chats_unclaim(&claim);
		return status;
	}
	kept_leave(c);
	k->claim = claim;
	k->id = row->id;
	k->written = c->turns.n;
	k->named = row->named;
	k->title = tb_strdup(row->title);
	k->from_chat = row->from_chat;
	k->from_turn = row->from_turn;
	if (!k->title)
		return tb_nomem(err);
	if (held)
		become_copy(c, row->id, "is open elsewhere");
	else if (!whole)
		become_copy(c, row->id, "is damaged");
	tell_about(c, row);
	return TB_OK;
}

enum tb_status
chat_resume(struct chat *c, int64_t id, struct chat_opts *o, struct tb_err *err)
{
	struct db_chats rows = { 0 };
	enum tb_status status = TB_OK;

	if (!c->keep.index)
		return tb_fail(err, TB_EUSAGE, "no sessions are kept here");
	if (!c->keep.db)
		status = db_chats_open(&c->keep.db, c->keep.index, true, err);
	if (!status && !id) {
		status = db_chats_last(c->keep.db, &id, err);
		if (!status && !id)
			status = tb_fail(err, TB_ENOENT, "no session was kept yet");
	}
	if (!status)
		status = db_chats_get(c->keep.db, id, &rows, err);
	if (!status && !rows.n)
		status = tb_fail(err, TB_ENOENT, "there is no session %lld; \"tbtui sessions\" lists "
				 "them", (long long)id);
	if (!status)
		status = resume(c, &rows.rows[0], o, err);
	tb_arena_free(&rows.mem);
	return status;
}

enum tb_status
chat_fork(struct chat *c, uint64_t turn, struct tb_err *err)
{
	struct turns t = { 0 };
	int64_t from = c->keep.id;
	size_t at, n, last = 0, *path;

	if (!chat_turn_of(c, turn, NULL, &at, err))
		return TB_ENOENT;
	path = turns_path(&c->turns, at, &n);
	for (size_t i = 0; path && i < n; i++) {
		const struct turn *was = turns_at(&c->turns, path[i]);

		last = turns_add(&t, last, &was->said, was->model);
		if (!last)
			break;
		t.v[last - 1].finished = was->finished;
		t.v[last - 1].stop = was->stop;
		t.v[last - 1].figures = was->figures;
		t.v[last - 1].created_ns = was->created_ns;
	}
	free(path);
	if (!path || !last) {
		turns_free(&t);
		return tb_nomem(err);
	}
	kept_leave(c);
	chat_lock(c);
	turns_free(&c->turns);
	c->turns = t;
	c->unanswered = c->left_out = 0;
	if (turn_is(turns_at(&t, last), "user")) {
		c->unanswered = last;
		c->turns.leaf = turns_at(&t, last)->parent;
	}
	chat_unlock(c);
	c->keep.from_chat = from;
	c->keep.from_turn = (int64_t)at;
	kept_write(c, true);
	return TB_OK;
}

enum tb_status
chat_rename(struct chat *c, const char *title, struct tb_err *err)
{
	char *copy = tb_strdup(title);

	if (!copy)
		return tb_nomem(err);
	free(c->keep.title);
	c->keep.title = copy;
	c->keep.named = true;
	kept_write(c, true);
	return TB_OK;
}
