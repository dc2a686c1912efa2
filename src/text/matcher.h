/* matcher.h - private to src/text: all ways in which bytes can be read by a grammar's rules.
 *
 * A reading is the set of states that a machine may be in, each with the rules that it comes
 * back to: frames, which lead from rule to calling rule.  A rule that several others call at
 * the same byte is one with several ways back, so that what is ambiguous does not multiply.
 * Readings and sets of frames that are equal are one; steps between them are kept. */
#ifndef TBTUI_TEXT_MATCHER_H
#define TBTUI_TEXT_MATCHER_H

#include "src/text/grammar_machine.h"

#define READ_DEAD 0		/* no text goes on so */
#define READ_UNKNOWN UINT32_MAX

struct way { uint32_t state, up; };	/* up: a set of frames */

struct frames {
	uint32_t first, n;	/* ways in the pool, in order */
	uint32_t far;		/* bytes to the end of the text, behind this rule's end */
	uint32_t depth;
};

struct match {
	uint32_t first, n;
	uint32_t far;		/* bytes to the end of the text at least */
	bool ends;		/* the text may end here */
	bool tokens;		/* some token may come as a whole */
};

struct rule_now {		/* while a reading is made */
	uint32_t stamp, call, set;
	bool over;		/* it can end where it began */
};

struct way_call { struct way back; uint32_t link; };

struct slots { uint32_t *v; size_t n; };	/* index + 1 by hash; 0: free */

struct matcher {
	const struct grammar *g;
	struct way *pool;
	size_t npool, pool_cap;
	struct frames *sets;
	size_t nsets, sets_cap;
	struct match *readings;
	size_t nreadings, readings_cap;
	uint32_t *steps;		/* [readings][classes]: where a byte leads, or READ_UNKNOWN */
	size_t steps_cap;
	struct slots set_slots, reading_slots;
	/* While a reading is made: */
	uint32_t stamp;
	struct way *todo, *heads;
	size_t ntodo, todo_cap, nheads, heads_cap;
	struct seen { struct way way; uint32_t stamp; } *seen;
	size_t nseen, seen_used;
	struct rule_now *now;		/* [rules] */
	struct way_call *calls;
	size_t ncalls, calls_cap;
	uint32_t *called;
	size_t ncalled, called_cap;
	bool ends;
	enum tb_status status;		/* TB_ENOMEM, TB_ELIMIT: steps are not right any more */
};

enum tb_status matcher_new(struct matcher **out, const struct grammar *g, struct tb_err *err)
	TB_MUST_USE;
void matcher_free(struct matcher *m);
uint32_t matcher_start(struct matcher *m);
/* Where a byte of that class, or the token, leads; READ_DEAD after a failure, see status. */
uint32_t matcher_find_step(struct matcher *m, uint32_t reading, unsigned class);
uint32_t matcher_token(struct matcher *m, uint32_t reading, const uint32_t *names, uint32_t id);
/* What either can read. */
uint32_t matcher_both(struct matcher *m, uint32_t a, uint32_t b);
/* Where too much is kept: forgets all but *reading, whose number changes.  true: it did. */
bool matcher_forget(struct matcher *m, uint32_t *reading);
enum tb_status matcher_status(const struct matcher *m, struct tb_err *err);

static inline uint32_t
matcher_step(struct matcher *m, uint32_t reading, unsigned class)
{
	uint32_t to = m->steps[(size_t)reading * m->g->nclasses + class];

	return to != READ_UNKNOWN ? to : matcher_find_step(m, reading, class);
}
#endif
