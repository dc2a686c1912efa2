/* arch.h - model architectures: one row each, and the tensors they are made of.
 *
 * A slot is a tensor in our own vocabulary.  Rules say under which names files have
 * it; a rule counts only where the file has that tensor, so that one table serves
 * all conventions. */
#ifndef TBTUI_ENGINE_ARCH_H
#define TBTUI_ENGINE_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct config_reader;
struct layer;
struct meta_reader;
struct run;

/* What happens between the tokens of a layer, and behind that with each. */
enum mixer {
	MIX_ATTENTION, MIX_MLA, MIX_CONV, MIX_DELTA, MIX_MAMBA, MIX_NONE, MIX_COUNT
};
enum ffn_kind {
	FFN_DENSE, FFN_EXPERTS,
	FFN_BOTH,		/* experts beside a dense part: what both have, and more norms */
	FFN_NONE, FFN_KINDS
};
#define MIX_ANY MIX_COUNT
#define FFN_ANY FFN_KINDS

/* What slots belong to: an architecture has a part, may have it, or has not; of a model
 * that has it, those layers have it that have this mixer and this feed-forward part. */
#define PART_LIST(X) \
	X(PART_MODEL, MIX_ANY, FFN_ANY) 	/* embedding, last norm */ \
	X(PART_HEAD, MIX_ANY, FFN_ANY)		/* its own, not the embedding again */ \
	X(PART_ROPE_FREQS, MIX_ANY, FFN_ANY) \
	X(PART_ROPE_LONG, MIX_ANY, FFN_ANY) \
	X(PART_MIXER_NORM, MIX_ANY, FFN_ANY)	/* in front of the mixer … */ \
	X(PART_FFN_NORM, MIX_ANY, FFN_ANY)	/* … of the feed-forward part … */ \
	X(PART_POST_NORMS, MIX_ANY, FFN_ANY)	/* … and behind both */ \
	X(PART_ATTENTION, MIX_ATTENTION, FFN_ANY) \
	X(PART_QKV_BIAS, MIX_ATTENTION, FFN_ANY) \
	X(PART_O_BIAS, MIX_ATTENTION, FFN_ANY) \
	X(PART_QK_NORM, MIX_ATTENTION, FFN_ANY) \
	X(PART_ATTENTION_GATE, MIX_ATTENTION, FFN_ANY)	/* multiplies what heads say */ \
	X(PART_SINKS, MIX_ATTENTION, FFN_ANY)	/* scores that bring no value, one a head */ \
	X(PART_MLA, MIX_MLA, FFN_ANY) \
	X(PART_MLA_Q, MIX_MLA, FFN_ANY)		/* q at once, or by way of something short */ \
	X(PART_MLA_Q_SHORT, MIX_MLA, FFN_ANY) \
	X(PART_MLA_KV, MIX_MLA, FFN_ANY)	/* keys and values in one tensor … */ \
	X(PART_MLA_SPLIT, MIX_MLA, FFN_ANY)	/* … or in two: see slot_instead() */ \
	X(PART_CONV, MIX_CONV, FFN_ANY) \
	X(PART_DELTA, MIX_DELTA, FFN_ANY) \
	X(PART_DELTA_SPLIT, MIX_DELTA, FFN_ANY)	/* a tensor for each projection … */ \
	X(PART_DELTA_WHOLE, MIX_DELTA, FFN_ANY)	/* … or one for several, see slot_instead() */ \
	X(PART_MAMBA, MIX_MAMBA, FFN_ANY) \
	X(PART_MAMBA_CONV_BIAS, MIX_MAMBA, FFN_ANY) \
	X(PART_DENSE, MIX_ANY, FFN_DENSE) \
	X(PART_GATE, MIX_ANY, FFN_DENSE)	/* up is multiplied by its activation */ \
	X(PART_EXPERTS, MIX_ANY, FFN_EXPERTS) \
	X(PART_EXPERTS_GATE, MIX_ANY, FFN_EXPERTS) \
	X(PART_EXPERTS_WOVEN, MIX_ANY, FFN_EXPERTS)	/* gate and up are one: slot_instead() */ \
	X(PART_EXPERTS_BIAS, MIX_ANY, FFN_EXPERTS) \
	X(PART_ROUTER_BIAS, MIX_ANY, FFN_EXPERTS) \
	X(PART_CHOICE_BIAS, MIX_ANY, FFN_EXPERTS)	/* counts for the choice alone */ \
	X(PART_SHARED, MIX_ANY, FFN_EXPERTS)	/* an expert for all, where it has a width */ \
	X(PART_SHARED_GATE, MIX_ANY, FFN_EXPERTS) \
	X(PART_SHARED_ROUTER, MIX_ANY, FFN_EXPERTS) \
	X(PART_BESIDE, MIX_ANY, FFN_BOTH) \
	X(PART_LAYER_SCALE, MIX_ANY, FFN_ANY)	/* of the stream behind a layer */ \
	X(PART_PER_LAYER, MIX_ANY, FFN_ANY)	/* a row of each token for each layer */

