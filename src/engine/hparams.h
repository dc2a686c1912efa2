/* hparams.h - the numbers that a model is made of, checked before they are believed.
 *
 * They come from config.json or from other metadata: hparams_init() with the row of
 * the architecture, then what the file says, then hparams_finish(). */
#ifndef TBTUI_ENGINE_HPARAMS_H
#define TBTUI_ENGINE_HPARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/arch.h"

/* Far above any model there is, and far below what overflows a product of two. */
#define HP_MAX_DIM (1u << 20)
#define HP_MAX_VOCAB (1u << 24)
#define HP_MAX_LAYERS 4096u
#define HP_MAX_HEAD_DIM 4096u
#define HP_MAX_CONTEXT (1u << 26)
#define HP_MAX_EXPERTS 8192u
#define HP_MAX_GROUPS 64u
#define HP_MAX_KERNEL 8u
#define HP_MAX_USED 256u	/* experts of a token */
#define HP_MAX_STATE (1u << 25)	/* numbers that a layer without keys and values remembers */

enum rope_kind {
	ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3, ROPE_LONGROPE, ROPE_YARN,
	ROPE_PROPORTIONAL	/* the first `factor` of the pairs turn as they would if all did */
};

/* How positions turn pairs of elements.  Factors divide the frequencies further. */
struct rope {
	enum rope_kind kind;
	double theta, factor;
	double low, high;		/* llama3: turns in the original context below which
					 * frequencies are divided, above which they stay; yarn: both */
	bool smooth;			/* yarn: where that begins is not rounded to whole pairs */
	double original;		/* context before it was stretched; 0: it was not */
	double magnitude;		/* 0 or 1: turned vectors keep their length */
	float *factors, *long_factors;	/* owned; [dims / 2]; NULL: none.  The second is for
					 * sessions longer than `original` */
	uint32_t dims;			/* of a head that turn, the first ones; 0: as many
					 * as hparams.rope_dims */
};

/* What a layer is made of. */
struct layer_shape {
	enum mixer mixer;
	enum ffn_kind ffn_kind;
	uint32_t heads, kv_heads, head_dim;	/* queries; keys; of both */
	uint32_t value_dim;			/* of a head's value */
	uint32_t ffn;				/* width of the dense feed-forward part */
	bool windowed, turned;			/* sees a window only; positions turn q and k */
	uint32_t kv_from;			/* whose keys and values it uses: its own number */
	bool same;				/* values are keys as they were made */
};

/* Of multi-head latent attention; a head turns rope_dims more. */
struct mla_shape {
	uint32_t q_short;		/* what q is made of; 0: of the layer's x itself */
	uint32_t kv;			/* what keys and values are made of */
	uint32_t straight, value;	/* of a head: of q and k what does not turn, of v */
};

/* Of layers with the delta rule. */
struct delta_shape {
	uint32_t k_heads, v_heads, k_dim, v_dim;
	bool tiled;		/* value head h looks with key head h % k_heads, else neighbours
				 * look with the same */
};

/* Of state spaces. */
struct mamba_shape {
	uint32_t inner, heads;		/* elements of all heads; heads */
	uint32_t groups, state;		/* that share what goes in and comes out; its length */
	float step_least, step_most;	/* of a step */
};

struct hparams {
	const struct arch *arch;
	uint32_t vocab, dim, layers, context;
	uint32_t draft_layers;		/* behind those; they guess tokens ahead and are not run */
	uint32_t heads, kv_heads, head_dim, ffn;	/* of most layers, or of the widest */
	struct layer_shape *layer;		/* owned; [layers]; hparams_layers() */
	uint32_t experts, experts_used;		/* 0 = dense */
	uint32_t expert_ffn, shared_ffn;	/* widths; shared 0: there is none */
	struct routing routing;
	struct mla_shape mla;
	struct delta_shape delta;
	struct mamba_shape mamba;
	uint32_t per_layer, per_layer_vocab;	/* numbers a token for each layer; 0: none.  Tokens
						 * that have some */
	uint32_t conv_kernel;			/* tokens that convolutions see; 0: there are none */
	uint64_t said;				/* bits of parts that the file says there are */
	bool tied, tied_known;			/* head = embedding; does the file say */
	enum activation act;
	float rms_eps;
	float embed_scale;			/* multiplies embeddings; 0: by what the row says */
	float norm_add;				/* to the weights of norms as they are in files */
	float residual_scale;			/* of what layers add; 0: 1 */
	float logit_scale;			/* 0: 1 */
	float attn_scale;			/* of q k; 0: 1 / sqrt(head_dim) */
	double q_growth, q_growth_from;		/* queries grow by 1 + that * ln(1 + whole times that
						 * their position is so many); 0: they do not */
	bool centered;				/* norms take the mean away */
	float attn_softcap, final_softcap;	/* 0: none */
	uint32_t window;			/* positions that layers with a window see,
						 * their own included; 0: no layer has one */
	struct rope rope, rope_local;		/* of layers without and with a window; local
						 * theta 0: there is only one */
	uint32_t rope_dims;			/* of a head that turn, the first ones; 0: all */
	uint32_t gate_rows;			/* numbers that multiply a head's answer: 1, or
						 * value_dim */
	bool rope_pairs;			/* 2i turns with 2i + 1, not with i + half */
};

