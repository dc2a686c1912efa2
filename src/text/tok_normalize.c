#include "config.h"

#include "src/text/tok_normalize.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/text/tok_json.h"

#define NORMS_MAX 64

static enum tb_status
read_prepend(struct tok_norm *n, const cJSON *spec, struct tb_err *err)
{
	const char *s = json_str(json_get(spec, "prepend"));

	n->text = s ? tb_strdup(s) : NULL;
	if (!s)
		return tb_fail(err, TB_EFORMAT, "tokenizer: Prepend without text");
	return n->text ? TB_OK : tb_nomem(err);
}

static enum tb_status
read_replace(struct tok_norm *n, const cJSON *spec, struct tb_err *err)
{
	const char *s = json_str(json_get(spec, "content"));

	n->text = s ? tb_strdup(s) : NULL;
	if (!s)
		return tb_fail(err, TB_EFORMAT, "tokenizer: Replace without content");
	if (!n->text)
		return tb_nomem(err);
	return tok_pattern_read(&n->pattern, json_get(spec, "pattern"), "Replace", err);
}

static enum tb_status
read_strip(struct tok_norm *n, const cJSON *spec, struct tb_err *err)
{
	if (!json_bool(json_get(spec, "strip_left"), &n->left) ||
	    !json_bool(json_get(spec, "strip_right"), &n->right))
		return tb_fail(err, TB_EFORMAT, "tokenizer: Strip without its sides");
	return TB_OK;
}

static const struct norm_row {
	const char *type;
	enum tok_norm_kind kind;
	unsigned form;
	enum tb_status (*read)(struct tok_norm *n, const cJSON *spec, struct tb_err *err);
} norm_rows[] = {
	{ "Prepend", NORM_PREPEND, 0, read_prepend },
	{ "Replace", NORM_REPLACE, 0, read_replace },
	{ "Strip", NORM_STRIP, 0, read_strip },
	{ "Lowercase", NORM_LOWER, 0, NULL },
	{ "NFC", NORM_FORM, UTF8PROC_COMPOSE, NULL },
	{ "NFD", NORM_FORM, UTF8PROC_DECOMPOSE, NULL },
	{ "NFKC", NORM_FORM, UTF8PROC_COMPOSE | UTF8PROC_COMPAT, NULL },
	{ "NFKD", NORM_FORM, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, NULL },
};

static enum tb_status
normalizer_stage(void *to, const cJSON *spec, const char *type, struct tb_err *err)
{
	struct tok_normalizer *t = to;

	if (t->n == NORMS_MAX)
		return tb_fail(err, TB_ELIMIT, "tokenizer: over %d normalizers", NORMS_MAX);
	if (!tb_grow(&t->v, &t->cap, t->n + 1, sizeof(*t->v)))
		return tb_nomem(err);
	for (size_t i = 0; i < sizeof(norm_rows) / sizeof(*norm_rows); i++) {
		const struct norm_row *row = &norm_rows[i];
		struct tok_norm *n = &t->v[t->n];

		if (strcmp(type, row->type))
			continue;
		*n = (struct tok_norm){ .kind = row->kind, .form = row->form };
		t->n++;		/* from here tok_normalizer_free() sees to it */
		return row->read ? row->read(n, spec, err) : TB_OK;
	}
	return tb_fail(err, TB_EUNSUP, "tokenizer: normalizer \"%s\" is not supported", type);
}

enum tb_status
tok_normalizer_new(struct tok_normalizer *t, const cJSON *spec, struct tb_err *err)
{
	enum tb_status status;

	*t = (struct tok_normalizer){ 0 };
	status = tok_stages(spec, "normalizer", "normalizers", normalizer_stage, t, err);
	if (status)
		tok_normalizer_free(t);
	return status;
}

enum tb_status
tok_normalizer_blanks(struct tok_normalizer *t, const char *mark, bool prefix, struct tb_err *err)
{
	struct tok_norm *n;

	if (!tb_grow(&t->v, &t->cap, t->n + 2, sizeof(*t->v)))
		return tb_nomem(err);
	if (prefix) {
		n = &t->v[t->n++];
		*n = (struct tok_norm){ .kind = NORM_PREPEND, .text = tb_strdup(mark) };
		if (!n->text)
			return tb_nomem(err);
	}
	n = &t->v[t->n++];
	*n = (struct tok_norm){ .kind = NORM_REPLACE, .text = tb_strdup(mark) };
	n->pattern.literal = tb_strdup(" ");
	n->pattern.literal_len = 1;
	return n->text && n->pattern.literal ? TB_OK : tb_nomem(err);
}

