/* tensor_name.h - what the name of a tensor says, whoever gave it (Hugging Face, MLX,
 * Ollama, Mixtral's authors, llama.cpp), and how others would call the same.
 *
 * All that is known of names is here but for two things: which slot of an architecture
 * a tensor fills (patterns in src/engine/arch.c), and what Ollama's own program looks
 * for when it quantizes (src/ops/plan/plan_policy.c). */
#ifndef TBTUI_STORE_TENSOR_NAME_H
#define TBTUI_STORE_TENSOR_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TNAME_MAX 640			/* of names that are written */
#define TNAME_ALL UINT64_MAX		/* as an expert's number: all of them in one tensor */

/* The first "layers.<number>." or "blk.<number>." of a name. */
struct tname_layer {
	size_t stem;		/* bytes before it: of "model." */
	size_t len;		/* … up to its end: of "model.layers.3" */
	uint64_t number;
};
bool tname_layer(const char *name, struct tname_layer *out);

/* What stands before a model's own tensors; best first, ended by NULL. */
extern const char *const tname_stems[];
/* What is behind the longest of them; never nothing. */
const char *tname_behind_stem(const char *name);

/* Patterns: {n} is a layer, {e} an expert, as a program writes them: "0", not "00". */
bool tname_match(const char *pattern, const char *name, uint32_t *layer, uint32_t *expert);
/* false: does not fit.  TNAME_ALL is written as "*". */
bool tname_fill(const char *pattern, uint32_t layer, uint64_t expert, char *out, size_t len);

/* What a tensor is for: id, key in --json, words. */
#define TNAME_ROLE_LIST(X) \
	X(TNAME_EMBED, "embedding", "Embedding") \
	X(TNAME_ATTENTION, "attention", "Attention") \
	X(TNAME_FFN, "ffn", "Feed-forward") \
	X(TNAME_ROUTER, "router", "Router") \
	X(TNAME_EXPERTS, "experts", "Experts") \
	X(TNAME_SHARED, "shared_experts", "Shared experts") \
	X(TNAME_NORM, "norms", "Norms") \
	X(TNAME_HEAD, "head", "Output head") \
	X(TNAME_MEDIA, "media", "Vision, audio") \
	X(TNAME_OTHER, "other", "Other") \
	X(TNAME_DRAFT, "draft", "Draft model")	/* no name says that, the model does */
#define X(id, key, words) id,
enum tname_role { TNAME_ROLE_LIST(X) TNAME_ROLES };
#undef X
enum tname_role tname_role(const char *name);
const char *tname_role_key(enum tname_role r);
const char *tname_role_words(enum tname_role r);

/* An expert's weight, or those of all experts of a layer; shared experts, too. */
struct tname_expert {
	const struct tname_family *family;
	const char *name;	/* borrowed */
	size_t layer;		/* bytes of it: "model.layers.3" */
	size_t prefix;		/* "model.layers.3.mlp.experts" */
	const char *proj;	/* "gate_proj"; Mixtral's w1 w3 w2 are gate, up, down */
	size_t proj_len;
	uint64_t index;
	bool stacked;		/* no index: all experts in one tensor */
	bool shared;		/* a shared expert, which has no index either */
	bool grouped;		/* Ollama stores it with the layer's others when it imports */
};
bool tname_expert(const char *name, struct tname_expert *out);

/* Is a name short enough that whatever it becomes has room? */
bool tname_room(const char *name);

/* Whose names are written.  A directory follows the architecture's own names, in that of
 * a Mixtral they are Mixtral's again, whatever the source's.  For a while Ollama called stacks
 * as MLX does. */
enum tname_dialect { TNAME_OLLAMA, TNAME_DIR, TNAME_MIXTRAL, TNAME_SWITCH };
/* "model.layers.3.mlp.experts", Ollama's name for them together. */
const char *tname_group(const struct tname_expert *e, char out[TNAME_MAX]);
/* Of one expert, or stacked: TNAME_ALL.  Cut where there is no room: see tname_room(). */
const char *tname_write(const struct tname_expert *e, enum tname_dialect d, uint64_t index,
			char out[TNAME_MAX]);
/* How any tensor's name reads in a dialect: experts and routers renamed, everything else
 * as it is.  `out` or `name`. */
const char *tname_in(const char *name, enum tname_dialect d, char out[TNAME_MAX]);

/* Is it "….experts.<projection>" by whatever name, of any model?  Then *head bytes are
 * before, and *proj is the projection with what follows. */
bool tname_stack(const char *name, size_t *head, const char **proj);
#endif
