/* translate_config.c - which architecture a config.json is, and the numbers in it. */
#include "config.h"

#include "src/ops/translate/translate_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/engine/hparams.h"
#include "src/ops/model_text/model_text.h"
#include "src/ops/translate/translate_config.h"

enum tb_status
config_open(struct hf_json *c, const struct model *m, struct tb_err *err)
{
	const cJSON *full;
	enum tb_status status = strict_json(m, "config.json", &c->root, err);

	if (status)
		return status;
	if (!c->root)
		return tb_fail(err, TB_ENOENT, "%s: has no config.json, without which nobody knows what "
			       "model a GGUF would be", m->loc.path);
	c->list = NULL;
	c->n = 0;
	c->text = json_get(c->root, "text_config");
	c->rope = NULL;
	c->rope = config_find(c, "rope_parameters|rope_scaling");
	full = json_get(c->rope, "full_attention");
	if (full)
		c->rope = full;
	return TB_OK;
}

void
config_close(struct hf_json *c)
{
	json_free(c->root);
	free(c->list);
	c->root = NULL;
	c->list = NULL;
}

const cJSON *
config_find(const struct hf_json *c, const char *paths)
{
	char path[128];

	while (*paths) {
		size_t n = strcspn(paths, "|");
		const cJSON *v = NULL;

		if (n < sizeof(path)) {
			memcpy(path, paths, n);
			path[n] = 0;
			if (!strncmp(path, "rope.", 5))
				v = json_path(c->rope, path + 5);
			else if (!(v = json_path(c->text, path)) || json_is_null(v))
				v = json_path(c->root, path);
			if (v && !json_is_null(v))
				return v;
		}
		paths += n + (paths[n] == '|');
	}
	return NULL;
}

uint32_t
config_u32(const struct hf_json *c, const char *paths)
{
	uint64_t n;

	return json_u64(config_find(c, paths), &n) && n <= UINT32_MAX ? (uint32_t)n : 0;
}

double
config_number(const struct hf_json *c, const char *paths, double usual)
{
	double x;

	return json_f64(config_find(c, paths), &x) ? x : usual;
}

static double
head_dim(const struct hf_json *c)
{
	uint32_t heads = config_u32(c, "num_attention_heads");

	return config_number(c, "head_dim", !heads ? 0 :
			     floor((double)config_u32(c, "hidden_size") / heads));
}

/* Stretched so much that attention must be sharper. */
static double
longrope(const struct hf_json *c)
{
	double is = config_number(c, "max_position_embeddings", 0);
	double was = config_number(c, "rope.original_max_position_embeddings|"
			    "original_max_position_embeddings", 0);

	if (!config_find(c, "rope.long_factor") || !(was > 1))
		return NAN;
	return is > was ? sqrt(1 + log(is / was) / log(was)) : 1;
}

/* Room for n numbers; false: no memory, or too many. */
static bool
room(struct hf_json *c, size_t n)
{
	free(c->list);
	c->list = n && n < 65536 ? tb_calloc(n, sizeof(*c->list)) : NULL;
	c->n = c->list ? n : 0;
	return c->list != NULL;
}

/* `yes` for each layer of that type, else `no`. */
static void
layers_of_type(struct hf_json *c, const char *type, double yes, double no)
{
	const cJSON *types = config_find(c, "layer_types");
	size_t i = 0;

	if (!room(c, json_count(types)))
		return;
	for (const cJSON *t = json_first(types); t; t = json_next(t))
		c->list[i++] = json_str(t) && !strcmp(json_str(t), type) ? yes : no;
}

/* Time, height, width and one more. */
static void
mrope(struct hf_json *c)
{
	const cJSON *is = config_find(c, "rope.mrope_section");
	size_t i = 0;

	if (!is || !room(c, 4))
		return;
	for (const cJSON *v = json_first(is); v && i < 4; v = json_next(v))
		(void)!json_f64(v, &c->list[i++]);
}

