#include "config.h"

#include "src/ops/bench/bench_walk.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/probe.h"
#include "src/engine/synthetic_ggml.h"
#include "src/engine/team.h"
#include "src/format/ggml_type.h"
#include "src/ops/bench/bench_parts.h"

enum { LAYERS = 22, DIM = 2048, KV = 256, FFN = 5632, VOCAB = 32000 };
enum { Q, K, V, O, GATE, UP, DOWN, A_LAYER, MATRICES = LAYERS * A_LAYER + 1 };

static const struct { uint32_t rows, cols; } shapes[A_LAYER] = {
	[Q] = { DIM, DIM }, [K] = { KV, DIM }, [V] = { KV, DIM }, [O] = { DIM, DIM },
	[GATE] = { FFN, DIM }, [UP] = { FFN, DIM }, [DOWN] = { DIM, FFN },
};

/* What shares an x is asked for at once. */
static const struct { unsigned first, n; } steps[] = {
	{ Q, 3 }, { O, 1 }, { GATE, 2 }, { DOWN, 1 },
};

struct walk {
	struct matrix matrix[MATRICES];
	struct team *team;		/* borrowed */
	struct matmul *mm;
	uint8_t *data;			/* owned, as all below */
	size_t len;
	float *x, *y[3];
	size_t m;			/* for which x and y have room */
};

struct fill_job { struct walk *w; const struct bench_bits *bits; uint8_t *p; size_t len; };

#define FILL_CHUNK ((size_t)1 << 20)

/* BF16 between 1/64 and 1/32 either side of zero; scale bytes of the fp kinds around 2^-7
 * (E8M0) or 1 (E4M3), none subnormal. */
static const struct bench_bits any_bits = { UINT64_MAX, 0 },
	bf16_bits = { UINT64_C(0x807f807f807f807f), UINT64_C(0x3c803c803c803c80) },
	e4m3_bits = { UINT64_C(0x0707070707070707), UINT64_C(0x3838383838383838) },
	e8m0_bits = { UINT64_C(0x0303030303030303), UINT64_C(0x7878787878787878) };

static void
fill_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct fill_job *job = arg;
	size_t at = chunk * FILL_CHUNK, left = job->len - at;

	(void)thread;
	bench_fill(job->p + at, left < FILL_CHUNK ? left : FILL_CHUNK, (at + 1) * BENCH_SEED,
		   job->bits);
}

static void
fill_part(struct walk *w, uint8_t *p, size_t len, const struct bench_bits *bits)
{
	struct fill_job job = { w, bits, p, len };

	team_run(w->team, fill_chunk, &job, (unsigned)((len + FILL_CHUNK - 1) / FILL_CHUNK));
}

/* Parts of a matrix lie one behind the other, as in a file. */
static size_t
place_matrix(struct walk *w, unsigned i, const struct scheme *s, size_t at)
{
	struct matrix *m = &w->matrix[i];
	unsigned kind = i % A_LAYER;
	bool head = i == MATRICES - 1;
	uint64_t n;
	size_t scales;

	*m = (struct matrix){ .scheme = *s, .global = 1, .rows = head ? VOCAB : shapes[kind].rows,
			      .cols = head ? DIM : shapes[kind].cols };
	m->scale_dtype = scheme_scale_dtype(s, DT_BF16);
	n = (uint64_t)m->rows * m->cols;
	scales = scheme_scales(s, n) * (m->scale_dtype == DT_U8 ? 1 : 2);
	m->codes = w->data + at;
	at += scheme_code_bytes(s, n);
	m->scales = scales ? w->data + at : NULL;
	at += scales;
	m->biases = scheme_has_bias(s) ? w->data + at : NULL;
	at += scheme_has_bias(s) ? scales : 0;
	return at;
}

