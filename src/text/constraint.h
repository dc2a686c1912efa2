/* constraint.h - a text that a grammar allows, token after token: which tokens may come next,
 * which have to.
 *
 * It knows all ways in which the text so far can be read, at any byte; sets of them that
 * were met are kept, with the tokens that each allows, so that a text that repeats itself
 * costs little.  One text at a time, one thread. */
#ifndef TBTUI_TEXT_CONSTRAINT_H
#define TBTUI_TEXT_CONSTRAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/text/grammar.h"
#include "src/text/tokenizer.h"

struct constraint;
struct spelling;

/* All are borrowed.  begins: the spelling of tokens that begin a text; NULL: as ever.  ends:
 * ids that end an answer, which are allowed where the grammar may end. */
enum tb_status constraint_new(struct constraint **out, const struct grammar *g,
			      const struct tokenizer *t, const struct spelling *s,
			      const struct spelling *begins, const uint32_t *ends, size_t nends,
			      struct tb_err *err) TB_MUST_USE;
void constraint_free(struct constraint *c);
/* Back to the beginning; begins: the answer begins a text. */
void constraint_begin(struct constraint *c, bool begins);

/* Reads what is there of the text already. TB_EUSAGE: it is not allowed. */
enum tb_status constraint_read(struct constraint *c, const char *text, size_t len,
			       struct tb_err *err) TB_MUST_USE;

/* Which tokens may come, a bit each, of [tokenizer_size()]; valid until the next call.  left:
 * tokens that may still come, this one included: when they get few, those are allowed from
 * which an end can be reached. */
enum tb_status constraint_allowed(struct constraint *c, size_t left, const uint64_t **out,
				  struct tb_err *err) TB_MUST_USE;
/* Takes a token that is allowed.  TB_EUSAGE: it is not. */
enum tb_status constraint_take(struct constraint *c, uint32_t id, struct tb_err *err) TB_MUST_USE;
/* How many of the tokens, one after the other, are allowed. */
size_t constraint_follows(struct constraint *c, const uint32_t *ids, size_t n);
/* The tokens that have to come, instead of those in *out: what the grammar leaves no choice
 * about, as the tokenizer cuts it; not the last of them where a longer one could stand in its
 * place.  They are not taken yet.  left: as above. */
enum tb_status constraint_forced(struct constraint *c, size_t left, struct token_ids *out,
				 struct tb_err *err) TB_MUST_USE;
bool constraint_may_end(const struct constraint *c);	/* the text so far is whole … */
bool constraint_must_end(const struct constraint *c);	/* … and nothing can follow */
#endif
