/* inspect_read.h - private to src/ops: the elements of a logical tensor, from
 * mapped files.  May be read by many threads at once. */
#ifndef TBTUI_OPS_INSPECT_READ_H
#define TBTUI_OPS_INSPECT_READ_H

#include "src/base/file.h"
#include "src/quant/codec.h"
#include "src/store/model.h"

#define READER_STEP 256u	/* elements: a multiple of every group and of 8 */

struct reader {
	const struct tensor *t;
	struct tb_map weight, scale, bias, order;
	float global;
};

/* The files must be as they were when the model was opened. */
enum tb_status reader_open(struct reader *r, const struct model *m, const struct tensor *t,
			   struct tb_err *err) TB_MUST_USE;
void reader_close(struct reader *r);
/* TB_EIO when a file shrank meanwhile and what was read is not to be believed. */
enum tb_status reader_check(const struct reader *r, struct tb_err *err) TB_MUST_USE;

bool reader_plain(const struct reader *r);
/* Of a plain tensor, where its elements from `first` on lie; with less than 8 bits each
 * first % 8 == 0. */
const void *reader_at(const struct reader *r, uint64_t first);
/* n elements from `first` on, a multiple of READER_STEP unless the tensor is plain
 * and then of 8; n as well, except at the tensor's end. */
void reader_f32(const struct reader *r, uint64_t first, size_t n, float *out);
/* n elements from anywhere, through a window that begins and ends where the reader can. */
void reader_any(const struct reader *r, uint64_t first, size_t n, float *out);
/* Numbers that F32 would round, or some of them. */
bool reader_wide(const struct reader *r);
/* As reader_f32(), of wide numbers without rounding where double has room. */
void reader_f64(const struct reader *r, uint64_t first, size_t n, double *out);

/* Opens the file of a part and maps it. */
enum tb_status reader_map(struct tb_map *map, const struct model *m,
			  const struct tensor_part *p, struct tb_err *err) TB_MUST_USE;
#endif
