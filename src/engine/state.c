#include "config.h"

#include "src/engine/state.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

#define LINE 16		/* floats */

static size_t
whole_lines(size_t floats)
{
	return (floats + LINE - 1) / LINE * LINE;
}

enum tb_status
state_init(struct state *st, const size_t *floats, uint32_t layers, struct tb_err *err)
{
	size_t total;

	*st = (struct state){ .layers = layers, .at = tb_calloc((size_t)layers + 1, sizeof(*st->at)) };
	if (!st->at)
		return tb_nomem(err);
	for (uint32_t i = 0; i < layers; i++)
		st->at[i + 1] = st->at[i] + whole_lines(floats[i]);
	total = st->at[layers] * sizeof(*st->now);
	if (!total)
		return TB_OK;
	if (!(st->now = tb_aligned(total))) {
		state_free(st);
		return tb_fail(err, TB_ENOMEM, "no memory for the state of the model's layers (%zu MB)",
			       total / 1000000);
	}
	memset(st->now, 0, total);
	return TB_OK;
}

void
state_free(struct state *st)
{
	for (unsigned i = 0; i < st->copies; i++)
		free(st->copy[i].data);
	free(st->spare);
	free(st->now);
	free(st->at);
	*st = (struct state){ 0 };
}

uint64_t
state_bytes(size_t floats)
{
	return (uint64_t)whole_lines(floats) * sizeof(float) * (1 + STATE_COPIES);
}

static void
drop_copy(struct state *st, unsigned i)
{
	float *data = st->copy[i].data;

	if (st->spare)
		free(data);
	else
		st->spare = data;
	memmove(st->copy + i, st->copy + i + 1, (--st->copies - i) * sizeof(*st->copy));
}

/* The copy, not the last, whose neighbours are closest together: so the others lie the
 * closer, the nearer to the end. */
static unsigned
least_missed(const struct state *st)
{
	uint32_t least = UINT32_MAX;
	unsigned best = 0;

	for (unsigned i = 0; i + 1 < st->copies; i++) {
		uint32_t gap = st->copy[i + 1].pos - (i ? st->copy[i - 1].pos : 0);

		if (gap < least) {
			least = gap;
			best = i;
		}
	}
	return best;
}

/* At position 0 all is 0, of which no copy is needed. */
static void
keep_copy(struct state *st, uint32_t pos)
{
	size_t bytes = st->at[st->layers] * sizeof(*st->now);

	if (!pos || (st->copies && st->copy[st->copies - 1].pos >= pos))
		return;
	if (st->copies == STATE_COPIES)
		drop_copy(st, least_missed(st));
	if (!st->spare && !(st->spare = tb_aligned(bytes)))
		return;
	memcpy(st->spare, st->now, bytes);
	st->copy[st->copies++] = (struct state_copy){ pos, st->spare };
	st->spare = NULL;
}

void
state_begin(struct state *st, uint32_t pos, size_t n)
{
	uint32_t last = st->copies ? st->copy[st->copies - 1].pos : 0;

	if (!st->now)
		return;
	if (n > 1 || st->block || pos >= last + STATE_STEP)
		keep_copy(st, pos);
	st->block = n > 1;
}

uint32_t
state_rewind(struct state *st, uint32_t pos)
{
	size_t bytes = st->now ? st->at[st->layers] * sizeof(*st->now) : 0;

	if (!bytes)
		return pos;
	while (st->copies && st->copy[st->copies - 1].pos > pos)
		drop_copy(st, st->copies - 1);
	st->block = false;
	if (!st->copies) {
		memset(st->now, 0, bytes);
		return 0;
	}
	memcpy(st->now, st->copy[st->copies - 1].data, bytes);
	return st->copy[st->copies - 1].pos;
}
