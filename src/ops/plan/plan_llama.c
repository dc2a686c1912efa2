/* plan_llama.c - what llama-quantize gives to whom, by the names of GGUF files: a mix is a
 * type for most and rules for what suffers from it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/ggml_type.h"
#include "src/ops/plan/plan_parts.h"
#include "src/store/tensor_name.h"

/* id, name, the type of most tensors */
#define MIX_LIST(X) \
	X(Q2_K, GGML_Q2_K) X(Q2_K_S, GGML_Q2_K) \
	X(Q3_K_S, GGML_Q3_K) X(Q3_K_M, GGML_Q3_K) X(Q3_K_L, GGML_Q3_K) \
	X(Q4_0, GGML_Q4_0) X(Q4_1, GGML_Q4_1) X(Q4_K_S, GGML_Q4_K) X(Q4_K_M, GGML_Q4_K) \
	X(Q5_0, GGML_Q5_0) X(Q5_1, GGML_Q5_1) X(Q5_K_S, GGML_Q5_K) X(Q5_K_M, GGML_Q5_K) \
	X(Q6_K, GGML_Q6_K) X(Q8_0, GGML_Q8_0) X(IQ4_NL, GGML_IQ4_NL) X(IQ4_XS, GGML_IQ4_XS) \
	X(MXFP4_MOE, GGML_MXFP4) X(F16, GGML_F16) X(BF16, GGML_BF16) X(F32, GGML_F32)
#define X(id, type) MIX_##id,
enum { MIX_LIST(X) MIX_COUNT };
#undef X

static const struct { const char *name; uint32_t type; } mixes[] = {
#define X(id, type) { #id, type },
	MIX_LIST(X)
#undef X
};
static const struct { const char *name; unsigned mix; } aliases[] = {
	{ "Q3_K", MIX_Q3_K_M }, { "Q4_K", MIX_Q4_K_M }, { "Q5_K", MIX_Q5_K_M },
	{ "MXFP4", MIX_MXFP4_MOE },
};

bool
llama_mix_parse(const char *s, unsigned *mix)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		if (!strcasecmp(s, aliases[i].name)) {
			*mix = aliases[i].mix;
			return true;
		}
	for (*mix = 0; *mix < MIX_COUNT; ++*mix)
		if (!strcasecmp(s, mixes[*mix].name))
			return true;
	return false;
}

const char *
llama_mix_name(unsigned mix)
{
	return mix < MIX_COUNT ? mixes[mix].name : NULL;
}

struct scheme
llama_mix_scheme(unsigned mix)
{
	return scheme_ggml(mixes[mix].type);
}

/* What a tensor is for, the first that its name has. */
enum part { OUTPUT, EMBED, ATTN_V, ATTN_K, ATTN_OUTPUT, FFN_DOWN, OTHER };
static const struct { const char *word; bool whole; enum part part; } parts[] = {
	{ "output.weight", true, OUTPUT },
	{ "token_embd.weight", true, EMBED }, { "per_layer_token_embd.weight", true, EMBED },
	{ "attn_qkv.weight", false, ATTN_V }, { "attn_kv_b.weight", false, ATTN_V },
	{ "attn_v.weight", false, ATTN_V }, { "attn_k.weight", false, ATTN_K },
	{ "attn_q.weight", false, OTHER }, { "attn_output.weight", false, ATTN_OUTPUT },
	{ "ffn_up", false, OTHER }, { "ffn_gate", false, OTHER }, { "ffn_down", false, FFN_DOWN },
};

static enum part
part_of(const char *name)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].whole ? !strcmp(name, parts[i].word)
				   : strstr(name, parts[i].word) != NULL)
			return parts[i].part;
	return OTHER;
}

/* When a rule counts: of the tensor's number among its kind (or its layer), the model, what
 * is known of importance. */
