/* canon.h - one name for a tensor, whatever its file calls it, so that models in
 * different layouts can be laid side by side.
 *
 * What a rule knows gets its slot's name; all else keeps its own name without what
 * is usually put in front.  Experts are told apart or, in a stacked tensor, are "*";
 * a tensor in which several slots are packed is the first of them with a "+". */
#ifndef TBTUI_ENGINE_CANON_H
#define TBTUI_ENGINE_CANON_H

#include <stdbool.h>
#include <stdint.h>

#include "src/engine/arch.h"
#include "src/store/model.h"

#define CANON_MAX 256

/* Whose tensors they are. */
struct canon_model {
	const struct arch *arch;	/* NULL: not one that we know */
	bool gguf;
	bool norms_whole;		/* see hparams_norms_whole() */
	uint32_t head_dim;		/* rows of a head, of tensors with `pairs`; 0: not known */
};
void canon_model(struct canon_model *out, const struct model *m);

struct canon {
	char name[CANON_MAX];	/* "layers.3.ffn.experts.*.up.weight" */
	enum slot slot;		/* SLOT_COUNT: no rule knows it, or it is packed with others */
	bool stacked;		/* its first dimension counts experts */
	bool pairs;		/* rows of a head as slot_permuted() has them */
	float add;		/* what its values lack: see arch.norm_add */
	bool otherwise;		/* a GGUF has other numbers, or those in another order */
};

/* false: the name is too long to have another than its own. */
bool canon_of(const struct canon_model *m, const struct tensor *t, struct canon *out);
/* The name of one expert of a stacked tensor. */
bool canon_expert(const struct canon *c, uint32_t expert, char out[CANON_MAX]);
#endif
