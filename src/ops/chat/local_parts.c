#include "config.h"

#include "src/ops/chat/local_parts.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"

static void
hand_on(void *arg, enum answer_part part, const char *text, size_t len)
{
	const struct speaker_ask *ask = arg;

	ask->piece(ask->arg, part == ANSWER_THINKING ? GEN_MSG_THINKING : GEN_MSG_TEXT, text, len);
}

enum tb_status
parts_begin(struct parts *p, const struct chat_model *m, const struct speaker_ask *ask,
	    const char *prompt, struct tb_err *err)
{
	p->ask = ask;
	return answer_new(&p->answer, m->template, ask->tools, prompt, hand_on, (void *)ask, err);
}

void
parts_add(void *arg, const char *text, size_t len)
{
	struct parts *p = arg;

	answer_add(p->answer, text, len);
}

/* Tokens say where they are in the text; those of what was thought stand before it. */
static void
move_tokens(const struct parts *p, size_t begun, struct gen_result *gen)
{
	for (size_t i = 0; gen->tokens && i < gen->ids.n; i++) {
		gen->tokens[i].begin = answer_place(p->answer, begun + gen->tokens[i].begin);
		gen->tokens[i].end = answer_place(p->answer, begun + gen->tokens[i].end);
	}
}

enum tb_status
parts_end(struct parts *p, size_t begun, struct chat_answer *out, struct tb_err *err)
{
	const char *thinking;
	char *text;
	enum tb_status status;

	answer_end(p->answer);
	if ((status = answer_status(p->answer, err)))
		return status;
	thinking = answer_thinking(p->answer);
	text = tb_strdup(answer_text(p->answer));
	out->thinking = thinking ? tb_strdup(thinking) : NULL;
	out->tool_calls = answer_calls(p->answer);
	if (!text || (thinking && !out->thinking)) {
		free(text);
		return tb_nomem(err);
	}
	free(out->gen.text);
	out->gen.text = text;
	move_tokens(p, begun, &out->gen);
	return TB_OK;
}

void
parts_free(struct parts *p)
{
	answer_free(p->answer);
	p->answer = NULL;
}