/* Whole numbers that are read as they are: their keys, how large they may be, where they
 * go and, in struct arch, what holds where config.json is silent. */
struct hparams_number {
	const char *config, *gguf;	/* gguf NULL: not so simple there */
	uint32_t max;
	bool experts;			/* only where there are any */
	bool optional;			/* 0 where files and rows are silent */
	size_t field, usual;
	size_t each;			/* in struct layer_shape, where GGUF may have a number for
					 * each layer; field is the largest then */
};
#define HP_NOT_EACH SIZE_MAX
extern const struct hparams_number hparams_numbers[];	/* ended by config NULL */
uint32_t *hparams_field(struct hparams *hp, const struct hparams_number *n);
uint32_t hparams_usual(const struct arch *a, const struct hparams_number *n);

/* What the row says; nothing that it leaves to the file. */
void hparams_init(struct hparams *hp, const struct arch *arch);
/* Computes what follows from other numbers and checks how they go together. */
enum tb_status hparams_finish(struct hparams *hp, struct tb_err *err) TB_MUST_USE;
void hparams_free(struct hparams *hp);
/* All of that from config.json.  Errors name the key, what it is and what it may be.
 * hparams_free() is needed after success only. */
enum tb_status hparams_parse(struct hparams *hp, const char *json, size_t len, struct tb_err *err)
	TB_MUST_USE;
/* The same from a GGUF's metadata. */
struct model_meta;
enum tb_status hparams_gguf(struct hparams *hp, const struct model_meta *mm, struct tb_err *err)
	TB_MUST_USE;
/* From whichever of them the model has: a GGUF speaks for itself, other models have
 * config.json.  TB_EUNSUP: a model that cannot be run; TB_EFORMAT: it says what no model
 * can be; TB_ENOENT: it says nothing. */
struct model;
enum tb_status hparams_model(struct hparams *hp, const struct model *m, struct tb_err *err)
	TB_MUST_USE;

/* MLX makes the weights of norms whole, where the architecture has some that lack a part, when
 * it turns the weights of convolutions, which shows. */
bool hparams_norms_whole(const struct model *m);
/* Makes hp->layer, once the sizes are known: each layer has what most layers have. */
enum tb_status hparams_layers(struct hparams *hp, struct tb_err *err) TB_MUST_USE;
/* Gives a window to all layers from `first` on but each period-th; period 0: to all. */
void hparams_set_windows(struct hparams *hp, uint32_t first, uint32_t period);
bool hparams_windowed(const struct hparams *hp, uint32_t layer);

/* Of a layer; 0 for what is in none. */
uint32_t hparams_dim(const struct hparams *hp, uint32_t layer, enum dim d);
/* Of the widest layer. */
uint32_t hparams_widest(const struct hparams *hp, enum dim d);
/* Is there a tensor for the slot in this layer: must there be? */
bool hparams_has(const struct hparams *hp, uint32_t layer, enum slot s);
bool hparams_needs(const struct hparams *hp, uint32_t layer, enum slot s);
/* May there be a tensor for a slot that is not read, as another layer's is instead? */
bool hparams_idle(const struct hparams *hp, uint32_t layer, enum slot s);
/* The angle a position turns pair i < rope_dims / 2 by, scaling included, in a session
 * of `context` positions. */
double hparams_inv_freq(const struct hparams *hp, const struct rope *rope, uint32_t i,
			uint32_t context);
#endif
