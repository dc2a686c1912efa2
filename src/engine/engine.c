#include "config.h"

#include "src/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>

#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/engine/run.h"
#include "src/engine/synthetic.h"
#include "src/engine/team.h"

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
	e->vec = vec_ops();
	if (status)
		engine_free(e);
	else
		*out = e;
	return status;
}

/* Factors of frequencies that are tensors go where those of config.json are. */
static void
take_factors(struct engine *e)
{
	float **v = e->weights.rest->v;

	if (v[SLOT_ROPE_FREQS]) {
		free(e->hp.rope.factors);
		e->hp.rope.factors = v[SLOT_ROPE_FREQS];
		v[SLOT_ROPE_FREQS] = NULL;
	}
	if (v[SLOT_ROPE_LONG]) {
		free(e->hp.rope.long_factors);
		e->hp.rope.long_factors = v[SLOT_ROPE_LONG];
		v[SLOT_ROPE_LONG] = NULL;
	}
}

enum tb_status
engine_open(struct engine **out, const struct model *m, const struct engine_opts *opts,
	    struct tb_err *err)
{
	struct engine *e;
	enum tb_status status;

	*out = NULL;
	if ((status = engine_new(&e, opts, err)))
		return status;
	if ((status = hparams_model(&e->hp, m, err)) ||
	    (status = weights_init(&e->weights, &e->hp, err)) ||
	    (status = weights_load(&e->weights, &e->hp, m, err))) {
		engine_free(e);
		return status;
	}
	take_factors(e);
	*out = e;
	return TB_OK;
}

enum tb_status
engine_synthetic(struct engine **out, const struct synthetic *spec, const struct engine_opts *opts,
		 struct tb_err *err)
{
	struct engine *e;
	enum tb_status status;

	*out = NULL;
	if ((status = engine_new(&e, opts, err)))
		return status;
	if ((status = hparams_parse(&e->hp, spec->config, spec->config_len, err)) ||
	    (status = weights_init(&e->weights, &e->hp, err)) ||
	    (status = weights_make(&e->weights, &e->hp, spec, e->team, err)))
		engine_free(e);
	else
		*out = e;
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
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void
engine_info(const struct engine *e, struct engine_info *out)
{
	const struct hparams *hp = &e->hp;

	*out = (struct engine_info){
		.arch = hp->arch->name, .vocab = hp->vocab, .dim = hp->dim,
		.layers = hp->layers, .heads = hp->heads, .kv_heads = hp->kv_heads,
		.head_dim = hp->head_dim, .ffn = hp->ffn, .experts = hp->experts,
		.experts_used = hp->experts_used, .context = hp->context,
		.weight_bytes = weights_token_bytes(&e->weights, hp),
		.kernels = matmul_kernels(),
	};
}
