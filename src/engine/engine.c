#include "config.h"

#include "src/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/engine/adapter.h"
#include "src/engine/attn_ops.h"
#include "src/engine/mixer.h"
#include "src/engine/run.h"
#include "src/engine/synthetic.h"
#include "src/engine/team.h"
#include "src/store/model.h"

static enum tb_status
engine_new(struct engine **out, const struct engine_opts *opts, struct tb_err *err)
{
	unsigned threads = opts && opts->threads ? opts->threads : tb_cpus();
	struct engine *e = tb_calloc(1, sizeof(*e));
	enum tb_status status;

	*out = NULL;
	if (!e)
		return tb_nomem(err);
	pthread_mutex_init(&e->lock, NULL);
	e->team = team_new(threads);
	status = e->team ? matmul_new(&e->mm, e->team, err) : tb_nomem(err);
	if (!status && opts && opts->exact)
		matmul_exactly(e->mm);
	e->vec = vec_ops();
	e->scan = scan_ops();
	e->attn = attn_ops();
	e->attn_bf16 = opts && opts->exact ? NULL : attn_bf16();
	e->kv = kv_chosen(opts);
	if (status)
		engine_free(e);
	else
		*out = e;
	return status;
}

enum tb_status
engine_open(struct engine **out, const struct model *m, const struct engine_opts *opts,
	    struct tb_err *err)
{
	enum tb_status status = engine_new(out, opts, err);
	struct engine *e = *out;
	float **v;

	if (status)
		return status;
	e->gguf = model_has_keys(m);
	if ((status = adapter_alone(m, err)) || (status = hparams_model(&e->hp, m, err)) ||
	    (status = weights_init(&e->weights, &e->hp, err)) ||
	    (status = weights_load(&e->weights, &e->hp, m, err)) ||
	    (status = adapters_own(e, m, err))) {
		engine_free(e);
		*out = NULL;
		return status;
	}
	/* Factors of frequencies that are tensors go where those of config.json are. */
	v = e->weights.rest->v;
	for (unsigned i = 0; i < 2; i++) {
		enum slot s = i ? SLOT_ROPE_LONG : SLOT_ROPE_FREQS;
		float **to = i ? &e->hp.rope.long_factors : &e->hp.rope.factors;

		if (!v[s])
			continue;
		free(*to);
		*to = v[s];
		v[s] = NULL;
	}
	return TB_OK;
}

enum tb_status
engine_synthetic(struct engine **out, const struct synthetic *spec, const struct engine_opts *opts,
		 struct tb_err *err)
{
	enum tb_status status = engine_new(out, opts, err);
	struct engine *e = *out;

	if (status)
		return status;
	if ((status = hparams_parse(&e->hp, spec->config, spec->config_len, err)) ||
	    (status = weights_init(&e->weights, &e->hp, err)) ||
	    (status = weights_make(&e->weights, &e->hp, spec, e->team, err))) {
		engine_free(e);
		*out = NULL;
	}
	return status;
}

void
engine_free(struct engine *e)
{
	if (!e)
		return;
	matmul_free(e->mm);
	team_free(e->team);
	weights_free(&e->weights);
	hparams_free(&e->hp);
	free(e->low);
	run_work_free(&e->work);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* Of all layers' matrices. */
static const struct matrix *
largest_matrix(const struct engine *e)
{
	const struct matrix *best = &e->weights.rest->m[SLOT_OUTPUT];
	uint64_t most = 0;

	for (uint32_t i = 0; i < e->hp.layers; i++)
		for (enum slot s = 0; s < SLOT_COUNT; s++) {
			const struct layer *l = &e->weights.layers[i];
			const struct matrix *m = l->x[s] ? l->x[s] : &l->m[s];

			if (!m->codes || (uint64_t)m->rows * m->cols <= most)
				continue;
			most = (uint64_t)m->rows * m->cols;
			best = m;
		}
	return best;
}

void
engine_info(const struct engine *e, struct engine_info *out)
{
	const struct hparams *hp = &e->hp;

	*out = (struct engine_info){
		.arch = hp->arch->name, .vocab = hp->vocab, .dim = hp->dim,
		.layers = hp->layers, .heads = hp->heads, .kv_heads = hp->kv_heads,
		.head_dim = hp->head_dim, .ffn = hp->experts ? hp->expert_ffn : hp->ffn, .experts = hp->experts,
		.experts_used = hp->experts_used, .context = hp->context,
		.weight_bytes = weights_token_bytes(&e->weights, hp),
		.kernels = matmul_kernels(), .fixed_pieces = hp->experts || mixer_state_bytes(hp),
		.prefill = matmul_instruction(e->mm, largest_matrix(e)),
	};
}
