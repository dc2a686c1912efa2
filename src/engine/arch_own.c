#include "config.h"

#include "src/engine/arch_own.h"

#include <inttypes.h>
#include <string.h>

/* ---- Ministral 3: queries grow with their position ---- */

enum tb_status
config_ministral3(const struct config_reader *r)
{
	struct hparams *hp = r->hp;

	hp->q_growth_from = hp->rope.original;
	if (!(hp->q_growth_from > 0))
		return TB_OK;
	return config_real(r, config_value(r->c, "rope_parameters"), "llama_4_scaling_beta", 0, 1e3,
			   &hp->q_growth);
}

/* ---- SmolLM3: each fourth layer does not turn ---- */

static void
turn_all_but(struct hparams *hp, uint32_t period)
{
	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i].turned = (i + 1) % period;
}

enum tb_status
config_smollm3(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *list = config_value(r->c, "no_rope_layers"), *v = json_first(list);
	uint32_t period = 4;
	enum tb_status status;

	if ((status = config_count(r, "no_rope_layer_interval", HP_MAX_LAYERS, period, &period)))
		return status;
	turn_all_but(hp, period);
	if (list && json_count(list) != hp->layers)
		return tb_fail(r->err, TB_EFORMAT, "config.json: no_rope_layers are not %" PRIu32,
			       hp->layers);
	for (uint32_t i = 0; v; i++, v = json_next(v)) {
		uint64_t turned;

		if (!json_u64(v, &turned))
			return tb_fail(r->err, TB_EFORMAT, "config.json: no_rope_layers: layer %" PRIu32
				       " is neither 0 nor 1", i);
		hp->layer[i].turned = turned != 0;
	}
	return TB_OK;
}

enum tb_status
meta_smollm3(struct meta_reader *r)
{
	turn_all_but(r->hp, 4);
	return TB_OK;
}

/* ---- Ernie 4.5: behind some layer they are dense again ---- */

enum tb_status
config_ernie4_5_moe(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const cJSON *v = config_value(r->c, "moe_layer_end_index");
	uint64_t end = hp->layers;

	if (json_is_number(v) && json_u64(v, &end))	/* -1: all */
		for (uint32_t i = 0; i < hp->layers; i++)
			if (i > end)
				hp->layer[i].ffn_kind = FFN_DENSE;
	return TB_OK;
}

/* ---- OLMo 3: what is stretched are layers without a window ---- */

static void
stretch_whole(struct hparams *hp)
{
	if (hp->window)
		hp->rope_local = (struct rope){ .theta = hp->rope.theta };
}

enum tb_status
config_olmo3(const struct config_reader *r)
{
	stretch_whole(r->hp);
	return TB_OK;
}

enum tb_status
meta_olmo3(struct meta_reader *r)
{
	stretch_whole(r->hp);
	return TB_OK;
}

/* ---- EXAONE 4: where some layers have a window, the others do not turn ---- */

static void
turn_windowed(struct hparams *hp)
{
	for (uint32_t i = 0; i < hp->layers; i++)
		hp->layer[i].turned = hparams_windowed(hp, i);
}

enum tb_status
config_exaone4(const struct config_reader *r)
{
	if (r->hp->window)
		turn_windowed(r->hp);
	return TB_OK;
}

enum tb_status
meta_exaone4(struct meta_reader *r)
{
	if (r->hp->window)
		turn_windowed(r->hp);
	return TB_OK;
}

/* ---- Command R7B and A: the same, window or not ---- */

enum tb_status
config_cohere2(const struct config_reader *r)
{
	turn_windowed(r->hp);
	return TB_OK;
}

enum tb_status
meta_cohere2(struct meta_reader *r)
{
	turn_windowed(r->hp);
	return TB_OK;
}

/* The dense layers in front turn as well, and the pattern begins behind them. */
static void
turn_dense(struct hparams *hp)
{
	for (uint32_t i = 0; i < hp->layers && hp->layer[i].ffn_kind == FFN_DENSE; i++)
		hp->layer[i].turned = true;
}

enum tb_status
config_cohere2_moe(const struct config_reader *r)
{
	struct hparams *hp = r->hp;
	const char *how = json_str(config_value(r->c, "shared_expert_combination_strategy"));
	uint32_t period = 1;
	enum tb_status status;

	if (how && strcmp(how, "average") && strcmp(how, "sum"))
		return tb_fail(r->err, TB_EUNSUP, "config.json: shared_expert_combination_strategy "
			       "\"%.40s\" cannot be run; average and sum can", how);
	if (how && !strcmp(how, "sum"))
		hp->routing.both = 1;
	if ((status = config_count(r, "prefix_dense_sliding_window_pattern", HP_MAX_LAYERS, period,
				   &period)))
		return status;
	turn_windowed(hp);
	if (period == 1)
		turn_dense(hp);
	return TB_OK;
}

enum tb_status
meta_cohere2_moe(struct meta_reader *r)
{
	turn_windowed(r->hp);
	turn_dense(r->hp);
	return TB_OK;
}
