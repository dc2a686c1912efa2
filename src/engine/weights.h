/* weights.h - a model's tensors by slot, ready to be multiplied with.
 *
 * Matrices point into mapped files (or into memory made from a seed); vectors are
 * copied to F32.  Every shape was checked against config.json. */
#ifndef TBTUI_ENGINE_WEIGHTS_H
#define TBTUI_ENGINE_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/hparams.h"
#include "src/engine/matrix.h"
#include "src/model/values.h"

struct layer {
	struct matrix m[SLOT_COUNT];	/* codes NULL: the model has none */
	float *v[SLOT_COUNT];		/* vectors; owned; NULL: none */
	struct matrix *x[SLOT_COUNT];	/* experts, hparams.experts of them; owned */
};

struct weights {
	struct layer *layers;		/* owned; hparams.layers of them, then one more
					 * for what is not in a layer */
	struct layer *rest;		/* that one; borrowed */
	uint32_t nlayers;
	struct values_maps maps;
	void **made;			/* owned memory of matrices that are in no file */
	size_t nmade, made_cap;
	struct lowrank **low;		/* owned; matrices point at them */
	size_t nlow, low_cap;
};

/* Room for all slots and no tensor yet. */
enum tb_status weights_init(struct weights *w, const struct hparams *hp, struct tb_err *err)
	TB_MUST_USE;
void weights_free(struct weights *w);
/* Finds, checks and maps every tensor.  Errors name the tensor, what it is and
 * what it should be. */
enum tb_status weights_load(struct weights *w, const struct hparams *hp, const struct model *m,
			    struct tb_err *err) TB_MUST_USE;

struct layer *weights_at(const struct weights *w, enum slot s, uint32_t layer);
/* Of everything that one token reads. */
uint64_t weights_token_bytes(const struct weights *w, const struct hparams *hp);
#endif
