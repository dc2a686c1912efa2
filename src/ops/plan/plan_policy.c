#include "config.h"

#include "src/ops/plan/plan_parts.h"

#include <string.h>

#include "src/base/text.h"
#include "src/store/tensor_name.h"

static const struct policy_choice kept[] = {
#define X(id, text) [id] = { { .keep = true }, id },
	PLAN_WHY_LIST(X)
#undef X
};

static struct policy_choice
policy_take(struct scheme s, enum plan_why why)
{
	return (struct policy_choice){ { .scheme = s }, why };
}

static uint64_t
row_len(const struct tensor *t)
{
	return t->ndim ? t->dim[t->ndim - 1] : 0;
}

static bool
any(const char *name, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(name, *parts))
			return true;
	return false;
}

static bool
any_end(const char *name, const char *const *ends)
{
	for (; *ends; ends++)
		if (tb_ends(name, *ends))
			return true;
	return false;
}

/* The first and last eighths of the layers and every third between. */
static bool
more_bits(const char *name, unsigned n)
{
	struct tname_layer l;
	uint64_t i;

	if (!tname_layer(name, &l) || !l.stem)
		return false;
	i = l.number;
	return i < n / 8 || i >= 7 * (uint64_t)n / 8 || (i - n / 8) % 3 == 2;
}

/* What an architecture does differently; the first row that matches decides.  An
 * architecture is one that a glob of its row matches. */
enum own { OWN_KEEP, OWN_EIGHT, OWN_EIGHT_ELSE_ASKED, OWN_MORE, OWN_ASKED };
static const struct own_rule {
	const char *arch, *name;
	enum own what;
	bool four_only;		/* only where 4 bits are asked for */
} own_rules[] = {
	{ "Qwen3_5*", "*.linear_attn.in_proj_a.weight", OWN_KEEP, false },
	{ "Qwen3_5*", "*.linear_attn.in_proj_b.weight", OWN_KEEP, false },
	{ "Qwen3_5*", "*.linear_attn.in_proj_ba.weight", OWN_KEEP, false },
	{ "Qwen3Next*", "*.linear_attn.in_proj_a.weight", OWN_KEEP, false },
	{ "Qwen3Next*", "*.linear_attn.in_proj_b.weight", OWN_KEEP, false },
	{ "Qwen3Next*", "*.linear_attn.in_proj_ba.weight", OWN_KEEP, false },
	{ "Gemma4*", "*embed_tokens_per_layer*", OWN_KEEP, false },
	{ "Gemma4*", "*embed_tokens.weight", OWN_EIGHT_ELSE_ASKED, false },
	{ "Gemma4*", "*.k_proj*", OWN_ASKED, true },
	{ "Gemma4*", "*.v_proj*", OWN_MORE, true },
	{ "Gemma4*", "*down_proj*", OWN_MORE, true },
	{ "Cohere2MoeForCausalLM", "*embed_tokens.weight", OWN_EIGHT, false },
	{ "Cohere2MoeForCausalLM", "*.v_proj*", OWN_MORE, false },
	{ "Cohere2MoeForCausalLM", "*.k_proj*", OWN_MORE, false },
	{ "Cohere2MoeForCausalLM", "*down_proj*", OWN_MORE, false },
	{ "MuseGlimmer*", "*vision*", OWN_KEEP, false },
	{ "MuseGlimmer*", "*embed*.weight", OWN_EIGHT, false },
	{ "MuseGlimmer*", "*.[qkvo]_proj.weight", OWN_EIGHT, false },
	{ "MuseGlimmer*", "*.self_attn.gate_proj.weight", OWN_MORE, false },
	{ "MuseGlimmer*", "*.self_attn.output_gate_proj.weight", OWN_MORE, false },
	{ "MuseGlimmer*", "*.mlp.down_proj.weight", OWN_MORE, false },
	{ "NemotronH*", "*vision_model.*", OWN_KEEP, false },
	{ "NemotronH*", "mlp1.*", OWN_KEEP, false },
	{ "NemotronH*", "sound_*", OWN_KEEP, false },
	{ "NemotronH*", "*.mixer.gate*", OWN_KEEP, false },
	{ "NemotronH*", "*.mixer.conv1d*", OWN_KEEP, false },
	{ "NemotronH*", "*embeddings.weight", OWN_EIGHT, false },
};

