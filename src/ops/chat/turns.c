#include "config.h"

#include "src/ops/chat/turns.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

static void
turn_free(struct turn *t)
{
	free((char *)t->said.content);
	free((char *)t->said.thinking);
	free((char *)t->said.tool_calls);
	free((char *)t->said.tool_name);
	free((char *)t->said.tool_call_id);
	free(t->model);
}

void
turns_free(struct turns *t)
{
	for (size_t i = 0; i < t->n; i++)
		turn_free(&t->v[i]);
	free(t->v);
	*t = (struct turns){ 0 };
}

const char *
turn_role(const char *role)
{
	static const char *const roles[] = { "assistant", "system", "tool" };

	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(role, roles[i]))
			return roles[i];
	return "user";
}

bool
turn_is(const struct turn *t, const char *role)
{
	return !strcmp(t->said.role, role);
}

struct turn *
turns_at(const struct turns *t, size_t id)
{
	return id && id <= t->n ? &t->v[id - 1] : NULL;
}

static bool
copy_text(const char **to, const char *from)
{
	*to = from ? tb_strdup(from) : NULL;
	return !from || *to;
}

size_t
turns_add(struct turns *t, size_t parent, const struct chat_message *m, const char *model)
{
	struct turn new = { .parent = parent, .finished = true, .created_ns = tb_now_ns() };
	const char *name = NULL;
	bool whole;

	new.said.role = turn_role(m->role);
	whole = copy_text(&new.said.content, m->content ? m->content : "") &&
		copy_text(&new.said.thinking, m->thinking) &&
		copy_text(&new.said.tool_calls, m->tool_calls) &&
		copy_text(&new.said.tool_name, m->tool_name) &&
		copy_text(&new.said.tool_call_id, m->tool_call_id) && copy_text(&name, model);
	new.model = (char *)name;
	if (!whole || !tb_grow(&t->v, &t->cap, t->n + 1, sizeof(new))) {
		turn_free(&new);
		return 0;
	}
	t->v[t->n++] = new;
	return t->leaf = t->n;
}

size_t *
turns_path(const struct turns *t, size_t leaf, size_t *n)
{
	size_t *path, at;

	*n = 0;
	for (at = leaf; at; at = t->v[at - 1].parent)
		++*n;
	path = tb_calloc(*n + 1, sizeof(*path));
	at = leaf;
	for (size_t i = *n; path && i > 0; at = t->v[at - 1].parent)
		path[--i] = at;
	return path;
}

bool
turns_on_path(const struct turns *t, size_t id)
{
	size_t at = t->leaf;

	while (at > id)		/* a parent is older than its children */
		at = t->v[at - 1].parent;
	return id && at == id;
}

size_t
turns_newest_below(const struct turns *t, size_t id)
{
	bool *below = tb_calloc(t->n + 1, sizeof(*below));
	size_t newest = id;

	if (!below)
		return id;
	below[id] = true;
	for (size_t i = id; i < t->n; i++)
		if (below[t->v[i].parent]) {
			below[i + 1] = true;
			newest = i + 1;
		}
	free(below);
	return newest;
}

size_t
turns_sibling(const struct turns *t, size_t id, int by)
{
	size_t parent = t->v[id - 1].parent;
	int step = by > 0 ? 1 : -1;

	while (by && (step > 0 ? id < t->n : id > 1)) {
		id = (size_t)((long long)id + step);
		if (t->v[id - 1].parent == parent)
			by -= step;
	}
	return by ? 0 : id;
}

bool
turns_count(const struct turns *t, unsigned *place, unsigned *of)
{
	unsigned *children = tb_calloc(t->n + 1, sizeof(*children));

	for (size_t i = 0; children && i < t->n; i++)
		place[i + 1] = ++children[t->v[i].parent];
	for (size_t i = 0; children && i < t->n; i++)
		of[i + 1] = children[t->v[i].parent];
	free(children);
	return children != NULL;
}
