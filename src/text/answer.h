/* answer.h - what a model writes, as it comes, in its parts: what it thinks, what it says, what
 * it calls.
 *
 * What may be the beginning of a tag is held back until it is known.  Nothing is lost but the
 * tags and the blanks beside them: what looked like a call and is none is text. */
#ifndef TBTUI_TEXT_ANSWER_H
#define TBTUI_TEXT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"
#include "src/format/json.h"
#include "src/text/chat_template.h"

enum answer_part { ANSWER_TEXT, ANSWER_THINKING };
typedef void answer_fn(void *arg, enum answer_part part, const char *text, size_t len);

struct answer;
/* t: what the conversation was written with (NULL: with nothing), of which `prompt` is the end.
 * tools: those that there are (NULL: none, and calls are text); borrowed, as is t.  fn gets each
 * piece. */
enum tb_status answer_new(struct answer **out, const struct chat_template *t, const cJSON *tools,
			  const char *prompt, answer_fn *fn, void *arg, struct tb_err *err)
	TB_MUST_USE;
void answer_free(struct answer *a);		/* NULL is fine */
void answer_add(struct answer *a, const char *text, size_t len);
void answer_end(struct answer *a);

/* After the end: all of it.  Borrowed; NULL: nothing of that was in it (the text is never). */
const char *answer_text(const struct answer *a);
const char *answer_thinking(const struct answer *a);
/* In fresh memory; NULL: none. */
char *answer_calls(const struct answer *a);
enum tb_status answer_status(const struct answer *a, struct tb_err *err) TB_MUST_USE;
/* Where a byte of all that was added is in answer_text(). */
size_t answer_place(const struct answer *a, size_t at);

/* What ends the thinking that a prompt has begun; NULL: it has begun none. */
const char *answer_thinks(const struct chat_template *t, const char *prompt);
/* The i-th tag that it looks for, which may be a control token; NULL: there are no more. */
const char *answer_tag(const struct chat_template *t, bool tools, size_t i);
#endif