static bool
own_choice(const struct policy_model *m, const char *name, const struct tensor *t,
	   const struct scheme *asked, const struct scheme *eight, struct policy_choice *out)
{
	bool eight_fits = scheme_fits(eight, row_len(t)), asked_fits = scheme_fits(asked, row_len(t));

	for (size_t i = 0; i < sizeof(own_rules) / sizeof(*own_rules); i++) {
		const struct own_rule *r = &own_rules[i];
		bool more = r->what != OWN_ASKED && (r->what != OWN_MORE || more_bits(name, m->layers));

		if (!tb_glob(r->arch, m->arch) || !tb_glob(r->name, name) ||
		    (r->four_only && asked->bits != 4))
			continue;
		if (r->what == OWN_KEEP)
			*out = kept[PLAN_ARCH];
		else if (more && eight_fits)
			*out = policy_take(*eight, PLAN_ARCH);
		else if (r->what != OWN_EIGHT && asked_fits)
			*out = policy_take(*asked, PLAN_ARCH);
		else
			*out = kept[PLAN_ALIGN];
		return true;
	}
	return false;
}

struct policy_choice
policy_ollama(const struct policy_model *m, const struct tensor *t, const struct scheme *asked)
{
	static const char *const stacks[] = { ".experts.", ".mlp.switch_mlp.", ".mlp.shared_experts.",
					      ".mixer.shared_experts.", NULL };
	static const char *const no_stacks[] = { ".bias", ".scale", ".qbias", NULL };
	static const char *const gates[] = { ".mlp.gate.weight", ".mixer.gate.weight",
		".shared_expert_gate.weight", ".router.proj.weight", NULL };
	static const char *const no_weights[] = { "audio_tower", "embed_audio", "embed", "norm",
						  "ln_", "layernorm", NULL };
	static const char *const vision[] = { "vision", "visual", NULL };
	/* What suffers most: int4 makes them int8 always, the 4-bit floats mxfp8 unless they
	 * belong to an expert. */
	static const char *const sensitive[] = { ".v_proj", ".k_proj", "down_proj", NULL };
	char buf[TNAME_MAX];
	const char *name = tname_in(t->name, TNAME_OLLAMA, buf);
	bool stacked = any(name, stacks) && !any_end(name, no_stacks), experts, eight_fits;
	struct scheme eight = scheme_eight(asked, &experts);
	struct policy_choice own;

	eight_fits = scheme_fits(&eight, row_len(t));
	if (t->ndim != 2 && !(t->ndim == 3 && stacked))
		return kept[PLAN_RANK];
	if (t->elems < 1024)
		return kept[PLAN_SMALL];
	if (any_end(name, gates))
		return kept[PLAN_GATE];
	if (own_choice(m, name, t, asked, &eight, &own))
		return own;
	if (!stacked && (any(name, no_weights) || !tb_ends(name, ".weight")))
		return kept[PLAN_NAME];
	if (tb_ends(name, "lm_head.weight") && !scheme_equal(asked, &eight))
		return eight_fits ? policy_take(eight, PLAN_HEAD) : kept[PLAN_ALIGN];
	if (any(name, vision))
		return kept[PLAN_VISION];
	if (!scheme_fits(asked, row_len(t)))
		return kept[PLAN_ALIGN];
	if (asked->bits <= 4 && any(name, sensitive) && (experts || !stacked) && eight_fits)
		return policy_take(eight, PLAN_SENSITIVE);
	return policy_take(*asked, PLAN_ASKED);
}

struct policy_choice
policy_uniform(const struct tensor *t, const struct scheme *asked)
{
	if (t->ndim < 2)
		return kept[PLAN_RANK];
	if (!scheme_fits(asked, row_len(t)))
		return kept[PLAN_ALIGN];
	return policy_take(*asked, PLAN_ASKED);
}
