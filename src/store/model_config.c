#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/search.h"
#include "src/store/model_build.h"

#define CONFIG_MAX (16u << 20)

/* Where quantization is described, best first; all of them also below text_config. */
static const char *const blocks[] = {
	"quantization", "quantization_config", "compression_config",
	"text_config.quantization", "text_config.quantization_config",
	"text_config.compression_config",
};

/* Row lengths of the usual matrices: they tell schemes apart whose packed shapes
 * are the same. */
static const char *const widths[] = { "hidden_size", "intermediate_size",
	"moe_intermediate_size", "shared_expert_intermediate_size" };

static int
override_cmp(const void *a, const void *b)
{
	return strcmp(((const struct quant_override *)a)->path,
		      ((const struct quant_override *)b)->path);
}

/* A block that names a method of its own is not MLX's, whatever numbers it has. */
static const cJSON *
find_block(const cJSON *config)
{
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		const cJSON *q = json_path(config, blocks[i]);

		if (json_is_object(q) && !json_get(q, "quant_method") &&
		    (json_get(q, "bits") || json_get(q, "mode") || json_get(q, "group_size")))
			return q;
	}
	return NULL;
}

static enum tb_status
index_overrides(struct build *b, struct tb_err *err)
{
	bool flag;

	b->overrides = tb_calloc(json_count(b->quant), sizeof(*b->overrides));
	if (!b->overrides)
		return tb_nomem(err);
	for (const cJSON *v = json_first(b->quant); v; v = json_next(v))
		if (json_is_object(v) || json_bool(v, &flag))
			b->overrides[b->noverrides++] = (struct quant_override){ json_key(v), v };
	if (b->noverrides)
		qsort(b->overrides, b->noverrides, sizeof(*b->overrides), override_cmp);
	return TB_OK;
}

/* null and absence mean the mode's default (0); anything else must be a number of the kind. */
static bool
number_or_default(const cJSON *block, const char *key, uint64_t max, uint64_t *n)
{
	const cJSON *v = json_get(block, key);

	*n = 0;
	return !v || json_is_null(v) || (json_u64(v, n) && *n <= max);
}

static enum tb_status
check_block(struct build *b, const cJSON *block, const char *path, struct tb_err *err)
{
	static const struct { const char *key; uint64_t max; } keys[] = {
		{ "bits", 64 }, { "group_size", 4096 },
	};
	enum tb_status status = TB_OK;
	uint64_t n;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !status; i++)
		if (!number_or_default(block, keys[i].key, keys[i].max, &n) ||
		    (!n && json_u64(json_get(block, keys[i].key), &n)))
			status = build_problem(b, NULL, err, "config.json: quantization of %.200s: %s "
					       "is no number from 1 to %ju", path, keys[i].key,
					       (uintmax_t)keys[i].max);
	return status;
}

static void
add_width(struct build *b, uint64_t n)
{
	if (n && b->nwidths < MAX_WIDTHS)
		b->width[b->nwidths++] = n;
}

bool
config_width(const struct build *b, uint64_t k)
{
	for (size_t i = 0; i < b->nwidths; i++)
		if (b->width[i] == k)
			return true;
	return false;
}

static void
read_widths(struct build *b, const cJSON *config)
{
	uint64_t n, heads, head_dim, hidden;

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
		if (json_u64(json_get(config, widths[i]), &n))
			add_width(b, n);
	if (!json_u64(json_get(config, "num_attention_heads"), &heads) || !heads)
		return;
	if (json_u64(json_get(config, "head_dim"), &head_dim) && head_dim < 1u << 20 &&
	    heads < 1u << 20)
		add_width(b, heads * head_dim);
	else if (json_u64(json_get(config, "hidden_size"), &hidden))
		add_width(b, hidden / heads * heads);
}

static enum tb_status
take_names(struct build *b, struct tb_err *err)
{
	const char *type = json_str(json_get(b->config, "model_type"));
	const char *arch = json_str(json_first(json_get(b->config, "architectures")));

	if (!type)
		type = json_str(json_path(b->config, "text_config.model_type"));
	if (!arch)
		arch = type;
	free(b->m->arch);
	free(b->m->model_type);
	b->m->arch = tb_strdup(arch ? arch : "");
	b->m->model_type = tb_strdup(type ? type : "");
	return b->m->arch && b->m->model_type ? TB_OK : tb_nomem(err);
}

enum tb_status
build_config(struct build *b, const char *path, struct tb_err *err)
{
	struct tb_err why = { 0 };
	size_t len, problems = b->m->nproblems;
	char *text = NULL;

	if (!tb_file_slurp(path, CONFIG_MAX, &text, &len, &why))
		(void)!json_parse_python(&b->config, text, len, path, &why);
	free(text);
	if (why.code == TB_OK && !json_is_object(b->config))
		tb_fail(&why, TB_EFORMAT, "%s: not an object", path);
	if (why.code) {
		json_free(b->config);
		b->config = NULL;
		return build_small_bad(b, path, NULL, &why, err);
	}
	b->quant = find_block(b->config);
	read_widths(b, b->config);
	read_widths(b, json_get(b->config, "text_config"));
	if (b->quant && (index_overrides(b, err) || check_block(b, b->quant, "all", err)))
		return TB_ENOMEM;
	/* once is enough where all are wrong */
	for (size_t i = 0; i < b->noverrides && b->m->nproblems == problems; i++)
		if (json_is_object(b->overrides[i].v) &&
		    check_block(b, b->overrides[i].v, b->overrides[i].path, err))
			return TB_ENOMEM;
	return take_names(b, err);
}

/* mode, bits and group_size of a block; absent and null are the mode's defaults. */
static bool
block_scheme(const cJSON *q, struct scheme *out)
{
	uint64_t bits, group;

	return number_or_default(q, "bits", 64, &bits) &&
	       number_or_default(q, "group_size", 4096, &group) &&
	       scheme_from_mode(json_str(json_get(q, "mode")), (unsigned)bits, (unsigned)group, out);
}

/* An override is taken as it is: what it leaves out is the mode's default, not the
 * value of the block around it. */
bool
config_scheme(const struct build *b, const char *path, size_t n, struct scheme *out)
{
	size_t at = TB_FIRST(b->noverrides, i, strncmp(b->overrides[i].path, path, n) < 0);
	const struct quant_override *o = at < b->noverrides ? &b->overrides[at] : NULL;
	/* others that begin so are behind it */
	bool own = o && !strncmp(o->path, path, n) && !o->path[n], quantized = true;

	if (!b->quant || (own && json_bool(o->v, &quantized) && !quantized))
		return false;
	return block_scheme(own && json_is_object(o->v) ? o->v : b->quant, out);
}
