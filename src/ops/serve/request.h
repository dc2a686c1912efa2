/* request.h - what a client asks for, read from its JSON: OpenAI's and Ollama's words for it.
 *
 * It comes from outside.  What is not understood and would change the answer is refused;
 * what is unknown and harmless is passed over, as those programs do. */
#ifndef TBTUI_OPS_SERVE_REQUEST_H
#define TBTUI_OPS_SERVE_REQUEST_H

#include "src/base/arena.h"
#include "src/format/json.h"
#include "src/ops/run/run.h"
#include "src/text/chat_template.h"

enum serve_api { API_CHAT, API_COMPLETION, API_OLLAMA_CHAT, API_OLLAMA_GENERATE };

static inline bool
api_ollama(enum serve_api a)
{
	return a == API_OLLAMA_CHAT || a == API_OLLAMA_GENERATE;
}

#define REQUEST_STOPS 16	/* further ones are refused */

/* Of the numbers: those that were not said keep what the model wants. */
enum request_number {
	NUMBER_TEMPERATURE, NUMBER_TOP_P, NUMBER_TOP_K, NUMBER_MIN_P, NUMBER_REPEAT,
	NUMBER_REPEAT_LAST, NUMBER_FREQUENCY, NUMBER_PRESENCE, NUMBER_SEED, NUMBER_TOKENS, NUMBERS
};

enum request_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_SCHEMA };

struct serve_request {
	enum serve_api api;
	cJSON *doc;			/* owned; what is borrowed below is of it or of … */
	struct tb_arena texts;		/* … this */
	const char *model;		/* NULL: none was named */
	struct chat_message *messages;
	size_t nmessages;
	const cJSON *tools;		/* a list; NULL: none */
	bool must_call;			/* one of them, and say nothing; … */
	const char *must_name;		/* … this one; NULL: any */
	const char *prompt;		/* of text that is continued; NULL: there are messages */
	bool raw;			/* the prompt goes through no template */
	bool stream, usage;		/* piece by piece; with a last piece of figures */
	bool ignore_eos;		/* on behind the end: as other servers have it */
	bool said[NUMBERS];
	double number[NUMBERS];		/* checked: finite, within what each can be */
	const char *stops[REQUEST_STOPS];
	size_t nstops;
	unsigned top;			/* alternatives of each token … */
	bool logprobs;			/* … and how likely it was itself */
	enum request_format format;
	const cJSON *schema;
	enum chat_think think;
	const char *think_level;
	bool keeps;			/* said how long the model is to be kept unasked: … */
	double keep;			/* … seconds; < 0: for ever */
	const char *param;		/* what an error is about; NULL: the whole */
};

/* Fails with a sentence for the client and *param.  serve_request_free() in any case. */
enum tb_status serve_request_parse(struct serve_request *r, enum serve_api api, const char *text,
				   size_t len, struct tb_err *err) TB_MUST_USE;
void serve_request_free(struct serve_request *r);
/* Over what the model wants. */
void serve_request_sampling(const struct serve_request *r, struct sampler_opts *o,
			    uint32_t *max_tokens);
#endif