/* ggml's numbers for how experts are weighted. */
static double
gating(const struct hf_json *c)
{
	static const struct { const char *name; double number; } funcs[] = {
		{ "softmax", 1 }, { "sigmoid", 2 }, { "sqrtsoftplus", 4 } };
	const char *s = json_str(config_find(c, "score_function|scoring_func|score_func|"
					     "moe_router_activation|moe_router_activation_func|"
					     "expert_selection_fn"));

	for (size_t i = 0; s && i < sizeof(funcs) / sizeof(*funcs); i++)
		if (!strcmp(s, funcs[i].name))
			return funcs[i].number;
	return NAN;
}

/* Gemma 4: layers that see everything may have other heads, those that take keys and values
 * from others may be twice as wide. */
static void
gemma4_kv(struct hf_json *c)
{
	double some = config_number(c, "num_key_value_heads", 0);
	double all = config_number(c, "num_global_key_value_heads", some);

	if (some != all)
		layers_of_type(c, "full_attention", all, some);
}

static void
gemma4_ffn(struct hf_json *c)
{
	size_t n = config_u32(c, "num_hidden_layers"), shared = config_u32(c, "num_kv_shared_layers");
	double ffn = config_number(c, "intermediate_size", 0);
	bool wide;

	if (!json_bool(config_find(c, "use_double_wide_mlp"), &wide) || !wide || !shared || !room(c, n))
		return;
	for (size_t i = 0; i < n; i++)
		c->list[i] = i + shared >= n ? 2 * ffn : ffn;
}

/* What layers are, a letter each: * attention, M state space, - and E feed-forward; newer
 * files have a list of words instead. */
static void
hybrid(struct hf_json *c, const char *kinds, const char *paths)
{
	static const struct { const char *word; char letter; } words[] = {
		{ "attention", '*' }, { "mamba", 'M' }, { "mlp", '-' }, { "moe", 'E' },
	};
	const char *pattern = json_str(config_find(c, "hybrid_override_pattern"));
	const cJSON *list = config_find(c, "layers_block_type"), *v = json_first(list);
	double x = config_number(c, paths, 0);

	if (!pattern && !list) {
		layers_of_type(c, "attention", x, 0);
		return;
	}
	if (!room(c, pattern ? strlen(pattern) : json_count(list)))
		return;
	for (size_t i = 0; i < c->n; i++, v = json_next(v)) {
		char letter = pattern ? pattern[i] : 0;

		for (size_t k = 0; !pattern && k < sizeof(words) / sizeof(*words); k++)
			if (json_str(v) && !strcmp(json_str(v), words[k].word))
				letter = words[k].letter;
		c->list[i] = letter && strchr(kinds, letter) ? x : 0;
	}
}

static void
computed_list(struct hf_json *c, const char *name)
{
	if (!strcmp(name, "gemma4_kv"))
		gemma4_kv(c);
	if (!strcmp(name, "gemma4_ffn"))
		gemma4_ffn(c);
	if (!strcmp(name, "hybrid_kv"))
		hybrid(c, "*", "num_key_value_heads");
	if (!strcmp(name, "hybrid_ffn"))
		hybrid(c, "-E", config_find(c, "n_routed_experts") ? "moe_intermediate_size"
								    : "intermediate_size");
	if (!strcmp(name, "mrope"))
		mrope(c);
	else if (!strcmp(name, "sliding") && config_find(c, "sliding_window"))
		layers_of_type(c, "sliding_attention", 1, 0);
	else if (!strcmp(name, "conv_kv_heads"))
		layers_of_type(c, "full_attention", config_u32(c, "num_key_value_heads"), 0);
}

/* Each so-manieth layer sees everything; what all of them have is not said. */
static double
window_period(const struct hf_json *c, double usual)
{
	const cJSON *types = config_find(c, "layer_types");
	double period = config_number(c, "sliding_window_pattern", 0), i = 1;

	for (const cJSON *t = json_first(types); t && !period; t = json_next(t), i++)
		if (json_str(t) && !strcmp(json_str(t), "full_attention"))
			period = i;
	return period > 0 && period != usual ? period : NAN;
}

