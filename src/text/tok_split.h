/* tok_split.h - private to src/text: cutting text into the words that are merged
 * each on their own ("pre_tokenizer"). */
#ifndef TBTUI_TEXT_TOK_SPLIT_H
#define TBTUI_TEXT_TOK_SPLIT_H

#include "src/format/json.h"
#include "src/text/tok_regex.h"

struct tok_span { size_t off, len; };

/* A text and the words in it, in order. */
struct tok_words {
	struct tb_buf text;
	struct tok_span *v;		/* owned */
	size_t n, cap;
	bool first;			/* the text begins what was given to the tokenizer */
	bool continued;			/* it goes on behind bytes that are no text */
	bool bytes;			/* each byte stands for its byte-level character */
};

/* What becomes of matches. */
#define TOK_BEHAVIOR_LIST(X) \
	X(BEHAVIOR_REMOVED, "Removed") \
	X(BEHAVIOR_ISOLATED, "Isolated") \
	X(BEHAVIOR_CONTIGUOUS, "Contiguous") \
	X(BEHAVIOR_WITH_PREVIOUS, "MergedWithPrevious") \
	X(BEHAVIOR_WITH_NEXT, "MergedWithNext")
#define X(id, name) id,
enum tok_behavior { TOK_BEHAVIOR_LIST(X) BEHAVIOR_COUNT };
#undef X

enum tok_split_kind {
	SPLIT_PATTERN,		/* cuts */
	SPLIT_REPLACE,		/* ' ' becomes `text` */
	SPLIT_PREFIX,		/* `text` in front of each word that does not begin so */
	SPLIT_PREFIX_FIRST,	/* only of the first */
	SPLIT_BYTES,		/* bytes become their byte-level characters */
};

struct tok_split {
	enum tok_split_kind kind;
	struct tok_pattern pattern;
	enum tok_behavior behavior;
	bool invert;
	char *text;		/* owned */
};

struct tok_splitter {
	struct tok_split *v;	/* owned; in order */
	size_t n, cap;
};

enum tb_status tok_splitter_new(struct tok_splitter *t, const cJSON *spec, struct tb_err *err)
	TB_MUST_USE;
/* Single stages behind those that are there (on {0} for the first). */
enum tb_status tok_splitter_cut(struct tok_splitter *t, const char *regex, struct tb_err *err)
	TB_MUST_USE;
enum tb_status tok_splitter_to_bytes(struct tok_splitter *t, struct tb_err *err) TB_MUST_USE;
void tok_splitter_free(struct tok_splitter *t);
bool tok_splitter_bytes(const struct tok_splitter *t);	/* is there a SPLIT_BYTES? */

/* Cuts w->text up; w->v is filled. */
enum tb_status tok_split_run(const struct tok_splitter *t, struct tok_matcher *matcher,
			     struct tok_words *w, struct tb_err *err) TB_MUST_USE;
#endif
