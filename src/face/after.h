/* after.h - what follows an operation that has written to a store, or
 * looked at it. */
#ifndef TBTUI_FACE_AFTER_H
#define TBTUI_FACE_AFTER_H

#include <stdint.h>

#include "src/base/err.h"

struct op_ctx;
struct tb_job;

/* Brings the index up to date with the stores looked into, if they are in it at all: who
 * converted or imported something finds it listed.  Blocks.  What was written stays
 * written: that the index could not follow is told beside it, late->code TB_OK: it could.
 * status: how the writing went. */
void after_writing(struct op_ctx *ctx, enum tb_status status, struct tb_err *late);
/* The same where nothing is indexed yet: whose first command is a pull has the model in
 * the list that follows.  job: may be NULL; a first look at full stores takes a while. */
void after_pull(struct op_ctx *ctx, struct tb_job *job, enum tb_status status,
		struct tb_err *late);
/* A verify looks at the stores, lists at the index: where the run (in audits.db) has seen a
 * model that the index knows otherwise, the index follows, so that what is listed is
 * what was verified. */
void after_verify(struct op_ctx *ctx, int64_t run, struct tb_err *late);
#endif
