/* hparams_config_rope.c - how config.json says that positions turn. */
#include "config.h"

#include "src/engine/hparams_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

/* A list of rope_dims / 2 numbers that frequencies are divided by. */
static enum tb_status
config_factors(const struct config_reader *r, const cJSON *scaling, const char *key, float **out)
{
	const cJSON *list = config_value(scaling, key), *v = json_first(list);
	size_t n = r->hp->rope_dims / 2;
	double x;

	if (!list || json_count(list) != n)
		return tb_fail(r->err, TB_EFORMAT, "config.json: %s is not a list of %zu numbers",
			       key, n);
	*out = tb_calloc(n, sizeof(**out));
	if (!*out)
		return tb_nomem(r->err);
	for (size_t i = 0; i < n; i++, v = json_next(v)) {
		if (!json_f64(v, &x) || !(x >= 1e-6 && x <= 1e6))
			return tb_fail(r->err, TB_EFORMAT, "config.json: %s: number %zu is not from "
				       "1e-6 to 1e6", key, i + 1);
		(*out)[i] = (float)x;
	}
	return TB_OK;
}

/* Each frequency has its own factor, one below and one beyond the original context. */
static enum tb_status
config_longrope(const struct config_reader *r, const cJSON *scaling, struct rope *rope)
{
	const char *original = "original_max_position_embeddings";
	double stretch;
	enum tb_status status;

	rope->original = r->hp->context;
	if ((status = config_real(r, config_value(r->c, original) ? r->c : scaling, original, 2,
				  HP_MAX_CONTEXT, &rope->original)))
		return status;
	stretch = r->hp->context / rope->original;
	if ((status = config_real(r, scaling, "factor", 1, 1e6, &stretch)))
		return status;
	rope->magnitude = stretch > 1 ? sqrt(1 + log(stretch) / log(rope->original)) : 1;
	if ((status = config_real(r, scaling, "attention_factor", 1e-3, 1e3, &rope->magnitude)) ||
	    (status = config_factors(r, scaling, "short_factor", &rope->factors)))
		return status;
	return config_factors(r, scaling, "long_factor", &rope->long_factors);
}

/* How frequencies are changed for contexts longer than the model was first trained
 * for; scaling NULL: not at all. */
/* By how much yarn lengthens what was turned. */
static double
yarn_magnitude(double factor, double mscale)
{
	return factor > 1 ? 0.1 * mscale * log(factor) + 1 : 1;
}

static enum tb_status
config_yarn(const struct config_reader *r, const cJSON *scaling, struct rope *rope)
{
	double own = 1, all = 0;
	bool truncate = true;
	enum tb_status status;

	rope->factor = NAN;
	rope->original = r->hp->context;
	rope->low = 1;
	rope->high = 32;
	if ((status = config_real(r, scaling, "factor", 1, 1e6, &rope->factor)) ||
	    (status = config_real(r, scaling, "original_max_position_embeddings", 2, HP_MAX_CONTEXT,
				  &rope->original)) ||
	    (status = config_real(r, scaling, "beta_fast", 1e-6, 1e6, &rope->high)) ||
	    (status = config_real(r, scaling, "beta_slow", 1e-6, 1e6, &rope->low)) ||
	    (status = config_real(r, scaling, "mscale", 0, 1e3, &own)) ||
	    (status = config_real(r, scaling, "mscale_all_dim", 0, 1e3, &all)) ||
	    (status = config_flag(r, scaling, "truncate", &truncate)))
		return status;
	if (isnan(rope->factor))
		return tb_fail(r->err, TB_EFORMAT, "config.json: rope_scaling of type yarn lacks a "
			       "factor");
	rope->smooth = !truncate;
	rope->magnitude = own > 0 && all > 0
			  ? yarn_magnitude(rope->factor, own) / yarn_magnitude(rope->factor, all)
			  : yarn_magnitude(rope->factor, 1);
	return config_real(r, scaling, "attention_factor", 1e-3, 1e3, &rope->magnitude);
}

/* Frequencies that depend on how long the text is only change behind the context that the
 * model has; with alpha they are those of a larger theta from the start. */
static enum tb_status
config_dynamic(const struct config_reader *r, const cJSON *scaling, struct rope *rope)
{
	double alpha = 1, dims = r->hp->rope_dims;
	enum tb_status status = config_real(r, scaling, "alpha", 1e-3, 1e9, &alpha);

	if (!status && dims > 2)
		rope->theta *= pow(alpha, dims / (dims - 2));
	return status;
}

/* How frequencies are changed for contexts longer than the model was first trained for;
 * scaling NULL: not at all. */