#define X(id, mixer, ffn) id,
enum arch_part { PART_LIST(X) PART_KINDS };
#undef X
#define PART_BIT(part) ((uint64_t)1 << (part))

/* The sizes that shapes are made of, of a layer. DIM_NONE as columns: a vector. */
enum dim {
	DIM_NONE, DIM_VOCAB, DIM_MODEL, DIM_ONE, DIM_Q, DIM_Q_ROWS, DIM_K, DIM_V, DIM_O,
	DIM_Q_NORM, DIM_K_NORM, DIM_PAIRS, DIM_FFN, DIM_EXPERTS, DIM_EXPERT_FFN, DIM_SHARED_FFN,
	DIM_ATTENTION_GATE,
	DIM_X_PAIRS, DIM_X_BIAS, DIM_X_PAIRS_BIAS, DIM_X_DOWN_BIAS,	/* biases: of all experts */
	DIM_HEADS, DIM_MLA_Q, DIM_MLA_Q_SHORT, DIM_MLA_KV, DIM_MLA_KEY, DIM_MLA_STRAIGHT,
	DIM_MLA_PAIRS, DIM_MLA_K, DIM_MLA_V,
	DIM_KERNEL, DIM_CONV_IN, DIM_DELTA_QKV, DIM_DELTA_V, DIM_DELTA_HEADS, DIM_DELTA_VALUE,
	DIM_DELTA_QKVZ, DIM_DELTA_BA,
	DIM_MAMBA_IN, DIM_MAMBA_CONV, DIM_MAMBA_HEADS, DIM_MAMBA_INNER, DIM_MAMBA_GROUPS,
	DIM_PL, DIM_PL_ALL, DIM_PL_VOCAB
};

