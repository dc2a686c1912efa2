/* calibrate.h - what matters in a model: measured while it reads a text, kept in a file
 * as llama.cpp has them (src/format/imatrix.h), and found again for any model with the
 * same matrices, whatever its file calls them. */
#ifndef TBTUI_OPS_CALIBRATE_H
#define TBTUI_OPS_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/ops/plan/plan.h"

struct chat_model;
struct tb_job;

#define CALIBRATE_CHUNK 512u
#define CALIBRATE_GRAM 512u

struct calibrate_request {
	struct chat_model *model;	/* borrowed, as is the rest */
	const char *text;
	size_t len;
	const char *dataset;		/* what the text is called in the file */
	const char *path;		/* what is written */
	uint32_t chunk;			/* tokens that are read together; 0: CALIBRATE_CHUNK */
	uint64_t chunks;		/* how many of them at most; 0: all */
	bool gram;			/* sums of products of neighbouring columns, too */
	bool replace;
};

struct calibrate_result {
	uint64_t chunks, tokens, matrices, bytes;
	uint64_t unseen;		/* matrices of experts that no token was sent to */
	double seconds;
};

/* Bytes that op_calibrate() would write, and hold in memory meanwhile. */
enum tb_status calibrate_bytes(const struct calibrate_request *req, uint64_t *out,
			       struct tb_err *err) TB_MUST_USE;
/* Every chunk begins with the token that begins a text, where the model has one, in the
 * place of its own first; what does not fill a chunk is left out. */
enum tb_status op_calibrate(const struct calibrate_request *req, struct tb_job *job,
			    struct calibrate_result *out, struct tb_err *err) TB_MUST_USE;

/* A file of that kind, for one model. */
struct importance;
enum tb_status importance_open(struct importance **out, const char *path, const struct model *m,
			       struct tb_err *err) TB_MUST_USE;
void importance_free(struct importance *imp);
/* How tensors are encoded with what it says, as long as it is open; `feedback`: also what
 * errors mean for other columns.  TB_EUSAGE: the file has no products for that. */
enum tb_status importance_care(const struct importance *imp, bool feedback, struct plan_care *out,
			       struct tb_err *err) TB_MUST_USE;
#endif
