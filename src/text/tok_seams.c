#include "config.h"

#include "src/text/tok_seams.h"

#include <stdlib.h>

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define BITS 20			/* 128 KiB: the pairs of a text in one script stay in the cache */

static size_t
pair_slot(uint32_t a, uint32_t b)
{
	return (size_t)(tb_hash_pair(a, b) >> (64 - BITS));
}

enum tb_status
tok_seams_new(struct tok_seams *s, const struct tok_vocab *vocab, struct tb_err *err)
{
	s->bit = tb_calloc((1u << BITS) / 64, sizeof(*s->bit));
	if (!s->bit)
		return tb_nomem(err);
	for (size_t id = 0; id < vocab->n; id++) {
		const struct tok_piece *p = &vocab->piece[id];
		uint32_t last = 0, cp;

		for (size_t at = 0; p->s && at < p->len; last = cp) {
			size_t n = tb_utf8_next(p->s + at, p->len - at, &cp);

			if (at)
				s->bit[pair_slot(last, cp) / 64] |= 1ull << pair_slot(last, cp) % 64;
			at += n;
		}
	}
	return TB_OK;
}

void
tok_seams_free(struct tok_seams *s)
{
	free(s->bit);
	s->bit = NULL;
}

size_t
tok_seams_next(const struct tok_seams *s, const struct tok_vocab *known, const char *text,
	       size_t len)
{
	uint32_t last = 0, cp, id;

	for (size_t at = 0, n; at < len; at += n, last = cp) {
		size_t pair;

		n = tb_utf8_next(text + at, len - at, &cp);
		pair = pair_slot(last, cp);
		if (at && !(s->bit[pair / 64] >> (pair % 64) & 1) &&
		    (!known || tok_vocab_find(known, text + at, n, &id)))
			return at;
	}
	return len;
}
