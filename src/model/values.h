/* values.h - a tensor's bytes become numbers: whoever needs them reads them here.
 *
 * A logical tensor is opened by mapping its parts, or to be read in stretches; either
 * way its parts must have the bytes that its scheme and shape need, and its files must
 * be what they were when the model was opened: TB_EIO else.  May be read by many threads
 * at once. */
#ifndef TBTUI_MODEL_VALUES_H
#define TBTUI_MODEL_VALUES_H

#include "src/base/file.h"
#include "src/quant/codec.h"
#include "src/store/model.h"

#define VALUES_STEP 256u	/* elements: a multiple of every group and of 8 */

enum values_part { PART_WEIGHT, PART_SCALE, PART_BIAS, PART_GLOBAL, PART_ORDER, PART_COUNT };
/* NULL if the tensor has no such part. */
const struct tensor_part *values_part_of(const struct tensor *t, enum values_part p);

/* The dtype that a tensor's elements were encoded from: its own, or for a quantized one
 * that of its scales (BF16 if those are bytes), or as what blocks are decoded. */
enum dtype values_dtype(const struct tensor *t);

struct values_files;

struct values {
	const struct model *m;		/* borrowed, as are t and files */
	const struct tensor *t;
	struct values_files *files;	/* NULL: it is mapped */
	struct tb_map part[PART_COUNT];	/* len 0: has none, or needs none */
	float global;			/* multiplies all of it */
};

/* files NULL: its parts are mapped.  Else it is read through them; they must outlive it,
 * values_close() may be left out, and it is not of a scheme that is read as whole matrices. */
enum tb_status values_open(struct values *v, const struct model *m, const struct tensor *t,
			   struct values_files *files, struct tb_err *err) TB_MUST_USE;
/* Its parts alone, all of them, of a scheme that nobody knows, too. */
enum tb_status values_open_parts(struct values *v, const struct model *m, const struct tensor *t,
				 struct tb_err *err) TB_MUST_USE;
void values_close(struct values *v);
/* TB_EIO when a file shrank or was changed meanwhile: what was read is not to be believed. */
enum tb_status values_check(const struct values *v, struct tb_err *err) TB_MUST_USE;

/* ---- of a mapped one ---- */

/* Of a plain tensor, where its elements from `first` on lie; with less than 8 bits each
 * first % 8 == 0. */
const void *values_plain_at(const struct values *v, uint64_t first);
/* n elements from `first` on, a multiple of VALUES_STEP unless the tensor is plain
 * and then of 8; n as well, except at the tensor's end. */
void values_f32(const struct values *v, uint64_t first, size_t n, float *out);
/* n elements from anywhere. */
void values_any(const struct values *v, uint64_t first, size_t n, float *out);
/* Numbers that F32 would round, or some of them. */
bool values_wide(const struct values *v);
/* As values_f32(), of wide numbers without rounding where double has room. */
void values_f64(const struct values *v, uint64_t first, size_t n, double *out);

/* ---- in stretches ---- */

/* The files of a model for who reads many tensors: each is opened once, and stays open as
 * long as they are not too many.  model: borrowed. */
enum tb_status values_files_open(struct values_files **out, const struct model *m,
				 struct tb_err *err) TB_MUST_USE;
void values_files_close(struct values_files *fs);	/* NULL is fine */
/* Bytes [off, off + len) of a part. */
enum tb_status values_files_read(struct values_files *fs, const struct tensor_part *p,
				 uint64_t off, void *buf, size_t len, struct tb_err *err)
	TB_MUST_USE;

/* What n elements from `first` on (whole groups) are stored as, into the caller's room;
 * of plain numbers and of blocks only `codes`. */
enum tb_status values_read(const struct values *v, uint64_t first, size_t n,
			   const struct quant_parts *room, struct tb_err *err) TB_MUST_USE;
/* That as numbers. */
void values_decode(const struct values *v, const struct quant_parts *room, size_t n, float *out);

/* ---- bytes ---- */

/* Some of a part as they are in the file; TB_EUSAGE if it has no such ones. */
enum tb_status values_bytes(const struct model *m, const struct tensor_part *part, uint64_t off,
			    size_t len, void *out, struct tb_err *err) TB_MUST_USE;
/* What multiplies all values, of the bytes of that part: the nth of `of` numbers, where
 * each expert has its own.  A tensor that has none: 1. */
enum tb_status values_global(const struct tensor *t, const void *bytes, uint32_t nth, uint32_t of,
			     float *out, struct tb_err *err) TB_MUST_USE;

/* Of a tensor that has one: its only number. */
enum tb_status values_read_global(const struct model *m, const struct tensor *t,
				  struct values_files *files, float *out, struct tb_err *err)
	TB_MUST_USE;

/* Files mapped whole at first need, for who keeps pointers into them. */
struct values_maps {
	struct tb_map *map;		/* owned; one a file, p NULL: not needed */
	size_t n;
};
enum tb_status values_maps_open(struct values_maps *maps, const struct model *m,
				struct tb_err *err) TB_MUST_USE;
void values_maps_close(struct values_maps *maps);
/* Where the bytes of a part are. */
enum tb_status values_maps_part(struct values_maps *maps, const struct model *m,
				const struct tensor_part *part, const uint8_t **out,
				struct tb_err *err) TB_MUST_USE;
/* TB_EIO when a file has shrunk under us. */
enum tb_status values_maps_check(const struct values_maps *maps, struct tb_err *err) TB_MUST_USE;
#endif
