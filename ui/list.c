#include "config.h"

#include "ui/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"

void
list_init(struct list *l)
{
	*l = (struct list){ .height = 1 };
}

void
list_free(struct list *l)
{
	free(l->marks);
	list_init(l);
}

/* The cursor is inside the rows and the window, the window has no empty rows at
 * its end while there are rows above it. */
static void
list_settle(struct list *l)
{
	if (!l->n) {
		l->cur = l->top = 0;
		return;
	}
	if (l->cur >= l->n)
		l->cur = l->n - 1;
	if (l->top + l->height > l->n)
		l->top = l->n > l->height ? l->n - l->height : 0;
	if (l->cur < l->top)
		l->top = l->cur;
	if (l->cur - l->top >= l->height)
		l->top = l->cur - l->height + 1;
}

void
list_requery(struct list *l, size_t n, const size_t *row)
{
	size_t offset = l->cur - l->top;

	l->n = n;
	if (row && *row < n) {
		l->cur = *row;
		l->top = *row > offset ? *row - offset : 0;
	}
	list_settle(l);
}

void
list_set_height(struct list *l, size_t height)
{
	l->height = height ? height : 1;
	list_settle(l);
}

size_t
list_step(size_t at, long by, size_t last)
{
	size_t d = by < 0 ? 0 - (size_t)by : (size_t)by;

	if (by < 0)
		return d > at ? 0 : at - d;
	return at > last || d > last - at ? last : at + d;
}

void
list_move(struct list *l, long by)
{
	if (l->n)
		l->cur = list_step(l->cur, by, l->n - 1);
	list_settle(l);
}

void
list_goto(struct list *l, size_t row)
{
	l->cur = row;
	list_settle(l);
}

void
list_scroll(struct list *l, long by)
{
	if (l->n <= l->height)
		return;
	l->top = list_step(l->top, by, l->n - l->height);
	if (l->cur < l->top)
		l->cur = l->top;
	if (l->cur >= l->top + l->height)
		l->cur = l->top + l->height - 1;
}

/* Where id is, or would be put. */
static size_t
mark_at(const struct list *l, uint64_t id)
{
	return TB_FIRST(l->nmarks, i, l->marks[i] < id);
}

bool
list_marked(const struct list *l, uint64_t id)
{
	size_t i = mark_at(l, id);

	return i < l->nmarks && l->marks[i] == id;
}

bool
list_mark(struct list *l, uint64_t id, bool on)
{
	size_t i = mark_at(l, id);

	if (list_marked(l, id) == on)
		return true;
	if (!on) {
		l->nmarks--;
		memmove(l->marks + i, l->marks + i + 1, (l->nmarks - i) * sizeof(*l->marks));
		return true;
	}
	if (!tb_grow(&l->marks, &l->marks_cap, l->nmarks + 1, sizeof(*l->marks)))
		return false;
	memmove(l->marks + i + 1, l->marks + i, (l->nmarks - i) * sizeof(*l->marks));
	l->marks[i] = id;
	l->nmarks++;
	return true;
}

void
list_unmark_all(struct list *l)
{
	l->nmarks = 0;
}

bool
list_set_filter(struct list *l, const char *text)
{
	if (!strcmp(l->filter, text))
		return false;
	snprintf(l->filter, sizeof(l->filter), "%s", text);
	memset(l->want, 0, sizeof(l->want));
	return true;
}
