/* inspect_window.c - a few values, a few bytes: what fits a screen. */
#include "config.h"

#include "src/ops/inspect/inspect.h"

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
