/* inspect_window.c - a few values, a few bytes: what fits a screen. */
#include "config.h"

#include "src/ops/inspect/inspect.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/partial.h"

void
inspect_matrix(const struct tensor *t, uint64_t *rows, uint64_t *cols)
{
	*cols = t->ndim ? t->dim[t->ndim - 1] : 1;
	*rows = *cols ? t->elems / *cols : 0;
}

void
inspect_place(const struct tensor *t, uint64_t index, struct inspect_place *out)
{
	uint64_t height = t->ndim > 1 ? t->dim[t->ndim - 2] : 1, rows, cols;

	inspect_matrix(t, &rows, &cols);
	*out = (struct inspect_place){ cols ? index / cols : 0, cols ? index % cols : 0,
		t->weight.off + scheme_place(&t->scheme, height, cols, index) };
}

#define FAR_SPAN (1u << 18)	/* elements: what comes at once of a tensor that lies far away */

/* [first, first + n), a stretch after another: nothing else of the tensor is read. */
static enum tb_status
read_stretch(const struct values *v, uint64_t first, size_t n, float *out, struct tb_err *err)
{
	const struct tensor *t = v->t;
	uint64_t from = first / VALUES_STEP * VALUES_STEP, to = first + n;
	struct quant_parts room;
	enum tb_status status;
	float *all;
	size_t have;

	to = (to + VALUES_STEP - 1) / VALUES_STEP * VALUES_STEP;
	have = (size_t)((to < t->elems ? to : t->elems) - from);
	all = tb_calloc(have, sizeof(*all));
	room.codes = tb_calloc(scheme_code_bytes(&t->scheme, have) + 8, 1);
	room.scales = tb_calloc(scheme_scales(&t->scheme, have) + 1, 8);
	room.biases = tb_calloc(scheme_scales(&t->scheme, have) + 1, 8);
	status = all && room.codes && room.scales && room.biases
	       ? values_read(v, from, have, &room, err) : tb_nomem(err);
	if (!status) {
		values_decode(v, &room, have, all);
		memcpy(out, all + (first - from), n * sizeof(*out));
	}
	free(room.codes);
	free(room.scales);
	free(room.biases);
	free(all);
	return status;
}

/* Would all of the tensor be fetched, if it were mapped? */
static bool
is_far(const struct model_file *f)
{
	return tb_partial_of(f->id.dev, f->id.ino) != NULL;
}

/* The same of a tensor that lies far away. */
static enum tb_status
values_from_far(const struct model *m, const struct tensor *t, const struct inspect_window *w,
		uint64_t cols, float *out, struct tb_err *err)
{
	bool at_once = w->rows * cols <= FAR_SPAN;
	struct values_files *files;
	float *span = at_once ? tb_calloc((size_t)(w->rows * cols), sizeof(*span)) : NULL;
	enum tb_status status = at_once && !span ? tb_nomem(err) : values_files_open(&files, m, err);
	struct values v;

	if (status) {
		free(span);
		return status;
	}
	status = values_open(&v, m, t, files, err);
	if (!status && at_once)
		status = read_stretch(&v, w->row * cols, (size_t)(w->rows * cols), span, err);
	for (uint64_t i = 0; i < w->rows && !status; i++) {
		if (at_once)
			memcpy(out + i * w->cols, span + i * cols + w->col, w->cols * sizeof(*out));
		else
			status = read_stretch(&v, (w->row + i) * cols + w->col, (size_t)w->cols,
					      out + i * w->cols, err);
	}
	values_files_close(files);
	free(span);
	return status;
}

enum tb_status
inspect_values(const struct model *m, const struct tensor *t, const struct inspect_window *w,
	       float *out, struct tb_err *err)
{
	uint64_t rows, cols, size;
	struct values r;
	enum tb_status status;

	inspect_matrix(t, &rows, &cols);
	if (w->row > rows || w->rows > rows - w->row || w->col > cols || w->cols > cols - w->col)
		return tb_fail(err, TB_EUSAGE, "tensor %s: rows %ju to %ju, columns %ju to %ju lie "
			       "outside its %ju x %ju", t->name, (uintmax_t)w->row,
			       (uintmax_t)(w->row + w->rows), (uintmax_t)w->col,
			       (uintmax_t)(w->col + w->cols), (uintmax_t)rows, (uintmax_t)cols);
	if (__builtin_mul_overflow(w->rows, w->cols, &size) || size > INSPECT_VALUES_MAX)
		return tb_fail(err, TB_EUSAGE, "at most %u values at a time", INSPECT_VALUES_MAX);
	if (!size)
		return TB_OK;
	if (is_far(&m->files[t->weight.file]) && !scheme_foreign(&t->scheme))
		return values_from_far(m, t, w, cols, out, err);
	status = values_open(&r, m, t, NULL, err);
	if (status)
		return status;
	for (uint64_t i = 0; i < w->rows; i++)
		values_any(&r, (w->row + i) * cols + w->col, (size_t)w->cols, out + i * w->cols);
	status = values_check(&r, err);
	values_close(&r);
	return status;
}

const char *
inspect_part_name(enum values_part p)
{
	static const char *const names[INSPECT_PARTS] = { "weight", "scale", "bias", "global scale" };

	return p < INSPECT_PARTS ? names[p] : "?";
}

const char *
inspect_part_word(const struct tensor *t, enum values_part p)
{
	return p == PART_BIAS && scheme_foreign(&t->scheme) ? "zeros" : inspect_part_name(p);
}