void
tok_normalizer_free(struct tok_normalizer *t)
{
	for (size_t i = 0; i < t->n; i++) {
		tok_pattern_free(&t->v[i].pattern);
		free(t->v[i].text);
	}
	free(t->v);
	*t = (struct tok_normalizer){ 0 };
}

static enum tb_status
replace_matches(const struct tok_norm *n, struct tok_matcher *matcher, const struct tb_buf *in,
		struct tb_buf *out, struct tb_err *err)
{
	size_t done = 0, text_len = strlen(n->text);
	struct tok_match m = { 0 };
	enum tb_status status;

	for (;;) {
		status = tok_pattern_next(&n->pattern, matcher, in->p, in->len, &m, err);
		if (status || !m.found || tb_buf_failed(out))
			break;
		tb_buf_add(out, in->p + done, m.start - done);
		tb_buf_add(out, n->text, text_len);
		done = m.end;
	}
	tb_buf_add(out, in->p + done, in->len - done);
	return status;
}

static enum tb_status
to_form(const struct tok_norm *n, const struct tb_buf *in, struct tb_buf *out, struct tb_err *err)
{
	utf8proc_uint8_t *p;
	utf8proc_ssize_t len;

	len = utf8proc_map((const utf8proc_uint8_t *)in->p, (utf8proc_ssize_t)in->len, &p,
			   (utf8proc_option_t)(UTF8PROC_STABLE | n->form));
	if (len < 0)
		return tb_fail(err, TB_EFORMAT, "tokenizer: %s", utf8proc_errmsg(len));
	tb_buf_add(out, p, (size_t)len);
	free(p);
	return TB_OK;
}

static void
lower(const struct tb_buf *in, struct tb_buf *out)
{
	uint32_t cp;
	char s[4];

	for (size_t i = 0; i < in->len;) {
		i += tb_utf8_next(in->p + i, in->len - i, &cp);
		if (cp == 0x130)	/* the one letter whose lower case is two */
			tb_buf_str(out, "i\xcc\x87");
		else
			tb_buf_add(out, s, tb_utf8_put((uint32_t)utf8proc_tolower((int32_t)cp), s));
	}
}

static void
strip(const struct tok_norm *n, const struct tb_buf *in, struct tb_buf *out)
{
	size_t from = 0, to = in->len, len;
	uint32_t cp;

	while (n->left && from < to) {
		len = tb_utf8_next(in->p + from, to - from, &cp);
		if (!tok_is_space(cp))
			break;
		from += len;
	}
	while (n->right && from < to) {
		len = tok_utf8_last(in->p + from, to - from, &cp);
		if (!tok_is_space(cp))
			break;
		to -= len;
	}
	tb_buf_add(out, in->p + from, to - from);
}

static bool
ascii(const struct tb_buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		if ((unsigned char)b->p[i] >= 0x80)
			return false;
	return true;
}

static enum tb_status
apply_norm(const struct tok_norm *n, struct tok_matcher *matcher, struct tb_buf *in, struct tb_buf *out,
	   struct tb_err *err)
{
	enum tb_status status = TB_OK;

	switch (n->kind) {
	case NORM_PREPEND:
		tb_buf_str(out, n->text);
		tb_buf_add(out, in->p, in->len);
		break;
	case NORM_REPLACE:
		status = replace_matches(n, matcher, in, out, err);
		break;
	case NORM_FORM:
		status = to_form(n, in, out, err);
		break;
	case NORM_LOWER:
		lower(in, out);
		break;
	case NORM_STRIP:
		strip(n, in, out);
		break;
	}
	if (!status && tb_buf_failed(out))
		status = tb_fail(err, TB_ELIMIT, "tokenizer: normalized text is too long");
	return status;
}

enum tb_status
tok_normalize(const struct tok_normalizer *t, struct tok_matcher *matcher, bool continued,
	      struct tb_buf *b, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < t->n && b->len && !status; i++) {
		struct tb_buf out = TB_BUF(b->max), old = *b;

		if ((t->v[i].kind == NORM_FORM && ascii(b)) ||	/* is in every form already */
		    (t->v[i].kind == NORM_PREPEND && continued))
			continue;
		status = apply_norm(&t->v[i], matcher, b, &out, err);
		*b = out;
		tb_buf_free(&old);
	}
	return status;
}
