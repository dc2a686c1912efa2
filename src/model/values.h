/* values.h - the elements of a logical tensor, from mapped files.  May be read by many
 * threads at once. */
#ifndef TBTUI_MODEL_VALUES_H
#define TBTUI_MODEL_VALUES_H

#include "src/base/file.h"
#include "src/quant/codec.h"
#include "src/store/model.h"

#define VALUES_STEP 256u	/* elements: a multiple of every group and of 8 */

struct values {
	const struct tensor *t;
	struct tb_map weight, scale, bias, order;
	float global;
};

/* The files must be as they were when the model was opened. */
enum tb_status values_open(struct values *r, const struct model *m, const struct tensor *t,
			   struct tb_err *err) TB_MUST_USE;
void values_close(struct values *r);
/* TB_EIO when a file shrank meanwhile and what was read is not to be believed. */
enum tb_status values_check(const struct values *r, struct tb_err *err) TB_MUST_USE;

bool values_plain(const struct values *r);
/* Of a plain tensor, where its elements from `first` on lie; with less than 8 bits each
 * first % 8 == 0. */
const void *values_plain_at(const struct values *r, uint64_t first);
/* n elements from `first` on, a multiple of VALUES_STEP unless the tensor is plain
 * and then of 8; n as well, except at the tensor's end. */
void values_f32(const struct values *r, uint64_t first, size_t n, float *out);
/* n elements from anywhere, through a window that begins and ends where the reader can. */
void values_any(const struct values *r, uint64_t first, size_t n, float *out);
/* Numbers that F32 would round, or some of them. */
bool values_wide(const struct values *r);
/* As values_f32(), of wide numbers without rounding where double has room. */
void values_f64(const struct values *r, uint64_t first, size_t n, double *out);

/* Opens the file of a part and maps it. */
enum tb_status values_map(struct tb_map *map, const struct model *m,
			  const struct tensor_part *p, struct tb_err *err) TB_MUST_USE;
#endif
