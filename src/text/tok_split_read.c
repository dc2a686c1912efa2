/* tok_split_read.c - "pre_tokenizer" of tokenizer.json as a list of plain stages. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/text/tok_split.h"

#define STAGES_MAX 64
#define NESTING_MAX 8

#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+" \
		     "|\\s+(?!\\S)|\\s+"

static struct tok_split *
add(struct tok_splitter *t, enum tok_split_kind kind)
{
	if (t->n == STAGES_MAX || !tb_grow(&t->v, &t->cap, t->n + 1, sizeof(*t->v)))
		return NULL;
	t->v[t->n] = (struct tok_split){ .kind = kind };
	return &t->v[t->n++];
}

static enum tb_status
full(const struct tok_splitter *t, struct tb_err *err)
{
	if (t->n == STAGES_MAX)
		return tb_fail(err, TB_ELIMIT, "tokenizer: over %d pre-tokenizers", STAGES_MAX);
	return tb_nomem(err);
}

static enum tb_status
add_text(struct tok_splitter *t, enum tok_split_kind kind, const char *text, struct tb_err *err)
{
	struct tok_split *s = add(t, kind);

	if (!s)
		return full(t, err);
	s->text = tb_strdup(text);
	return s->text ? TB_OK : tb_nomem(err);
}

static enum tb_status
add_regex(struct tok_splitter *t, const char *regex, enum tok_behavior behavior, bool invert,
	  struct tb_err *err)
{
	struct tok_split *s = add(t, SPLIT_PATTERN);

	if (!s)
		return full(t, err);
	s->behavior = behavior;
	s->invert = invert;
	return tok_regex_new(&s->pattern.regex, regex, err);
}

static enum tb_status
add_literal(struct tok_splitter *t, const char *literal, enum tok_behavior behavior,
	    struct tb_err *err)
{
	struct tok_split *s = add(t, SPLIT_PATTERN);

	if (!s)
		return full(t, err);
	s->behavior = behavior;
	s->pattern.literal = tb_strdup(literal);
	s->pattern.literal_len = strlen(literal);
	return s->pattern.literal ? TB_OK : tb_nomem(err);
}

static enum tb_status
add_class(struct tok_splitter *t, tok_class *cls, enum tok_behavior behavior, struct tb_err *err)
{
	struct tok_split *s = add(t, SPLIT_PATTERN);

	if (!s)
		return full(t, err);
	s->behavior = behavior;
	s->pattern.cls = cls;
	return TB_OK;
}

enum tb_status
tok_splitter_cut(struct tok_splitter *t, const char *regex, struct tb_err *err)
{
	return add_regex(t, regex, BEHAVIOR_ISOLATED, false, err);
}

enum tb_status
tok_splitter_to_bytes(struct tok_splitter *t, struct tb_err *err)
{
	return add(t, SPLIT_BYTES) ? TB_OK : full(t, err);
}

static bool
flag(const cJSON *spec, const char *key, bool otherwise)
{
	(void)json_bool(json_get(spec, key), &otherwise);
	return otherwise;
}

static enum tb_status
read_behavior(const cJSON *spec, enum tok_behavior otherwise, enum tok_behavior *out,
	      struct tb_err *err)
{
#define X(id, name) name,
	static const char *const names[] = { TOK_BEHAVIOR_LIST(X) };
#undef X
	const char *s = json_str(json_get(spec, "behavior"));

	*out = otherwise;
	if (!s)
		return TB_OK;
	for (unsigned i = 0; i < BEHAVIOR_COUNT; i++)
		if (!strcmp(s, names[i])) {
			*out = (enum tok_behavior)i;
			return TB_OK;
		}
	return tb_fail(err, TB_EUNSUP, "tokenizer: behavior \"%s\" is not supported", s);
}

static enum tb_status
read_split(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	enum tok_behavior behavior;
	enum tb_status status = read_behavior(spec, BEHAVIOR_ISOLATED, &behavior, err);
	struct tok_split *s;

	if (status)
		return status;
	s = add(t, SPLIT_PATTERN);
	if (!s)
		return full(t, err);
	s->behavior = behavior;
	s->invert = flag(spec, "invert", false);
	return tok_pattern_read(&s->pattern, json_get(spec, "pattern"), "Split", err);
}

static enum tb_status
read_byte_level(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (flag(spec, "add_prefix_space", true))
		status = add_text(t, SPLIT_PREFIX, " ", err);
	if (!status && flag(spec, "use_regex", true))
		status = add_regex(t, GPT2_PATTERN, BEHAVIOR_ISOLATED, false, err);
	if (!status && !add(t, SPLIT_BYTES))
		status = full(t, err);
	return status;
}

static enum tb_status
read_metaspace(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	const char *mark = json_str(json_get(spec, "replacement"));
	const char *scheme = json_str(json_get(spec, "prepend_scheme"));
	enum tb_status status;

	if (!mark || !*mark)
		return tb_fail(err, TB_EFORMAT, "tokenizer: Metaspace without a replacement");
	if (!scheme)	/* files from before 0.15 */
		scheme = flag(spec, "add_prefix_space", true) ? "always" : "never";
	status = add_text(t, SPLIT_REPLACE, mark, err);
	if (!status && !strcmp(scheme, "always"))
		status = add_text(t, SPLIT_PREFIX, mark, err);
	else if (!status && !strcmp(scheme, "first"))
		status = add_text(t, SPLIT_PREFIX_FIRST, mark, err);
	else if (!status && strcmp(scheme, "never"))
		status = tb_fail(err, TB_EUNSUP, "tokenizer: prepend_scheme \"%s\" is not "
				 "supported", scheme);
	if (!status && flag(spec, "split", true))
		status = add_literal(t, mark, BEHAVIOR_WITH_NEXT, err);
	return status;
}

