/* slots.h - which of a model's tensors fills which slot of its architecture: all that
 * a run needs, with the shape that it must have.
 *
 * Whoever loads a model and whoever asks whether it could be loaded go through the
 * same visit, so that they cannot disagree.  Only headers are looked at. */
#ifndef TBTUI_ENGINE_SLOTS_H
#define TBTUI_ENGINE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/hparams.h"

struct model;
struct tensor;

/* A slot that a tensor fills with its rows [first, first + …) of experts * rows. */
struct slot_at {
	enum slot slot;
	uint32_t layer, expert;		/* 0 where the slot has none */
	const struct tensor *t;		/* borrowed from the model */
	uint64_t first, rows;
	const struct slot_rule *rule;	/* by which it does */
	uint32_t nth, experts;		/* stacked: which expert of how many; else 0 of 1 */
};

enum slot_fault {
	SLOT_ABSENT,			/* needed, and no tensor is it */
	SLOT_MISSHAPEN,			/* not the shape that the model's numbers make it */
	SLOT_BROKEN,			/* its parts have not the bytes that its scheme says */
	SLOT_UNSUP,			/* stored in a way that cannot be computed with */
	SLOT_UNUSED,			/* a tensor that fills no slot and is not ignored */
	SLOT_FAULTS
};

struct slot_wrong {
	enum slot_fault fault;
	enum slot slot;			/* SLOT_COUNT: of no slot */
	uint32_t layer;
	const char *name;		/* of the tensor, as it is or as it should be */
	const struct tensor *t;		/* NULL: there is none */
	const struct tb_err *why;	/* a sentence that names it */
};

/* What is not TB_OK ends the visit. */
struct slot_visitor {
	/* A tensor that fits; NULL: not asked for. */
	enum tb_status (*fits)(void *arg, const struct slot_at *at, struct tb_err *err);
	enum tb_status (*wrong)(void *arg, const struct slot_wrong *w, struct tb_err *err);
	void *arg;
};

/* Slot by slot, each layer by layer and expert by expert; then the head, where the
 * model says that it is no copy of the embedding; then tensors that nothing uses.
 * An expert stack fits once for each of its experts; the first fault of a layer's
 * experts ends those of that slot. */
enum tb_status slots_visit(const struct hparams *hp, const struct model *m,
			   const struct slot_visitor *v, struct tb_err *err) TB_MUST_USE;

/* Dimensions of 1 say nothing: files have them or not. */
bool slot_shape(const struct tensor *t, const uint64_t *want, unsigned n);
#endif