/* id, part, canonical name ({n} layer, {e} expert), rows, columns */
#define SLOT_LIST(X) \
	X(SLOT_EMBED, PART_MODEL, "token_embedding.weight", DIM_VOCAB, DIM_MODEL) \
	X(SLOT_OUTPUT_NORM, PART_MODEL, "output_norm.weight", DIM_MODEL, DIM_NONE) \
	X(SLOT_OUTPUT, PART_HEAD, "output.weight", DIM_VOCAB, DIM_MODEL) \
	X(SLOT_ROPE_FREQS, PART_ROPE_FREQS, "rope_frequencies.weight", DIM_PAIRS, DIM_NONE) \
	X(SLOT_ATTN_NORM, PART_MIXER_NORM, "layers.{n}.attention_norm.weight", DIM_MODEL, DIM_NONE) \
	X(SLOT_Q, PART_ATTENTION, "layers.{n}.attention.q.weight", DIM_Q_ROWS, DIM_MODEL) \
	X(SLOT_K, PART_ATTENTION, "layers.{n}.attention.k.weight", DIM_K, DIM_MODEL) \
	X(SLOT_V, PART_ATTENTION, "layers.{n}.attention.v.weight", DIM_V, DIM_MODEL) \
	X(SLOT_O, PART_ATTENTION, "layers.{n}.attention.output.weight", DIM_MODEL, DIM_O) \
	X(SLOT_Q_BIAS, PART_QKV_BIAS, "layers.{n}.attention.q.bias", DIM_Q_ROWS, DIM_NONE) \
	X(SLOT_K_BIAS, PART_QKV_BIAS, "layers.{n}.attention.k.bias", DIM_K, DIM_NONE) \
	X(SLOT_V_BIAS, PART_QKV_BIAS, "layers.{n}.attention.v.bias", DIM_V, DIM_NONE) \
	X(SLOT_O_BIAS, PART_O_BIAS, "layers.{n}.attention.output.bias", DIM_MODEL, DIM_NONE) \
	X(SLOT_Q_NORM, PART_QK_NORM, "layers.{n}.attention.q_norm.weight", DIM_Q_NORM, DIM_NONE) \
	X(SLOT_K_NORM, PART_QK_NORM, "layers.{n}.attention.k_norm.weight", DIM_K_NORM, DIM_NONE) \
	X(SLOT_POST_ATTN_NORM, PART_POST_NORMS, "layers.{n}.attention.post_norm.weight", DIM_MODEL, DIM_NONE) \
	X(SLOT_FFN_NORM, PART_FFN_NORM, "layers.{n}.ffn_norm.weight", DIM_MODEL, DIM_NONE) \
	X(SLOT_GATE, PART_GATE, "layers.{n}.ffn.gate.weight", DIM_FFN, DIM_MODEL) \
	X(SLOT_UP, PART_DENSE, "layers.{n}.ffn.up.weight", DIM_FFN, DIM_MODEL) \
	X(SLOT_DOWN, PART_DENSE, "layers.{n}.ffn.down.weight", DIM_MODEL, DIM_FFN) \
	X(SLOT_POST_FFN_NORM, PART_POST_NORMS, "layers.{n}.ffn.post_norm.weight", DIM_MODEL, DIM_NONE) \
	X(SLOT_ROUTER, PART_EXPERTS, "layers.{n}.ffn.router.weight", DIM_EXPERTS, DIM_MODEL) \
	X(SLOT_X_GATE, PART_EXPERTS_GATE, "layers.{n}.ffn.experts.{e}.gate.weight", DIM_EXPERT_FFN, DIM_MODEL) \
	X(SLOT_X_UP, PART_EXPERTS, "layers.{n}.ffn.experts.{e}.up.weight", DIM_EXPERT_FFN, DIM_MODEL) \
	X(SLOT_X_DOWN, PART_EXPERTS, "layers.{n}.ffn.experts.{e}.down.weight", DIM_MODEL, DIM_EXPERT_FFN) \
	X(SLOT_ROUTER_BIAS, PART_ROUTER_BIAS, "layers.{n}.ffn.router.bias", DIM_EXPERTS, DIM_NONE) \
	X(SLOT_CHOICE_BIAS, PART_CHOICE_BIAS, "layers.{n}.ffn.router.choice_bias", DIM_EXPERTS, \
	  DIM_NONE) \
	X(SLOT_S_GATE, PART_SHARED_GATE, "layers.{n}.ffn.shared.gate.weight", DIM_SHARED_FFN, \
	  DIM_MODEL) \
	X(SLOT_S_UP, PART_SHARED, "layers.{n}.ffn.shared.up.weight", DIM_SHARED_FFN, DIM_MODEL) \
	X(SLOT_S_DOWN, PART_SHARED, "layers.{n}.ffn.shared.down.weight", DIM_MODEL, DIM_SHARED_FFN) \
	X(SLOT_S_ROUTER, PART_SHARED_ROUTER, "layers.{n}.ffn.shared.router.weight", DIM_ONE, \
	  DIM_MODEL) \
	X(SLOT_ROPE_LONG, PART_ROPE_LONG, "rope_long_frequencies.weight", DIM_PAIRS, DIM_NONE) \
	X(SLOT_ATTN_GATE, PART_ATTENTION_GATE, "layers.{n}.attention.gate.weight", \
	  DIM_ATTENTION_GATE, DIM_MODEL) \
	X(SLOT_SINKS, PART_SINKS, "layers.{n}.attention.sinks", DIM_HEADS, DIM_NONE) \
	X(SLOT_X_GATE_UP, PART_EXPERTS_WOVEN, "layers.{n}.ffn.experts.{e}.gate_up.weight", \
	  DIM_X_PAIRS, DIM_MODEL) \
	X(SLOT_X_GATE_UP_BIAS, PART_EXPERTS_WOVEN, "layers.{n}.ffn.experts.gate_up.bias", \
	  DIM_X_PAIRS_BIAS, DIM_NONE) \
	X(SLOT_X_GATE_BIAS, PART_EXPERTS_BIAS, "layers.{n}.ffn.experts.gate.bias", DIM_X_BIAS, \
	  DIM_NONE) \
	X(SLOT_X_UP_BIAS, PART_EXPERTS_BIAS, "layers.{n}.ffn.experts.up.bias", DIM_X_BIAS, DIM_NONE) \
	X(SLOT_X_DOWN_BIAS, PART_EXPERTS_BIAS, "layers.{n}.ffn.experts.down.bias", DIM_X_DOWN_BIAS, \
	  DIM_NONE) \
	X(SLOT_MLA_Q, PART_MLA_Q, "layers.{n}.latent.q.weight", DIM_MLA_Q, DIM_MODEL) \
	X(SLOT_Q_A, PART_MLA_Q_SHORT, "layers.{n}.latent.q_a.weight", DIM_MLA_Q_SHORT, DIM_MODEL) \
	X(SLOT_Q_A_NORM, PART_MLA_Q_SHORT, "layers.{n}.latent.q_a_norm.weight", DIM_MLA_Q_SHORT, \
	  DIM_NONE) \
	X(SLOT_Q_B, PART_MLA_Q_SHORT, "layers.{n}.latent.q_b.weight", DIM_MLA_Q, DIM_MLA_Q_SHORT) \
	X(SLOT_KV_A, PART_MLA, "layers.{n}.latent.kv_a.weight", DIM_MLA_KEY, DIM_MODEL) \
	X(SLOT_KV_A_NORM, PART_MLA, "layers.{n}.latent.kv_a_norm.weight", DIM_MLA_KV, DIM_NONE) \
	X(SLOT_KV_B, PART_MLA_KV, "layers.{n}.latent.kv_b.weight", DIM_MLA_PAIRS, DIM_MLA_KV) \
	X(SLOT_K_B, PART_MLA_SPLIT, "layers.{n}.latent.k_b.weight", DIM_MLA_K, DIM_MLA_STRAIGHT) \
	X(SLOT_V_B, PART_MLA_SPLIT, "layers.{n}.latent.v_b.weight", DIM_MLA_V, DIM_MLA_KV) \
	X(SLOT_MLA_O, PART_MLA, "layers.{n}.latent.output.weight", DIM_MODEL, DIM_MLA_V) \
	X(SLOT_CONV_IN, PART_CONV, "layers.{n}.conv.input.weight", DIM_CONV_IN, DIM_MODEL) \
	X(SLOT_CONV, PART_CONV, "layers.{n}.conv.kernel.weight", DIM_MODEL, DIM_KERNEL) \
	X(SLOT_CONV_OUT, PART_CONV, "layers.{n}.conv.output.weight", DIM_MODEL, DIM_MODEL) \
	X(SLOT_DELTA_QKV, PART_DELTA_SPLIT, "layers.{n}.delta.qkv.weight", DIM_DELTA_QKV, DIM_MODEL) \
	X(SLOT_DELTA_Z, PART_DELTA_SPLIT, "layers.{n}.delta.z.weight", DIM_DELTA_V, DIM_MODEL) \
	X(SLOT_DELTA_A, PART_DELTA_SPLIT, "layers.{n}.delta.a.weight", DIM_DELTA_HEADS, DIM_MODEL) \
	X(SLOT_DELTA_B, PART_DELTA_SPLIT, "layers.{n}.delta.b.weight", DIM_DELTA_HEADS, DIM_MODEL) \
	X(SLOT_DELTA_QKVZ, PART_DELTA_WHOLE, "layers.{n}.delta.qkvz.weight", DIM_DELTA_QKVZ, \
	  DIM_MODEL) \
	X(SLOT_DELTA_BA, PART_DELTA_WHOLE, "layers.{n}.delta.ba.weight", DIM_DELTA_BA, DIM_MODEL) \
	X(SLOT_DELTA_CONV, PART_DELTA, "layers.{n}.delta.kernel.weight", DIM_DELTA_QKV, DIM_KERNEL) \
	X(SLOT_DELTA_RATE, PART_DELTA, "layers.{n}.delta.rate", DIM_DELTA_HEADS, DIM_NONE) \
	X(SLOT_DELTA_DT_BIAS, PART_DELTA, "layers.{n}.delta.dt.bias", DIM_DELTA_HEADS, DIM_NONE) \
	X(SLOT_DELTA_NORM, PART_DELTA, "layers.{n}.delta.norm_scale", DIM_DELTA_VALUE, DIM_NONE) \
	X(SLOT_DELTA_OUT, PART_DELTA, "layers.{n}.delta.output.weight", DIM_MODEL, DIM_DELTA_V) \
	X(SLOT_MAMBA_IN, PART_MAMBA, "layers.{n}.mamba.input.weight", DIM_MAMBA_IN, DIM_MODEL) \
	X(SLOT_MAMBA_CONV, PART_MAMBA, "layers.{n}.mamba.kernel.weight", DIM_MAMBA_CONV, DIM_KERNEL) \
	X(SLOT_MAMBA_CONV_BIAS, PART_MAMBA_CONV_BIAS, "layers.{n}.mamba.kernel.bias", DIM_MAMBA_CONV, \
	  DIM_NONE) \
	X(SLOT_MAMBA_RATE, PART_MAMBA, "layers.{n}.mamba.rate", DIM_MAMBA_HEADS, DIM_NONE) \
	X(SLOT_MAMBA_PASS, PART_MAMBA, "layers.{n}.mamba.pass", DIM_MAMBA_HEADS, DIM_NONE) \
	X(SLOT_MAMBA_DT_BIAS, PART_MAMBA, "layers.{n}.mamba.dt.bias", DIM_MAMBA_HEADS, DIM_NONE) \
	X(SLOT_MAMBA_NORM, PART_MAMBA, "layers.{n}.mamba.norm_scale", DIM_MAMBA_INNER, DIM_NONE) \
	X(SLOT_MAMBA_OUT, PART_MAMBA, "layers.{n}.mamba.output.weight", DIM_MODEL, DIM_MAMBA_INNER) \
	X(SLOT_DENSE_POST_NORM, PART_BESIDE, "layers.{n}.ffn.dense.post_norm.weight", DIM_MODEL, \
	  DIM_NONE) \
	X(SLOT_EXPERTS_NORM, PART_BESIDE, "layers.{n}.ffn.experts_norm.weight", DIM_MODEL, DIM_NONE) \
	X(SLOT_EXPERTS_POST_NORM, PART_BESIDE, "layers.{n}.ffn.experts.post_norm.weight", DIM_MODEL, \
	  DIM_NONE) \
	X(SLOT_ROUTER_SCALE, PART_BESIDE, "layers.{n}.ffn.router.scale", DIM_MODEL, DIM_NONE) \
	X(SLOT_EXPERT_SCALE, PART_BESIDE, "layers.{n}.ffn.router.expert_scale", DIM_EXPERTS, DIM_NONE) \
	X(SLOT_LAYER_SCALE, PART_LAYER_SCALE, "layers.{n}.scale", DIM_ONE, DIM_NONE) \
	X(SLOT_PL_EMBED, PART_PER_LAYER, "per_layer.token_embedding.weight", DIM_PL_VOCAB, DIM_PL_ALL) \
	X(SLOT_PL_MODEL, PART_PER_LAYER, "per_layer.model.weight", DIM_PL_ALL, DIM_MODEL) \
	X(SLOT_PL_MODEL_NORM, PART_PER_LAYER, "per_layer.model_norm.weight", DIM_PL, DIM_NONE) \
	X(SLOT_PL_GATE, PART_PER_LAYER, "layers.{n}.per_layer.gate.weight", DIM_PL, DIM_MODEL) \
	X(SLOT_PL_OUT, PART_PER_LAYER, "layers.{n}.per_layer.output.weight", DIM_MODEL, DIM_PL) \
	X(SLOT_PL_POST_NORM, PART_PER_LAYER, "layers.{n}.per_layer.post_norm.weight", DIM_MODEL, \
	  DIM_NONE)