static enum tb_status
config_scaling(const struct config_reader *r, const cJSON *scaling, struct rope *rope)
{
	static const struct { const char *name; enum rope_kind kind; } kinds[] = {
		{ "default", ROPE_PLAIN }, { "linear", ROPE_LINEAR }, { "llama3", ROPE_LLAMA3 },
		{ "longrope", ROPE_LONGROPE }, { "su", ROPE_LONGROPE },
		{ "proportional", ROPE_PROPORTIONAL }, { "yarn", ROPE_YARN },
		{ "dynamic", ROPE_PLAIN },
	};
	const char *name = json_str(json_get(scaling, "rope_type"));
	size_t i = 0, n = sizeof(kinds) / sizeof(*kinds);
	enum tb_status status;

	name = name ? name : json_str(json_get(scaling, "type"));
	while (i < n && !(name && !strcmp(name, kinds[i].name)))
		i++;
	if (scaling && i == n)
		return tb_fail(r->err, TB_EUNSUP, "config.json: rope_scaling of type \"%.40s\" cannot "
			       "be run; default, linear, llama3, longrope, yarn, dynamic and proportional can",
			       name ? name : "(none)");
	rope->kind = scaling ? kinds[i].kind : ROPE_PLAIN;
	if (rope->kind == ROPE_PLAIN)
		return name && !strcmp(name, "dynamic") ? config_dynamic(r, scaling, rope) : TB_OK;
	if (rope->kind == ROPE_LONGROPE)
		return config_longrope(r, scaling, rope);
	if (rope->kind == ROPE_YARN)
		return config_yarn(r, scaling, rope);
	if (rope->kind == ROPE_PROPORTIONAL) {
		rope->factor = 1;
		return config_real(r, scaling, "partial_rotary_factor", 0, 1, &rope->factor);
	}
	rope->factor = rope->low = rope->high = rope->original = NAN;
	if ((status = config_real(r, scaling, "factor", 1, 1e6, &rope->factor)) ||
	    (status = config_real(r, scaling, "low_freq_factor", 1e-6, 1e6, &rope->low)) ||
	    (status = config_real(r, scaling, "high_freq_factor", 1e-6, 1e6, &rope->high)) ||
	    (status = config_real(r, scaling, "original_max_position_embeddings", 1, HP_MAX_CONTEXT,
				  &rope->original)))
		return status;
	if (isnan(rope->factor) ||
	    (rope->kind == ROPE_LLAMA3 && !(rope->high > rope->low && rope->original > 0)))
		return tb_fail(r->err, TB_EFORMAT, "config.json: rope_scaling of type %s lacks a "
			       "factor", rope->kind == ROPE_LLAMA3 ? "llama3" : "linear");
	return TB_OK;
}

/* Most files have rope_scaling beside rope_theta; newer ones rope_parameters with
 * both inside, or inside of one object for each kind of layer. */
enum tb_status
config_rope(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *c = r->c, *p = config_value(c, "rope_parameters");
	const cJSON *full = config_value(p, "full_attention");
	const cJSON *local = config_value(p, "sliding_attention");
	double partial = 1;
	enum tb_status status;

	p = full ? full : p;
	if ((status = config_real(r, config_value(p, "partial_rotary_factor") ? p : c,
				  "partial_rotary_factor", 0, 1, &partial)))
		return status;
	hp->rope_dims = (uint32_t)(hp->head_dim * partial);
	if (hp->arch->rope_partial && config_own(r, "rotary_dim") &&
	    (status = config_count(r, "rotary_dim", HP_MAX_HEAD_DIM, hp->rope_dims, &hp->rope_dims)))
		return status;
	if (partial < 1 && !hp->arch->rope_partial)
		return tb_fail(r->err, TB_EUNSUP, "config.json: partial_rotary_factor %g cannot be "
			       "run", partial);
	if (!hp->rope_dims)
		return tb_fail(r->err, TB_EFORMAT, "config.json: partial_rotary_factor %g leaves "
			       "nothing of a head", partial);
	if ((status = config_real(r, config_value(p, "rope_theta") ? p : c, "rope_theta", 1, 1e12,
				  &hp->rope.theta)) ||
	    (status = config_scaling(r, p ? p : config_value(c, "rope_scaling"), &hp->rope)))
		return status;
	if (local && !(hp->rope_local.theta > 0))
		hp->rope_local.theta = hp->arch->rope_theta;
	if (!(hp->rope_local.theta > 0))
		return TB_OK;
	if ((status = config_real(r, c, "rope_local_base_freq", 1, 1e12, &hp->rope_local.theta)) ||
	    (status = config_real(r, local, "rope_theta", 1, 1e12, &hp->rope_local.theta)))
		return status;
	return config_scaling(r, local, &hp->rope_local);
}
