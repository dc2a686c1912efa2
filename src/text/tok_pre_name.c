/* tok_pre_name.c - what GGUF files call a way to cut text into words: the family that cuts a
 * text with all that families differ in just so. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/text/tok.h"
#include "src/text/tok_pre.h"

/* Digits alone, in threes and more, between letters; endings in both cases; capitals within
 * words; marks, other scripts, signs with blanks and newlines before and behind; blanks,
 * tabs and newlines in runs, at the end, too. */
static const char probe[] =
	"I'm we'll THEY'VE can't 'S x'd 1 12 123 1234 12345678 a1b22c333d4444 3.14 1,000,000 \u0663\u0664"
	"\u0665\u0666 \u00bd\u00b2\n\n  camelCase HTTPServer \u00c9t\u00e9 na\u00efve e\u0301a\u0308 "
	"\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22 \u4f60\u597d\u4e16\u754c\u3001\u3053"
	"\u3093\u306b\u3061\u306f\u30ab\u30ca \ud55c\uad6d\uc5b4 "
	"\u0420\u0443\u0441\u0441\u043a\u0438\u0439 \u05e9\u05dc\u05d5\u05dd \u3105\u3106!"
	"\uff01\u2026 !!! $5+3<=8^2~|`x` #tag @you a_b /path/to/x \\n // \n/* y */\r\n\r\n;\r\n ) \n\t\tz  "
	"   q\t \n   w.\n\n\n.\n x = {\"k\": [1, 2]}; a/b\n/c !/\n!//d <sentinel:1> \u00a0 \u2003z "
	"word. Word, (word) [word] 'quoted' \"q\" 100% \u20ac20 2\u00d73 \U0001f600\U0001f44d\u200d"
	"\U0001f525 A-B--C __init__ x.y:z  \n \n  end...   ";

static enum tb_status
cut(const struct tok_splitter *s, struct tok_words *w, struct tb_err *err)
{
	struct tok_matcher *m = tok_matcher_new();
	enum tb_status status = m ? TB_OK : tb_nomem(err);

	*w = (struct tok_words){ .text = TB_BUF(1u << 20), .first = true };
	tb_buf_str(&w->text, probe);
	if (!status)
		status = tok_split_run(s, m, w, err);
	tok_matcher_free(m);
	return status;
}

static void
words_free(struct tok_words *w)
{
	tb_buf_free(&w->text);
	free(w->v);
}

static bool
same(const struct tok_words *a, const struct tok_words *b)
{
	if (a->n != b->n || a->bytes != b->bytes || a->text.len != b->text.len ||
	    memcmp(a->text.p, b->text.p, a->text.len) != 0)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].off != b->v[i].off || a->v[i].len != b->v[i].len)
			return false;
	return true;
}

static enum tb_status
cuts_so(const struct tok_pre *pre, const struct tok_words *want, bool *is, struct tb_err *err)
{
	struct tok_splitter s = { 0 };
	struct tok_words w = { .n = 0 };
	enum tb_status status = tok_pre_stages(pre, &s, err);

	if (!status)
		status = cut(&s, &w, err);
	*is = !status && same(&w, want);
	words_free(&w);
	tok_splitter_free(&s);
	return status;
}

/* Of families that cut alike, what else readers take for granted. */
static int
agreement(const struct tok_pre *pre, const struct tokenizer *t)
{
	bool bos = t->before.n && t->before.v[0] == t->bos;

	return 4 * (pre->ignore_merges == t->bpe.ignore_merges) + 2 * (pre->add_bos == bos) +
	       (pre->no_bos == (t->bos == TOK_NONE));
}

enum tb_status
tok_pre_name(const struct tokenizer *t, char *out, size_t size, struct tb_err *err)
{
	struct tok_words want;
	const struct tok_pre *best = NULL, *pre;
	enum tb_status status = cut(&t->splitter, &want, err);
	bool is;

	for (size_t i = 0; !status && (pre = tok_pre_row(i)); i++) {
		if (pre->raw)
			continue;
		status = cuts_so(pre, &want, &is, err);
		if (is && (!best || agreement(pre, t) > agreement(best, t)))
			best = pre;
	}
	words_free(&want);
	if (status)
		return status;
	/* What is merged decides: a reader of another family would merge it otherwise. */
	if (!best || best->ignore_merges != t->bpe.ignore_merges)
		return tb_fail(err, TB_EUNSUP, "the tokenizer cuts text as none of the families does"
			       " that GGUF files can name; --pre NAME writes a name in spite of that");
	snprintf(out, size, "%.*s", (int)strcspn(best->names, " "), best->names);
	return TB_OK;
}
