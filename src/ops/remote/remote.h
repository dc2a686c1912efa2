/* remote.h - a model that runs elsewhere, behind the API that OpenAI's servers, vLLM,
 * llama-server and Ollama share: http(s)://HOST[:PORT]/v1#MODEL.
 *
 * What a server says is as hostile as what a model says, and is shown the same way. */
#ifndef TBTUI_OPS_REMOTE_H
#define TBTUI_OPS_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"
#include "src/ops/run/run.h"
#include "src/text/chat_template.h"

struct grammar;
struct remote;
struct tb_buf;
struct tb_job;

/* Is it an address, and no model of this machine? */
bool remote_is(const char *ref);

/* Asks the server what it has.  Without a MODEL its only one is meant; of several TB_EUSAGE,
 * with their names.  A path that is missing is /v1. */
enum tb_status remote_open(struct remote **out, const char *ref, struct tb_job *job,
			   struct tb_err *err) TB_MUST_USE;
void remote_free(struct remote *r);	/* NULL is fine */
const char *remote_name(const struct remote *r);	/* "MODEL at HOST" */
const char *remote_ref(const struct remote *r);		/* what opens it again */
/* What a person should read before: that the server does not list the model; "": nothing. */
const char *remote_note(const struct remote *r);

/* Options of which the server chooses its own value: not sent. */
void remote_sampler_init(struct sampler_opts *o);

/* A piece of the answer, whole characters: GEN_MSG_TEXT or GEN_MSG_THINKING. */
typedef void remote_piece_fn(void *arg, enum gen_msg kind, const char *text, size_t len);

struct remote_ask {			/* all borrowed */
	const struct chat_message *messages;
	size_t n;
	const char *prompt;		/* instead of messages: text that is continued */
	const char *prefix;		/* the answer begins so; NULL: with nothing */
	const struct sampler_opts *sampler;
	uint32_t max_tokens;		/* 0: the server's */
	const char *const *stops;
	size_t nstops;
	unsigned top;			/* alternatives of each token: GEN_MSG_TOKEN, gen.tokens */
	const cJSON *tools;		/* NULL: none */
	const char *think;		/* as in struct chat_opts; NULL: as it does by itself */
	const struct grammar *grammar;	/* what the answer has to be; NULL: anything */
	remote_piece_fn *piece;		/* never NULL; figures go to the job */
	void *arg;
};

struct remote_answer {
	struct gen_result gen;		/* no ids; of tokens, remote_token() has the texts */
	char *thinking, *tool_calls;	/* as in struct chat_message; owned; NULL: none */
};
void remote_answer_free(struct remote_answer *a);

/* Cancelled: TB_OK and GEN_CANCELLED with what came until then.  After a failure *out is
 * empty.  TB_ELIMIT before any piece came: more was said than its context holds. */
enum tb_status remote_answer(struct remote *r, const struct remote_ask *ask, struct tb_job *job,
			     struct remote_answer *out, struct tb_err *err) TB_MUST_USE;
/* What a token of its answers is as text; false: there is none of that id.  Any thread. */
bool remote_token(struct remote *r, uint32_t id, struct tb_buf *out);
#endif
