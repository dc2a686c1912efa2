/* peak.h - how fast this CPU multiplies at most: one instruction on registers, nothing
 * else. */
#ifndef TBTUI_ENGINE_PEAK_H
#define TBTUI_ENGINE_PEAK_H

struct team;

/* An instruction that products are made of. */
struct peak {
	const char *name;	/* "vpdpbusd"; what the CPU's manual calls it */
	const char *unit;	/* "GFLOP/s"; of whole numbers "GOP/s" */
	double ops;		/* a call of loop(): multiplications and additions */
	void (*loop)(void);
};

/* The i-th that this machine has, in the order of levels, held down by TBTUI_CPU; NULL: no more. */
const struct peak *peak_at(unsigned i);

const struct peak *peak_named(const char *name);	/* NULL: it has none such */

/* Giga-operations a second with all threads of the team, the best of a few. */
double peak_measure(const struct peak *p, struct team *team);
#endif
