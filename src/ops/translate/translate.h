/* translate.h - what Hugging Face's files and GGUF say of the same model: names of tensors,
 * how their numbers lie, keys, vocabulary.
 *
 * The tables are read both ways.  Names that an architecture of the engine has are its own
 * (src/engine/arch.h); rows here say only what those cannot. */
#ifndef TBTUI_OPS_TRANSLATE_H
#define TBTUI_OPS_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

/* Where the elements of a tensor come from, in the order in which they are written: element
 * (a, b, …) is the source's `first` + a * step[0] + b * step[1] + …  Rows that change their
 * places, halves, columns of a transposed matrix are all of them such walks. */
#define WALK_DIMS 6
struct walk {
	unsigned ndim;
	uint64_t dim[WALK_DIMS], step[WALK_DIMS];
	uint64_t first;
};
uint64_t walk_elems(const struct walk *v);
uint64_t walk_place(const struct walk *v, uint64_t i);	/* of element i, in the source */
/* How many elements from i on lie one after the other in the source, up to n. */
uint64_t walk_run(const struct walk *v, uint64_t i, uint64_t n);
/* Elements of the source from the first to behind the last that the inner dimensions from
 * `dim` on touch. */
uint64_t walk_span(const struct walk *v, unsigned dim);

/* Rows of heads of `head` rows, each of `cols`: Hugging Face's files have what turns
 * together half a head apart, GGUF files of llama side by side. */
struct walk walk_to_pairs(uint64_t rows, uint64_t cols, uint64_t head);
struct walk walk_to_halves(uint64_t rows, uint64_t cols, uint64_t head);

/* What is done to each number. */
enum plan_change {
	CHANGE_NONE,
	CHANGE_ADD,		/* + number */
	CHANGE_NEG_EXP,		/* -exp(x) */
	CHANGE_LOG_NEG,		/* log(-x): the way back */
};

/* What happens to (a piece of) a tensor on its way. */
struct change {
	bool moved;		/* `walk` says where from; else in the source's order */
	struct walk walk;
	enum plan_change what;
	float number;
};
float change_apply(const struct change *c, float x);
#endif
