#include "config.h"

#include "src/text/tok_wpm.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/text/tok_uni.h"

#define WORD_MAX 100		/* characters; longer words are unknown */

struct wpm_words {
	const struct tok_wpm *w;
	const struct tok_vocab *vocab;
	struct token_ids *out;
	struct tb_buf word;		/* behind its mark */
	size_t chars;
	bool nomem;
};

/* The longest piece at s; its length, 0 if there is none. */
static size_t
longest(const struct wpm_words *g, const char *s, size_t len, uint32_t *id)
{
	if (len > g->w->longest)
		len = g->w->longest;
	while (len && !tok_vocab_find(g->vocab, s, len, id))
		len--;
	return len;
}

/* All of the word in pieces, or the unknown token. */
static void
end_word(struct wpm_words *g)
{
	size_t before = g->out->n, n = 0;
	uint32_t id = 0;

	if (!g->chars)
		return;
	for (size_t at = 0; at < g->word.len && g->chars <= WORD_MAX; at += n) {
		n = longest(g, g->word.p + at, g->word.len - at, &id);
		if (!n)
			break;
		g->nomem |= !tok_ids_push(g->out, id);
	}
	if (!n || g->chars > WORD_MAX) {
		g->out->n = before;
		if (g->w->unk < g->vocab->n)
			g->nomem |= !tok_ids_push(g->out, g->w->unk);
	}
	tb_buf_clear(&g->word);
	g->chars = 0;
}

/* Signs, and ideographs, which are written without blanks: each is a word. */
static bool
is_word_itself(uint32_t cp)
{
	return tok_is_punct(cp) || (cp >= 0x4e00 && cp <= 0x9fff) || (cp >= 0x3400 && cp <= 0x4dbf) ||
	       (cp >= 0x20000 && cp <= 0x2a6df) || (cp >= 0x2a700 && cp <= 0x2b73f) ||
	       (cp >= 0x2b740 && cp <= 0x2b81f) || (cp >= 0x2b920 && cp <= 0x2ceaf) ||
	       (cp >= 0xf900 && cp <= 0xfaff) || (cp >= 0x2f800 && cp <= 0x2fa1f);
}

static void
take_char(struct wpm_words *g, uint32_t cp)
{
	utf8proc_category_t cat = utf8proc_category((utf8proc_int32_t)cp);
	char utf8[4];
	bool alone;

	if (tok_is_space(cp)) {
		end_word(g);
		return;
	}
	if (!cp || cp == 0xfffd || cat == UTF8PROC_CATEGORY_CC || cat == UTF8PROC_CATEGORY_CF ||
	    cat == UTF8PROC_CATEGORY_CO || (g->w->strip_accents && cat == UTF8PROC_CATEGORY_MN))
		return;
	if (g->w->lowercase)
		cp = (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
	alone = is_word_itself(cp);
	if (alone)
		end_word(g);
	if (!g->chars)
		tb_buf_str(&g->word, TOK_MARK);
	if (g->chars++ <= WORD_MAX)
		tb_buf_add(&g->word, utf8, tb_utf8_put(cp, utf8));
	if (alone)
		end_word(g);
}

enum tb_status
tok_wpm_encode(const struct tok_wpm *w, const struct tok_vocab *vocab, const char *s, size_t len,
	       struct token_ids *out, struct tb_err *err)
{
	struct wpm_words g = { .w = w, .vocab = vocab, .out = out };
	utf8proc_int32_t part[32];
	uint32_t cp;
	int bound = 0;

	g.word = TB_BUF(8 * WORD_MAX);
	for (size_t i = 0; i < len;) {
		utf8proc_ssize_t n;

		i += tb_utf8_next(s + i, len - i, &cp);
		n = w->strip_accents ? utf8proc_decompose_char((utf8proc_int32_t)cp, part, 32,
							       UTF8PROC_DECOMPOSE, &bound) : 0;
		if (n < 1 || n > 32)
			take_char(&g, cp);
		for (utf8proc_ssize_t k = 0; k < n && n <= 32; k++)
			take_char(&g, (uint32_t)part[k]);
	}
	end_word(&g);
	g.nomem |= tb_buf_failed(&g.word);
	tb_buf_free(&g.word);
	return g.nomem ? tb_nomem(err) : TB_OK;
}
