/* chat_beside.c - an answer of somebody who is in no conversation. */
#include "config.h"

#include <string.h>

#include "src/base/job.h"
#include "src/ops/chat/speaker.h"

static void
post_piece(void *arg, enum gen_msg kind, const char *text, size_t len)
{
	tb_job_post(arg, kind, text, len);
}

enum tb_status
speaker_answer(struct speaker *s, const struct chat_message *messages, size_t n,
	       const struct chat_opts *opts, struct tb_job *job, struct chat_answer *out,
	       struct tb_err *err)
{
	struct speaker_ask ask = {
		.messages = messages, .n = n, .opts = opts, .piece = post_piece, .arg = job,
	};
	enum tb_status status;

	*out = (struct chat_answer){ 0 };
	status = s->ops->answer(s, &ask, job, out, err);
	if (status)
		chat_answer_free(out);
	return status;
}
