/* reading.h - inside src/ops/chat: what a model has read, and in which portions.
 *
 * A product of many rows adds in another order than one of few, so the same text read in other
 * portions gives other last bits, and now and then another token.  Who knows the portions can
 * read again what was lost with the program, and goes on as if nothing had been. */
#ifndef TBTUI_OPS_CHAT_READING_H
#define TBTUI_OPS_CHAT_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/engine/engine.h"
#include "src/text/tokenizer.h"

/* Tokens that were read in one portion, of which the first `kept` are still held.  together 0:
 * few at a time, however many, which is all the same (SESSION_ROWS). */
struct reading_part { uint32_t together, kept; };

/* Zeroed it is empty. */
struct reading {
	struct reading_part *v;		/* owned */
	size_t n, cap;
	struct token_ids ids;		/* owned; of all parts, whole ones with what is not held any
					 * more: who is read together with whom may matter */
	size_t held;			/* tokens that are, in all parts */
	size_t low;			/* the fewest that were held since a file of them was kept */
};
void reading_free(struct reading *r);
void reading_cut(struct reading *r, size_t held);
/* n were read: `step` at a time, the last with the rest; step 0: few at a time.  false: no
 * memory, and nothing is known of what was read since. */
bool reading_add(struct reading *r, const uint32_t *ids, size_t n, size_t step);
/* How many of the tokens that r holds are the first of these. */
size_t reading_same(const struct reading *r, const uint32_t *ids, size_t n);

/* As bytes, with what must be the same for them to mean anything; and back. false: they are
 * none, or are not of that. */
void reading_pack(const struct reading *r, const char *of, struct tb_buf *out);
bool reading_unpack(struct reading *r, const char *of, const void *data, size_t len);

/* Makes the session, which holds the first held->n tokens of r, hold `want` of them, read as they
 * were then; fewer, where it cannot go back so far. *done is what was read for it. */
enum tb_status reading_again(const struct reading *r, size_t want, struct session *s,
			     struct token_ids *held, struct reading *done, struct tb_job *job,
			     struct tb_err *err) TB_MUST_USE;
#endif