enum when {
	ALWAYS, FIRST_2, FIRST_4, EIGHTH, SIXTEENTH, MORE, EIGHTH_WEIGHED, EIGHTH_UNWEIGHED,
	GQA_4, EXPERTS_8, FALCON, FALCON_SIXTEENTH, FALCON_MORE
};
#define M(id) (1u << MIX_##id)
#define EVERY (~M(MXFP4_MOE))
/* The first that counts; what none is for gets the mix's type. */
static const struct mix_rule { enum part part; uint32_t mixes; enum when when; uint32_t type; }
mix_rules[] = {
	{ ATTN_V, EVERY, EXPERTS_8, GGML_Q8_0 },
	{ ATTN_V, M(Q2_K) | M(Q2_K_S), GQA_4, GGML_Q4_K },
	{ ATTN_V, M(Q2_K), ALWAYS, GGML_Q3_K },
	{ ATTN_V, M(Q3_K_M), FIRST_2, GGML_Q5_K },
	{ ATTN_V, M(Q3_K_M), ALWAYS, GGML_Q4_K },
	{ ATTN_V, M(Q3_K_L), ALWAYS, GGML_Q5_K },
	{ ATTN_V, M(IQ4_NL) | M(IQ4_XS), GQA_4, GGML_Q5_K },
	{ ATTN_V, M(Q4_K_M) | M(Q5_K_M), MORE, GGML_Q6_K },
	{ ATTN_V, M(Q4_K_S), FIRST_4, GGML_Q5_K },
	{ ATTN_K, EVERY, EXPERTS_8, GGML_Q8_0 },
	{ FFN_DOWN, M(Q2_K), ALWAYS, GGML_Q3_K },
	{ FFN_DOWN, M(Q2_K_S), EIGHTH, GGML_Q4_K },
	{ FFN_DOWN, M(Q3_K_M), SIXTEENTH, GGML_Q5_K },
	{ FFN_DOWN, M(Q3_K_M), FALCON_MORE, GGML_Q4_K },
	{ FFN_DOWN, M(Q3_K_M), FALCON, GGML_Q3_K },
	{ FFN_DOWN, M(Q3_K_M), ALWAYS, GGML_Q4_K },
	{ FFN_DOWN, M(Q3_K_L), FALCON, GGML_Q4_K },
	{ FFN_DOWN, M(Q3_K_L), ALWAYS, GGML_Q5_K },
	{ FFN_DOWN, M(Q4_K_M), FALCON_SIXTEENTH, GGML_Q6_K },
	{ FFN_DOWN, M(Q4_K_M), FALCON_MORE, GGML_Q5_K },
	{ FFN_DOWN, M(Q4_K_M) | M(Q4_K_S), FALCON, GGML_Q4_K },
	{ FFN_DOWN, M(Q4_K_M) | M(Q5_K_M), MORE, GGML_Q6_K },
	{ FFN_DOWN, M(Q4_K_S), EIGHTH, GGML_Q5_K },
	{ FFN_DOWN, M(IQ4_NL) | M(IQ4_XS), EIGHTH_UNWEIGHED, GGML_Q5_K },
	{ FFN_DOWN, M(Q4_0), EIGHTH_WEIGHED, GGML_Q4_1 },
	{ FFN_DOWN, M(Q5_0), EIGHTH_WEIGHED, GGML_Q5_1 },
	{ ATTN_OUTPUT, M(Q3_K_L), FALCON, GGML_Q4_K },
	{ ATTN_OUTPUT, M(Q2_K) | M(Q3_K_M), FALCON, 0 },
	{ ATTN_OUTPUT, M(Q2_K) | M(Q3_K_S) | M(Q3_K_M) | M(IQ4_NL) | M(Q4_K_S) | M(Q4_K_M) |
	  M(IQ4_XS), EXPERTS_8, GGML_Q5_K },
	{ ATTN_OUTPUT, M(Q3_K_L), EXPERTS_8, 0 },
	{ ATTN_OUTPUT, M(Q2_K), ALWAYS, GGML_Q3_K },
	{ ATTN_OUTPUT, M(Q3_K_M), ALWAYS, GGML_Q4_K },
	{ ATTN_OUTPUT, M(Q3_K_L), ALWAYS, GGML_Q5_K },
};

