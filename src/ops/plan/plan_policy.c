#include "config.h"

#include "src/ops/plan/plan_parts.h"

#include <string.h>

#include "src/base/text.h"
#include "src/store/tensor_name.h"

const struct policy_choice policy_kept[PLAN_WHY_COUNT] = {
#define X(id, text) [id] = { { .keep = true }, id },
	PLAN_WHY_LIST(X)
#undef X
};

struct policy_choice
policy_take(struct scheme s, enum plan_why why)
{
	return (struct policy_choice){ { .scheme = s }, why };
}

uint64_t
policy_row(const struct tensor *t)
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

/* The first and last eighths of n layers, and between them, up to `end`, every third. */
static bool
early_late_third(uint64_t i, unsigned n, unsigned end)
{
	return i < n / 8 || i >= 7 * (uint64_t)n / 8 || (i < end && (i - n / 8) % 3 == 2);
}

bool
policy_more_bits(uint64_t layer, unsigned layers)
{
	return early_late_third(layer, layers, layers);
}

/* What an architecture does differently; the first row that matches decides.  An
 * architecture is one that a glob of its row matches. */
enum own { OWN_KEEP, OWN_EIGHT, OWN_EIGHT_ELSE_ASKED, OWN_ASKED };
/* Of what is asked for: always, 4 bits, small floats, those of 4 bits, those of 8. */
enum own_when { ANY, FOUR, FP, FP4, FP8, FOUR_EIGHT_EXPERTS };
/* `in` for those layers, `out` for the rest: all; early, late and each third; the same, but
 * thirds only in the first half. */
