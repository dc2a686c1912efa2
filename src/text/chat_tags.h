/* chat_tags.h - private to src/text: what a template says of thinking and tools without being
 * run. */
#ifndef TBTUI_TEXT_CHAT_TAGS_H
#define TBTUI_TEXT_CHAT_TAGS_H

#include "src/text/chat_template.h"
#include "src/text/go.h"

/* What a call of a tool stands between; end NULL: it goes to the end of the answer. */
struct chat_call_mark { const char *begin, *end; };
/* The i-th that answers to this template may have; NULL: there are no more. */
const struct chat_call_mark *chat_template_call_mark(const struct chat_template *t, size_t i);
/* Do its answers come in channels? */
bool chat_template_harmony(const struct chat_template *t);

/* The rows of a table of which a template's source holds one. */
const struct chat_call_mark *call_mark_in(const char *source, size_t i);
/* The first text behind .ToolCalls, up to a "{". */
const char *go_call_tag(struct jinja_ctx *c, const struct go_template *t);
bool is_harmony(const char *source);

/* What can be told of thinking, and what the template can do, from a template in Go or the source
 * of one in Jinja.  Texts in the results are constants or the
 * template's. */
struct chat_thinking go_thinking(struct jinja_ctx *c, const struct go_template *t);
struct chat_thinking jinja_thinking(const char *source);
struct chat_template_can go_can(const struct go_template *t, const char *source);
struct chat_template_can jinja_can(const char *source);
#endif
