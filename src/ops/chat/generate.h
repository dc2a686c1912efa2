/* generate.h - token after token from a session: choose, show, evaluate.
 *
 * Text is handed on in pieces that are whole UTF-8 characters; bytes that are no
 * UTF-8 become U+FFFD.  It is still hostile: clean it before a terminal sees it. */
#ifndef TBTUI_OPS_GENERATE_H
#define TBTUI_OPS_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/engine/sampler.h"
#include "src/text/tokenizer.h"

struct chat_model;
struct session;
struct tb_job;

/* Why it ended; id, name in generate --json */
#define GEN_STOP_LIST(X) \
	X(GEN_EOS, "eos") \
	X(GEN_STRING, "stop")		/* one of the stop strings, which is not shown */ \
	X(GEN_LENGTH, "length")		/* max_tokens */ \
	X(GEN_CONTEXT, "context")	/* no position left */ \
	X(GEN_CANCELLED, "cancelled")	/* what was generated until then stays */
#define X(id, name) id,
enum gen_stop { GEN_STOP_LIST(X) };
#undef X
const char *gen_stop_name(enum gen_stop s);

/* What is posted to the job when no function takes the text. */
enum gen_msg {
	GEN_MSG_TEXT = 1,	/* a piece of text */
	GEN_MSG_NOTE,		/* a sentence for the person: "dropped 2 turns" */
	GEN_MSG_FIGURES,	/* struct gen_figures, a few times a second and at the end */
};
typedef void gen_text_fn(void *arg, const char *text, size_t len);

struct gen_figures {
	uint32_t prompt_tokens;		/* evaluated before the first token */
	uint32_t reused_tokens;		/* found in the KV cache instead */
	uint32_t tokens;		/* generated */
	double prefill_seconds, decode_seconds;
	double first_token_seconds;	/* from the call to the first token */
	uint32_t context_used, context;
	uint64_t peak_rss;		/* bytes, of this process */
};
double gen_prefill_rate(const struct gen_figures *f);	/* tokens a second; 0 = not measured */
double gen_decode_rate(const struct gen_figures *f);

struct gen_opts {
	struct sampler_opts sampler;
	uint32_t max_tokens;		/* 0 = until the context is full */
	bool ignore_eos;
	bool specials;			/* show what control tokens are called */
	bool begins;			/* the text begins here: no blank before its first word */
	const char *const *stops;	/* borrowed */
	size_t nstops;
	gen_text_fn *text;		/* NULL: messages to the job */
	void *text_arg;
};

struct gen_result {
	char *text;			/* owned, UTF-8; free with gen_result_free() */
	struct token_ids ids;		/* generated, without the end token */
	enum gen_stop stop;
	struct gen_figures figures;
};
void gen_result_free(struct gen_result *r);

/* Makes the session hold `prompt` (what it has in common with `held`, the ids that
 * are in its cache now, is not evaluated again), then generates.  held may be
 * NULL; afterwards it lists what the cache holds.  A cancelled run is TB_OK with
 * stop == GEN_CANCELLED. */
enum tb_status generate(struct chat_model *m, struct session *s, struct token_ids *held,
			const struct token_ids *prompt, const struct gen_opts *opts,
			struct tb_job *job, struct gen_result *out, struct tb_err *err) TB_MUST_USE;
#endif
