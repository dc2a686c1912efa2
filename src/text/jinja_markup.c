/* jinja_markup.c - texts that "|safe" marks: what other text is added to them is escaped
 * for HTML, as MarkupSafe does it, whether or not anybody wants HTML. */
#include "config.h"

#include <string.h>

#include "src/text/jinja.h"

static void
escape(const struct jinja_value *s, struct tb_buf *out)
{
	static const char from[] = "&<>'\"";
	static const char *const to[] = { "&amp;", "&lt;", "&gt;", "&#39;", "&#34;" };

	for (size_t i = 0; i < s->str.len; i++) {
		const char *hit = s->str.s[i] ? strchr(from, s->str.s[i]) : NULL;

		if (hit)
			tb_buf_str(out, to[hit - from]);
		else
			tb_buf_chr(out, s->str.s[i]);
	}
}

struct jinja_value
jinja_markup(struct jinja_ctx *c, const struct jinja_value *v)
{
	struct jinja_value s = jinja_to_str(c, v);

	s.markup = true;
	return s;
}

struct jinja_value
jinja_escape(struct jinja_ctx *c, const struct jinja_value *v)
{
	struct tb_buf out = TB_BUF(JINJA_TEXT_MAX);
	struct jinja_value s = jinja_to_str(c, v);

	if (s.markup)
		return s;
	escape(&s, &out);
	s = jinja_take(c, &out);
	s.markup = true;
	return s;
}

struct jinja_value
jinja_plain(struct jinja_ctx *c, const struct jinja_value *v)
{
	struct jinja_value s = jinja_to_str(c, v);

	s.markup = false;
	return s;
}

void
jinja_print_in(struct jinja_ctx *c, const struct jinja_value *all, const struct jinja_value *v,
	       struct tb_buf *out)
{
	struct jinja_value s;

	if (!all->markup) {
		jinja_print(c, v, out);
		return;
	}
	s = jinja_escape(c, v);
	jinja_print(c, &s, out);
}

struct jinja_value
jinja_markup_like(const struct jinja_value *self, struct jinja_value v)
{
	bool markup = self->type == J_STR && self->markup;

	if (markup && v.type == J_STR)
		v.markup = true;
	for (size_t i = 0; markup && v.type == J_LIST && i < v.list->n; i++)
		v.list->v[i].markup = v.list->v[i].type == J_STR;
	return v;
}
