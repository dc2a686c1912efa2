/* arch_gpt_oss.c - gpt-oss: sinks, biases everywhere, experts that stop growing. */
#include "config.h"

#include "src/engine/arch_rows.h"

#include <math.h>

#include "src/engine/hparams_read.h"

#define LIMIT 7		/* what ACT_CLAMPED stops at */

static enum tb_status
gpt_oss_config(const struct config_reader *r)
{
	double limit = LIMIT;
	enum tb_status status = config_real(r, r->c, "swiglu_limit", 0, 1e6, &limit);

	if (!status && limit != LIMIT)
		status = tb_fail(r->err, TB_EUNSUP, "config.json: swiglu_limit %g cannot be run; %d can",
				 limit, LIMIT);
	return status;
}

/* Ollama's own files leave out that positions turn as YaRN has it. */
static enum tb_status
gptoss_metadata(struct meta_reader *r)
{
	struct rope *rope = &r->hp->rope;

	if (meta_find(r, "rope.scaling.type") || !(rope->factor > 1))
		return TB_OK;
	rope->kind = ROPE_YARN;
	rope->low = 1;
	rope->high = 32;
	rope->magnitude = 0.1 * log(rope->factor) + 1;
	return TB_OK;
}

#define GPT_OSS .required = COMMON | EXPERTS | BIASES | PART_BIT(PART_SINKS) | \
	PART_BIT(PART_ROUTER_BIAS) | PART_BIT(PART_EXPERTS_WOVEN) | PART_BIT(PART_EXPERTS_BIAS), \
	.optional = HEAD, .ways = WAY_LATE_NORM | WAY_WOVEN, .experts = true, .routing = { .score = SCORE_CHOSEN }, \
	.keys = KEYS("num_experts", "num_local_experts"), .act = ACT_CLAMPED, .own_act = "silu", \
	.window = 128, .window_period = 2, .rms_eps = 1e-5f, .rope_theta = 150000

const struct arch arch_rows_gpt_oss[] = {
	{ .name = "gpt_oss", .class_name = "GptOssForCausalLM", .gguf_name = "gpt-oss", GPT_OSS,
	  .config = gpt_oss_config },
	{ .name = "gptoss", .class_name = "GptOssForCausalLM", .gguf_name = "gptoss", GPT_OSS,
	  .metadata = gptoss_metadata },
	{ .name = NULL }
};
