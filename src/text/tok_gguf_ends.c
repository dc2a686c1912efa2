/* tok_gguf_ends.c - files do not say all that is to be known of their tokens: what
 * ends a generation, what is markup and not text, what swallows blanks.  Readers tell
 * it by how tokens are spelled. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/gguf_array.h"
#include "src/text/tok_gguf.h"

#define ENDS_MAX 64		/* of a list; nobody means more */

enum meaning {
	ENDS,			/* a generation */
	MARKUP,			/* of texts with a hole to be filled in */
	PAD, REPO, FILE_SEP,	/* the same, and they end a generation: the first that is there,
				 * unless a key names another */
	TEXT,			/* control in files, but part of what is said */
	MEANINGS
};

static const struct spelled { const char *piece; enum meaning meaning; } spelled[] = {
	{ "<|eot_id|>", ENDS },
	{ "<|im_end|>", ENDS },
	{ "<|end|>", ENDS },
	{ "<|return|>", ENDS },
	{ "<|call|>", ENDS },
	{ "<|flush|>", ENDS },
	{ "<|calls|>", ENDS },
	{ "<end_of_turn>", ENDS },
	{ "<|endoftext|>", ENDS },
	{ "</s>", ENDS },
	{ "<|eom_id|>", ENDS },
	{ "<EOT>", ENDS },
	{ "_<EOT>", ENDS },
	{ "[EOT]", ENDS },
	{ "[EOS]", ENDS },
	{ "<|end_of_text|>", ENDS },
	{ "<end_of_utterance>", ENDS },
	{ "<eos>", ENDS },
	{ "<turn|>", ENDS },
	{ "<|tool_response>", ENDS },
	{ "<\uff5cend\u2581of\u2581sentence\uff5c>", ENDS },
	{ "[e~[", ENDS },
	{ "<|fim_prefix|>", MARKUP },
	{ "<fim-prefix>", MARKUP },
	{ "<fim_prefix>", MARKUP },
	{ "<\uff5cfim\u2581begin\uff5c>", MARKUP },
	{ "<PRE>", MARKUP },
	{ "\u2581<PRE>", MARKUP },
	{ "<|code_prefix|>", MARKUP },
	{ "<|fim_suffix|>", MARKUP },
	{ "<fim-suffix>", MARKUP },
	{ "<fim_suffix>", MARKUP },
	{ "<\uff5cfim\u2581hole\uff5c>", MARKUP },
	{ "<SUF>", MARKUP },
	{ "\u2581<SUF>", MARKUP },
	{ "<|code_suffix|>", MARKUP },
	{ "<|fim_middle|>", MARKUP },
	{ "<fim-middle>", MARKUP },
	{ "<fim_middle>", MARKUP },
	{ "<\uff5cfim\u2581end\uff5c>", MARKUP },
	{ "<MID>", MARKUP },
	{ "\u2581<MID>", MARKUP },
	{ "<|code_middle|>", MARKUP },
	{ "<|fim_pad|>", PAD },
	{ "<fim-pad>", PAD },
	{ "<fim_pad>", PAD },
	{ "<PAD>", PAD },
	{ "[PAD]", PAD },
	{ "<|fim_repo|>", REPO },
	{ "<|repo_name|>", REPO },
	{ "<fim-repo>", REPO },
	{ "<REPO>", REPO },
	{ "<reponame>", REPO },
	{ "<|file_sep|>", FILE_SEP },
	{ "<|channel|>", TEXT },
	{ "<|message|>", TEXT },
	{ "<|start|>", TEXT },
	{ "<|constrain|>", TEXT },
};

/* Keys of ids that end a generation; what a key names is not looked for. */
static const struct { const char *key; enum meaning meaning; } keys[] = {
	{ "tokenizer.ggml.eos_token_id", ENDS },
	{ "tokenizer.ggml.eot_token_id", ENDS },
	{ "tokenizer.ggml.eom_token_id", ENDS },
	{ "tokenizer.ggml.fim_pad_token_id", PAD },
	{ "tokenizer.ggml.fim_rep_token_id", REPO },
	{ "tokenizer.ggml.fim_sep_token_id", FILE_SEP },
};

static bool
has(const struct tokenizer *t, const char *piece, uint32_t *id)
{
	return tok_vocab_find(&t->vocab, piece, strlen(piece), id);
}

static enum tb_status
put(struct tokenizer *t, uint32_t id, struct tb_err *err)
{
	for (size_t i = 0; i < t->ends.n; i++)
		if (t->ends.v[i] == id)
			return TB_OK;
	return tok_ids_push(&t->ends, id) ? TB_OK : tb_nomem(err);
}

static void
take_out(struct tokenizer *t, uint32_t id, enum token_type type)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->ends.n; i++)
		if (t->ends.v[i] != id)
			t->ends.v[kept++] = t->ends.v[i];
	t->ends.n = kept;
	t->vocab.piece[id].type = (uint8_t)type;
}

