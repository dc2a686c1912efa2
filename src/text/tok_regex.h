/* tok_regex.h - private to src/text: what text is cut or replaced at.
 *
 * tokenizer.json means Oniguruma's Ruby syntax; patterns are translated to PCRE2
 * where the two differ and refused where they cannot be. Patterns and text are
 * hostile: matching has limits, and reaching one is an error. */
#ifndef TBTUI_TEXT_TOK_REGEX_H
#define TBTUI_TEXT_TOK_REGEX_H

#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/format/json.h"
#include "src/text/tok_uni.h"

struct tok_regex;

enum tb_status tok_regex_new(struct tok_regex **out, const char *pattern, struct tb_err *err)
	TB_MUST_USE;

/* The translation alone. */
enum tb_status tok_regex_translate(const char *onig, struct tb_buf *out, struct tb_err *err)
	TB_MUST_USE;

/* What matching needs besides the pattern; one a thread. */
struct tok_matcher;
struct tok_matcher *tok_matcher_new(void);
void tok_matcher_free(struct tok_matcher *m);

/* Exactly one of these is what to look for. */
struct tok_pattern {
	struct tok_regex *regex;	/* owned */
	char *literal;			/* owned; not empty */
	size_t literal_len;
	tok_class *cls;			/* a single character of the class */
};
/* {"String": "…"} or {"Regex": "…"}; `what` names the construct in errors. */
enum tb_status tok_pattern_read(struct tok_pattern *p, const cJSON *spec, const char *what,
				struct tb_err *err) TB_MUST_USE;
void tok_pattern_free(struct tok_pattern *p);

struct tok_match {
	size_t start, end;		/* the match; start == end is possible */
	size_t from;			/* where the next search starts; 0 at first */
	bool found, again;		/* again: the last match ended at `end` */
};

/* Finds the next match in s[0..len), valid UTF-8; m->found = false after the last. */
enum tb_status tok_pattern_next(const struct tok_pattern *p, struct tok_matcher *matcher,
				const char *s, size_t len, struct tok_match *m,
				struct tb_err *err) TB_MUST_USE;
#endif
