/* verify_scales.c - scales of zero make all codes of their group the same number: harmless
 * where the codes are all the same, too, since then the group was constant. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/verify/verify_scan.h"
#include "src/quant/peak.h"

#define WINDOW 32768u		/* scales */
#define STEP_MAX 256u		/* bytes of a group's codes */

/* Codes lie one behind the other, the lowest bits of a byte first. */
static unsigned
code_at(const uint8_t *p, unsigned i, unsigned bits)
{
	unsigned at = i * bits / 8, low = i * bits % 8;
	unsigned both = p[at] | (low + bits > 8 ? (unsigned)p[at + 1] << 8 : 0);

	return both >> low & ((1u << bits) - 1);
}

static enum tb_status
codes_differ(const struct tb_file *f, const struct verify_bytes *b, uint64_t group, bool *differ,
	     struct tb_err *err)
{
	uint8_t codes[STEP_MAX];
	unsigned n = b->step * 8 / b->bits;
	enum tb_status status;

	*differ = false;
	if (b->step > STEP_MAX || (group + 1) * b->step > b->codes_len)
		return TB_OK;
	status = tb_file_read(f, b->codes_off + group * b->step, codes, b->step, err);
	for (unsigned i = 1; !status && i < n; i++)
		*differ |= code_at(codes, i, b->bits) != code_at(codes, 0, b->bits);
	return status;
}

enum tb_status
verify_scales(struct verify_run *r, const struct verify_target *t, const struct tb_file *f,
	      const struct verify_tensor *v, struct tb_err *err)
{
	const struct verify_bytes *b = verify_bytes_at(t->file, v->off, v->len);
	unsigned size = dtype_bits(v->scheme.dtype) / 8;
	uint8_t *window = malloc(WINDOW * 4);
	uint64_t n = v->len / size, bad = 0, first = 0;
	enum tb_status status = window && b ? TB_OK : tb_nomem(err);

	for (uint64_t at = 0; !status && at < n; at += WINDOW) {
		size_t k = n - at < WINDOW ? (size_t)(n - at) : WINDOW;

		status = tb_job_check(r->job, err);
		if (!status)
			status = tb_file_read(f, v->off + at * size, window, k * size, err);
		for (size_t i = 0; !status && i < k; i++) {
			bool differ;

			if (!peak_zero(v->scheme.dtype, window + i * size, 1))
				continue;
			status = codes_differ(f, b, at + i, &differ, err);
			if (!status && differ && !bad++)
				first = v->off + (at + i) * size;
		}
	}
	free(window);
	if (!status && bad) {
		const struct verify_model *m = &r->models[t->uses->model];
		struct verify_where where = { .model = m, .blob = verify_label(t->file),
					      .tensor = v->name, .offset = &first };

		verify_find(r, F_SCALES, &where, "%s: %s holds %ju scale%s of zero over codes that are not"
			    " all the same, the first at byte %ju of %s", m->loc.name, v->name,
			    (uintmax_t)bad, bad == 1 ? "" : "s", (uintmax_t)first, where.blob);
	}
	return status;
}