#define X(id, part, name, rows, cols) id,
enum slot { SLOT_LIST(X) SLOT_COUNT };
#undef X

struct slot_info { enum arch_part part; const char *name; enum dim rows, cols; };
const struct slot_info *slot_info(enum slot s);
bool slot_layered(enum slot s);		/* one a layer */
bool slot_expert(enum slot s);		/* one an expert of a layer */
bool slot_norm(enum slot s);		/* the weights of a norm */
bool slot_kernel(enum slot s);		/* of a convolution: numbers as vectors are, [kernel][width] */
bool slot_rate(enum slot s);		/* how fast a state fades: below 0 */
/* The slot that does as well, where a model has it: then this one may be empty.
 * SLOT_COUNT: none. */
enum slot slot_instead(enum slot s);

/* Ways of naming and packing in which architectures differ; bits. */
enum way {
	WAY_POST_NORMS = 1,	/* "post_attention" is what stands behind the attention, not
				 * before the feed-forward part */
	WAY_FUSED = 2,		/* q k v are rows of one tensor, gate and up of another */
	WAY_LATE_NORM = 4,	/* GGUF calls post_attention_norm what is before the feed-forward
				 * part */
	WAY_DELTA = 8,		/* "attn_qkv" and "attn_gate" are of layers with the delta rule */
	WAY_TURNED = 16,	/* stacks of experts in one file lie turned */
	WAY_WOVEN = 32,		/* experts' gate and up have their rows in turns */
};

