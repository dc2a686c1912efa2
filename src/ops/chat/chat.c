#include "config.h"

#include "src/ops/chat/chat.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/text/grammar.h"
#include "src/ops/chat/chat_parts.h"

void
chat_lock(struct chat *c)
{
	pthread_mutex_lock(&c->lock);
}

void
chat_unlock(struct chat *c)
{
	pthread_mutex_unlock(&c->lock);
}

/* ---- who answers ---- */

void
speaker_free(struct speaker *s)
{
	char *name, *ref;

	if (!s)
		return;
	name = s->name;
	ref = s->ref;
	s->ops->free(s);
	free(name);
	free(ref);
}

const char *
speaker_name(const struct speaker *s)
{
	return s->name;
}

const struct speaker *
chat_speaker(const struct chat *c)
{
	return c->speaker;
}

enum tb_status
chat_configure(struct chat *c, const struct chat_opts *o, struct tb_err *err)
{
	const struct speaker_ops *ops = c->speaker->ops;
	uint32_t context = o->context ? o->context : c->o.context;
	char *system = NULL;
	enum tb_status status = TB_OK;

	if (o->system && *o->system && !(system = tb_strdup(o->system)))
		return tb_nomem(err);
	if (context != c->o.context && ops->resize)
		status = ops->resize(c->speaker, o, err);
	if (!status && ops->configure)
		status = ops->configure(c->speaker, o, err);
	if (status) {
		free(system);
		return status;
	}
	chat_lock(c);
	free(c->system);
	c->system = system;
	c->o = *o;
	c->o.system = NULL;
	c->o.context = context;
	chat_unlock(c);
	return TB_OK;
}

/* chat_token_text() may be with the one before. */
static void
set_speaker(struct chat *c, struct speaker *s)
{
	chat_lock(c);
	c->speaker = s;
	chat_unlock(c);
}

bool
chat_token_text(struct chat *c, uint32_t id, struct tb_buf *out)
{
	bool there;

	chat_lock(c);
	there = c->speaker->ops->token && c->speaker->ops->token(c->speaker, id, out);
	chat_unlock(c);
	return there;
}

enum tb_status
chat_change_speaker(struct chat *c, struct speaker *s, const struct chat_opts *opts,
		    struct tb_err *err)
{
	struct speaker *was = c->speaker;
	uint32_t context = c->o.context;
	enum tb_status status;

	set_speaker(c, s);
	c->o.context = opts->context;
	if ((status = chat_configure(c, opts, err))) {
		set_speaker(c, was);
		c->o.context = context;
		speaker_free(s);
		return status;
	}
	c->left_out = 0;
	speaker_free(was);
	return TB_OK;
}

enum tb_status
chat_begin(struct chat **out, struct speaker *s, const struct chat_opts *opts, struct tb_err *err)
{
	struct chat *c = tb_calloc(1, sizeof(*c));
	enum tb_status status;

	*out = NULL;
	if (!c) {
		speaker_free(s);
		return tb_nomem(err);
	}
	pthread_mutex_init(&c->lock, NULL);
	c->keep.claim = DB_UNCLAIMED;
	if ((status = chat_change_speaker(c, s, opts, err)))
		chat_free(c);
	else
		*out = c;
	return status;
}

enum tb_status
chat_new(struct chat **out, struct chat_model *m, const struct chat_opts *opts, struct tb_err *err)
{
	struct speaker *s;
	enum tb_status status = speaker_local_new(&s, m, opts, err);

	*out = NULL;
	return status ? status : chat_begin(out, s, opts, err);
}

void
chat_free(struct chat *c)
{
	if (!c)
		return;
	kept_close(c);
	speaker_free(c->speaker);
	turns_free(&c->turns);
	pthread_mutex_destroy(&c->lock);
	json_free(c->tools);
	grammar_free(c->grammar);
	free(c->grammar_name);
	free(c->system);
	free(c->messages);
	free(c);
}

static bool
is_tools(const cJSON *v)
{
	bool all = json_is_array(v);

	for (const cJSON *t = all ? json_first(v) : NULL; t && all; t = json_next(t))
		all = json_str(json_get(json_get(t, "function"), "name")) != NULL;
	return all;
}

