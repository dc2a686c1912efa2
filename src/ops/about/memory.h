/* memory.h - what running a model takes: weights, keys and values, room to work. */
#ifndef TBTUI_OPS_MEMORY_H
#define TBTUI_OPS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model_shape;
struct params;

#define MEMORY_ROWS 5

struct memory_row {
	uint64_t context;	/* tokens */
	uint64_t kv;		/* F32, as our engine keeps them */
	uint64_t kv_f16;	/* as most other programs do */
	uint64_t total;		/* weights, kv and work */
};

struct memory {
	uint64_t weights;	/* bytes of the tensors: mapped, shared with the page cache */
	uint64_t token;		/* of these, what one token reads */
	uint64_t work;		/* activations while a prompt is read; 0: not known */
	struct memory_row row[MEMORY_ROWS];
	size_t n;		/* 0: sizes of keys and values are not known, see why */
	const char *why;	/* "" or a sentence; static */
	bool runs;		/* these are the engine's own sizes */
	uint64_t machine, available;	/* bytes of this machine; 0: not known */
};

void memory_needed(const struct model_shape *s, const struct params *p, unsigned threads,
		   struct memory *out);
/* Of this machine, or what a container leaves of it. */
void memory_machine(uint64_t *total, uint64_t *available);
#endif
