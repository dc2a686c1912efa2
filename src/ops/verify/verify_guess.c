#include "config.h"

#include "src/ops/verify/verify_guess.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/model/values.h"
#include "src/quant/stats.h"
#include "src/store/tensor_name.h"

#define WINDOW 65536u	/* elements; a multiple of VALUES_STEP */
#define PEERS 4		/* layers around a tensor's that are asked */
#define FAR 256		/* so many times their largest value is odd: a bit of an exponent
			 * makes 65536 times and more of a usual weight */
#define ABSURD 1e30	/* odd without any to compare with: the highest bit of one */

/* What one look at a tensor says. */
struct look { bool known, readable; uint64_t odd; double peak; };

struct guess {
	const struct model *m;
	struct tb_job *job;
	struct look *looks;	/* owned; one a tensor of the model */
	float *x;		/* owned; WINDOW values */
};

static bool
worth(const struct tensor *t)
{
	const struct scheme *s = &t->scheme;

	if (scheme_is_plain(s))
		return dtype_floating(s->dtype) && dtype_bits(s->dtype) >= 8 && s->dtype != DT_C64;
	return scheme_readable(s);
}

/* index: NULL, or where to put the first value that is not finite or as large as `peak`;
 * then it stops there. */
static enum tb_status
read_tensor(struct guess *g, const struct tensor *t, double peak, uint64_t *index,
	    struct stats *out, struct tb_err *err)
{
	struct values v;
	enum tb_status status = values_open(&v, g->m, t, NULL, err);

	stats_init(out);
	if (status)
		return status;
	for (uint64_t at = 0; !status && at < t->elems; at += WINDOW) {
		size_t n = t->elems - at < WINDOW ? (size_t)(t->elems - at) : WINDOW;

		status = tb_job_check(g->job, err);
		if (status)
			break;
		values_f32(&v, at, n, g->x);
		stats_add(out, DT_F32, g->x, n, at);
		for (size_t i = 0; index && i < n; i++)
			if (!isfinite(g->x[i]) || fabs((double)g->x[i]) >= peak) {
				*index = at + i;
				values_close(&v);
				return TB_OK;
			}
	}
	if (!status)
		status = values_check(&v, err);
	values_close(&v);
	return status;
}

static enum tb_status
look_at(struct guess *g, const struct tensor *t, struct look **out, struct tb_err *err)
{
	struct look *l = *out = &g->looks[t - g->m->tensors];
	enum tb_status status = TB_OK;
	struct stats s;

	if (!l->known && worth(t)) {
		status = read_tensor(g, t, 0, NULL, &s, err);
		l->readable = !status && s.n + s.nans + s.infs > 0;
		l->odd = s.nans + s.infs;
		l->peak = s.n ? fmax(fabs(s.min), fabs(s.max)) : 0;
	}
	l->known = true;
	return status == TB_ECANCEL || status == TB_ENOMEM ? status : TB_OK;
}

/* The tensor of that name in another layer, or NULL. */
static const struct tensor *
peer_of(const struct model *m, const struct tensor *t, int64_t step)
{
	struct tname_layer layer;
	char name[TNAME_MAX], digits[24];
	int n;

	if (!tname_layer(t->name, &layer) || (step < 0 && layer.number < (uint64_t)-step))
		return NULL;
	n = snprintf(digits, sizeof(digits), "%" PRIu64, layer.number);
	n = snprintf(name, sizeof(name), "%.*s%" PRIu64 "%s", (int)layer.len - n, t->name,
		     layer.number + (uint64_t)step, t->name + layer.len);
	return n < (int)sizeof(name) ? model_tensor(m, name) : NULL;
}

/* The largest value in the layers around the tensor's; NAN: there are none. */
static enum tb_status
peak_around(struct guess *g, const struct tensor *t, double *peak, struct tb_err *err)
{
	static const int64_t steps[] = { -1, 1, -2, 2, -3, 3, -4, 4 };
	enum tb_status status = TB_OK;
	unsigned n = 0;

	*peak = NAN;
	for (size_t i = 0; !status && n < PEERS && i < sizeof(steps) / sizeof(*steps); i++) {
		const struct tensor *peer = peer_of(g->m, t, steps[i]);
		struct look *l;

		if (!peer || (status = look_at(g, peer, &l, err)) || !l->readable || l->odd)
			continue;
		*peak = fmax(*peak, l->peak);
		n++;
	}
	return status;
}

/* How odd the tensor is: 0 for not, infinite for values that are no numbers. */
static double
oddness(const struct look *l, double around)
{
	if (l->odd)
		return INFINITY;
	if (isnan(around))
		return l->peak > ABSURD ? l->peak : 0;
	return around > 0 && l->peak > FAR * around ? l->peak / around : 0;
}

static void
put_why(const struct look *l, double around, char out[256])
{
	int n = l->odd ? snprintf(out, 256, "%" PRIu64 " of its values are NaN or infinite", l->odd)
		       : snprintf(out, 256, "its largest value is %.3g", l->peak);

	if (!isnan(around))
		snprintf(out + n, 256 - (size_t)n, ", in the layers around it %s%.3g",
			 l->odd ? "none is, and the largest is " : "", around);
}

static enum tb_status
judge_tensor(struct guess *g, const struct tensor *t, double *worst, struct verify_guess *out,
	     struct tb_err *err)
{
	struct look *l;
	double around = NAN, odd;
	enum tb_status status = look_at(g, t, &l, err);

	/* most are not odd whatever is around them */
	if (!status && l->readable)
		status = peak_around(g, t, &around, err);
	odd = !status && l->readable ? oddness(l, around) : 0;
	if (odd > *worst) {
		*worst = odd;
		out->t = t;
		put_why(l, around, out->why);
	}
	return status;
}

static bool
in_file(const struct tensor *t, unsigned file)
{
	for (enum values_part p = 0; p < PART_COUNT; p++)
		if (values_part_of(t, p) && values_part_of(t, p)->file == file)
			return true;
	return false;
}

enum tb_status
verify_guess(const struct model *m, unsigned file, struct tb_job *job, struct verify_guess *out,
	     struct tb_err *err)
{
	struct guess g = { .m = m, .job = job, .looks = tb_calloc(m->ntensors + 1, sizeof(*g.looks)),
			   .x = malloc(WINDOW * sizeof(*g.x)) };
	enum tb_status status = g.looks && g.x ? TB_OK : tb_nomem(err);
	double worst = 0;
	struct stats s;

	*out = (struct verify_guess){ 0 };
	for (size_t i = 0; !status && i < m->ntensors; i++)
		if (in_file(&m->tensors[i], file))
			status = judge_tensor(&g, &m->tensors[i], &worst, out, err);
	if (!status && out->t)
		status = read_tensor(&g, out->t, g.looks[out->t - m->tensors].odd ? INFINITY
				     : g.looks[out->t - m->tensors].peak, &out->index, &s, err);
	if (status && status != TB_ECANCEL && status != TB_ENOMEM) {
		*out = (struct verify_guess){ 0 };	/* it changes while it is looked at */
		status = TB_OK;
	}
	free(g.looks);
	free(g.x);
	return status;
}
