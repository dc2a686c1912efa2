/* moe_biased.c - experts with biases, whose gate and up may be one matrix with their
 * rows in turns: gpt-oss. */
#include "config.h"

#include "src/engine/run.h"

struct biased { struct run *run; const struct layer *l; uint32_t e; float *out; };

static void
add_bias(const struct biased *b, enum slot s, float *x, size_t n)
{
	if (b->l->v[s])
		b->run->e->vec->add(x, b->l->v[s] + n * b->e, n);
}

/* Of gate and up in turns: up's buffer gets act(gate) * up. */
static void
act_woven_row(void *arg, size_t row)
{
	const struct biased *b = arg;
	const struct hparams *hp = b->run->hp;
	const struct work *w = &b->run->e->work;
	size_t n = hp->expert_ffn;
	float *both = w->gate + row * 2 * n, *to = w->up + row * n;

	add_bias(b, SLOT_X_GATE_UP_BIAS, both, 2 * n);
	for (size_t i = 0; i < n; i++) {
		to[i] = both[2 * i];
		both[i] = both[2 * i + 1];
	}
	b->run->e->vec->act_mul[hp->act](to, both, n);
}

static void
act_row(void *arg, size_t row)
{
	const struct biased *b = arg;
	const struct hparams *hp = b->run->hp;
	const struct work *w = &b->run->e->work;
	size_t n = hp->expert_ffn;

	add_bias(b, SLOT_X_GATE_BIAS, w->gate + row * n, n);
	add_bias(b, SLOT_X_UP_BIAS, w->up + row * n, n);
	b->run->e->vec->act_mul[hp->act](w->gate + row * n, w->up + row * n, n);
}

static void
bias_row(void *arg, size_t row)
{
	const struct biased *b = arg;
	size_t dim = b->run->hp->dim;

	add_bias(b, SLOT_X_DOWN_BIAS, b->out + row * dim, dim);
}

bool
expert_biased(const struct layer *l)
{
	return l->v[SLOT_X_DOWN_BIAS] || l->x[SLOT_X_GATE_UP];
}

enum tb_status
run_expert_biased(struct run *run, const struct layer *l, uint32_t e, const float *x, size_t m,
		  float *out)
{
	struct work *w = &run->e->work;
	bool woven = l->x[SLOT_X_GATE_UP];
	const struct matrix *in[] = { woven ? &l->x[SLOT_X_GATE_UP][e] : &l->x[SLOT_X_GATE][e],
				      woven ? NULL : &l->x[SLOT_X_UP][e] };
	const struct matrix *down = &l->x[SLOT_X_DOWN][e];
	struct biased b = { run, l, e, out };
	float *y[] = { w->gate, w->up };
	enum tb_status status;

	if ((status = run_matmul(run, in, woven ? 1 : 2, x, m, y)))
		return status;
	run_rows(run, woven ? act_woven_row : act_row, &b, m, run->hp->expert_ffn);
	if ((status = run_matmul(run, &down, 1, woven ? w->up : w->gate, m, &out)))
		return status;
	run_rows(run, bias_row, &b, m, run->hp->dim);
	return TB_OK;
}
