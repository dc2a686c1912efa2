#include "config.h"

#include "db/ids.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/mem.h"

static uint32_t *
ids_slot(const struct ids *t, const void *text, size_t len, uint32_t hash)
{
	return TB_SLOT(t->slot, t->nslots, hash, i, t->entry[i].hash == hash &&
		       t->entry[i].len == len && !memcmp(t->entry[i].text, text, len));
}

struct ids_entry *
ids_find(const struct ids *t, const void *text, size_t len)
{
	uint32_t at = t->nslots ? *ids_slot(t, text, len, (uint32_t)tb_hash(text, len)) : 0;

	return at ? &t->entry[at - 1] : NULL;
}

struct ids_entry *
ids_find_then(struct ids *t, const void *text, size_t len, uint32_t *last)
{
	uint32_t at = *last ? t->entry[*last - 1].then : 0;
	struct ids_entry *e = at ? &t->entry[at - 1] : NULL;

	if (!e || e->len != len || memcmp(e->text, text, len)) {
		e = ids_find(t, text, len);
		at = e ? (uint32_t)(e - t->entry) + 1 : 0;
		if (*last)
			t->entry[*last - 1].then = at;
	}
	*last = at;
	return e;
}

static bool
ids_room(struct ids *t)
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
	for (size_t k = 0; k < t->n; k++)
		*TB_SLOT(slot, n, t->entry[k].hash, i, i == k) = (uint32_t)k + 1;
	free(t->slot);
	t->slot = slot;
	t->nslots = n;
	return true;
}

struct ids_entry *
ids_add(struct ids *t, const void *text, size_t len, int64_t id)
{
	uint32_t h = (uint32_t)tb_hash(text, len);
	struct ids_entry *e;
	const char *copy;

	if (len > UINT32_MAX || !ids_room(t) || !tb_grow(&t->entry, &t->cap, t->n + 1, sizeof(*e)))
		return NULL;
	copy = tb_arena_text(&t->mem, text, len);
	if (!copy)
		return NULL;
	*ids_slot(t, text, len, h) = (uint32_t)t->n + 1;
	e = &t->entry[t->n++];
	*e = (struct ids_entry){ copy, (uint32_t)len, h, id, 0 };
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
