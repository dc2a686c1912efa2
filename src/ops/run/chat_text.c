/* chat_text.c - a conversation that its template has written, as tokens. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/run/run.h"
#include "src/text/answer.h"

/* A template in Go's language leaves the first token to the tokenizer, or says it nevertheless. */
static void
drop_second_bos(const struct tokenizer *t, struct token_ids *ids)
{
	uint32_t bos;

	if (ids->n < 2 || !tokenizer_bos(t, &bos) || ids->v[0] != bos || ids->v[1] != bos)
		return;
	memmove(ids->v, ids->v + 1, --ids->n * sizeof(*ids->v));
}

enum tb_status
chat_model_encode(const struct chat_model *m, const struct tb_buf *text, struct token_ids *ids,
		  struct tb_err *err)
{
	const struct chat_template *t = m->template;
	bool first = !t || chat_template_kind(t) == CHAT_TEMPLATE_GO;
	enum tb_status status;

	ids->n = 0;
	status = tokenizer_encode(m->tokenizer, tb_buf_cstr(text), text->len, first, t != NULL, ids,
				  err);
	if (!status && t)
		drop_second_bos(m->tokenizer, ids);
	return status;
}

bool
chat_model_hides_tags(const struct chat_model *m, bool tools)
{
	struct token_ids ids = { 0 };
	bool control = false;
	const char *tag;

	for (size_t i = 0; m->template && !control && (tag = answer_tag(m->template, tools, i)); i++) {
		ids.n = 0;
		if (tokenizer_encode(m->tokenizer, tag, strlen(tag), false, true, &ids, NULL))
			continue;
		for (size_t k = 0; k < ids.n; k++)
			control |= tokenizer_type(m->tokenizer, ids.v[k]) == TOKEN_CONTROL;
	}
	free(ids.v);
	return control;
}