static void
fill_matrix(struct walk *w, const struct matrix *m)
{
	size_t codes = scheme_code_bytes(&m->scheme, (uint64_t)m->rows * m->cols);
	size_t scales = scheme_scales(&m->scheme, (uint64_t)m->rows * m->cols);
	bool bytes = m->scale_dtype == DT_U8;

	fill_part(w, (uint8_t *)m->codes, codes,
		  scheme_is_plain(&m->scheme) ? &bf16_bits : &any_bits);
	if (scheme_form(&m->scheme) == FORM_BLOCKS)
		synthetic_ggml(m->scheme.ggml, (uint8_t *)m->codes,
			       codes / ggml_info(m->scheme.ggml)->bytes);
	if (m->scales)
		fill_part(w, (uint8_t *)m->scales, scales * (bytes ? 1 : 2),
			  !bytes ? &bf16_bits
			  : scheme_scale_float(&m->scheme) == DT_F8_E4M3 ? &e4m3_bits : &e8m0_bits);
	if (m->biases)
		fill_part(w, (uint8_t *)m->biases, scales * 2, &bf16_bits);
}

enum tb_status
walk_new(struct walk **out, const struct scheme *scheme, struct team *team, struct tb_err *err)
{
	struct walk *w = *out = tb_calloc(1, sizeof(*w));
	enum tb_status status;

	if (!w)
		return tb_nomem(err);
	w->team = team;
	status = matmul_new(&w->mm, team, err);
	for (unsigned i = 0; i < MATRICES; i++)
		w->len = place_matrix(w, i, scheme, w->len);
	w->data = tb_aligned(w->len);
	if (!status && !w->data)
		status = tb_nomem(err);
	for (size_t i = 0, at = 0; !status && i < MATRICES; i++) {
		at = place_matrix(w, (unsigned)i, scheme, at);
		fill_matrix(w, &w->matrix[i]);
	}
	if (status) {
		walk_free(w);
		*out = NULL;
	}
	return status;
}

void
walk_free(struct walk *w)
{
	if (!w)
		return;
	matmul_free(w->mm);
	for (unsigned i = 0; i < 3; i++)
		free(w->y[i]);
	free(w->x);
	free(w->data);
	free(w);
}

size_t
walk_bytes(const struct walk *w)
{
	return w->len;
}

double
walk_read(const struct walk *w)
{
	return probe_read(w->team, w->data, w->len);
}

static enum tb_status
walk_room(struct walk *w, size_t m, struct tb_err *err)
{
	size_t widest = m <= WALK_GUESSED ? VOCAB : FFN;

	if (m <= w->m)
		return TB_OK;
	free(w->x);
	w->x = tb_aligned(m * FFN * sizeof(float));
	for (unsigned i = 0; i < 3; i++) {
		free(w->y[i]);
		w->y[i] = tb_calloc(m * widest, sizeof(float));
	}
	w->m = w->x && w->y[0] && w->y[1] && w->y[2] ? m : 0;
	if (!w->m)
		return tb_nomem(err);
	for (size_t i = 0; i < m * FFN; i++)
		w->x[i] = (float)(i * 2654435761u % 2001) / 1000 - 1;
	return TB_OK;
}

static enum tb_status
run_step(struct walk *w, unsigned first, unsigned n, size_t m, struct tb_err *err)
{
	const struct matrix *list[3];

	for (unsigned i = 0; i < n; i++)
		list[i] = &w->matrix[first + i];
	return matmul_run(w->mm, list, n, w->x, m, w->y, err);
}

enum tb_status
walk_passes(struct walk *w, size_t m, double *seconds, struct tb_err *err)
{
	enum tb_status status = walk_room(w, m, err);
	double start = tb_monotonic();

	for (unsigned l = 0; l < LAYERS; l++)
		for (size_t s = 0; s < sizeof(steps) / sizeof(*steps) && !status; s++)
			status = run_step(w, l * A_LAYER + steps[s].first, steps[s].n, m, err);
	if (!status && m <= WALK_GUESSED)
		status = run_step(w, MATRICES - 1, 1, m, err);
	*seconds = tb_monotonic() - start;
	return status;
}
