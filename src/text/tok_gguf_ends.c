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

/* Separated by blanks; where only the first counts, in this order. */
static const struct { enum meaning meaning; const char *pieces; } spelled[] = {
	{ ENDS,
	  "<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> "
	  "<|calls|> <end_of_turn> <|endoftext|> </s> <|eom_id|> <EOT> "
	  "_<EOT> [EOT] [EOS] <|end_of_text|> <end_of_utterance> <eos> "
	  "<turn|> <|tool_response> <\uff5cend\u2581of\u2581sentence\uff5c> "
	  "[e~[" },
	{ MARKUP,
	  "<|fim_prefix|> <fim-prefix> <fim_prefix> "
	  "<\uff5cfim\u2581begin\uff5c> <PRE> \u2581<PRE> <|code_prefix|> "
	  "<|fim_suffix|> <fim-suffix> <fim_suffix> "
	  "<\uff5cfim\u2581hole\uff5c> <SUF> \u2581<SUF> <|code_suffix|> "
	  "<|fim_middle|> <fim-middle> <fim_middle> "
	  "<\uff5cfim\u2581end\uff5c> <MID> \u2581<MID> <|code_middle|>" },
	{ PAD, "<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD]" },
	{ REPO, "<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>" },
	{ FILE_SEP, "<|file_sep|>" },
	{ TEXT, "<|channel|> <|message|> <|start|> <|constrain|>" },
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
has_piece(const struct tokenizer *t, const char *piece, uint32_t *id)
{
	return tok_vocab_find(&t->vocab, piece, strlen(piece), id);
}

static enum tb_status
add_end(struct tokenizer *t, uint32_t id, struct tb_err *err)
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

	for (size_t i = 0; i < sizeof(spelled) / sizeof(*spelled); i++) {
		enum meaning m = spelled[i].meaning;
		bool only = m == PAD || m == REPO || m == FILE_SEP;
		size_t n;

		for (const char *p = spelled[i].pieces; *p && !status; p += n + (p[n] == ' ')) {
			n = strcspn(p, " ");
			if (!tok_vocab_find(&t->vocab, p, n, &id) || (only && found[m]))
				continue;
			t->vocab.piece[id].type = m == TEXT ? TOKEN_USER : TOKEN_CONTROL;
			found[m] = true;
			if (m == ENDS || only)
				status = add_end(t, id, err);
		}
	}
	return status;
}

/* Where calls end a turn, <|end|> only ends a message of it; and Gemma 4 has another
 * model's </s> as text. */
static void
take_back(struct tokenizer *t)
{
	uint32_t end, id;
	bool calls = has_piece(t, "<|call|>", &id), returns = has_piece(t, "<|return|>", &id);

	calls |= has_piece(t, "<|calls|>", &id);
	returns |= has_piece(t, "<|flush|>", &id);
	if (calls && returns && has_piece(t, "<|end|>", &end))
		take_out(t, end, TOKEN_USER);
	if (has_piece(t, "<|tool_response>", &id) && has_piece(t, "</s>", &end))
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
			status = add_end(t, (uint32_t)id, err);
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
		status = add_end(t, t->eos, err);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !status; i++) {
		if (!gguf_u64(gguf_find(g, keys[i].key), &id) || id >= t->vocab.n)
			continue;
		found[keys[i].meaning] = true;
		status = add_end(t, (uint32_t)id, err);
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

static void
apply_strip(struct tokenizer *t, const struct strip *s)
{
	for (size_t i = 0; i < t->raw.n; i++) {
		struct tok_added *a = &t->raw.v[i];
		const char *piece = t->vocab.piece[a->id].s;
		bool applies = s->piece ? !strcmp(piece, s->piece) : true;

		for (size_t k = 0; !s->piece && k < sizeof(keeps) / sizeof(*keeps); k++)
			applies &= strcmp(piece, keeps[k]) != 0;
		a->lstrip |= applies && s->left;
		a->rstrip |= applies && !s->left;
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
			apply_strip(t, &strips[i]);
		free(value);
	}
	return TB_OK;
}
