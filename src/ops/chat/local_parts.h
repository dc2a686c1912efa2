/* local_parts.h - inside src/ops/chat: what a model that is open here writes, told apart into
 * what it thinks, says and calls. */
#ifndef TBTUI_OPS_CHAT_LOCAL_PARTS_H
#define TBTUI_OPS_CHAT_LOCAL_PARTS_H

#include "src/ops/chat/speaker.h"
#include "src/text/answer.h"

struct parts {
	const struct speaker_ask *ask;	/* borrowed */
	struct answer *answer;
};

/* prompt: the end of what it reads, up to where its answer begins. */
enum tb_status parts_begin(struct parts *p, const struct chat_model *m,
			   const struct speaker_ask *ask, const char *prompt, struct tb_err *err)
	TB_MUST_USE;
gen_text_fn parts_add;			/* arg: the parts */
/* Puts them into *out; begun: bytes of parts_add() that are not of out->gen. */
enum tb_status parts_end(struct parts *p, size_t begun, struct chat_answer *out,
			 struct tb_err *err) TB_MUST_USE;
void parts_free(struct parts *p);
#endif
