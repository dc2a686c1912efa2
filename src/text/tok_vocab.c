#include "config.h"

#include "src/text/tok_vocab.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/mem.h"

/* The slot of s, or the free one where it belongs. */
static uint32_t *
slot_of(const struct tok_vocab *v, const char *s, size_t len)
{
	return TB_SLOT(v->slot, v->nslots, tb_hash(s, len), i, v->piece[i].len == len &&
		       !memcmp(v->piece[i].s, s, len));
}

/* Room for n in half of the slots. */
static bool
rehash(struct tok_vocab *v, size_t n)
{
	struct tok_vocab bigger = *v;

	if (v->nslots && n < v->nslots / 2)
		return true;
	for (bigger.nslots = v->nslots ? v->nslots : 512; n >= bigger.nslots / 2;)
		bigger.nslots *= 2;
	bigger.slot = tb_calloc(bigger.nslots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return false;
	for (size_t i = 0; i < v->nslots; i++) {
		uint32_t id = v->slot[i];

		if (id)
			*slot_of(&bigger, v->piece[id - 1].s, v->piece[id - 1].len) = id;
	}
	free(v->slot);
	*v = bigger;
	return true;
}

enum tb_status
tok_vocab_reserve(struct tok_vocab *v, size_t n, struct tb_err *err)
{
	if (n > TOK_ID_MAX)
		return tb_fail(err, TB_ELIMIT, "tokenizer: a vocabulary of %zu tokens", n);
	if (!rehash(v, n) || !tb_grow(&v->piece, &v->cap, n, sizeof(*v->piece)))
		return tb_nomem(err);
	return TB_OK;
}

enum tb_status
tok_vocab_add(struct tok_vocab *v, const char *s, size_t len, uint64_t id, struct tb_err *err)
{
	int shown = len < 60 ? (int)len : 60;	/* nothing ends it */
	struct tok_piece *p;
	uint32_t *slot;

	if (id >= TOK_ID_MAX)
		return tb_fail(err, TB_EFORMAT, "token \"%.*s\": id %ju is too large", shown, s,
			       (uintmax_t)id);
	if (!rehash(v, v->used) || !tb_grow(&v->piece, &v->cap, (size_t)id + 1, sizeof(*v->piece)))
		return tb_nomem(err);
	slot = slot_of(v, s, len);
	p = &v->piece[id];
	if (*slot && *slot - 1 == id)
		return TB_OK;
	if (*slot || p->s)
		return tb_fail(err, TB_EFORMAT, "token \"%.*s\" with id %ju: %s is taken", shown, s,
			       (uintmax_t)id, *slot ? "the text" : "the id");
	p->s = tb_arena_text(&v->arena, s, len);
	if (!p->s)
		return tb_nomem(err);
	p->len = (uint32_t)len;
	p->type = TOKEN_NORMAL;
	*slot = (uint32_t)id + 1;
	v->used++;
	if (v->n <= id)
		v->n = (size_t)id + 1;
	return TB_OK;
}

bool
tok_vocab_find(const struct tok_vocab *v, const char *s, size_t len, uint32_t *id)
{
	uint32_t at = v->nslots ? *slot_of(v, s, len) : 0;

	if (at)
		*id = at - 1;
	return at != 0;
}

void
tok_vocab_free(struct tok_vocab *v)
{
	tb_arena_free(&v->arena);
	free(v->piece);
	free(v->slot);
	free(v->score);
	*v = (struct tok_vocab){ 0 };
}

bool
tok_ids_push(struct token_ids *out, uint32_t id)
{
	if (!tb_grow(&out->v, &out->cap, out->n + 1, sizeof(*out->v)))
		return false;
	out->v[out->n++] = id;
	return true;
}
