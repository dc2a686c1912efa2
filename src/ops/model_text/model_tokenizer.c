/* model_tokenizer.c - which of a model's files says how text becomes tokens. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/model_text/model_text.h"
#include "src/store/model.h"
#include "src/store/model_meta.h"
#include "src/text/tokenizer.h"

#define TOKENIZER_MAX (256u << 20)
#define SMALL_MAX (4u << 20)

/* What all of the files below go with. */
struct config {
	char *json;		/* owned; NULL: there is none */
	size_t len;
};

static enum tb_status
read_config(const struct model *m, struct config *c, struct tb_err *err)
{
	enum tb_status status = model_read(m, "tokenizer_config.json", SMALL_MAX, &c->json,
					   &c->len, err);

	if (status)
		*c = (struct config){ .json = NULL };
	return status == TB_ENOENT ? TB_OK : status;
}

static enum tb_status
from_json(const struct model *m, const struct config *c, struct tokenizer **out,
	  struct tb_err *err)
{
	char *json;
	size_t len;
	enum tb_status status = model_read(m, "tokenizer.json", TOKENIZER_MAX, &json, &len, err);

	if (status)
		return status;
	status = tokenizer_new(out, json, len, c->json, c->len, err);
	free(json);
	return status;
}

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
from_gguf(const struct model *m, const struct config *c, struct tokenizer **out,
	  struct tb_err *err)
{
	struct model_meta mm;
	enum tb_status status = model_meta_open(&mm, m, err);

	(void)c;
	if (status)
		return status;
	status = tokenizer_from_gguf(out, &mm.g, &mm.file, err);
	if (status == TB_ENOENT || status == TB_EUNSUP)
		status = from_hf_key(&mm, out, err);
	model_meta_close(&mm);
	return status;
}

/* Llama 3 has a list for tiktoken under the name of a SentencePiece model. */
static bool
is_list(const char *s, size_t len)
{
	const char *blank = memchr(s, ' ', len < 64 ? len : 64);

	return blank && (size_t)(blank - s) + 1 < len && blank[1] >= '0' && blank[1] <= '9';
}

static enum tb_status
from_spm(const struct model *m, const struct config *c, struct tokenizer **out,
	 struct tb_err *err)
{
	char *p;
	size_t len;
	enum tb_status status = model_read(m, "tokenizer.model", TOKENIZER_MAX, &p, &len, err);

	if (status)
		return status;
	status = is_list(p, len)
		 ? tokenizer_from_tiktoken(out, p, len, "llama-bpe", c->json, c->len, err)
		 : tokenizer_from_spm(out, p, len, c->json, c->len, err);
	free(p);
	return status;
}

/* These files do not say how text is cut into words: the class that reads them does. */
static enum tb_status
find_pre(const struct config *c, const char **pre, struct tb_err *err)
{
	static const struct { const char *cls, *pre; } rows[] = {
		{ "GPT2Tokenizer", "gpt-2" },
		{ "GPT2TokenizerFast", "gpt-2" },
		{ "RobertaTokenizer", "gpt-2" },
		{ "Qwen2Tokenizer", "qwen2" },
		{ "Qwen2TokenizerFast", "qwen2" },
	};
	enum tb_status status = TB_EUNSUP;
	cJSON *config = NULL;
	const char *cls;

	*pre = NULL;
	if (c->json && json_parse_python(&config, c->json, c->len, "tokenizer_config.json", err))
		return err->code;
	cls = json_str(json_get(config, "tokenizer_class"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && status; i++)
		if (!strcmp(cls ? cls : "GPT2Tokenizer", rows[i].cls)) {
			*pre = rows[i].pre;
			status = TB_OK;
		}
	if (status)
		(void)tb_fail(err, status, "vocab.json: how a \"%.80s\" cuts text into words is not "
			      "known", cls);
	json_free(config);
	return status;
}

static enum tb_status
from_pair(const struct model *m, const struct config *c, const char *vocab_name,
	  const char *merges_name, struct tokenizer **out, struct tb_err *err)
{
	char *vocab, *merges = NULL;
	const char *pre;
	size_t vocab_len, merges_len;
	enum tb_status status = model_read(m, vocab_name, TOKENIZER_MAX, &vocab, &vocab_len, err);

	if (status)
		return status;
	status = model_read(m, merges_name, TOKENIZER_MAX, &merges, &merges_len, err);
	if (!status)
		status = find_pre(c, &pre, err);
	if (!status)
		status = tokenizer_from_merges(out, vocab, vocab_len, merges, merges_len, pre,
					       c->json, c->len, err);
	free(vocab);
	free(merges);
	return status;
}

static enum tb_status
from_merges(const struct model *m, const struct config *c, struct tokenizer **out,
	    struct tb_err *err)
{
	return from_pair(m, c, "vocab.json", "merges.txt", out, err);
}

static enum tb_status
from_encoder(const struct model *m, const struct config *c, struct tokenizer **out,
	     struct tb_err *err)
{
	return from_pair(m, c, "encoder.json", "vocab.bpe", out, err);
}

static enum tb_status
from_qwen(const struct model *m, const struct config *c, struct tokenizer **out,
	  struct tb_err *err)
{
	char *list;
	size_t len;
	enum tb_status status = model_read(m, "qwen.tiktoken", TOKENIZER_MAX, &list, &len, err);

	if (status)
		return status;
	status = tokenizer_from_tiktoken(out, list, len, "qwen2", c->json, c->len, err);
	free(list);
	return status;
}

static const struct source {
	const char *name;
	enum tb_status (*read)(const struct model *m, const struct config *c,
			       struct tokenizer **out, struct tb_err *err);
} sources[] = {
	{ "tokenizer.json", from_json },
	{ "GGUF", from_gguf },
	{ "tokenizer.model", from_spm },
	{ "vocab.json and merges.txt", from_merges },
	{ "encoder.json and vocab.bpe", from_encoder },
	{ "qwen.tiktoken", from_qwen },
};

enum tb_status
model_tokenizer_of(const struct model *m, struct tokenizer **out, const char **source,
		   struct tb_err *err)
{
	struct config c;
	enum tb_status status = read_config(m, &c, err);

	*out = NULL;
	if (status)
		return status;
	status = TB_ENOENT;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && status == TB_ENOENT; i++) {
		*source = sources[i].name;
		status = sources[i].read(m, &c, out, err);
	}
	free(c.json);
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
