/* translate.h - what Hugging Face's files and GGUF say of the same model: names of tensors,
 * how their numbers lie, keys, vocabulary.
 *
 * The tables are read both ways.  Names that an architecture of the engine has are its own
 * (src/engine/arch.h); rows here say only what those cannot. */
#ifndef TBTUI_OPS_TRANSLATE_H
#define TBTUI_OPS_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/format/dtype.h"
#include "src/format/gguf_write.h"

/* Where the elements of a tensor come from, in the order in which they are written: element
 * (a, b, …) is the source's `first` + a * step[0] + b * step[1] + …  Rows that change their
 * places, halves, columns of a transposed matrix are all of them such walks. */
#define WALK_DIMS 6
struct strided {
	unsigned ndim;
	uint64_t dim[WALK_DIMS], step[WALK_DIMS];
	uint64_t first;
};
uint64_t walk_elems(const struct strided *v);
uint64_t walk_place(const struct strided *v, uint64_t i);	/* of element i, in the source */
/* How many elements from i on lie one after the other in the source, up to n. */
uint64_t walk_stretch(const struct strided *v, uint64_t i, uint64_t n);

/* Rows of heads of `head` rows, each of `cols`: Hugging Face's files have what turns
 * together half a head apart, GGUF files of llama side by side. */
struct strided walk_to_pairs(uint64_t rows, uint64_t cols, uint64_t head);
struct strided walk_to_halves(uint64_t rows, uint64_t cols, uint64_t head);

/* What is done to each number. */
enum plan_change {
	CHANGE_NONE,
	CHANGE_ADD,		/* + number */
	CHANGE_NEG_EXP,		/* -exp(x) */
	CHANGE_LOG_NEG,		/* log(-x): the way back */
};

/* What happens to (a piece of) a tensor on its way. */
struct change {
	bool moved;		/* `walk` says where from; else in the source's order */
	struct strided walk;
	enum plan_change what;
	float number;
};
float change_apply(const struct change *c, float x);

struct model;
struct slot_rule;
struct tensor;

/* Between the two of one model. */
struct translate {
	const char *gguf;	/* general.architecture; static */
	const char *type;	/* model_type of config.json, its text's; static */
	const char *names;	/* what rows of names call it; NULL: as `gguf`; static */
	unsigned ways;		/* of enum way (src/engine/arch.h) */
	const struct slot_rule *own;	/* names that only it has, or NULL; static */
	bool pairs;		/* rows of q and k: walk_to_pairs() */
	float norm_add;		/* what Hugging Face's norms lack */
	uint32_t layers;
	uint32_t mtp;		/* layers behind them that guess ahead, called mtp */
	bool fewer_layers;	/* those behind `layers`, which guess ahead, are left out */
	/* What moves of rows need; 0: not known. */
	uint32_t heads, kv_heads;
	uint32_t nope, v_head;			/* DeepSeek: of a head, without turning; of v */
	uint32_t groups;			/* of a state space */
	uint32_t k_heads, v_heads, k_dim, v_dim;	/* Qwen's linear attention */
};
/* From config.json of a model of Hugging Face's.  TB_EUNSUP: no row knows its model_type. */
enum tb_status translate_hf(struct translate *out, const struct model *m, struct tb_err *err)
	TB_MUST_USE;

/* (A part of) a tensor of Hugging Face's in a GGUF. */
#define TRANSLATE_PARTS 4
#define TRANSLATE_NAME_MAX 128
struct translated {
	char name[TRANSLATE_NAME_MAX];
	struct change change;
	unsigned ndim;
	uint64_t dim[8];	/* of the piece */
	bool f32;		/* is F32 whatever the others are */
	/* Several make one tensor, in the order of `index`: experts of a stack, which gets a
	 * dimension more, or rows below rows. */
	bool expert, rows;
	uint32_t index;
};
/* *n: how many tensors it becomes or becomes part of; 0: it is left out.  TB_EUNSUP: no
 * row knows it. */
enum tb_status translate_to_gguf(const struct translate *t, const struct tensor *src,
				 struct translated out[TRANSLATE_PARTS], unsigned *n,
				 struct tb_err *err) TB_MUST_USE;

/* TB_EFORMAT: a tensor has not the shape that what the model says of itself makes it.  Fine
 * where nobody knows what its architecture needs. */
enum tb_status translate_check(const struct model *m, struct tb_err *err) TB_MUST_USE;

/* Where several tensors of a GGUF make one, or one makes several: `count` pieces of `each`
 * elements, from `first` on (of what `change` makes of them, if it moves them).  Those of a
 * name stand one after the other, by number: index, index + step, … */
struct hf_piece {
	size_t tensor;
	const char *into;		/* a name; "*" in it if each is a tensor to itself; the
					 * model's */
	bool apart;
	unsigned ndim;			/* of the whole, or of each */
	uint64_t dim[8];
	struct change change;
	uint64_t first, each, count, index, step;
};

/* A model of GGUF files as Hugging Face's have it.  The model is one as any other: its
 * tensors' bytes are in the GGUF's files, their names are Hugging Face's, and config.json,
 * tokenizer.json and the like are among its files, made of the GGUF's keys. */
struct hf_view {
	struct model *model;		/* owned */
	struct change *changes;		/* of each tensor, what makes it Hugging Face's; owned */
	struct hf_piece *pieces;	/* of the tensors that are not one there; owned */
	size_t npieces;
	char *note;			/* a sentence: what does not come along; NULL; owned */
};
/* Reads metadata and the small tensors.  decode: as what the numbers of blocks are taken;
 * DT_COUNT: by what the file says of the dtype that the model had.  TB_EUNSUP names the
 * tensor or the key that has no counterpart. */
enum tb_status hf_view_open(struct hf_view **out, const struct model *gguf, enum dtype decode,
			    struct tb_err *err) TB_MUST_USE;
void hf_view_free(struct hf_view *v);		/* NULL is fine */
/* The same of a tensor that a GGUF has already.  Its name may be too long. */
enum tb_status translate_same(const struct tensor *src, struct translated *out,
			      struct tb_err *err) TB_MUST_USE;

/* What a GGUF says of a model: keys, vocabulary, and tensors that Hugging Face's files put in
 * numbers of config.json. */
struct translate_ask {
	uint32_t file_type;	/* general.file_type: see gguf_mixture() */
	const char *pre;	/* what its pre-tokenizer is to be called; NULL: found out */
};
struct translated_keys {
	struct gguf_keys keys;
	struct { const char *name; float *v; size_t n; } made[2];	/* v: owned */
	unsigned nmade;
};
/* t NULL: the model is a GGUF, whose keys they are. */
enum tb_status translate_keys(struct translated_keys *out, const struct translate *t,
			      const struct model *m, const struct translate_ask *ask,
			      struct tb_err *err) TB_MUST_USE;
void translated_keys_free(struct translated_keys *k);
#endif