enum tb_status
chat_set_tools(struct chat *c, const char *json, struct tb_err *err)
{
	cJSON *tools = NULL;
	enum tb_status status;

	if (json && (status = json_parse(&tools, json, strlen(json), "tools", err)))
		return status;
	if (json && !is_tools(tools)) {
		json_free(tools);
		return tb_fail(err, TB_EFORMAT, "tools: a list of { \"type\": \"function\", "
			       "\"function\": { \"name\": … } } is needed");
	}
	json_free(c->tools);
	c->tools = json_first(tools) ? tools : NULL;
	if (!c->tools)
		json_free(tools);
	return TB_OK;
}

const cJSON *
chat_tools(const struct chat *c)
{
	return c->tools;
}

enum tb_status
chat_constrain(struct chat *c, struct grammar *g, const char *name, struct tb_err *err)
{
	char *copy = g ? tb_strdup(name) : NULL;

	if (g && !copy) {
		grammar_free(g);
		return tb_nomem(err);
	}
	grammar_free(c->grammar);
	free(c->grammar_name);
	c->grammar = g;
	c->grammar_name = copy;
	return TB_OK;
}

const char *
chat_constrained(const struct chat *c)
{
	return c->grammar_name;
}

enum tb_status
chat_keep(struct chat *c, const char *path, struct tb_job *job, struct tb_err *err)
{
	const struct speaker_ops *ops = c->speaker->ops;

	return ops->keep ? ops->keep(c->speaker, path, job, err) : TB_OK;
}

enum tb_status
chat_take_up(struct chat *c, const char *path, struct tb_job *job, struct tb_err *err)
{
	const struct speaker_ops *ops = c->speaker->ops;

	return ops->take_up ? ops->take_up(c->speaker, path, job, err) : TB_OK;
}

/* ---- the path ---- */

const struct chat_message *
chat_messages(struct chat *c, size_t *n)
{
	const struct speaker *s = c->speaker;
	size_t *path = turns_path(&c->turns, c->turns.leaf, n), first = 0;

	if (!path || !tb_grow(&c->messages, &c->cap, *n + s->nsaid + 2, sizeof(*c->messages))) {
		free(path);
		*n = 0;
		return NULL;
	}
	if (c->system)
		c->messages[first++] = (struct chat_message){ .role = "system", .content = c->system };
	for (size_t i = 0; i < s->nsaid; i++)
		c->messages[first++] = s->said[i];
	for (size_t i = 0; i < *n; i++)
		c->messages[first + i] = turns_at(&c->turns, path[i])->said;
	*n += first;
	free(path);
	return c->messages;
}

/* A copy, or "" and NULL for what is not there. */
static const char *
copied(struct chat_path *out, const char *text, bool *whole)
{
	const char *copy = text ? tb_arena_str(&out->mem, text) : NULL;

	*whole &= copy || !text;
	return copy;
}

static void
fill_turn(struct chat_turn *to, const struct turn *t, struct chat_path *out, bool *whole)
{
	to->said.role = t->said.role;
	to->said.content = copied(out, t->said.content, whole);
	to->said.thinking = copied(out, t->said.thinking, whole);
	to->said.tool_calls = copied(out, t->said.tool_calls, whole);
	to->said.tool_name = copied(out, t->said.tool_name, whole);
	to->said.tool_call_id = copied(out, t->said.tool_call_id, whole);
	to->model = copied(out, t->model ? t->model : "", whole);
	to->finished = t->finished;
	to->stop = t->stop;
	to->figures = t->figures;
	to->created_ns = t->created_ns;
}

/* Of the path; those that the model's own messages begin with are left out first. */
static size_t
turns_left_out(const struct chat *c)
{
	size_t own = 0;

	for (size_t i = 0; i < c->speaker->nsaid; i++)
		own += !strcmp(c->speaker->said[i].role, "user");
	return c->left_out > own ? c->left_out - own : 0;
}

static bool
fill_path(struct chat *c, const size_t *path, const unsigned *place, const unsigned *of,
	  struct chat_path *out)
{
	size_t left = turns_left_out(c);
	bool whole = true;