enum own_layers { ALL, MORE, MORE_EARLY };
static const struct own_rule {
	const char *arch, *name;
	enum own_when when;
	enum own_layers layers;
	enum own in, out;
} own_rules[] = {
	{ "Qwen3*", "*.linear_attn.in_proj_a.weight", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "Qwen3*", "*.linear_attn.in_proj_b.weight", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "Qwen3*", "*.linear_attn.in_proj_ba.weight", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "[Gg]emma4*", "*per_layer*embed_tokens.weight", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "[Gg]emma4*", "*embed_tokens.weight", ANY, ALL, OWN_EIGHT_ELSE_ASKED, OWN_KEEP },
	{ "[Gg]emma4*", "*vision*", FOUR, ALL, OWN_KEEP, OWN_KEEP },
	{ "[Gg]emma4*", "*audio_tower*", FOUR, ALL, OWN_KEEP, OWN_KEEP },
	{ "[Gg]emma4*", "*embed_audio*", FOUR, ALL, OWN_KEEP, OWN_KEEP },
	{ "[Gg]emma4*", "*.[kv]_proj*", FOUR_EIGHT_EXPERTS, ALL, OWN_EIGHT_ELSE_ASKED, OWN_KEEP },
	{ "[Gg]emma4*", "*.k_proj*", FOUR, ALL, OWN_ASKED, OWN_ASKED },
	{ "[Gg]emma4*", "*.v_proj*", FOUR, MORE, OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "[Gg]emma4*", "*down_proj*", FOUR, MORE, OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "Cohere2MoeForCausalLM", "*per_layer*embed_tokens.weight", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "Cohere2MoeForCausalLM", "*embed_tokens.weight", ANY, ALL, OWN_EIGHT, OWN_KEEP },
	{ "Cohere2MoeForCausalLM", "*.[kv]_proj*", ANY, MORE, OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "Cohere2MoeForCausalLM", "*down_proj*", ANY, MORE, OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "MuseGlimmer*", "*vision*", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "MuseGlimmer*", "*visual*", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "MuseGlimmer*", "*per_layer*embed_tokens.weight", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "MuseGlimmer*", "*embed_tokens.weight", ANY, ALL, OWN_EIGHT_ELSE_ASKED, OWN_KEEP },
	{ "MuseGlimmer*", "*.self_attn.[qkvo]_proj*", FOUR, ALL, OWN_EIGHT_ELSE_ASKED, OWN_KEEP },
	{ "MuseGlimmer*", "*.self_attn.gate_proj*", FOUR, MORE, OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "MuseGlimmer*", "*.self_attn.output_gate_proj*", FOUR, MORE, OWN_EIGHT_ELSE_ASKED,
	  OWN_ASKED },
	{ "MuseGlimmer*", "*.mlp.down_proj*", FOUR, MORE, OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "NemotronH*", "vision_model.*", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "NemotronH*", "mlp1.*", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "NemotronH*", "sound_encoder.*", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "NemotronH*", "sound_projection.*", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "NemotronH*", "*.mixer.conv1d.weight", ANY, ALL, OWN_KEEP, OWN_KEEP },
	{ "NemotronH*", "*embeddings.weight", ANY, ALL, OWN_EIGHT, OWN_KEEP },
	{ "NemotronH*", "*.mixer.[qkvo]_proj.weight", FP4, ALL, OWN_EIGHT_ELSE_ASKED, OWN_KEEP },
	{ "NemotronH*", "*.mixer.out_proj.weight", FP4, MORE, OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "NemotronH*", "*.mixer.down_proj.weight", FP4, MORE, OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "NemotronH*", "*.mixer.experts.*down_proj.weight", FP4, MORE, OWN_EIGHT_ELSE_ASKED,
	  OWN_ASKED },
	{ "NemotronH*", "*.mixer.shared_experts.down_proj.weight", FP4, MORE, OWN_EIGHT_ELSE_ASKED,
	  OWN_ASKED },
	{ "LagunaForCausalLM", "*per_layer*embed_tokens.weight", FP, ALL, OWN_KEEP, OWN_KEEP },
	{ "LagunaForCausalLM", "*embed_tokens.weight", FP, ALL, OWN_EIGHT, OWN_KEEP },
	{ "LagunaForCausalLM", "*lm_head.weight", FP, ALL, OWN_EIGHT, OWN_KEEP },
	{ "LagunaForCausalLM", "*.self_attn.[qkvog]_proj.weight", FP8, ALL, OWN_KEEP, OWN_KEEP },
	{ "LagunaForCausalLM", "*.self_attn.[qkvog]_proj.weight", FP4, ALL, OWN_ASKED, OWN_KEEP },
	{ "LagunaForCausalLM", "*.mlp.gate_proj.weight", FP, ALL, OWN_ASKED, OWN_KEEP },
	{ "LagunaForCausalLM", "*.mlp.up_proj.weight", FP, ALL, OWN_ASKED, OWN_KEEP },
	{ "LagunaForCausalLM", "*.mlp.down_proj.weight", FP, ALL, OWN_ASKED, OWN_KEEP },
	{ "LagunaForCausalLM", "*.mlp.experts.*down_proj.weight", FP8, MORE_EARLY, OWN_KEEP,
	  OWN_ASKED },
	{ "LagunaForCausalLM", "*.mlp.shared_expert.down_proj.weight", FP8, ALL, OWN_KEEP, OWN_KEEP },
	{ "LagunaForCausalLM", "*.mlp.shared_expert.down_proj.weight", FP4, MORE_EARLY,
	  OWN_EIGHT_ELSE_ASKED, OWN_ASKED },
	{ "LagunaForCausalLM", "*.mlp.shared_expert.*_proj.weight", FP, ALL, OWN_ASKED, OWN_KEEP },
	{ "LagunaForCausalLM", "*.mlp.experts.*_proj.weight", FP, ALL, OWN_ASKED, OWN_KEEP },
	{ "LagunaForCausalLM", "*", FP, ALL, OWN_KEEP, OWN_KEEP },
};

