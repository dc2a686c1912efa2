/* tok_split_read.c - "pre_tokenizer" of tokenizer.json as a list of plain stages. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/text/tok_json.h"
#include "src/text/tok_split.h"

#define STAGES_MAX 64

#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+" \
		     "|\\s+(?!\\S)|\\s+"

static enum tb_status
add_split(struct tok_splitter *t, enum tok_split_kind kind, enum tok_behavior behavior,
	  struct tok_split **out, struct tb_err *err)
{
	*out = NULL;
	if (t->n == STAGES_MAX)
		return tb_fail(err, TB_ELIMIT, "tokenizer: over %d pre-tokenizers", STAGES_MAX);
	if (!tb_grow(&t->v, &t->cap, t->n + 1, sizeof(*t->v)))
		return tb_nomem(err);
	*out = &t->v[t->n++];
	**out = (struct tok_split){ .kind = kind, .behavior = behavior };
	return TB_OK;
}

static enum tb_status
add_text(struct tok_splitter *t, enum tok_split_kind kind, const char *text, struct tb_err *err)
{
	struct tok_split *s;
	enum tb_status status = add_split(t, kind, BEHAVIOR_REMOVED, &s, err);

	if (status)
		return status;
	s->text = tb_strdup(text);
	return s->text ? TB_OK : tb_nomem(err);
}

static enum tb_status
add_regex(struct tok_splitter *t, const char *regex, enum tok_behavior behavior, bool invert,
	  struct tb_err *err)
{
	struct tok_split *s;
	enum tb_status status = add_split(t, SPLIT_PATTERN, behavior, &s, err);

	if (status)
		return status;
	s->invert = invert;
	return tok_regex_new(&s->pattern.regex, regex, err);
}

/* A text, or any one character of a class. */
static enum tb_status
add_plain(struct tok_splitter *t, const char *literal, tok_class *cls, enum tok_behavior behavior,
	  struct tb_err *err)
{
	struct tok_split *s;
	enum tb_status status = add_split(t, SPLIT_PATTERN, behavior, &s, err);

	if (status)
		return status;
	s->pattern.cls = cls;
	s->pattern.literal = literal ? tb_strdup(literal) : NULL;
	s->pattern.literal_len = literal ? strlen(literal) : 0;
	return cls || s->pattern.literal ? TB_OK : tb_nomem(err);
}

enum tb_status
tok_splitter_cut(struct tok_splitter *t, const char *regex, struct tb_err *err)
{
	return add_regex(t, regex, BEHAVIOR_ISOLATED, false, err);
}

enum tb_status
tok_splitter_to_bytes(struct tok_splitter *t, struct tb_err *err)
{
	struct tok_split *s;

	return add_split(t, SPLIT_BYTES, BEHAVIOR_REMOVED, &s, err);
}

static enum tb_status
read_behavior(const cJSON *spec, enum tok_behavior *out, struct tb_err *err)
{
#define X(id, name) name,
	static const char *const names[] = { TOK_BEHAVIOR_LIST(X) };
#undef X
	const char *s = json_str(json_get(spec, "behavior"));

	*out = BEHAVIOR_ISOLATED;
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
	enum tb_status status = read_behavior(spec, &behavior, err);
	struct tok_split *s;

	if (!status)
		status = add_split(t, SPLIT_PATTERN, behavior, &s, err);
	if (status)
		return status;
	s->invert = tok_flag(spec, "invert", false);
	return tok_pattern_read(&s->pattern, json_get(spec, "pattern"), "Split", err);
}

static enum tb_status
read_byte_level(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (tok_flag(spec, "add_prefix_space", true))
		status = add_text(t, SPLIT_PREFIX, " ", err);
	if (!status && tok_flag(spec, "use_regex", true))
		status = add_regex(t, GPT2_PATTERN, BEHAVIOR_ISOLATED, false, err);
	return status ? status : tok_splitter_to_bytes(t, err);
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
		scheme = tok_flag(spec, "add_prefix_space", true) ? "always" : "never";
	status = add_text(t, SPLIT_REPLACE, mark, err);
	if (!status && !strcmp(scheme, "always"))
		status = add_text(t, SPLIT_PREFIX, mark, err);
	else if (!status && !strcmp(scheme, "first"))
		status = add_text(t, SPLIT_PREFIX_FIRST, mark, err);
	else if (!status && strcmp(scheme, "never"))
		status = tb_fail(err, TB_EUNSUP, "tokenizer: prepend_scheme \"%s\" is not "
				 "supported", scheme);
	if (!status && tok_flag(spec, "split", true))
		status = add_plain(t, mark, NULL, BEHAVIOR_WITH_NEXT, err);
	return status;
}

static enum tb_status
read_digits(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	bool each = tok_flag(spec, "individual_digits", false);

	return add_plain(t, NULL, tok_is_numeric, each ? BEHAVIOR_ISOLATED : BEHAVIOR_CONTIGUOUS,
			 err);
}

static enum tb_status
read_punctuation(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	enum tok_behavior behavior;
	enum tb_status status = read_behavior(spec, &behavior, err);

	return status ? status : add_plain(t, NULL, tok_is_punct, behavior, err);
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
	return add_plain(t, NULL, tok_is_space, BEHAVIOR_REMOVED, err);
}

static enum tb_status
read_delimiter(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	const char *s = json_str(json_get(spec, "delimiter"));

	if (!s || !*s)
		return tb_fail(err, TB_EFORMAT, "tokenizer: CharDelimiterSplit without one");
	return add_plain(t, s, NULL, BEHAVIOR_REMOVED, err);
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
split_stage(void *to, const cJSON *spec, const char *type, struct tb_err *err)
{
	for (size_t i = 0; i < sizeof(split_rows) / sizeof(*split_rows); i++)
		if (!strcmp(type, split_rows[i].type))
			return split_rows[i].read(to, spec, err);
	return tb_fail(err, TB_EUNSUP, "tokenizer: pre-tokenizer \"%s\" is not supported", type);
}

enum tb_status
tok_splitter_new(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
{
	enum tb_status status;

	*t = (struct tok_splitter){ 0 };
	status = tok_stages(spec, "pre-tokenizer", "pretokenizers", split_stage, t, err);
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
