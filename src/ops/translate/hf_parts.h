/* hf_parts.h - private to hf_*.c: the pieces of a GGUF model as Hugging Face's files. */
#ifndef TBTUI_OPS_HF_PARTS_H
#define TBTUI_OPS_HF_PARTS_H

#include "src/engine/hparams.h"
#include "src/ops/translate/translate.h"
#include "src/store/model.h"
#include "src/store/model_meta.h"
#include "src/text/tokenizer.h"

struct hf_making {
	const struct model *gguf;	/* borrowed */
	struct model_meta mm;
	struct hparams hp;
	struct tokenizer *tokenizer;	/* owned; NULL: none that can be used */
	enum dtype dtype;		/* that the model had, as far as the file tells */
	struct hf_view *v;
	struct tb_err *err;
};

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
