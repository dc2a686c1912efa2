#include "config.h"

#include "src/store/arena.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_FIRST 512u		/* a header of one tensor needs no more */
#define CHUNK (64u << 10)

struct chunk {
	struct chunk *next;
	char data[];
};

struct arena {
	struct chunk *chunks;
	char *p;		/* free bytes of the first chunk */
	size_t left, chunk;	/* chunk: size of the next one */
};

struct arena *
arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

void
arena_free(struct arena *a)
{
	struct chunk *next;

	if (!a)
		return;
	for (struct chunk *c = a->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}

static char *
take(struct arena *a, size_t n)
{
	size_t size = a->chunk ? a->chunk : CHUNK_FIRST;
	struct chunk *c;
	char *p;

	if (n > a->left) {
		a->chunk = size * 2 < CHUNK ? size * 2 : CHUNK;
		size = size > n ? size : n;
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		c->next = a->chunks;
		a->chunks = c;
		a->p = c->data;
		a->left = size;
	}
	p = a->p;
	a->p += n;
	a->left -= n;
	return p;
}

const char *
arena_cat(struct arena *a, const char *s, size_t n, const char *b)
{
	size_t nb = b ? strlen(b) : 0;
	char *p = take(a, n + nb + 1);

	if (!p)
		return NULL;
	memcpy(p, s, n);
	if (nb)
		memcpy(p + n, b, nb);
	p[n + nb] = 0;
	return p;
}

const char *
arena_str(struct arena *a, const char *s)
{
	return arena_cat(a, s, strlen(s), NULL);
}