/* LFM2: two thirds, times a factor, rounded up. */
static double
lfm2_ffn(const struct hf_json *c)
{
	double ffn = config_number(c, "block_ff_dim|intermediate_size", NAN);
	double of = config_number(c, "block_multiple_of", 256);
	double by = config_number(c, "block_ffn_dim_multiplier", 1);
	bool adjust;

	if (!json_bool(config_find(c, "block_auto_adjust_ff_dim"), &adjust) || !adjust || !(of > 0))
		return ffn;
	ffn = floor(by * floor(2 * ffn / 3));
	return of * floor((ffn + of - 1) / of);
}

static double
mamba_inner(const struct hf_json *c)
{
	double expand = config_number(c, "mamba_expand", NAN);
	double heads = config_number(c, "mamba_num_heads", NAN);

	return isnan(heads) ? expand * config_number(c, "hidden_size", NAN)
			    : heads * config_number(c, "mamba_head_dim", NAN);
}

/* HunYuan: a base of its own instead of a factor. */
static double
dynamic_base(const struct hf_json *c)
{
	double alpha = config_number(c, "rope.alpha", NAN), dim = head_dim(c);

	return config_number(c, "rope.rope_theta|rope_theta", NAN) * pow(alpha, dim / (dim - 2));
}

static double
dense_layers(const struct hf_json *c)
{
	double n = 0;

	for (const cJSON *t = json_first(config_find(c, "mlp_layer_types")); t; t = json_next(t), n++)
		if (!json_str(t) || strcmp(json_str(t), "dense") != 0)
			break;
	return n;
}

static double
computed_number(const struct hf_json *c, const struct translate *t, const char *name, double usual)
{
	bool norm;
	double x;

	if (!strcmp(name, "one"))
		return 1;
	if (!strcmp(name, "zero"))
		return 0;
	if (!strcmp(name, "no_positions"))	/* nothing that would end anywhere */
		return 1 << 20;
	if (!strcmp(name, "lfm2_ffn"))
		return lfm2_ffn(c);
	if (!strcmp(name, "mamba_inner"))
		return mamba_inner(c);
	if (!strcmp(name, "dense_layers"))
		return dense_layers(c);
	if (!strcmp(name, "shared_ffn"))
		return config_number(c, "intermediate_size", NAN) *
		       config_number(c, "num_shared_experts", NAN);
	if (!strcmp(name, "dynamic_base"))
		return dynamic_base(c);
	if (!strcmp(name, "ernie_shared"))
		return floor(config_number(c, "intermediate_size", NAN) /
			     config_number(c, "num_key_value_heads", NAN));
	if (!strcmp(name, "sigmoid"))
		return 2;
	if (!strcmp(name, "head_dim"))
		return head_dim(c);
	if (!strcmp(name, "rope_dims"))
		return floor(head_dim(c) *
			     config_number(c, "rope.partial_rotary_factor|partial_rotary_factor", usual));
	if (!strcmp(name, "blocks"))
		return t->layers + t->mtp;
	if (!strcmp(name, "mtp") || !strcmp(name, "nextn"))
		return t->mtp ? t->mtp : NAN;
	if (!strcmp(name, "linear_inner"))
		return (double)t->v_heads * t->v_dim;
	if (!strcmp(name, "longrope"))
		return longrope(c);
	if (!strcmp(name, "gating"))
		/* the class of GLM-4.7-Flash has it so, and says nothing */
		return strcmp(t->type, "glm4_moe_lite") ? gating(c) : 2;
	if (!strcmp(name, "mla_key"))
		return config_number(c, "kv_lora_rank", 512) + config_number(c, "qk_rope_head_dim", NAN);
	if (!strcmp(name, "mla_head"))
		return t->nope + config_number(c, "qk_rope_head_dim", NAN);
	if (!strcmp(name, "yarn_log"))
		return 0.1 * config_number(c, "rope.mscale_all_dim", NAN);
	if (!strcmp(name, "norm_topk"))	/* what is false is not said */
		return json_bool(config_find(c, "norm_topk_prob"), &norm) && norm ? 1 : NAN;
	if (!strcmp(name, "deepstack"))
		return (double)json_count(config_find(c, "vision_config.deepstack_visual_indexes"));
	if (!strcmp(name, "window_period"))
		return window_period(c, usual);
	if (!strcmp(name, "softcap") && (x = config_number(c, "final_logit_softcapping", 0)) > 0)
		return x;
	return NAN;
}

