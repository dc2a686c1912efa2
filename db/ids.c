#include "config.h"

#include "db/ids.h"

#include <stdlib.h>
#include <string.h>

#include "db/private.h"
#include "src/base/mem.h"

/* Eight bytes at a time: names are long and there are millions of look-ups. */
static uint32_t
hash(const char *p, size_t len)
{
	uint64_t h = len * UINT64_C(0x9e3779b97f4a7c15), w;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, p, len);
	h = (h ^ w) * UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(h ^ h >> 32);
}

static size_t
place(const struct ids *t, const char *text, size_t len, uint32_t h)
{
	size_t i = h & (t->nslots - 1);

	for (; t->slot[i]; i = (i + 1) & (t->nslots - 1)) {
		const struct ids_entry *e = &t->entry[t->slot[i] - 1];

		if (e->hash == h && e->len == len && !memcmp(e->text, text, len))
			break;
	}
	return i;
}

struct ids_entry *
ids_find(const struct ids *t, const void *text, size_t len)
{
	size_t i;

	if (!t->nslots)
		return NULL;
	i = place(t, text, len, hash(text, len));
	return t->slot[i] ? &t->entry[t->slot[i] - 1] : NULL;
}

/* At most half of the slots are used. */
static bool
room(struct ids *t)
{
	size_t n = t->nslots ? t->nslots * 2 : 1024;
	uint32_t *slot;

	if (t->n >= UINT32_MAX / 4)
		return false;
	if ((t->n + 1) * 2 <= t->nslots)
		return true;
	slot = tb_calloc(n, sizeof(*slot));
	if (!slot)
		return false;
	free(t->slot);
	t->slot = slot;
	t->nslots = n;
	for (size_t k = 0; k < t->n; k++) {
		size_t i = t->entry[k].hash & (n - 1);

		while (slot[i])
			i = (i + 1) & (n - 1);
		slot[i] = (uint32_t)k + 1;
	}
	return true;
}

struct ids_entry *
ids_add(struct ids *t, const void *text, size_t len, int64_t id)
{
	uint32_t h = hash(text, len);
	struct ids_entry *e;
	const char *copy;

	if (len > UINT32_MAX || !room(t) || !tb_grow(&t->entry, &t->cap, t->n + 1, sizeof(*e)))
		return NULL;
	copy = tb_arena_text(&t->mem, text, len);
	if (!copy)
		return NULL;
	t->slot[place(t, text, len, h)] = (uint32_t)t->n + 1;
	e = &t->entry[t->n++];
	*e = (struct ids_entry){ copy, (uint32_t)len, h, id };
	return e;
}

void
ids_free(struct ids *t)
{
	free(t->entry);
	free(t->slot);
	tb_arena_free(&t->mem);
	*t = (struct ids){ 0 };
}
