/* verify_complete.h - would the model run?  What a run needs of it and is not there, or
 * contradicts what it says of itself.  Inside a verify run; headers and small files. */
#ifndef TBTUI_OPS_VERIFY_COMPLETE_H
#define TBTUI_OPS_VERIFY_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/arena.h"
#include "src/format/gguf.h"
#include "src/ops/verify/verify.h"
#include "src/store/model.h"

struct hparams;

struct verify_gap {
	enum finding_code code;
	const char *tensor, *message;	/* tensor may be NULL */
};

struct verify_gaps {
	struct verify_gap *v;		/* owned */
	struct tb_arena mem;		/* their texts */
	size_t n, cap;
	bool nomem;			/* or no file descriptors */
	const char *why;		/* what said so, or NULL: memory */
	bool holes;			/* files lack that may have held any tensor */
};

/* tensor: NULL if it is about none. */
void gap_add(struct verify_gaps *g, enum finding_code code, const char *tensor,
	     const char *fmt, ...) TB_PRINTF(4, 5);
/* Nothing is wrong with the model: the process has come to an end (TB_ENOMEM).  The first reason is
 * kept for gaps_status(); why: NULL if there is none to tell. */
void gaps_short(struct verify_gaps *g, const struct tb_err *why);
enum tb_status gaps_status(const struct verify_gaps *g, struct tb_err *err) TB_MUST_USE;
void gaps_free(struct verify_gaps *g);
bool gaps_about(const struct verify_gaps *g, const char *tensor);	/* is one told of it? */

/* Everything below, for a model that could be opened.  Thread-safe.  Only memory can be
 * short; what is told as a problem of the model or of a file is not told again. */
enum tb_status verify_complete(const struct model *m, struct verify_gaps *out,
			       struct tb_err *err) TB_MUST_USE;

/* The one of that name, or NULL. */
const struct model_file *complete_file(const struct model *m, const char *name);
/* Is the layer called as its tensor is, or as what a group of tensors has in common? */
bool complete_covers(const char *layer, const char *tensor);
/* Is the tensor not there because the file that should have it could not be read? */
bool complete_unread(const struct model *m, const char *tensor);
/* Is a file missing, or told of as a problem? */
bool complete_bad_file(const struct model *m, const struct model_file *f);
/* An adapter, a projector, a vocabulary alone: needs no more than it has. */
bool complete_partial(const struct model *m);

/* verify_complete_slots.c: the tensors against the architecture.  *hp is read where
 * the architecture is known (true; hparams_free()). */
bool complete_slots(const struct model *m, struct hparams *hp, struct verify_gaps *g,
		    struct tb_err *err);
/* verify_complete_layers.c: the manifest's layers. */
void complete_layers(const struct model *m, struct verify_gaps *g);
/* verify_complete_manifest.c: what else an Ollama manifest says, and its small layers. */
void complete_manifest(const struct model *m, struct verify_gaps *g);
/* verify_complete_packed.c: packed tensors of which a part lacks. */
void complete_packed(const struct model *m, struct verify_gaps *g);
/* verify_complete_numbers.c: what GGUF files say of themselves; config.json, where the
 * architecture is not known. */
void complete_gguf(const struct model *m, struct verify_gaps *g);
void complete_config(const struct model *m, struct verify_gaps *g);
/* verify_complete_files.c: shards, and what a run reads beside the tensors.  vocab: rows
 * of the embedding, 0: not known. */
void complete_shards(const struct model *m, struct verify_gaps *g);
void complete_texts(const struct model *m, uint32_t vocab, struct verify_gaps *g);
#endif
