/* imatrix.h - files that say how much each column of a matrix matters, as llama.cpp's
 * imatrix makes them: sums of squares of what the matrix was multiplied with, and how often.
 *
 * Both of its formats are read, strictly: that of today, which is a GGUF file, and the
 * older ".dat".  Names are those of GGUF files.  A file of ours may also hold sums of
 * products of neighbouring columns ("NAME.in_gram": blocks on the diagonal of X'X), which
 * llama.cpp passes over. */
#ifndef TBTUI_FORMAT_IMATRIX_H
#define TBTUI_FORMAT_IMATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/file.h"

struct imatrix_entry {
	char *name;		/* of the tensor; owned */
	float *mean;		/* [n] mean of squares, 1 where nothing was seen; owned */
	size_t n;		/* columns of all its matrices */
	float *counts;		/* [ncounts] vectors that each matrix saw; owned */
	size_t ncounts;		/* matrices; of an older file 1, and chunks, not vectors */
	/* Sums of products: of each matrix blocks of gram x gram; 0: none. */
	uint32_t gram;
	uint64_t gram_off;
};

struct imatrix {
	struct imatrix_entry *entries;	/* by name; owned */
	size_t n;
	bool old;			/* a ".dat" */
	uint32_t chunks, chunk_size;	/* 0: the file does not say */
	char **datasets;		/* what was read for it; owned */
	size_t ndatasets;
	struct tb_file file;		/* for the sums of products */
};

enum tb_status imatrix_read(struct imatrix *im, const char *path, struct tb_err *err) TB_MUST_USE;
void imatrix_free(struct imatrix *im);
/* NULL: there is none. */
const struct imatrix_entry *imatrix_find(const struct imatrix *im, const char *name);
/* The columns of matrix `nth` of `of` in an entry, `cols` each; NULL: it does not have
 * those, and err says so. */
const float *imatrix_columns(const struct imatrix_entry *e, uint64_t cols, uint64_t nth,
			     uint64_t of, struct tb_err *err);
/* Block `b` of matrix `nth`: gram * gram sums, divided by how many there were. */
enum tb_status imatrix_gram(const struct imatrix *im, const struct imatrix_entry *e, uint64_t cols,
			    uint64_t nth, uint64_t b, float *out, struct tb_err *err) TB_MUST_USE;
uint64_t imatrix_blocks(uint64_t cols, uint32_t gram);	/* on the diagonal of a matrix */

/* To be written: sums [mats][cols]; gram NULL or [mats][blocks][block][block]. */
struct imatrix_sums {
	const char *name;
	uint64_t cols, mats;
	const double *sums;
	const uint64_t *counts;		/* [mats] */
	const float *gram;
	uint32_t block;
};
/* In the format of today; path may exist with `replace` alone. */
enum tb_status imatrix_write(const char *path, const struct imatrix_sums *sums, size_t n,
			     uint32_t chunks, uint32_t chunk_size, const char *dataset,
			     bool replace, struct tb_err *err) TB_MUST_USE;
#endif