static enum tb_status
take_spelled(struct tokenizer *t, bool found[MEANINGS], struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint32_t id;

	for (size_t i = 0; i < sizeof(spelled) / sizeof(*spelled) && !status; i++) {
		enum meaning m = spelled[i].meaning;
		bool only = m == PAD || m == REPO || m == FILE_SEP;

		if (!has(t, spelled[i].piece, &id) || (only && found[m]))
			continue;
		t->vocab.piece[id].type = m == TEXT ? TOKEN_USER : TOKEN_CONTROL;
		found[m] = true;
		if (m == ENDS || only)
			status = put(t, id, err);
	}
	return status;
}

/* Where calls end a turn, <|end|> only ends a message of it; and Gemma 4 has another
 * model's </s> as text. */
static void
take_back(struct tokenizer *t)
{
	uint32_t end, id;
	bool calls = has(t, "<|call|>", &id), returns = has(t, "<|return|>", &id);

	calls |= has(t, "<|calls|>", &id);
	returns |= has(t, "<|flush|>", &id);
	if (calls && returns && has(t, "<|end|>", &end))
		take_out(t, end, TOKEN_USER);
	if (has(t, "<|tool_response>", &id) && has(t, "</s>", &end))
		take_out(t, end, TOKEN_NORMAL);
}

/* Ollama writes a list of them. */
static enum tb_status
take_list(struct tokenizer *t, const struct gguf_kv *kv, const struct tb_file *f,
	  struct tb_err *err)
{
	struct gguf_array *a;
	struct gguf_item item;
	enum tb_status status;
	uint64_t id;

	if (!kv || kv->type != GGUF_ARRAY || kv->count > ENDS_MAX)
		return TB_OK;
	status = gguf_array_open(&a, kv, f, err);
	if (status)
		return status;
	while (!status && gguf_array_next(a, &item))
		if (gguf_number_u64(kv->elem, item.bits, &id) && id < t->vocab.n)
			status = put(t, (uint32_t)id, err);
	return status ? ((void)!gguf_array_close(a), status) : gguf_array_close(a);
}

static int
id_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

enum tb_status
tok_gguf_ends(struct tokenizer *t, const struct gguf *g, const struct tb_file *f,
	      struct tb_err *err)
{
	bool found[MEANINGS] = { false };
	enum tb_status status = TB_OK;
	uint64_t id;

	if (t->eos != TOK_NONE)
		status = put(t, t->eos, err);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !status; i++) {
		if (!gguf_u64(gguf_find(g, keys[i].key), &id) || id >= t->vocab.n)
			continue;
		found[keys[i].meaning] = true;
		status = put(t, (uint32_t)id, err);
	}
	if (!status)
		status = take_list(t, gguf_find(g, "tokenizer.ggml.eos_token_ids"), f, err);
	if (!status)
		status = take_spelled(t, found, err);
	if (status)
		return status;
	take_back(t);
	if (t->ends.n)
		qsort(t->ends.v, t->ends.n, sizeof(*t->ends.v), id_cmp);
	return TB_OK;
}

/* ---- blanks ---- */

/* Which files: what a key holds, in letters of any case; which tokens: one, or NULL for
 * all but the three below. */
static const struct strip {
	const char *key, *part, *piece;
	bool left;
} strips[] = {
	{ "tokenizer.ggml.pre", "jina-v2-de", "<mask>", true },
	{ "tokenizer.ggml.pre", "jina-v2-es", "<mask>", true },
	{ "tokenizer.ggml.pre", "jina-v2-code", "<mask>", true },
	{ "general.name", "phi-3", NULL, false },
	{ "general.name", "phi3", NULL, false },
	{ "general.name", "modern-bert", "[MASK]", true },
};

static const char *const keeps[] = { "<unk>", "<s>", "<|endoftext|>" };

static bool
strips_token(const struct strip *s, const char *piece)
{
	if (s->piece)
		return !strcmp(piece, s->piece);
	for (size_t i = 0; i < sizeof(keeps) / sizeof(*keeps); i++)
		if (!strcmp(piece, keeps[i]))
			return false;
	return true;
}

static void
apply(struct tokenizer *t, const struct strip *s)
{
	for (size_t i = 0; i < t->raw.n; i++) {
		struct tok_added *a = &t->raw.v[i];

		if (!strips_token(s, t->vocab.piece[a->id].s))
			continue;
		a->lstrip |= s->left;
		a->rstrip |= !s->left;
	}
}

enum tb_status
tok_gguf_strip(struct tokenizer *t, const struct gguf *g, const struct tb_file *f,
	       struct tb_err *err)
{
	for (size_t i = 0; i < sizeof(strips) / sizeof(*strips); i++) {
		const struct gguf_kv *kv = gguf_find(g, strips[i].key);
		struct tb_err ignored;
		enum tb_status status;
		char *value;

		if (!kv || kv->type != GGUF_STRING)
			continue;
		/* a name that is too long to be one of these is none of them */
		status = gguf_string(kv, f, 4096, &value, &ignored);
		if (status == TB_ENOMEM || status == TB_EIO)
			return tb_fail(err, status, "%s", ignored.msg);
		if (!status && tb_contains(value, strips[i].part))
			apply(t, &strips[i]);
		free(value);
	}
	return TB_OK;
}
