/* watch.h - what the matrices of a model are multiplied with, while it runs. */
#ifndef TBTUI_ENGINE_WATCH_H
#define TBTUI_ENGINE_WATCH_H

#include "src/engine/arch.h"
#include "src/engine/engine.h"

struct watched {
	enum slot slot;
	uint32_t layer, expert;		/* 0 where the slot has none */
	uint32_t cols;
	const float *x;			/* [m][cols] */
	size_t m;
};
typedef void watch_fn(void *arg, const struct watched *w);
/* Calls fn before each product of the session's evaluations, on their thread, once for
 * each matrix; NULL: no more. */
void session_watch(struct session *s, watch_fn *fn, void *arg);

/* How many matrices a layer has in a slot (experts: of those), and their columns; 0: none. */
uint32_t watch_matrices(const struct engine *e, enum slot s, uint32_t layer, uint32_t *cols);

/* What a GGUF file calls the tensor that fills a slot; its first rows, if there are several
 * in it.  Experts are stacked: of all that are in one tensor there is one name.  false:
 * there is no such name, or another slot has it. */
bool watch_gguf_name(const struct engine *e, enum slot s, uint32_t layer, char *out, size_t len);
#endif
