/* chat_tags.h - private to src/text: what a template says of thinking and tools without being
 * run. */
#ifndef TBTUI_TEXT_CHAT_TAGS_H
#define TBTUI_TEXT_CHAT_TAGS_H

#include "src/text/chat_template.h"
#include "src/text/go.h"

struct chat_thinking go_thinking(struct jinja_ctx *c, const struct go_template *t);
struct chat_thinking jinja_thinking(const char *source);
struct chat_template_can go_can(const struct go_template *t, const char *source);
struct chat_template_can jinja_can(const char *source);
#endif
