#include "config.h"

#include "src/text/tok_split.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

/* The words a stage makes. */
struct spans {
	struct tok_span *v;
	size_t n, cap;
	bool failed;
};

static void
push_span(struct spans *out, size_t off, size_t len)
{
	if (!tb_grow(&out->v, &out->cap, out->n + 1, sizeof(*out->v))) {
		out->failed = true;
		return;
	}
	out->v[out->n++] = (struct tok_span){ off, len };
}

/* Cutting one word: segments, matches and what lies between, arrive in order. */
struct cutter {
	struct spans *out;
	enum tok_behavior behavior;
	size_t word;			/* out->n when the word began */
	bool after_match, pending;	/* pending: the last span is a match that may
					 * yet grow into the segment behind it */
};

static void
segment(struct cutter *c, size_t off, size_t len, bool match)
{
	bool some = c->out->n > c->word, join = false;

	switch (c->behavior) {
	case BEHAVIOR_REMOVED:
		if (match)
			return;
		break;
	case BEHAVIOR_CONTIGUOUS:
		join = match == c->after_match;
		break;
	case BEHAVIOR_WITH_PREVIOUS:
		join = match && !c->after_match;
		break;
	case BEHAVIOR_WITH_NEXT:
		join = c->pending && !match;
		c->pending = match;
		break;
	default:
		break;
	}
	if (join && some)
		c->out->v[c->out->n - 1].len = off + len - c->out->v[c->out->n - 1].off;
	else
		push_span(c->out, off, len);
	c->after_match = match;
}

static enum tb_status
cut_word(const struct tok_split *s, struct tok_matcher *matcher, const char *text,
	 struct tok_span word, struct spans *out, struct tb_err *err)
{
	struct cutter c = { .out = out, .behavior = s->behavior, .word = out->n };
	struct tok_match m = { 0 };
	size_t done = 0;

	for (;;) {
		enum tb_status status = tok_pattern_next(&s->pattern, matcher, text + word.off,
							 word.len, &m, err);

		if (status)
			return status;
		if (!m.found || out->failed)
			break;
		if (m.start > done)
			segment(&c, word.off + done, m.start - done, s->invert);
		segment(&c, word.off + m.start, m.end - m.start, !s->invert);
		done = m.end;
	}
	if (done < word.len)
		segment(&c, word.off + done, word.len - done, s->invert);
	return out->failed ? tb_nomem(err) : TB_OK;
}

static enum tb_status
cut_words(const struct tok_split *s, struct tok_matcher *matcher, struct tok_words *w,
	  struct spans *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	size_t kept = 0;

	for (size_t i = 0; i < w->n && !status; i++)
		status = cut_word(s, matcher, w->text.p, w->v[i], out, err);
	for (size_t i = 0; i < out->n; i++)	/* empty matches leave empty words */
		if (out->v[i].len)
			out->v[kept++] = out->v[i];
	out->n = kept;
	return status;
}

/* The stages that change the text write all of it anew. */
static enum tb_status
rewrite(const struct tok_split *s, struct tok_words *w, struct spans *out, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(w->text.max);
	size_t n = s->text ? strlen(s->text) : 0;

	for (size_t i = 0; i < w->n; i++) {
		const char *word = w->text.p + w->v[i].off;
		size_t len = w->v[i].len, start = text.len;

		if (s->kind == SPLIT_BYTES) {
			tok_bytes_put(&text, word, len);
		} else if (s->kind == SPLIT_REPLACE) {
			for (size_t k = 0; k < len; k++)
				tb_buf_add(&text, word[k] == ' ' ? s->text : word + k,
					   word[k] == ' ' ? n : 1);
		} else {
			bool prefix = s->kind == SPLIT_PREFIX ? i || !w->continued : w->first && !i;

			if (prefix && (len < n || memcmp(word, s->text, n)))
				tb_buf_str(&text, s->text);
			tb_buf_add(&text, word, len);
		}
		push_span(out, start, text.len - start);
	}
	if (out->failed || tb_buf_failed(&text)) {
		tb_buf_free(&text);
		return tb_fail(err, TB_ELIMIT, "tokenizer: the text is too long");
	}
	tb_buf_free(&w->text);
	w->text = text;
	return TB_OK;
}

enum tb_status
tok_split_run(const struct tok_splitter *t, struct tok_matcher *matcher, struct tok_words *w,
	      struct tb_err *err)
{
	struct spans next = { 0 };
	enum tb_status status = TB_OK;

	w->n = 0;
	w->bytes = false;
	if (!tb_grow(&w->v, &w->cap, 1, sizeof(*w->v)))
		return tb_nomem(err);
	if (w->text.len)
		w->v[w->n++] = (struct tok_span){ 0, w->text.len };
	for (size_t i = 0; i < t->n && !status; i++) {
		const struct tok_split *s = &t->v[i];
		struct spans done;

		/* As the last stage, the common case, the alphabet need not be written out. */
		if (s->kind == SPLIT_BYTES && i + 1 == t->n) {
			w->bytes = true;
			break;
		}
		next.n = 0;
		status = s->kind == SPLIT_PATTERN ? cut_words(s, matcher, w, &next, err)
						  : rewrite(s, w, &next, err);
		done = (struct spans){ .v = w->v, .cap = w->cap };
		w->v = next.v;
		w->n = next.n;
		w->cap = next.cap;
		next = done;
	}
	free(next.v);
	return status;
}
