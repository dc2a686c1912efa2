/* tok_files.c - the older files of byte-level tokenizers: a vocabulary and a list of
 * merges as GPT-2 has them, and tiktoken's lists of tokens in base64. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/text/tok.h"
#include "src/text/tok_json.h"
#include "src/text/tok_pre.h"
#include "src/text/tok_uni.h"

/* ---- common to both ---- */

/* How text is cut, by the name of the pre-tokenizer; special tokens are not in these files,
 * but in the configuration. */
static enum tb_status
add_rest(struct tokenizer *t, const char *name, const char *config_json, size_t len,
	 struct tb_err *err)
{
	const struct tok_pre *pre = tok_pre_find(name ? name : "gpt-2");
	cJSON *config = NULL;
	enum tb_status status;

	if (!pre || pre->raw)
		return tb_fail(err, TB_EUNSUP, "tokenizer: the pre-tokenizer \"%.80s\" is not known",
			       name);
	t->kind = "byte-level BPE";
	t->bpe.ignore_merges |= pre->ignore_merges;
	status = tok_pre_stages(pre, &t->splitter, err);
	if (!status)
		status = tok_decoder_bytes(&t->decoder, err);
	if (!status)
		status = tok_config(&config, config_json, len, err);
	if (!status)
		status = tok_read_added(t, NULL, config, err);
	if (!status)
		status = tok_read_ends(t, NULL, config, err);
	json_free(config);
	return status;
}

/* The next line, without its end; false behind the last. */
static bool
next_line(const char **p, const char *end, struct tok_half *line)
{
	const char *nl;

	if (*p == end)
		return false;
	nl = memchr(*p, '\n', (size_t)(end - *p));
	*line = (struct tok_half){ *p, (size_t)((nl ? nl : end) - *p) };
	*p = nl ? nl + 1 : end;
	if (line->len && line->s[line->len - 1] == '\r')
		line->len--;
	return true;
}

/* ---- vocab.json and merges.txt ---- */

static enum tb_status
read_merge_lines(struct tokenizer *t, const char *s, size_t len, struct tb_err *err)
{
	struct tb_buf joined = TB_BUF(1u << 26);
	const char *p = s, *end = s + len;
	struct tok_half line;
	uint32_t rank = 0;
	size_t lines = 1;
	enum tb_status status;

	for (; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		lines++;
	status = tok_bpe_room(&t->bpe, lines, err);
	p = s;
	while (!status && next_line(&p, end, &line)) {
		const char *cut = line.len > 2 ? memchr(line.s + 1, ' ', line.len - 2) : NULL;
		size_t n = cut ? (size_t)(cut - line.s) : 0;

		if (!line.len || (line.len >= 8 && !memcmp(line.s, "#version", 8)))
			continue;
		status = n ? tok_bpe_put(&t->bpe, (struct tok_half){ line.s, n },
					 (struct tok_half){ cut + 1, line.len - n - 1 }, rank++,
					 true, &joined, err)
			   : tb_fail(err, TB_EFORMAT, "merges.txt: the line at offset %zu is no "
				     "pair", (size_t)(line.s - s));
	}
	tb_buf_free(&joined);
	return status;
}

enum tb_status
tokenizer_from_merges(struct tokenizer **out, const char *vocab_json, size_t vocab_len,
		      const char *merges, size_t merges_len, const char *pre,
		      const char *config_json, size_t config_len, struct tb_err *err)
{
	struct tokenizer *t = tok_new();
	cJSON *vocab = NULL;
	enum tb_status status = t ? json_parse(&vocab, vocab_json, vocab_len, "vocab.json", err)
				  : tb_nomem(err);

	if (!status)
		status = tok_read_vocab(t, vocab, "vocab.json", err);
	json_free(vocab);
	if (!status && !t->vocab.n)
		status = tb_fail(err, TB_EFORMAT, "vocab.json: no vocabulary");
	if (!status) {
		tok_bpe_init(&t->bpe, &t->vocab);
		status = read_merge_lines(t, merges, merges_len, err);
	}
	if (!status)
		status = add_rest(t, pre, config_json, config_len, err);
	return tok_done(t, status, out);
}

/* ---- tiktoken ---- */

static int
sextet(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Appends the bytes that s stands for, each as its byte-level character. */
static bool
add_base64(struct tb_buf *out, const char *s, size_t len)
{
	unsigned bits = 0, n = 0;

	if (!len || len % 4)
		return false;
	for (unsigned pad = 0; pad < 2 && s[len - 1] == '='; pad++)
		len--;
	for (size_t i = 0; i < len; i++) {
		if (sextet(s[i]) < 0)
			return false;
		bits = (bits << 6 | (unsigned)sextet(s[i])) & 0xffff;
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		tok_bytes_put(out, &(char){ (char)(bits >> n) }, 1);
	}
	return out->len > 0;
}

/* "IQ== 0" */
static enum tb_status
read_ranked(struct tokenizer *t, struct tok_half line, size_t off, struct tb_buf *piece,
	  struct tb_err *err)
{
	const char *cut = line.len ? memchr(line.s, ' ', line.len) : NULL;
	size_t n = cut ? line.len - (size_t)(cut - line.s) - 1 : 0;
	char rank[16] = "";
	uint64_t id;

	tb_buf_clear(piece);
	if (n && n < sizeof(rank))
		memcpy(rank, cut + 1, n);
	if (!tb_parse_u64(rank, &id) || !add_base64(piece, line.s, (size_t)(cut - line.s)))
		return tb_fail(err, TB_EFORMAT, "tokenizer: the line at offset %zu is no token in "
			       "base64 and its rank", off);
	if (tb_buf_failed(piece))
		return tb_nomem(err);
	return tok_vocab_add(&t->vocab, piece->p, piece->len, id, err);
}

static enum tb_status
read_ranks(struct tokenizer *t, const char *s, size_t len, struct tb_err *err)
{
	const char *p = s, *end = s + len;
	struct tb_buf piece = TB_BUF(1u << 26);
	enum tb_status status = TB_OK;
	struct tok_half line;

	while (!status && next_line(&p, end, &line))
		if (line.len)
			status = read_ranked(t, line, (size_t)(line.s - s), &piece, err);
	tb_buf_free(&piece);
	if (!status && !t->vocab.n)
		status = tb_fail(err, TB_EFORMAT, "tokenizer: an empty list of tokens");
	return status;
}

enum tb_status
tokenizer_from_tiktoken(struct tokenizer **out, const char *list, size_t len, const char *pre,
			const char *config_json, size_t config_len, struct tb_err *err)
{
	struct tokenizer *t = tok_new();
	enum tb_status status = t ? read_ranks(t, list, len, err) : tb_nomem(err);

	if (!status) {
		tok_bpe_init(&t->bpe, &t->vocab);
		t->bpe.ignore_merges = true;
		status = tok_bpe_rank(&t->bpe, false, err);
	}
	if (!status)
		status = add_rest(t, pre, config_json, config_len, err);
	return tok_done(t, status, out);
}