/* What rows that are no whole blocks get. */
static const struct { uint32_t type, instead; } insteads[] = {
	{ GGML_Q2_K, GGML_Q4_0 }, { GGML_Q3_K, GGML_Q4_0 }, { GGML_Q4_K, GGML_Q5_0 },
	{ GGML_Q5_K, GGML_Q5_1 }, { GGML_Q6_K, GGML_Q8_0 }, { GGML_IQ4_XS, GGML_IQ4_NL },
};

/* Parts of names of what stays as it is. */
static const char *const untouched[] = {
	"_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel",
	"per_layer_model_proj", "ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight",
	"indexer.q_proj.weight", "time_mix_first.weight", "time_mix_w0.weight",
	"time_mix_w1.weight", "time_mix_w2.weight", "time_mix_v0.weight", "time_mix_v1.weight",
	"time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight",
	"time_mix_g1.weight", "time_mix_g2.weight", "time_mix_decay_w1.weight",
	"time_mix_decay_w2.weight", "time_mix_lerp_fused.weight", "attn_rel_b.weight",
	".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd",
	".patch_merger", "a.rvq.codebook", "mm.a.code_embd",
};

/* PLAN_WHY_COUNT: it is quantized. */
static enum plan_why
untouched_why(const char *name, unsigned ndim, const uint64_t *dim)
{
	while (ndim > 1 && dim[0] == 1) {	/* counted as ggml does */
		dim++;
		ndim--;
	}
	if (ndim < 2)
		return PLAN_RANK;
	if (strstr(name, "ffn_gate_inp.weight"))
		return PLAN_GATE;
	if (!tb_ends(name, "weight") || !strcmp(name, "position_embd.weight") ||
	    !strcmp(name, "token_types.weight"))
		return PLAN_NAME;
	for (size_t i = 0; i < sizeof(untouched) / sizeof(*untouched); i++)
		if (strstr(name, untouched[i]))
			return PLAN_NAME;
	return PLAN_WHY_COUNT;
}

bool
llama_quantizes(const struct plan_out *o)
{
	return untouched_why(o->name, o->ndim, o->dim) == PLAN_WHY_COUNT;
}

/* A tensor of the file that will be. */
struct named { const struct plan_out *o; enum part part; long layer; };

static int
named_cmp(const void *va, const void *vb)
{
	const struct named *a = va, *b = vb;

	if (a->layer != b->layer)
		return a->layer < b->layer ? -1 : 1;
	return strcmp(a->o->name, b->o->name);
}

struct mixing {
	const struct policy_model *m;
	unsigned mix, layers;
	bool imatrix, tied;
	unsigned n[OTHER + 1], seen[OTHER + 1];	/* of each part: there are, were so far */
};

static bool
when(const struct mixing *x, enum when w, uint64_t i, unsigned n)
{
	const struct policy_model *m = x->m;
	bool falcon = !strcmp(m->type, "falcon");

	switch (w) {
	case ALWAYS:
		return true;
	case FIRST_2:
	case FIRST_4:
		return i < (w == FIRST_2 ? 2 : 4);
	case EIGHTH:
		return i < n / 8;
	case SIXTEENTH:
		return i < n / 16;
	case MORE:
		return policy_more_bits(i, n);
	case EIGHTH_WEIGHED:
	case EIGHTH_UNWEIGHED:
		return i < n / 8 && x->imatrix == (w == EIGHTH_WEIGHED);
	case GQA_4:
		return m->kv_heads && m->heads / m->kv_heads >= 4;
	case EXPERTS_8:
		return m->experts == 8;
	case FALCON:
		return falcon;
	case FALCON_SIXTEENTH:
		return falcon && i < n / 16;
	default:
		return falcon && policy_more_bits(i, n);
	}
}

/* 80 layers whose heads share keys and values. */
static bool
seventy(const struct policy_model *m)
{
	if (!strcmp(m->type, "jais2"))
		return m->layers == 68;
	return m->layers == 80 &&
	       ((!strcmp(m->type, "llama") && m->heads != m->kv_heads) ||
		!strcmp(m->type, "qwen2") || !strcmp(m->type, "deci") || !strcmp(m->type, "olmo"));
}