	out->turns = tb_arena_get(&out->mem, (out->n + 1) * sizeof(*out->turns));
	out->system = copied(out, c->system ? c->system : "", &whole);
	out->unanswered = c->unanswered;
	for (size_t i = 0; out->turns && i < out->n; i++) {
		struct chat_turn *to = &out->turns[i];
		const struct turn *t = turns_at(&c->turns, path[i]);

		if (i && left && turn_is(t, "user"))
			left--;
		fill_turn(to, t, out, &whole);
		to->id = path[i];
		to->place = place[path[i]];
		to->of = of[path[i]];
		to->left_out = left > 0;
	}
	return whole && out->turns;
}

enum tb_status
chat_path(struct chat *c, struct chat_path *out, struct tb_err *err)
{
	unsigned *place, *of;
	size_t *path;
	bool whole;

	*out = (struct chat_path){ 0 };
	chat_lock(c);
	place = tb_calloc(c->turns.n + 1, sizeof(*place));
	of = tb_calloc(c->turns.n + 1, sizeof(*of));
	path = turns_path(&c->turns, c->turns.leaf, &out->n);
	whole = place && of && path && turns_count(&c->turns, place, of) &&
		fill_path(c, path, place, of, out);
	chat_unlock(c);
	free(place);
	free(of);
	free(path);
	if (whole)
		return TB_OK;
	chat_path_free(out);
	return tb_nomem(err);
}

void
chat_path_free(struct chat_path *p)
{
	tb_arena_free(&p->mem);
	*p = (struct chat_path){ 0 };
}

/* ---- moving in the tree ---- */

void
chat_move(struct chat *c, size_t leaf)
{
	chat_lock(c);
	c->turns.leaf = leaf;
	c->unanswered = 0;
	c->left_out = 0;
	chat_unlock(c);
	kept_write(c, false);
}

struct turn *
chat_turn_of(struct chat *c, uint64_t id, const char *role, size_t *at, struct tb_err *err)
{
	struct turn *t = turns_at(&c->turns, id <= c->turns.n ? (size_t)id : 0);

	*at = (size_t)id;
	if (!id)
		for (*at = c->turns.leaf; (t = turns_at(&c->turns, *at)); *at = t->parent)
			if (!role || turn_is(t, role))
				break;
	if (t && (!role || turn_is(t, role)))
		return t;
	tb_fail(err, TB_ENOENT, id && !t ? "there is no turn %llu in this chat" :
		id ? "turn %llu is not one of those that can be meant here" :
		"nothing was said yet", (unsigned long long)id);
	return NULL;
}

enum tb_status
chat_undo(struct chat *c, char **said, struct tb_err *err)
{
	size_t at;
	const struct turn *t = chat_turn_of(c, 0, "user", &at, err);

	if (said)
		*said = NULL;
	if (!t)
		return TB_ENOENT;
	if (said && !(*said = tb_strdup(t->said.content)))
		return tb_nomem(err);
	chat_move(c, t->parent);
	return TB_OK;
}

enum tb_status
chat_redo(struct chat *c, struct tb_err *err)
{
	size_t newest = turns_newest_below(&c->turns, c->turns.leaf);

	if (newest == c->turns.leaf)
		return tb_fail(err, TB_ENOENT, "nothing was said after this");
	chat_move(c, newest);
	return TB_OK;
}

enum tb_status
chat_choose(struct chat *c, uint64_t turn, int by, struct tb_err *err)
{
	size_t at, to;

	if (!chat_turn_of(c, turn, NULL, &at, err))
		return TB_ENOENT;
	to = turns_sibling(&c->turns, at, by);
	if (!to)
		return tb_fail(err, TB_ENOENT, "there is no other version %s this one",
			       by > 0 ? "after" : "before");
	chat_move(c, turns_newest_below(&c->turns, to));
	return TB_OK;
}

void
chat_clear(struct chat *c)
{
	kept_leave(c);
	chat_lock(c);
	turns_free(&c->turns);
	c->unanswered = c->left_out = 0;
	chat_unlock(c);
}
