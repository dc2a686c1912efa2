/* state.h - what layers remember that have a state instead of keys and values: one block
 * of floats a layer, changed by every token.
 *
 * It cannot be cut as keys and values can.  So copies are kept of what it was at some
 * positions, and going back ends at the last of them that is not too far. */
#ifndef TBTUI_ENGINE_STATE_H
#define TBTUI_ENGINE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

#define STATE_COPIES 4
#define STATE_STEP 256		/* tokens one by one between two copies */

struct state_copy { uint32_t pos; float *data; };

struct state {
	uint32_t layers;
	size_t *at;		/* owned; [layers + 1]: where a layer's floats begin in now */
	float *now;		/* owned; NULL: no layer has any */
	struct state_copy copy[STATE_COPIES];	/* data owned; by position, the last one last */
	unsigned copies;
	float *spare;		/* owned; of a copy that is not needed any more */
	bool block;		/* the last evaluation was of several tokens */
};

/* floats[layer]: how many it has, 0: no state.  All are 0 before the first token. */
enum tb_status state_init(struct state *st, const size_t *floats, uint32_t layers,
			  struct tb_err *err) TB_MUST_USE;
void state_free(struct state *st);
/* Of a layer with so many: what there is now, and all copies. */
uint64_t state_bytes(size_t floats);

static inline bool
state_any(const struct state *st)
{
	return st->now != NULL;
}

/* A layer's floats, on a cache line. */
static inline float *
state_layer(const struct state *st, uint32_t layer)
{
	return st->now + st->at[layer];
}

/* n tokens are going to be evaluated at pos: the moment for a copy, when they are several
 * or the last ones were (what a prompt ends with is what others begin with), or when the
 * last copy is far behind.  Without memory for it there is none. */
void state_begin(struct state *st, uint32_t pos, size_t n);
/* Goes back to what was at `pos` or at the last position before that of which there is a
 * copy; returns that position.  The caller evaluates again from there. */
uint32_t state_rewind(struct state *st, uint32_t pos);
#endif