static bool
own_applies(const struct own_rule *r, const struct policy_model *m, const struct scheme *asked)
{
	bool fp = scheme_form(asked) == FORM_GROUPS && !scheme_has_bias(asked);

	switch (r->when) {
	case FOUR:
		return asked->bits == 4;
	case FP:
		return fp;
	case FP4:
		return fp && asked->bits == 4;
	case FP8:
		return fp && asked->bits == 8;
	case FOUR_EIGHT_EXPERTS:
		return asked->bits == 4 && m->experts == 8;
	default:
		return true;
	}
}

static bool
own_layer(const struct own_rule *r, const struct policy_model *m, const char *name)
{
	unsigned n = m->layers;
	struct tname_layer l;

	if (r->layers == ALL)
		return true;
	return n && tname_layer(name, &l) && l.stem &&
	       early_late_third(l.number, n, r->layers == MORE ? n : n < 8 ? 0 : n / 2 - 4);
}

static bool
own_choice(const struct policy_model *m, const char *name, const struct tensor *t,
	   const struct scheme *asked, const struct scheme *eight, struct policy_choice *out)
{
	bool eight_fits = scheme_fits(eight, policy_row(t)), asked_fits = scheme_fits(asked, policy_row(t));

	for (size_t i = 0; i < sizeof(own_rules) / sizeof(*own_rules); i++) {
		const struct own_rule *r = &own_rules[i];
		enum own what;

		if (!tb_glob(r->arch, m->arch) || !tb_glob(r->name, name) ||
		    !own_applies(r, m, asked))
			continue;
		what = own_layer(r, m, name) ? r->in : r->out;
		if (what == OWN_KEEP)
			*out = policy_kept[PLAN_ARCH];
		else if (what != OWN_ASKED && eight_fits)
			*out = policy_take(*eight, PLAN_ARCH);
		else if (what != OWN_EIGHT && asked_fits)
			*out = policy_take(*asked, PLAN_ARCH);
		else
			*out = policy_kept[PLAN_ALIGN];
		return true;
	}
	return false;
}

/* The small model that guesses ahead only saves time by being right: its ends are as asked. */
static bool
draft_end(const struct tensor *t, const char *name)
{
	return t->draft && !strstr(name, "per_layer") &&
	       (tb_ends(name, "embed_tokens.weight") || tb_ends(name, "lm_head.weight"));
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

	eight_fits = scheme_fits(&eight, policy_row(t));
	if (t->ndim != 2 && !(t->ndim == 3 && stacked))
		return policy_kept[PLAN_RANK];
	if (t->elems < 1024)
		return policy_kept[PLAN_SMALL];
	if (any_end(name, gates))
		return policy_kept[PLAN_GATE];
	if (draft_end(t, name))
		return scheme_fits(asked, policy_row(t)) ? policy_take(*asked, PLAN_ARCH)
						      : policy_kept[PLAN_ALIGN];
	if (own_choice(m, name, t, asked, &eight, &own))
		return own;
	if (!stacked && (any(name, no_weights) || !tb_ends(name, ".weight")))
		return policy_kept[PLAN_NAME];
	if (tb_ends(name, "lm_head.weight") && !scheme_equal(asked, &eight))
		return eight_fits ? policy_take(eight, PLAN_HEAD) : policy_kept[PLAN_ALIGN];
	if (any(name, vision))
		return policy_kept[PLAN_VISION];
	if (!scheme_fits(asked, policy_row(t)))
		return policy_kept[PLAN_ALIGN];
	if (asked->bits <= 4 && any(name, sensitive) && (experts || !stacked) && eight_fits)
		return policy_take(eight, PLAN_SENSITIVE);
	return policy_take(*asked, PLAN_ASKED);
}

struct policy_choice
policy_uniform(const struct tensor *t, const struct scheme *asked)
{
	if (t->ndim < 2)
		return policy_kept[PLAN_RANK];
	if (!scheme_fits(asked, policy_row(t)))
		return policy_kept[PLAN_ALIGN];
	return policy_take(*asked, PLAN_ASKED);
}
