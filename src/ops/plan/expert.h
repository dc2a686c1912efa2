/* expert.h - names of a layer's experts, whoever gave them, and the names under which
 * they are written. */
#ifndef TBTUI_OPS_EXPERT_H
#define TBTUI_OPS_EXPERT_H

#include <stdbool.h>
#include <stdint.h>

#define EXPERT_NAME_MAX 640

struct expert_family;

struct expert {
	const struct expert_family *family;
	char layer[256];	/* "model.layers.3" */
	char proj[64];		/* "gate_proj"; Mixtral's w1 w3 w2 are gate, up, down */
	uint64_t index;
	bool stacked;		/* no index: all experts in one tensor */
	bool shared;		/* a shared expert, which has no index either */
};

/* false: not an expert's weight. */
bool expert_parse(const char *name, struct expert *out);

/* "model.layers.3.mlp.experts" */
const char *expert_group(const struct expert *e, char out[EXPERT_NAME_MAX]);
/* Names in Ollama's blobs: stacked, and of one expert. */
const char *expert_stacked(const struct expert *e, char out[EXPERT_NAME_MAX]);
const char *expert_single(const struct expert *e, uint64_t index, char out[EXPERT_NAME_MAX]);
/* The same in an MLX directory, which follows the architecture's own names. */
const char *expert_stacked_mlx(const struct expert *e, char out[EXPERT_NAME_MAX]);
const char *expert_single_hf(const struct expert *e, uint64_t index, char out[EXPERT_NAME_MAX]);

/* Directories of Mixtral models have Mixtral's names again, whatever the source's. */
void expert_as_mixtral(struct expert *e);
const char *expert_router_mixtral(const char *name, char out[EXPERT_NAME_MAX]);

/* How a name reads where experts have Ollama's names: Mixtral's experts and router
 * renamed, everything else as it is.  `out` or `name`. */
const char *expert_canonical(const char *name, char out[EXPERT_NAME_MAX]);
#endif
