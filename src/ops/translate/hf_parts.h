/* hf_parts.h - private to hf_*.c: the pieces of a GGUF model as Hugging Face's files. */
#ifndef TBTUI_OPS_HF_PARTS_H
#define TBTUI_OPS_HF_PARTS_H

#include "src/engine/arch.h"
#include "src/engine/hparams.h"
#include "src/ops/translate/translate.h"
#include "src/store/model.h"
#include "src/store/model_meta.h"
#include "src/text/tokenizer.h"

struct hf_making {
	const struct model *gguf;	/* borrowed */
	struct model_meta mm;
	struct hparams hp;		/* arch NULL: the tables know it, and say: */
	const struct translate_arch *row;
	struct translate t;
	size_t pieces_cap;
	struct tokenizer *tokenizer;	/* owned; NULL: none that can be used */
	enum dtype dtype;		/* that the model had, as far as the file tells */
	struct hf_view *v;
	struct tb_err *err;
};

/* hf_back.c: fills row and t, and of hp context and layers, if the tables know the model. */
enum tb_status hf_back(struct hf_making *h, bool *known) TB_MUST_USE;
/* Of a key behind the architecture's name: its number, or all of a list; *n 0: there is none.
 * *out is the caller's. */
enum tb_status hf_key_numbers(const struct hf_making *h, const char *key, double **out, size_t *n)
	TB_MUST_USE;
/* hf_names.c: a tensor of such a model.  *taken: it is a tensor there, too. */
enum tb_status hf_take_row(struct hf_making *h, const struct tensor *t, bool *taken) TB_MUST_USE;
/* The slot that a GGUF's name says, and how Hugging Face calls it; NULL: none. */
const struct slot_rule *hf_gguf_rule(unsigned ways, const char *name, uint32_t *layer,
				     uint32_t *expert);
const struct slot_rule *hf_rule(const struct slot_rule *own, unsigned ways,
				const struct slot_rule *gguf);
/* hf_config_rows.c: config.json of such a model. */
enum tb_status hf_config_rows(const struct hf_making *h, char **out) TB_MUST_USE;

/* hf_dtype.c: the dtype that the model had before it became a GGUF, and as what its tensors
 * go (struct tensor.home); changes are those of the tensors. */
enum tb_status hf_dtypes(struct hf_making *h, enum dtype decode) TB_MUST_USE;

/* hf_config.c: config.json.  *out is the caller's. */
enum tb_status hf_config(const struct hf_making *h, char **out) TB_MUST_USE;
/* hf_rope.c: rope_scaling; NULL: there is none, or no memory (*status). */
struct cJSON *hf_rope_scaling(const struct hf_making *h, enum tb_status *status);

/* hf_tokenizer.c: tokenizer.json, and the files beside it.  TB_EUNSUP: there is none that
 * gives the same ids. */
enum tb_status hf_tokenizer(const struct tokenizer *t, char **out, struct tb_err *err) TB_MUST_USE;
enum tb_status hf_tokenizer_config(const struct hf_making *h, char **out) TB_MUST_USE;
enum tb_status hf_generation_config(const struct hf_making *h, char **out) TB_MUST_USE;

/* One more thing that does not come along; text is taken over, NULL: there was no memory. */
enum tb_status hf_note(struct hf_making *h, char *text) TB_MUST_USE;
/* What people wrote that became this F32: the shortest decimal that does. */
double hf_neat(float x);
/* All numbers of a small plain tensor; *out is the caller's. */
enum tb_status hf_numbers(const struct hf_making *h, const struct tensor *t, float **out)
	TB_MUST_USE;
#endif
