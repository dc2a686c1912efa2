/* reply.h - what a client gets to read, in OpenAI's and Ollama's JSON. */
#ifndef TBTUI_OPS_SERVE_REPLY_H
#define TBTUI_OPS_SERVE_REPLY_H

#include "src/ops/serve/request.h"

struct tb_buf;

/* What is the same in all pieces of an answer. Borrowed. */
struct reply {
	enum serve_api api;
	const char *id, *model;
	int64_t created;		/* seconds since 1970 */
	const struct tokenizer *tokenizer;
	unsigned top;			/* alternatives that were asked for */
	bool usage;			/* every piece has the key "usage" then, as OpenAI's do */
	double began;			/* tb_monotonic() */
};

/* A piece that is streamed: text, thinking, or tool calls (JSON, a list); NULL: none of it.
 * tokens: those that the text is of; NULL: nobody asked. */
struct reply_piece {
	const char *text, *thinking, *calls;
	size_t len, thinking_len;
	const struct gen_token *tokens;
	size_t ntokens;
	size_t offset;			/* of the text in the whole */
	bool first;			/* says who speaks */
	bool called;			/* tools: in this or an earlier piece */
	const struct gen_result *end;	/* the last one; NULL: not yet */
};
/* As it goes over the line: an event of SSE, or a line. */
void reply_add_piece(const struct reply *r, const struct reply_piece *p, struct tb_buf *out);
/* What follows the last piece. */
void reply_add_end(const struct reply *r, const struct gen_result *end, struct tb_buf *out);
/* All at once. */
void reply_add_whole(const struct reply *r, const struct reply_piece *p, struct tb_buf *out);
/* "invalid_request_error" …; param, code: may be NULL. */
void reply_add_error(bool ollama, const char *message, const char *type, const char *param,
		     const char *code, struct tb_buf *out);
/* An event, or a line, that says so in the middle of an answer. */
void reply_add_broken(const struct reply *r, const char *message, struct tb_buf *out);
const char *reply_type(enum serve_api api, bool stream);
/* "stop", "length" */
const char *reply_finish(const struct gen_result *end, bool calls);
#endif