/* A name in files, behind one of tname_stems.  For an expert slot without {e} the tensor
 * is stacked: its first dimension counts the experts.  A tensor may hold other slots'
 * rows as well: `before` and `after` say how many, each ended by DIM_NONE.  The slot's rows
 * may be cut into a stack of so many as `folded` says. */
struct slot_rule {
	enum slot slot;
	const char *pattern;
	bool stacked;
	enum dim folded;
	bool turned;		/* stacked, each expert's rows are columns */
	enum way only, never;	/* ways of the architectures it is for; 0: all, none */
	enum dim before[3], after[3];
	bool log;		/* of what is kept, without its sign */
};
/* The rules of an architecture that has these ways: its own (struct arch.names, or NULL),
 * then those that count for all, Hugging Face's before GGUF's; of each the best first.
 * r NULL: the first; NULL: there is no other one behind r. */
const struct slot_rule *slot_rule_next(const struct slot_rule *own, unsigned ways,
				       const struct slot_rule *r);
bool slot_rule_gguf(const struct slot_rule *r);	/* is it a name of GGUF files? */
/* Tensors that a run does not need: they may be there. */
bool slot_ignored(const char *name);

/* How experts are chosen. */
enum router_score {
	SCORE_SOFTMAX, SCORE_SIGMOID,
	SCORE_CHOSEN		/* the largest numbers are chosen as they are; softmax of those */
};
struct routing {
	enum router_score score;
	bool renormalize;	/* weights of the chosen add up to 1 … */
	float scale;		/* … before they are multiplied by this; 0: 1 */
	float both;		/* of what chosen and shared experts say together; 0: 1 */
	uint32_t groups, groups_used;	/* only the best groups of experts count; 0 or 1: all */
};

