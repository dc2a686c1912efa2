/* plan_parts.h - private to plan*.c: laying out what a plan writes. */
#ifndef TBTUI_OPS_PLAN_PARTS_H
#define TBTUI_OPS_PLAN_PARTS_H

#include "src/model/values.h"
#include "src/ops/plan/plan.h"

/* (Re)builds p->parts, p->blobs and the rows' blob and stack. */
enum tb_status plan_layout(struct plan *p, struct tb_err *err) TB_MUST_USE;
void plan_parts_free(struct plan_parts *parts);
void plan_blobs_free(struct plan_blob *blobs, size_t n);
#endif
