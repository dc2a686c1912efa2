#include "config.h"

#include "src/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_FIRST 512u		/* the names of a small model, a list of one row */
#define CHUNK_MAX (64u << 10)

struct tb_chunk {
	struct tb_chunk *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

static char *
arena_take(struct tb_arena *a, size_t n, size_t align)
{
	struct tb_chunk *c = a->chunks;
	size_t at = c ? (c->used + align - 1) & ~(align - 1) : 0;

	if (a->max && (n > a->max || a->used > a->max - n))
		return NULL;
	if (!c || at > c->size || c->size - at < n) {
		size_t size = c ? c->size * 2 : CHUNK_FIRST;

		size = size < CHUNK_MAX ? size : CHUNK_MAX;
		size = size > n ? size : n;
		c = size < SIZE_MAX - sizeof(*c) ? malloc(sizeof(*c) + size) : NULL;
		if (!c)
			return NULL;
		*c = (struct tb_chunk){ .next = a->chunks, .size = size };
		a->chunks = c;
		at = 0;
	}
	c->used = at + n;
	a->used += n;
	return c->bytes + at;
}

void *
tb_arena_get(struct tb_arena *a, size_t n)
{
	char *p = n > SIZE_MAX - 15 ? NULL : arena_take(a, (n + 15) & ~(size_t)15, 16);

	return p ? memset(p, 0, n) : NULL;
}

const char *
tb_arena_cat(struct tb_arena *a, const char *s, size_t n, const char *end)
{
	size_t more = strlen(end);
	char *p = arena_take(a, n + more + 1, 1);

	if (!p)
		return NULL;
	memcpy(p, s, n);
	memcpy(p + n, end, more + 1);
	return p;
}

const char *
tb_arena_text(struct tb_arena *a, const char *s, size_t len)
{
	return tb_arena_cat(a, s, len, "");
}

const char *
tb_arena_str(struct tb_arena *a, const char *s)
{
	return tb_arena_cat(a, s, strlen(s), "");
}

void
tb_arena_join(struct tb_arena *to, struct tb_arena *from)
{
	struct tb_chunk **end = &to->chunks;

	while (*end)
		end = &(*end)->next;
	*end = from->chunks;
	to->used += from->used;
	*from = (struct tb_arena){ .max = from->max };
}

void
tb_arena_free(struct tb_arena *a)
{
	for (struct tb_chunk *c = a->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	a->chunks = NULL;
	a->used = 0;
}
