/* feeds.h - private to calibrate: what errors mean for other columns, made when a matrix
 * is encoded and kept while somebody does, and a little longer. */
#ifndef TBTUI_OPS_FEEDS_H
#define TBTUI_OPS_FEEDS_H

#include "src/format/imatrix.h"
#include "src/quant/feedback.h"

struct feeds;
enum tb_status feeds_new(struct feeds **out, struct tb_err *err) TB_MUST_USE;
void feeds_free(struct feeds *f);
/* Of matrix nth of an entry.  Any thread; feeds_give() it. */
enum tb_status feeds_take(struct feeds *f, const struct imatrix *im, const struct imatrix_entry *e,
			  uint64_t cols, uint64_t nth, const struct quant_feedback **out,
			  struct tb_err *err) TB_MUST_USE;
void feeds_give(struct feeds *f, const struct quant_feedback *q);
#endif