static uint32_t
head_type(const struct mixing *x, uint64_t cols)
{
	uint32_t type = mixes[x->mix].type;

	if (x->mix == MIX_MXFP4_MOE || !strcmp(x->m->type, "falcon") ||
	    cols % ggml_info(type)->block || type == GGML_Q8_0)
		return GGML_Q8_0;
	return GGML_Q6_K;
}

static uint32_t
mixed_type(struct mixing *x, const struct named *t, uint64_t cols)
{
	const struct plan_out *o = t->o;
	uint32_t type = mixes[x->mix].type;
	unsigned n = t->part == FFN_DOWN ? x->layers : x->n[t->part];
	uint64_t i = t->part == FFN_DOWN && x->m->experts > 1 && t->layer >= 0
		     ? (uint64_t)t->layer : x->seen[t->part];

	if (t->part == OUTPUT || (t->part == EMBED && x->tied))
		return head_type(x, cols);
	if (x->mix == MIX_MXFP4_MOE)
		return o->ndim >= 3 && o->dim[o->ndim - 3] > 1 ? GGML_MXFP4 : GGML_Q8_0;
	x->seen[t->part]++;
	for (size_t k = 0; k < sizeof(mix_rules) / sizeof(*mix_rules); k++) {
		const struct mix_rule *r = &mix_rules[k];

		if (r->part != t->part || !(r->mixes >> x->mix & 1) || !when(x, r->when, i, n))
			continue;
		type = r->type ? r->type : type;
		break;
	}
	if (t->part == ATTN_V && seventy(x->m) && (type == GGML_Q3_K || type == GGML_Q4_K))
		type = GGML_Q5_K;
	return type;
}

static struct policy_choice
choose_mixed(struct mixing *x, const struct named *t)
{
	uint64_t cols = t->o->dim[t->o->ndim - 1];
	uint32_t main = mixes[x->mix].type, type = main, fits;
	enum plan_why why = PLAN_ASKED;

	if (ggml_info(main)->dtype == DT_COUNT)
		type = mixed_type(x, t, cols);
	if (type != main)
		why = PLAN_MIX;
	fits = type;
	for (size_t i = 0; i < sizeof(insteads) / sizeof(*insteads); i++)
		if (insteads[i].type == type && cols % ggml_info(type)->block)
			fits = insteads[i].instead;
	if (cols % ggml_info(fits)->block)
		fits = GGML_F16;
	return policy_take(scheme_ggml(fits), fits == type ? why : PLAN_INSTEAD);
}

static void
count_parts(struct mixing *x, struct named *list, size_t n)
{
	x->tied = true;
	for (size_t i = 0; i < n; i++) {
		x->n[list[i].part]++;
		x->tied &= list[i].part != OUTPUT;
		if (list[i].layer >= (long)x->layers)
			x->layers = (unsigned)list[i].layer + 1;
	}
}

static long
layer_of(const char *name)
{
	struct tname_layer at;

	return tb_starts(name, "blk") && tname_layer(name, &at) && !at.stem && at.number < 100000
	       ? (long)at.number : -1;
}

enum tb_status
policy_llama(const struct plan *p, const struct policy_model *m, const struct plan_request *req,
	     struct policy_choice *out, struct tb_err *err)
{
	size_t n = p->parts->nouts;
	struct named *list = tb_calloc(n, sizeof(*list));
	struct mixing x = { .m = m, .mix = req->mix, .imatrix = req->care.weights != NULL,
			    .layers = model_has_keys(p->model) ? m->layers : 0 };

	if (!list)
		return tb_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct plan_out *o = &p->parts->outs[i];

		list[i] = (struct named){ o, part_of(o->name), layer_of(o->name) };
	}
	qsort(list, n, sizeof(*list), named_cmp);
	count_parts(&x, list, n);
	for (size_t i = 0; i < n; i++) {
		const struct plan_out *o = list[i].o;
		enum plan_why why = untouched_why(o->name, o->ndim, o->dim);
		struct policy_choice c = why == PLAN_WHY_COUNT ? choose_mixed(&x, &list[i])
							       : policy_kept[why];

		for (size_t k = 0; k < o->npieces; k++)
			out[p->parts->pieces[o->piece + k].row] = c;
	}
	free(list);
	return TB_OK;
}
