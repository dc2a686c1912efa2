/* translate_rows.h - the tables of translate.h.  Private to the family. */
#ifndef TBTUI_OPS_TRANSLATE_ROWS_H
#define TBTUI_OPS_TRANSLATE_ROWS_H

#include "src/ops/translate/translate.h"

/* What GGUF calls a model, where it differs in something from what the engine's row says,
 * or the engine has none. */
struct translate_arch {
	const char *type;		/* model_type, of the whole or its text_config */
	const char *gguf;
	unsigned ways;			/* of enum way */
	bool pairs;
	float norm_add;
	const char *key;		/* only where config.json has it, and not 0; NULL: always */
	bool fewer_layers;		/* see struct translate */
	const char *class_name;		/* architectures[0] of config.json */
	const char *sign;		/* keys, behind the architecture's name, that a GGUF of it
					 * has, between blanks: "a b=2"; NULL: any has */
	const char *names;		/* see struct translate */
};
extern const struct translate_arch translate_archs[];	/* ended by type NULL */

/* What a tensor of Hugging Face's is in a GGUF.  Read backwards, a row says where it goes
 * back to. */
enum translate_how {
	AS_IS,
	LEFT_OUT,		/* there is none in GGUF files */
	NORM,			/* + norm_add */
	PAIRS_Q, PAIRS_K,	/* rows of heads side by side, if the architecture has them so */
	NEG_EXP,		/* A_log */
	COLUMN, COLUMN_NEG_EXP,	/* a matrix of one column */
	GROUPS,			/* a row a group of the state space */
	SQUEEZED,		/* without dimensions of 1 */
	TURNED,			/* the last two dimensions change places */
	FIRST_ROWS, LAST_ROWS,	/* half of (each expert's) rows */
	EVEN, ODD,		/* every other one of the last dimension */
	EVEN_ROWS, ODD_ROWS,	/* … of the one before it */
	FIRST_TURNED, LAST_TURNED,	/* half of the columns, as rows */
	MLA_K, MLA_V,		/* each head's rows of k, turned; of v */
	GROUPED_QKV, GROUPED_Z,	/* Qwen3-Next: what each k head has of them */
	V_HEADS,		/* as many rows (or numbers) a v head: grouped -> tiled */
	V_HEADS_TAIL,		/* … behind those of all q and k */
	V_HEADS_COLS,		/* columns */
	V_HEADS_NEG_EXP
};
struct translate_name {
	const char *archs;	/* globs of GGUF's names of architectures, between blanks */
	const char *hf, *gguf;	/* behind the stem, or the whole name; {n}, {e} */
	enum translate_how how;
};
/* A tensor is what all rows with the pattern of the first that suits it say; what none has
 * is what the engine's rules say.  Ended by hf NULL. */
extern const struct translate_name translate_names[];
bool translate_name_for(const struct translate_name *r, const struct translate *t);
/* Does the GGUF's tensor go back to what the row says? */
bool translate_name_back(const struct translate_name *r, const struct translate *t);

/* What a slot's tensor goes through (translate_name.c). */
struct slot_rule;
enum translate_how translate_slot_how(const struct slot_rule *r);

/* A key of a GGUF, behind its architecture's name, made of config.json.  The first row with
 * that key that suits counts. */
enum key_type { KEY_U32, KEY_F32, KEY_BOOL, KEY_STR };
struct translate_key {
	const char *archs;
	const char *gguf;
	enum key_type type;
	const char *hf;			/* config_find(); "=NAME": config_computed();
					 * "'WORD": that word */
	double usual;			/* where config.json is silent; NAN: so is the GGUF */
};
extern const struct translate_key translate_config_keys[];	/* ended by gguf NULL */

/* Is the word in a list of globs between blanks?  "-GLOB" is not; the first that is it
 * decides. */
bool translate_listed(const char *list, const char *word);

struct hf_json;
/* translate_made.c: tensors. */
enum tb_status translate_made(struct translated_keys *out, const struct translate *t,
			      struct hf_json *c, struct tb_err *err) TB_MUST_USE;
/* translate_vocab.c: tokenizer.ggml.*, tokenizer.chat_template. */
enum tb_status translate_vocab(struct gguf_keys *out, const struct translate *t,
			       const struct hf_json *c, const struct model *m,
			       const struct translate_ask *ask, struct tb_err *err) TB_MUST_USE;
#endif
