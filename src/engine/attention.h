/* attention.h - every row of a block looks at keys and mixes values. */
#ifndef TBTUI_ENGINE_ATTENTION_H
#define TBTUI_ENGINE_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

struct run;
struct hparams;

struct attention {
	uint32_t layer;		/* whose keys and values */
	uint32_t heads;		/* a multiple of that layer's */
	size_t window;		/* positions that a row sees, its own included; 0: all */
	float scale;		/* of q k */
	float softcap;		/* 0: none */
	const float *sinks;	/* [heads]: scores that take part and bring no value; NULL */
	const float *q;		/* [m][heads][key_dim] */
	float *out;		/* [want][heads][value_dim] */
};

/* The last `want` of the m rows at the session's position over what they may see up to
 * themselves; keys and values of all m are stored already.  A few rows give what each
 * gives alone, bit for bit, whatever the number of threads. */
void attention_of(struct run *run, const struct attention *a, size_t m, size_t want);
/* That of a layer as hparams have it, from work.q to work.att. */
void attention(struct run *run, uint32_t layer, size_t m, size_t want);

/* Floats that it works in, in a session of `context` positions. */
size_t attention_room(const struct hparams *hp, uint32_t context, unsigned threads);
#endif
