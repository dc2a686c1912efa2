/* after.h - what follows an operation that has written to a store. */
#ifndef TBTUI_FACE_AFTER_H
#define TBTUI_FACE_AFTER_H

#include "src/base/err.h"

struct op_ctx;

/* Brings the index up to date with the stores looked into, if they are in it at all: who
 * converted or imported something finds it listed.  Blocks.  What was written stays
 * written: that the index could not follow is told beside it, late->code TB_OK: it could.
 * status: how the writing went. */
void after_writing(struct op_ctx *ctx, enum tb_status status, struct tb_err *late);
#endif
