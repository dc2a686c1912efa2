/* model_tokenizer.c - which of a model's files says how text becomes tokens. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/format/json.h"
#include "src/ops/model_text/model_text.h"
#include "src/store/model.h"
#include "src/store/model_meta.h"
#include "src/text/tokenizer.h"

#define TOKENIZER_MAX (256u << 20)
#define SMALL_MAX (4u << 20)

/* A file as a whole; p NULL: there is none. */
struct whole { char *p; size_t len; };

/* Some files have the whole of tokenizer.json beside the keys.  It is for tokenizers
 * that the keys cannot describe. */
static enum tb_status
from_hf_key(const struct model_meta *mm, struct tokenizer **out, struct tb_err *err)
{
	const struct gguf_kv *kv = gguf_find(&mm->g, "tokenizer.huggingface.json");
	struct tb_err why = { 0 };
	enum tb_status status;
	char *json;

	if (!kv)
		return err->code;
	status = gguf_string(kv, &mm->file, TOKENIZER_MAX, &json, &why);
	if (!status)
		status = tokenizer_new(out, json, strlen(json), NULL, 0, &why);
	free(json);
	return status ? err->code : TB_OK;
}

static enum tb_status
from_gguf(const struct model *m, struct tokenizer **out, struct tb_err *err)
{
	struct model_meta mm;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (status)
		return status;
	status = tokenizer_from_gguf(out, &mm.g, &mm.file, err);
	if (status == TB_ENOENT || status == TB_EUNSUP)
		status = from_hf_key(&mm, out, err);
	model_meta_close(&mm);
	return status;
}

/* Of one or two files and what tokenizer_config.json, c, says of them. */
typedef enum tb_status files_fn(struct tokenizer **out, const struct whole f[2],
				const struct whole *c, struct tb_err *err);

static enum tb_status
from_json(struct tokenizer **out, const struct whole f[2], const struct whole *c,
	  struct tb_err *err)
{
	return tokenizer_new(out, f->p, f->len, c->p, c->len, err);
}

/* Llama 3 has a list for tiktoken under the name of a SentencePiece model. */
static enum tb_status
from_spm(struct tokenizer **out, const struct whole f[2], const struct whole *c,
	 struct tb_err *err)
{
	const char *blank = memchr(f->p, ' ', f->len < 64 ? f->len : 64);

	if (blank && (size_t)(blank - f->p) + 1 < f->len && blank[1] >= '0' && blank[1] <= '9')
		return tokenizer_from_tiktoken(out, f->p, f->len, "llama-bpe", c->p, c->len, err);
	return tokenizer_from_spm(out, f->p, f->len, c->p, c->len, err);
}

static enum tb_status
from_qwen(struct tokenizer **out, const struct whole f[2], const struct whole *c,
	  struct tb_err *err)
{
	return tokenizer_from_tiktoken(out, f->p, f->len, "qwen2", c->p, c->len, err);
}

/* These files do not say how text is cut into words: the class that reads them does. */
static enum tb_status
from_merges(struct tokenizer **out, const struct whole f[2], const struct whole *c,
	    struct tb_err *err)
{
	static const struct { const char *cls, *pre; } rows[] = {
		{ "GPT2Tokenizer", "gpt-2" },
		{ "GPT2TokenizerFast", "gpt-2" },
		{ "RobertaTokenizer", "gpt-2" },
		{ "Qwen2Tokenizer", "qwen2" },
		{ "Qwen2TokenizerFast", "qwen2" },
	};
	enum tb_status status;
	const char *cls, *pre = NULL;
	cJSON *config = NULL;

	if (c->p && json_parse_python(&config, c->p, c->len, "tokenizer_config.json", err))
		return err->code;
	cls = json_str(json_get(config, "tokenizer_class"));
	cls = cls ? cls : "GPT2Tokenizer";
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !pre; i++)
		pre = strcmp(cls, rows[i].cls) ? NULL : rows[i].pre;
	status = pre ? tokenizer_from_merges(out, f[0].p, f[0].len, f[1].p, f[1].len, pre, c->p,
					     c->len, err)
		     : tb_fail(err, TB_EUNSUP, "vocab.json: how a \"%.80s\" cuts text into words is"
			       " not known", cls);
	json_free(config);
	return status;
}

static const struct source {
	const char *name, *file[2];
	files_fn *read;			/* NULL: no files */
} sources[] = {
	{ "tokenizer.json", { "tokenizer.json" }, from_json },
	{ "GGUF", { NULL }, NULL },
	{ "tokenizer.model", { "tokenizer.model" }, from_spm },
	{ "vocab.json and merges.txt", { "vocab.json", "merges.txt" }, from_merges },
	{ "encoder.json and vocab.bpe", { "encoder.json", "vocab.bpe" }, from_merges },
	{ "qwen.tiktoken", { "qwen.tiktoken" }, from_qwen },
};

static enum tb_status
from_files(const struct source *s, const struct model *m, const struct whole *c,
	   struct tokenizer **out, struct tb_err *err)
{
	struct whole f[2] = { { NULL, 0 }, { NULL, 0 } };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < 2 && s->file[i] && !status; i++)
		if ((status = model_read(m, s->file[i], TOKENIZER_MAX, &f[i].p, &f[i].len, err)))
			f[i].p = NULL;
	if (!status)
		status = s->read(out, f, c, err);
	free(f[0].p);
	free(f[1].p);
	return status;
}

enum tb_status
model_tokenizer_of(const struct model *m, struct tokenizer **out, const char **source,
		   struct tb_err *err)
{
	struct whole c;
	enum tb_status status = model_read(m, "tokenizer_config.json", SMALL_MAX, &c.p, &c.len, err);

	*out = NULL;
	if (status)
		c = (struct whole){ NULL, 0 };
	if (status && status != TB_ENOENT)
		return status;
	status = TB_ENOENT;
	for (const struct source *s = sources; status == TB_ENOENT &&
	     s < sources + sizeof(sources) / sizeof(*sources); s++) {
		*source = s->name;
		status = s->read ? from_files(s, m, &c, out, err) : from_gguf(m, out, err);
	}
	free(c.p);
	if (status == TB_ENOENT)
		return tb_fail(err, status, "%.200s: has no tokenizer (tokenizer.json, a GGUF's keys, "
			       "tokenizer.model, vocab.json and merges.txt)", m->loc.name);
	return status;
}

enum tb_status
model_tokenizer(const struct model *m, struct tokenizer **out, struct tb_err *err)
{
	const char *source;

	return model_tokenizer_of(m, out, &source, err);
}
