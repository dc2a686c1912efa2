#include "config.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include "src/text/tok_regex.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define PATTERN_MAX 65536u
#define MATCH_LIMIT 1000000u		/* a word takes hundreds */
#define DEPTH_LIMIT 250000u
#define HEAP_LIMIT 65536u		/* KiB */
#define JIT_STACK_MAX (4u << 20)

struct tok_regex {
	pcre2_code *code;
	bool jit;
};

struct tok_matcher {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

static enum tb_status
compile(struct tok_regex *re, const char *pattern, const struct tb_buf *translated,
	struct tb_err *err)
{
	const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE |
				 PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;
	pcre2_compile_context *cc = pcre2_compile_context_create(NULL);
	PCRE2_SIZE at;
	int code;

	if (!cc)
		return tb_nomem(err);
	/* Ruby's ^ and $ are at every \n, and only there */
	pcre2_set_newline(cc, PCRE2_NEWLINE_LF);
	pcre2_set_parens_nest_limit(cc, 100);
	re->code = pcre2_compile((PCRE2_SPTR)tb_buf_cstr(translated), translated->len, options,
				 &code, &at, cc);
	pcre2_compile_context_free(cc);
	if (!re->code) {
		PCRE2_UCHAR why[160] = "";

		pcre2_get_error_message(code, why, sizeof(why));
		return tb_fail(err, TB_EFORMAT, "regular expression \"%.200s\": %s", pattern,
			       (char *)why);
	}
	/* Without JIT (or when it cannot do this pattern) matching is only slower. */
	re->jit = pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE) == 0;
	return TB_OK;
}

enum tb_status
tok_regex_new(struct tok_regex **out, const char *pattern, struct tb_err *err)
{
	struct tb_buf translated = TB_BUF(8 * PATTERN_MAX);
	struct tok_regex *re = tb_calloc(1, sizeof(*re));
	enum tb_status status;

	*out = NULL;
	if (!re)
		return tb_nomem(err);
	if (strlen(pattern) > PATTERN_MAX)
		status = tb_fail(err, TB_ELIMIT, "a regular expression of %zu bytes",
				 strlen(pattern));
	else
		status = tok_regex_translate(pattern, &translated, err);
	if (!status)
		status = compile(re, pattern, &translated, err);
	tb_buf_free(&translated);
	if (status)
		free(re);
	else
		*out = re;
	return status;
}

static void
tok_regex_free(struct tok_regex *re)
{
	if (re)
		pcre2_code_free(re->code);
	free(re);
}

struct tok_matcher *
tok_matcher_new(void)
{
	struct tok_matcher *m = tb_calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->data = pcre2_match_data_create(1, NULL);
	m->context = pcre2_match_context_create(NULL);
	m->stack = pcre2_jit_stack_create(32768, JIT_STACK_MAX, NULL);
	if (!m->data || !m->context) {
		tok_matcher_free(m);
		return NULL;
	}
	pcre2_set_match_limit(m->context, MATCH_LIMIT);
	pcre2_set_depth_limit(m->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(m->context, HEAP_LIMIT);
	if (m->stack)
		pcre2_jit_stack_assign(m->context, NULL, m->stack);
	return m;
}

void
tok_matcher_free(struct tok_matcher *m)
{
	if (!m)
		return;
	pcre2_jit_stack_free(m->stack);
	pcre2_match_context_free(m->context);
	pcre2_match_data_free(m->data);
	free(m);
}

enum tb_status
tok_pattern_read(struct tok_pattern *p, const cJSON *spec, const char *what, struct tb_err *err)
{
	const char *literal = json_str(json_get(spec, "String"));
	const char *regex = json_str(json_get(spec, "Regex"));

	if (regex)
		return tok_regex_new(&p->regex, regex, err);
	if (!literal || !*literal)
		return tb_fail(err, TB_EUNSUP, "tokenizer: %s without a pattern", what);
	p->literal = tb_strdup(literal);
	p->literal_len = strlen(literal);
	return p->literal ? TB_OK : tb_nomem(err);
}

void
tok_pattern_free(struct tok_pattern *p)
{
	tok_regex_free(p->regex);
	free(p->literal);
	*p = (struct tok_pattern){ 0 };
}

static enum tb_status
find_regex(const struct tok_regex *re, struct tok_matcher *matcher, const char *s, size_t len,
	   struct tok_match *m, struct tb_err *err)
{
	int n = re->jit ? pcre2_jit_match(re->code, (PCRE2_SPTR)s, len, m->from, 0,
					  matcher->data, matcher->context)
			: pcre2_match(re->code, (PCRE2_SPTR)s, len, m->from,
				      PCRE2_NO_UTF_CHECK, matcher->data, matcher->context);
	const PCRE2_SIZE *at;

	m->found = n >= 0;
	if (n == PCRE2_ERROR_NOMATCH)
		return TB_OK;
	if (n < 0) {
		PCRE2_UCHAR why[160] = "";

		pcre2_get_error_message(n, why, sizeof(why));
		return tb_fail(err, TB_ELIMIT, "regular expression of the tokenizer: %s at byte %zu",
			       (char *)why, m->from);
	}
	at = pcre2_get_ovector_pointer(matcher->data);
	m->start = at[0];
	m->end = at[1];
	if (m->start > m->end || m->end > len || m->start < m->from)
		return tb_fail(err, TB_EUNSUP, "a match of the tokenizer's regular expression "
			       "that runs backwards");
	return TB_OK;
}

static void
find_class(tok_class *cls, const char *s, size_t len, struct tok_match *m)
{
	size_t i = m->from, n;
	uint32_t cp;

	for (; i < len; i += n) {
		n = tb_utf8_next(s + i, len - i, &cp);
		if (!cls(cp))
			continue;
		m->start = i;
		m->end = i + n;
		m->found = true;
		return;
	}
	m->found = false;
}

/* An empty match right behind the last match is none: go on a character later. */
enum tb_status
tok_pattern_next(const struct tok_pattern *p, struct tok_matcher *matcher, const char *s,
		 size_t len, struct tok_match *m, struct tb_err *err)
{
	size_t last = m->end;
	const char *hit;
	uint32_t cp;

	for (;;) {
		enum tb_status status = TB_OK;

		m->found = false;
		if (m->from > len)
			return TB_OK;
		if (p->regex)
			status = find_regex(p->regex, matcher, s, len, m, err);
		else if (!p->literal)
			find_class(p->cls, s, len, m);
		else if ((hit = memmem(s + m->from, len - m->from, p->literal, p->literal_len)))
			*m = (struct tok_match){ (size_t)(hit - s), (size_t)(hit - s) + p->literal_len,
						 m->from, true, m->again };
		if (status || !m->found)
			return status;
		if (m->start < m->end || !m->again || m->start != last)
			break;
		m->from = m->end < len ? m->end + tb_utf8_next(s + m->end, len - m->end, &cp)
				       : len + 1;
	}
	m->again = true;
	m->from = m->end;
	return TB_OK;
}
