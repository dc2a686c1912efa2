#include "config.h"

#include "src/ops/plan/expert.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/store/experts.h"

/* marker: behind the layer, before "<index>.<proj>.weight" or "<proj>.weight".
 * group: what Ollama calls it.  mlx, hf: stacked and single in directories; NULL: the
 * marker as it is. */
struct expert_family {
	const char *marker, *group, *mlx, *hf;
	bool mixtral, shared;
};
static const struct expert_family families[] = {
	{ ".mlp.experts.", "mlp.experts", "mlp.switch_mlp", "mlp.experts", false, false },
	{ ".mlp.switch_mlp.", "mlp.experts", "mlp.switch_mlp", "mlp.experts", false, false },
	{ ".block_sparse_moe.experts.", "mlp.experts", "block_sparse_moe.switch_mlp",
	  "block_sparse_moe.experts", true, false },
	{ ".block_sparse_moe.switch_mlp.", "mlp.experts", "block_sparse_moe.switch_mlp",
	  "block_sparse_moe.experts", true, false },
	{ ".moe.experts.", "moe.experts", "moe.switch_mlp", "moe.experts", false, false },
	{ ".mixer.experts.", "mixer.experts", "mixer.switch_mlp", "mixer.experts", false, false },
	{ ".mlp.shared_experts.", "mlp.shared_experts", "mlp.shared_experts", "mlp.shared_experts",
	  false, true },
	{ ".mixer.shared_experts.", "mixer.shared_experts", "mixer.shared_experts",
	  "mixer.shared_experts", false, true },
};

static const struct { const char *mixtral, *name; } projections[] = {
	{ "w1", "gate_proj" }, { "w2", "down_proj" }, { "w3", "up_proj" },
};

static size_t
digits(const char *s)
{
	return strspn(s, "0123456789");
}

static const struct expert_family *
find_family(const char *name, size_t *layer_len, const char **rest)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		const char *at = strstr(name, families[i].marker);

		if (at && expert_layer(name, (size_t)(at - name))) {
			*layer_len = (size_t)(at - name);
			*rest = at + strlen(families[i].marker);
			return &families[i];
		}
	}
	return NULL;
}

/* "<proj>.weight", one word. */
static bool
take_proj(struct expert *e, const char *s)
{
	size_t n = strcspn(s, ".");

	if (n == 0 || n >= sizeof(e->proj) || strcmp(s + n, ".weight"))
		return false;
	memcpy(e->proj, s, n);
	e->proj[n] = 0;
	for (size_t i = 0; i < sizeof(projections) / sizeof(*projections); i++)
		if (e->family->mixtral && !strcmp(e->proj, projections[i].mixtral))
			snprintf(e->proj, sizeof(e->proj), "%s", projections[i].name);
	return true;
}

bool
expert_parse(const char *name, struct expert *out)
{
	char number[20];
	const char *rest;
	size_t n;

	*out = (struct expert){ .family = find_family(name, &n, &rest) };
	if (!out->family || n >= sizeof(out->layer))
		return false;
	memcpy(out->layer, name, n);
	n = digits(rest);
	if (n == 0) {
		out->shared = out->family->shared;
		out->stacked = !out->shared;
		return take_proj(out, rest);
	}
	if (n >= sizeof(number) || rest[n] != '.')
		return false;
	memcpy(number, rest, n);
	number[n] = 0;
	return tb_parse_u64(number, &out->index) && take_proj(out, rest + n + 1);
}

const char *
expert_group(const struct expert *e, char out[EXPERT_NAME_MAX])
{
	snprintf(out, EXPERT_NAME_MAX, "%s.%s", e->layer, e->family->group);
	return out;
}

const char *
expert_stacked(const struct expert *e, char out[EXPERT_NAME_MAX])
{
	snprintf(out, EXPERT_NAME_MAX, "%s.%s.%s.weight", e->layer, e->family->group, e->proj);
	return out;
}

const char *
expert_single(const struct expert *e, uint64_t index, char out[EXPERT_NAME_MAX])
{
	snprintf(out, EXPERT_NAME_MAX, "%s.%s.%ju.%s.weight", e->layer, e->family->group,
		 (uintmax_t)index, e->proj);
	return out;
}

const char *
expert_stacked_mlx(const struct expert *e, char out[EXPERT_NAME_MAX])
{
	snprintf(out, EXPERT_NAME_MAX, "%s.%s.%s.weight", e->layer, e->family->mlx, e->proj);
	return out;
}

const char *
expert_single_hf(const struct expert *e, uint64_t index, char out[EXPERT_NAME_MAX])
{
	const char *proj = e->proj;

	for (size_t i = 0; i < sizeof(projections) / sizeof(*projections); i++)
		if (e->family->mixtral && !strcmp(proj, projections[i].name))
			proj = projections[i].mixtral;
	snprintf(out, EXPERT_NAME_MAX, "%s.%s.%ju.%s.weight", e->layer, e->family->hf,
		 (uintmax_t)index, proj);
	return out;
}

void
expert_as_mixtral(struct expert *e)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (families[i].mixtral && !strcmp(families[i].group, e->family->group)) {
			e->family = &families[i];
			return;
		}
}

static const char mixtral_router[] = ".block_sparse_moe.gate.weight";
static const char usual_router[] = ".mlp.gate.weight";

/* "<layer>" + from -> "<layer>" + to */
static const char *
rename_router(const char *name, const char *from, const char *to, char out[EXPERT_NAME_MAX])
{
	size_t n = strlen(name), k = strlen(from);

	if (!tb_ends(name, from) || n + strlen(to) >= EXPERT_NAME_MAX || !expert_layer(name, n - k))
		return name;
	snprintf(out, EXPERT_NAME_MAX, "%.*s%s", (int)(n - k), name, to);
	return out;
}

const char *
expert_router_mixtral(const char *name, char out[EXPERT_NAME_MAX])
{
	return rename_router(name, usual_router, mixtral_router, out);
}

const char *
expert_canonical(const char *name, char out[EXPERT_NAME_MAX])
{
	struct expert e;

	if (expert_parse(name, &e) && !e.shared)
		return e.stacked ? expert_stacked(&e, out) : expert_single(&e, e.index, out);
	return rename_router(name, mixtral_router, usual_router, out);
}
