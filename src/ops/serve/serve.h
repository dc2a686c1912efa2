/* serve.h - models for other programs: OpenAI's and Ollama's HTTP API over the engine of this
 * machine. */
#ifndef TBTUI_OPS_SERVE_H
#define TBTUI_OPS_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/ops/run/run.h"

struct op_ctx;
struct tb_job;

#define SERVE_PORT 11435
#define SERVE_SLOTS SESSION_ROWS	/* texts at a time */
#define SERVE_QUEUE 64
#define SERVE_CONTEXT 8192
#define SERVE_SECONDS 600
#define SERVE_KEY_MAX 4096		/* bytes of a key */

/* A request that is over, for whoever keeps a log: nothing of what was said is in it. */
struct serve_line {
	const char *method, *path, *model;	/* hostile; model NULL: none */
	unsigned status;		/* of HTTP; 0: the client went away before its answer */
	const char *end;		/* how it ended: "stop", "length", "gone", … or NULL */
	uint32_t prompt_tokens, reused_tokens, tokens;
	double seconds, first_token_seconds;
};
typedef void serve_log_fn(void *arg, const struct serve_line *line);

struct serve_model {
	const char *ref;		/* borrowed */
	char *name;			/* owned */
	uint64_t bytes;			/* of its files */
	bool loaded;			/* what is below is known once it was */
	uint64_t weights;		/* bytes that are read for a token */
	uint64_t each;			/* bytes that a slot can come to take */
	uint32_t context;		/* of a slot */
};

struct serve;
struct serve_opts {			/* all borrowed */
	const char *const *refs;
	size_t nrefs;
	const char *listen;		/* an address in numbers; NULL: 127.0.0.1 */
	uint16_t port;			/* 0: one that is free */
	const char *key_file;		/* holds the key that clients must show; NULL: none */
	uint32_t context;		/* of a slot; 0: as the model wants, or SERVE_CONTEXT */
	unsigned slots, queue;
	double seconds;			/* that an answer may take; 0: any */
	uint64_t memory;		/* bytes of files of models in memory at a time; 0: as many as
					 * three quarters of the machine's */
	double keep;			/* seconds that one stays there unasked; < 0: for ever */
	enum guess_how guess;
	const char *draft;		/* a model that guesses ahead; NULL: none, or its own */
	serve_log_fn *log;		/* on threads of the server, one at a time; NULL: none */
	void *log_arg;
};
/* Loads the models, as far as there is room for them, and begins to listen; what is borrowed, and
 * ctx, is borrowed until serve_end().  The others are loaded when they are asked for.
 * TB_EUSAGE: an address that others can reach without a key. */
enum tb_status serve_begin(struct serve **out, const struct op_ctx *ctx,
			   const struct serve_opts *opts, struct tb_job *job,
			   struct tb_err *err) TB_MUST_USE;
/* false: there are no more; the name is borrowed. */
bool serve_model(const struct serve *s, size_t i, struct serve_model *out);
uint16_t serve_port(const struct serve *s);
/* Until the job is cancelled; then answers that are under way have some seconds to end. */
void serve_until(struct serve *s, struct tb_job *job);
void serve_end(struct serve *s);
#endif
