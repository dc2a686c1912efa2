/* remote_parts.h - inside src/ops/remote: a server, what is asked of it, what it answers. */
#ifndef TBTUI_OPS_REMOTE_PARTS_H
#define TBTUI_OPS_REMOTE_PARTS_H

#include <pthread.h>

#include "src/base/buf.h"
#include "src/net/http.h"
#include "src/net/url.h"
#include "src/ops/remote/remote.h"

/* How servers differ where it matters. */
enum remote_kind {
	REMOTE_ANY,
	REMOTE_LLAMACPP,	/* says the beginning of an answer again */
	REMOTE_VLLM,		/* continues an answer when it is told so */
	REMOTE_OPENAI,		/* calls the ceiling of tokens otherwise */
};

struct remote {
	struct http *http;
	struct url url;
	char *host, *model, *name, *ref, *key;	/* owned; key NULL: none */
	char note[256];
	enum remote_kind kind;
	uint32_t context;		/* positions; 0: it does not say */
	pthread_mutex_t lock;		/* of the texts of tokens */
	char **tokens;			/* owned; [id] */
	size_t ntokens, cap;
};

/* Asks for what is `more` below the server's path; body NULL: GET.  What is not 2xx is an error
 * with the server's own words. */
enum tb_status remote_call(struct remote *r, const char *more, struct http_ask *ask,
			   struct tb_job *job, struct http_answer *out, struct tb_err *err)
	TB_MUST_USE;
/* The sentence for an answer that did not go well, or for an "error" object inside one (status
 * 0).  TB_ELIMIT: the conversation is too long. */
enum tb_status remote_refused(const struct remote *r, int status, const char *body, size_t len,
			      struct tb_err *err);

/* Can the server be told such a grammar? */
bool remote_knows(const struct remote *r, const struct grammar *g);
/* The request as JSON; NULL: no memory. */
char *remote_request(const struct remote *r, const struct remote_ask *ask);

/* An answer that is here already, in pieces of `step` bytes: for tests. */
enum tb_status remote_answer_read(struct remote *r, const struct remote_ask *ask, const char *bytes,
				  size_t n, size_t step, struct remote_answer *out,
				  struct tb_err *err) TB_MUST_USE;

/* The id of that text among the tokens; UINT32_MAX: no memory, or too many. */
uint32_t remote_token_id(struct remote *r, const char *text);

/* Text of a server as JSON can be parsed strictly: what is no UTF-8, half a surrogate or a NUL
 * becomes U+FFFD. */
void remote_mend(struct tb_buf *out, const char *text, size_t len);
#endif