enum activation {
	ACT_SILU, ACT_GELU_TANH,
	ACT_CLAMPED,	/* gate sigmoid(1.702 gate) (up + 1), gate up to 7, up from -7 to 7 */
	ACT_RELU2,	/* squared where it is positive */
	ACT_COUNT
};

/* A row of the table.  Numbers count where the file is silent; 0: it must not be. */
struct arch {
	const char *name, *text_name;	/* model_type of config.json; of text_config in it */
	const char *outer;		/* … of what has it as text_config, if not `name` */
	const char *class_name;		/* architectures[0] */
	const char *gguf_name;		/* general.architecture of GGUF files */
	uint64_t required, optional;	/* bits of parts */
	unsigned ways;			/* bits of enum way */
	const struct slot_rule *names;	/* what Hugging Face's files call its tensors and no other
					 * architecture's; ended by pattern NULL; NULL: none */
	const char *const *keys;	/* what config.json calls what others call otherwise:
					 * their key, its own, …, NULL; NULL: nothing */
	bool experts;
	const char *experts_key;	/* the row with or without them: config.json has some if this
					 * number is there; NULL: there is one row */
	struct routing routing;		/* renormalize: whatever config.json says */
	bool gguf_renormalize;		/* so do all GGUF files, unless they say otherwise */
	uint32_t vocab, heads, kv_heads, head_dim, context;
	float rms_eps, rope_theta;
	enum activation act;
	const char *own_act;		/* config.json may name this one only: see ffn */
	bool embed_scale;		/* embeddings are multiplied by sqrt(dim) */
	bool gguf_pairs;		/* see slot_permuted() */
	float norm_add;			/* what Hugging Face's files lack in the weights of norms;
					 * GGUF has them whole */
	float query_scalar;		/* of query_pre_attn_scalar, where the file may say that
					 * q k is divided by another root than head_dim's */
	uint32_t gguf_wide_layers;	/* GGUF files with so many divide by sqrt(dim / heads) */
	bool gguf_silent;		/* GGUF files may lack theta and eps: these hold … */
	float gguf_stretch;		/* … and are stretched linearly by so much, when they */
	uint32_t gguf_stretch_from;	/* say nothing of that and have so long a context */
	float attn_softcap, final_softcap;
	bool softcaps;			/* the file may say otherwise */
	uint32_t window;		/* positions that layers with a window see; 0: all */
	uint32_t window_period;		/* each so-manieth layer has no window; 0: all have one */
	bool window_flag;		/* sliding_window counts only with use_sliding_window */
	const char *window_from_key;	/* config.json: the first layer with a window */
	float rope_local;		/* theta of layers with a window; 0: the same as others' */
	bool rope_partial;		/* partial_rotary_factor may be below 1 */
	bool q_gated;			/* q's rows of a head: it, then what its output is gated with */
	bool gguf_tiled;		/* value heads of the delta rule take key heads in turns there */
	bool pairs;			/* elements 2 i and 2 i + 1 turn together, in all files */
	bool value_norm;		/* values of a head come to the length that norms give */
	bool layers_differ;		/* layer_types count, even without a window */
	bool qk_norm_whole;		/* norms of q and k are of all heads together */
	bool qk_norm_late;		/* … and come when they have been turned */
	bool centered;			/* norms take the mean away, unless the file says rms_norm_eps */
	bool parallel;			/* mixer and feed-forward part see the same */
	bool logit_divides;		/* logit_scale of GGUF files is a divisor */
	/* What it alone says, after everything else was read: hparams_read.h; NULL: nothing. */
	enum tb_status (*config)(const struct config_reader *r);
	enum tb_status (*metadata)(struct meta_reader *r);
	/* A feed-forward part of its own, in a file of its own; NULL: what its layers' ffn_kind
	 * says.  See run_ffn() (run.h). */
	enum tb_status (*ffn)(struct run *run, const struct layer *l, size_t m);
};
/* Are all tensors of the part there; may they be? */
bool arch_needs(const struct arch *a, enum arch_part p);
bool arch_has(const struct arch *a, enum arch_part p);
/* Which layers have the part. */
bool part_in(enum arch_part p, enum mixer mixer, enum ffn_kind ffn);
/* Has some part of it layers with this mixer alone? */
bool arch_mixes(const struct arch *a, enum mixer mixer);

