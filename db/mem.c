/* mem.c - the strings and rows of a list, released in one go. */
#include "config.h"

#include "db/private.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 8192u

struct chunk {
	struct chunk *next;
	size_t used, cap;
	_Alignas(16) char data[];
};

void *
db_room(struct db_mem *mem, size_t size)
{
	struct chunk *c = mem->head;
	size_t want = (size + 15) & ~(size_t)15;
	void *p;

	if (want < size)
		return NULL;
	if (!c || c->cap - c->used < want) {
		size_t cap = want > CHUNK ? want : CHUNK;

		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		*c = (struct chunk){ .next = mem->head, .cap = cap };
		mem->head = c;
	}
	p = c->data + c->used;
	c->used += want;
	return p;
}

const char *
mem_text(struct db_mem *mem, const char *s, size_t len)
{
	char *p = db_room(mem, len + 1);

	if (!p)
		return NULL;
	memcpy(p, s, len);
	p[len] = 0;
	return p;
}

const char *
db_keep(struct db_mem *mem, const char *s)
{
	return mem_text(mem, s, strlen(s));
}

void
db_free(struct db_mem *mem)
{
	for (struct chunk *c = mem->head, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	mem->head = NULL;
}
