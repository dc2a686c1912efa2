/* guess.h - what may come next, so that several tokens are evaluated in one pass and those
 * that would have been chosen anyway are kept.
 *
 * Guesses are what followed where the last tokens stood before, or what a smaller model
 * says.  How many pay is reckoned from how often guesses of their kind were right and from
 * what passes took.  Guesses that do not pay are looked at all the same when the truth is
 * known: so prose costs nothing, and code among it is noticed. */
#ifndef TBTUI_OPS_GUESS_H
#define TBTUI_OPS_GUESS_H

#include "src/ops/run/run.h"

#define GUESS_MOST 7		/* the token before them is the eighth row of a pass */

/* Of a look-up by how many tokens before it were the same; then the smaller model's. */
enum guess_kind { GUESS_ONE, GUESS_TWO, GUESS_THREE, GUESS_FOUR, GUESS_EIGHT, GUESS_SIXTEEN,
		  GUESS_DRAFT, GUESS_KINDS };

struct draft;
struct sampler;

struct guesser {
	enum guess_how how;
	struct draft *draft;		/* owned; NULL: none */
	const struct sampler *sampler;	/* of the text that is generated; borrowed */
	struct { double right, looked; } kind[GUESS_KINDS];
	unsigned passes;		/* of one row that were timed since … */
	unsigned plain;			/* … and how long no pass was */
	double pass;			/* seconds of one */
	double row;			/* what each further row takes, in passes */
	double each;			/* what the draft takes for a guess, likewise */
	bool redoes;			/* behind a wrong guess, right rows are evaluated again */
	/* The last guesses: what they were, behind how many ids. */
	uint32_t last[GUESS_MOST];
	size_t nlast, behind;
	enum guess_kind of;
	unsigned idle;			/* tokens since the draft was asked */
};

/* Before a text; the sampler is borrowed until it ends. */
enum tb_status guess_begin(struct guesser *g, const struct sampler *s,
			   const struct sampler_opts *opts, struct tb_err *err) TB_MUST_USE;

/* Up to `most` (<= GUESS_MOST) guesses of what follows ids[0..n), and how many. */
enum tb_status guess_make(struct guesser *g, const uint32_t *ids, size_t n, size_t most,
			  uint32_t *out, size_t *made, struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;

/* What a pass took: of one token, of those that had to be evaluated again and of guesses. */
void guess_timed(struct guesser *g, size_t again, size_t guesses, double seconds);
#endif