static enum tb_status
read_digits(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	bool each = flag(spec, "individual_digits", false);

	return add_class(t, tok_is_numeric, each ? BEHAVIOR_ISOLATED : BEHAVIOR_CONTIGUOUS, err);
}

static enum tb_status
read_punctuation(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	enum tok_behavior behavior;
	enum tb_status status = read_behavior(spec, BEHAVIOR_ISOLATED, &behavior, err);

	return status ? status : add_class(t, tok_is_punct, behavior, err);
}

static enum tb_status
read_whitespace(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	(void)spec;
	return add_regex(t, "\\w+|[^\\w\\s]+", BEHAVIOR_REMOVED, true, err);
}

static enum tb_status
read_whitespace_split(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	(void)spec;
	return add_class(t, tok_is_space, BEHAVIOR_REMOVED, err);
}

static enum tb_status
read_delimiter(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	const char *s = json_str(json_get(spec, "delimiter"));

	if (!s || !*s)
		return tb_fail(err, TB_EFORMAT, "tokenizer: CharDelimiterSplit without one");
	return add_literal(t, s, BEHAVIOR_REMOVED, err);
}

static const struct split_row {
	const char *type;
	enum tb_status (*read)(struct tok_splitter *t, const cJSON *spec, struct tb_err *err);
} split_rows[] = {
	{ "Split", read_split },
	{ "ByteLevel", read_byte_level },
	{ "Metaspace", read_metaspace },
	{ "Digits", read_digits },
	{ "Punctuation", read_punctuation },
	{ "Whitespace", read_whitespace },
	{ "WhitespaceSplit", read_whitespace_split },
	{ "CharDelimiterSplit", read_delimiter },
};

static enum tb_status
read_any(struct tok_splitter *t, const cJSON *spec, unsigned depth, struct tb_err *err)
{
	const char *type = json_str(json_get(spec, "type"));
	enum tb_status status = TB_OK;

	if (!spec || json_is_null(spec))
		return TB_OK;
	if (!type)
		return tb_fail(err, TB_EFORMAT, "tokenizer: a pre-tokenizer without a type");
	if (depth > NESTING_MAX)
		return tb_fail(err, TB_ELIMIT, "tokenizer: pre-tokenizers nested too deeply");
	for (size_t i = 0; i < sizeof(split_rows) / sizeof(*split_rows); i++)
		if (!strcmp(type, split_rows[i].type))
			return split_rows[i].read(t, spec, err);
	if (strcmp(type, "Sequence"))
		return tb_fail(err, TB_EUNSUP, "tokenizer: pre-tokenizer \"%s\" is not supported",
			       type);
	spec = json_get(spec, "pretokenizers");
	if (!json_is_array(spec))
		return tb_fail(err, TB_EFORMAT, "tokenizer: a Sequence without pretokenizers");
	for (const cJSON *c = json_first(spec); c && !status; c = json_next(c))
		status = read_any(t, c, depth + 1, err);
	return status;
}

enum tb_status
tok_splitter_new(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	enum tb_status status;

	*t = (struct tok_splitter){ 0 };
	status = read_any(t, spec, 0, err);
	if (status)
		tok_splitter_free(t);
	return status;
}

void
tok_splitter_free(struct tok_splitter *t)
{
	for (size_t i = 0; i < t->n; i++) {
		tok_pattern_free(&t->v[i].pattern);
		free(t->v[i].text);
	}
	free(t->v);
	*t = (struct tok_splitter){ 0 };
}

bool
tok_splitter_bytes(const struct tok_splitter *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].kind == SPLIT_BYTES)
			return true;
	return false;
}
