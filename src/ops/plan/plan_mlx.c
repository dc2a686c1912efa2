/* plan_mlx.c - what mlx_lm.convert gives to whom: all that has weights to quantize, the
 * embedding and the head among them; gates of experts as each of its models says; and
 * its mixes of a low and a high width. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/ops/plan/plan_parts.h"
#include "src/store/tensor_name.h"

/* mlx_lm has the first four, mlx_vlm all. */
static const struct mix { const char *name; unsigned low, high; } mixes[] = {
	{ "", 4, 4 },			/* the default */
	{ "mixed_2_6", 2, 6 },
	{ "mixed_3_4", 3, 4 },
	{ "mixed_3_6", 3, 6 },
	{ "mixed_4_6", 4, 6 },
	{ "mixed_3_5", 3, 5 },
	{ "mixed_3_8", 3, 8 },
	{ "mixed_4_8", 4, 8 },
};
#define NMIXES (sizeof(mixes) / sizeof(*mixes))

bool
mlx_mix_parse(const char *s, unsigned *mix)
{
	for (*mix = 0; *mix < NMIXES; ++*mix)
		if (!strcmp(s, mixes[*mix].name))
			return true;
	return false;
}

const char *
mlx_mix_name(unsigned mix)
{
	return mix < NMIXES ? mixes[mix].name : NULL;
}

struct scheme
mlx_mix_scheme(unsigned mix, unsigned group)
{
	return scheme_affine(mixes[mix].low, group ? group : 64);
}

/* Gates that choose experts, by model_type: 8 bits, or no module that could be quantized.
 * Those of all other models are as the rest. */
static const struct gate { const char *type; bool eight; } gates[] = {
	{ "qwen3_moe*", true }, { "qwen3_next*", true }, { "qwen3_5*", true },
	{ "qwen3_vl_moe*", true }, { "Klear", true }, { "mellum", true }, { "kimi_linear", true },
	{ "gpt_oss", true }, { "granitemoe*", true }, { "lfm2_moe", true }, { "minimax*", true },
	{ "gemma4*", true }, { "bailing_moe*", true }, { "jamba", true }, { "afmoe", true },
	{ "step3p5", true }, { "longcat_flash*", true },
	{ "deepseek*", false }, { "dots1", false }, { "exaone_moe", false }, { "glm4_moe*", false },
	{ "laguna", false }, { "mimo_v2*", false }, { "nemotron_h*", false }, { "kimi_k2*", false },
};

static const struct gate *
gate_of(const struct policy_model *m, const char *name)
{
	if (tname_role(name) != TNAME_ROUTER && !tb_ends(name, ".shared_expert_gate.weight"))
		return NULL;
	for (size_t i = 0; i < sizeof(gates) / sizeof(*gates); i++)
		if (tb_glob(gates[i].type, m->type))
			return &gates[i];
	return NULL;
}

/* Is it the weight of a module of theirs?  Other parts of a model than its text are not
 * in their files; here they stay what they are. */
static enum plan_why
not_theirs(const struct tensor *t)
{
	size_t head;
	const char *proj;

	if (tname_role(t->name) == TNAME_MEDIA)
		return PLAN_VISION;
	if (t->ndim != 2 && !(t->ndim == 3 && tname_stack(t->name, &head, &proj)))
		return PLAN_RANK;
	return tb_ends(t->name, ".weight") || t->ndim == 3 ? PLAN_WHY_COUNT : PLAN_NAME;
}

/* Their mixes look for words in a name. */
static bool
high_bits(const struct policy_model *m, const char *name)
{
	static const char *const words[] = { "v_proj", "v_a_proj", "v_b_proj", "down_proj" };
	struct tname_layer l = { .number = 0 };

	if (strstr(name, "lm_head"))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(name, words[i]))
			return policy_more_bits(tname_layer(name, &l) ? l.number : 0, m->layers);
	return false;
}

struct policy_choice
policy_mlx(const struct policy_model *m, const struct tensor *t, const struct scheme *asked,
	   unsigned mix)
{
	char buf[TNAME_MAX];
	const char *name = tname_in(t->name, TNAME_OLLAMA, buf);
	enum plan_why why = not_theirs(t);
	const struct scheme eight = scheme_affine(8, 64);
	struct scheme high = *asked;

	if (why != PLAN_WHY_COUNT)
		return policy_kept[why];
	if (!scheme_fits(asked, policy_row(t)))
		return policy_kept[PLAN_ALIGN];
	if (mix) {
		high.bits = mixes[mix].high;
		return high_bits(m, name) ? policy_take(high, PLAN_MIX)
					  : policy_take(*asked, PLAN_ASKED);
	}
	if (gate_of(m, name) && !gate_of(m, name)->eight)
		return policy_kept[PLAN_GATE];
	if (gate_of(m, name) && scheme_fits(&eight, policy_row(t)))
		return policy_take(eight, PLAN_ARCH);
	return policy_take(*asked, PLAN_ASKED);
}