/* All of them, one after the other; NULL: the first, behind the last. */
const struct arch *arch_next(const struct arch *a);
/* By model_type, else by class name; NULL: not supported. */
const struct arch *arch_find(const char *model_type, const char *class_name);
/* By model_type and that of text_config. */
const struct arch *arch_find_inner(const char *model_type, const char *inner);
/* The row of the same name for models with experts, or for those without; else a. */
const struct arch *arch_with(const struct arch *a, bool experts);
/* By general.architecture; some mean another model when there are experts. */
const struct arch *arch_find_gguf(const char *name, bool experts);
/* Do GGUF files have a head's rows of this slot as pairs that turn together (0, half,
 * 1, half + 1, …), where Hugging Face's files have 0, 1, …?  Then row i of a head is
 * theirs slot_unpermuted(i, head_dim). */
bool slot_permuted(const struct arch *a, enum slot s);
uint32_t slot_unpermuted(uint32_t i, uint32_t head_dim);
/* TB_EUNSUP with the nearest that is supported; `with` goes behind the name: " with
 * experts", or "". */
enum tb_status arch_unknown(const char *name, const char *with, struct tb_err *err);
/* What config.json says instead of `key`. */
const char *arch_key(const struct arch *a, const char *key);

/* The tables, each ended by name NULL. */
extern const struct arch arch_rows[];
extern const struct arch arch_rows_delta[];
extern const struct arch arch_rows_gemma4[];
extern const struct arch arch_rows_mamba[];
extern const struct arch arch_rows_mla[];
extern const struct arch arch_rows_laguna[];
extern const struct arch arch_rows_gpt_oss[];
#endif