bool
config_computed(struct hf_json *c, const struct translate *t, const char *name, double usual,
		double *x)
{
	c->n = 0;
	computed_list(c, name);
	*x = c->n ? 0 : computed_number(c, t, name, usual);
	return c->n || !isnan(*x);
}

static enum tb_status
unknown_type(const char *type, const char *path, struct tb_err *err)
{
	return tb_fail(err, TB_EUNSUP, "%s: it is not known how GGUF files describe \"%.80s\" models; "
		       "convert to safetensors (a folder) instead", path, type);
}

static bool
config_says(const struct hf_json *c, const char *key)
{
	const cJSON *v = config_find(c, key);
	double x;

	return v && !(json_f64(v, &x) && x == 0);
}

static bool
find_row(struct translate *out, const char *type, const struct hf_json *c)
{
	const struct arch *a;

	if (!type)
		return false;
	a = arch_find(type, NULL);
	for (const struct translate_arch *r = translate_archs; r->type; r++) {
		if (strcmp(r->type, type) || (r->key && !config_says(c, r->key)))
			continue;
		*out = (struct translate){ .gguf = r->gguf, .type = r->type, .ways = r->ways,
			.names = r->names, .own = a ? a->names : NULL,
			.pairs = r->pairs, .norm_add = r->norm_add, .fewer_layers = r->fewer_layers };
		return true;
	}
	if (!a || !a->gguf_name)
		return false;
	*out = (struct translate){ .gguf = a->gguf_name, .type = a->name, .ways = a->ways,
		.own = a->names, .pairs = a->gguf_pairs, .norm_add = a->norm_add };
	return true;
}

static void
read_numbers(struct translate *out, const struct hf_json *c)
{
	out->layers = config_u32(c, "num_hidden_layers");
	if (!out->fewer_layers)
		out->mtp = config_u32(c, "mtp_num_hidden_layers|num_nextn_predict_layers");
	out->heads = config_u32(c, "num_attention_heads");
	out->kv_heads = config_u32(c, "num_key_value_heads|num_attention_heads");
	out->nope = config_u32(c, "qk_nope_head_dim");
	out->v_head = config_u32(c, "v_head_dim");
	out->groups = config_u32(c, "mamba_n_groups|n_groups");
	out->k_heads = config_u32(c, "linear_num_key_heads");
	out->v_heads = config_u32(c, "linear_num_value_heads");
	out->k_dim = config_u32(c, "linear_key_head_dim");
	out->v_dim = config_u32(c, "linear_value_head_dim");
}

enum tb_status
translate_hf(struct translate *out, const struct model *m, struct tb_err *err)
{
	struct hf_json c;
	const char *type, *text;
	enum tb_status status = config_open(&c, m, err);

	*out = (struct translate){ 0 };
	if (status)
		return status;
	type = json_str(json_get(c.root, "model_type"));
	text = json_str(json_get(c.text, "model_type"));
	/* The whole's first: some texts of larger models have a name of their own in GGUF. */
	if (find_row(out, type, &c) || find_row(out, text, &c))
		read_numbers(out, &c);
	else
		status = unknown_type(text ? text : type ? type : m->arch, m->loc.path, err);
	if (hparams_norms_whole(m))
		out->norm_add = 0;
	config_close(&c);
	return status;
}
