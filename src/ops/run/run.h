/* run.h - a model made ready to run, and what can be done with it: token after token
 * (choose, show, evaluate), logits, perplexity.
 *
 * Text is handed on in pieces that are whole UTF-8 characters; bytes that are no
 * UTF-8 become U+FFFD.  It is still hostile: clean it before a terminal sees it. */
#ifndef TBTUI_OPS_RUN_H
#define TBTUI_OPS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/sha256.h"
#include "src/engine/engine.h"
#include "src/engine/sampler.h"
#include "src/text/tokenizer.h"

struct cJSON;
struct chat_message;
struct chat_template;
struct constraint;
struct grammar;
struct model;
struct op_ctx;
struct session;
struct spelling;
struct tb_job;
struct tokenizer;

/* Weights, tokenizer, template, and what the files say about how it wants to be used.
 * Shared by chat, generate, logits and perplexity; one of them at a time. */
#define CHAT_MAX_STOPS 16

struct chat_model {
	struct model *model;		/* all owned */
	struct model **adapters;	/* that were added: chat_model_adapt() */
	size_t nadapters;
	struct chat_model *draft;	/* guesses ahead; NULL: none, see chat_model_draft() */
	struct engine *engine;
	struct tokenizer *tokenizer;
	struct chat_template *template;	/* NULL: there is none, or template_err says why it
					 * cannot be used */
	struct tb_err template_err;
	char note[256];			/* see chat_model_note() */
	char template_said[160];	/* which template is used, and why */
	char draft_note[320];		/* why a draft that comes with it cannot guess; or "" */
	char *system;			/* the model's own system prompt, or NULL */
	struct chat_message *said;	/* messages that every conversation with it begins with, behind
					 * the system's; their texts are in said_doc */
	size_t nsaid;
	struct cJSON *said_doc;
	char *bos, *eos;		/* pieces that templates use; NULL: none */
	uint32_t *eos_ids;		/* ids that end an answer */
	size_t neos;
	char *stops[CHAT_MAX_STOPS];	/* strings that end an answer */
	size_t nstops;
	struct spelling *spelling;	/* of its tokens, and … NULL until somebody constrains */
	struct spelling *spelling_first;	/* … where they begin a text; NULL: likewise */
	struct sampler_opts sampler;	/* the model's wishes over the defaults; seed is
					 * fresh where it has none */
	uint32_t context;		/* positions that it wants (num_ctx); 0: all it has */
	uint32_t max_tokens;		/* of an answer (num_predict); 0: as many as fit */
};

/* ref as on the command line.  Shows what it does through `job` (may be NULL). */
enum tb_status chat_model_open(struct chat_model **out, const struct op_ctx *ctx, const char *ref,
			       struct tb_job *job, struct tb_err *err) TB_MUST_USE;
void chat_model_free(struct chat_model *m);	/* sessions and chats on it first */
/* Adds the adapter `ref` (a GGUF file, a folder or file of PEFT's) to the model's weights: before
 * the first session.  A model that it failed for can only be freed. */
enum tb_status chat_model_adapt(struct chat_model *m, const struct op_ctx *ctx, const char *ref,
				struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* The draft that comes with m, where there is one.  What it cannot be used for is noted. */
enum tb_status chat_model_own_draft(struct chat_model *m, const struct op_ctx *ctx,
				    struct tb_err *err) TB_MUST_USE;
/* The model `ref` guesses ahead of m, which takes it.  TB_EUSAGE: its vocabulary is another. */
enum tb_status chat_model_draft(struct chat_model *m, const struct op_ctx *ctx, const char *ref,
				struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* What a person should read before a conversation: that another template than the model's
 * own is used, or that it has none, and text is continued instead; "": nothing. */
const char *chat_model_note(const struct chat_model *m);
bool chat_model_is_eos(const struct chat_model *m, uint32_t id);
/* What its template wrote, or without one what is continued, as tokens: with its first one, once. */
enum tb_status chat_model_encode(const struct chat_model *m, const struct tb_buf *text,
				 struct token_ids *ids, struct tb_err *err) TB_MUST_USE;
/* Are any tags of its thinking, or of its calls, control tokens, which nobody sees unless
 * gen_opts.specials asks? */
bool chat_model_hides_tags(const struct chat_model *m, bool tools);
/* What holds a text of this model to the grammar, which it borrows.  The first one of a model
 * takes a while.  Not from several threads at a time. */
enum tb_status chat_model_constrain(struct chat_model *m, const struct grammar *g,
				    struct constraint **out, struct tb_err *err) TB_MUST_USE;

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
	GEN_MSG_TOKEN,	/* struct gen_token, behind its text; where gen_opts.top asks */
	GEN_MSG_THINKING,	/* a piece of what is thought before the answer */
};
typedef void gen_text_fn(void *arg, const char *text, size_t len);

/* Guesses what comes next, so that several tokens are evaluated in one pass; what is generated
 * is the same as without.  It learns: one belongs to one session, for all that it says. */
struct guesser;
enum guess_how {
	GUESS_WORTH,	/* where it pays */
	GUESS_ALWAYS,	/* as many as there are, for tests */
	GUESS_NEVER,	/* there is no guesser: NULL */
};
/* context as for the session of m; the guesser goes before m does. */
enum tb_status guesser_new(struct guesser **out, struct chat_model *m, enum guess_how how,
			   uint32_t context, struct tb_err *err) TB_MUST_USE;
void guesser_free(struct guesser *g);

struct gen_figures {
	uint32_t prompt_tokens;		/* evaluated before the first token */
	uint32_t reused_tokens;		/* found in the KV cache instead */
	uint32_t tokens;		/* generated */
	uint32_t forced;		/* of those: not chosen, a grammar wanted them */
	uint32_t guessed, right;	/* tokens evaluated as guesses, and those that were right */
	double prefill_seconds, decode_seconds;
	double first_token_seconds;	/* from the call to the first token */
	uint32_t context_used, context;
	uint64_t peak_rss;		/* bytes, of this process */
};
double gen_prefill_rate(const struct gen_figures *f);	/* tokens a second; 0 = not measured */
double gen_decode_rate(const struct gen_figures *f);

/* A token that was chosen and what else was likely there: natural logarithms of what the model
 * says, before a penalty, a temperature or a grammar. */
#define GEN_TOP 10
struct gen_alternative {
	uint32_t id;
	float logprob;
};
struct gen_token {
	uint32_t id;
	float logprob;
	size_t begin, end;		/* bytes of the answer's text; where that is no UTF-8, or a
					 * character is not whole, about there */
	unsigned ntop;			/* 0: nobody asked the model, a grammar wanted it */
	struct gen_alternative top[GEN_TOP];	/* best first */
};

struct gen_opts {
	struct sampler_opts sampler;
	uint32_t max_tokens;		/* 0 = until the context is full */
	bool ignore_eos;
	bool specials;			/* show what control tokens are called */
	bool begins;			/* the text begins here: no blank before its first word */
	const char *const *stops;	/* borrowed */
	size_t nstops;
	struct guesser *guesser;	/* borrowed; NULL: token by token */
	bool apart;			/* the last tokens of a prompt are rows as those that follow
					 * are, so that all of a long piece goes without logits */
	struct constraint *constraint;	/* borrowed; NULL: any text */
	const char *said;		/* text of the answer that is in the prompt; NULL: none */
	const char *behind;		/* behind this it is constrained alone: what ends thinking;
					 * NULL: all of it */
	unsigned top;			/* that many alternatives of each token; <= GEN_TOP */
	gen_text_fn *text;		/* NULL: messages to the job */
	void *text_arg;
};

struct gen_result {
	char *text;			/* owned, UTF-8; free with gen_result_free() */
	struct token_ids ids;		/* generated, without the end token */
	struct gen_token *tokens;	/* owned; one an id where alternatives were asked for, or NULL */
	enum gen_stop stop;
	struct gen_figures figures;
	/* What was read by more than SESSION_ROWS at once, in order; all else by few. */
	struct gen_portion { uint32_t at, n; } *portions;	/* owned */
	size_t nportions;
};
void gen_result_free(struct gen_result *r);

/* Makes the session hold `prompt` (what it has in common with `held`, the ids that
 * are in its cache now, is not evaluated again), then generates.  held may be
 * NULL; afterwards it lists what the cache holds.  A cancelled run is TB_OK with
 * stop == GEN_CANCELLED. */
enum tb_status generate(struct chat_model *m, struct session *s, struct token_ids *held,
			const struct token_ids *prompt, const struct gen_opts *opts,
			struct tb_job *job, struct gen_result *out, struct tb_err *err) TB_MUST_USE;

/* The same step by step, for whoever evaluates several texts in one pass: ask for rows,
 * evaluate them (session_eval(), session_eval_batch()), hand on the logits, until no more
 * come or something fails; then end it, whatever happened.  What is borrowed is borrowed
 * until then; `result` is filled at the end. */
struct gen;
struct gen_rows {
	const uint32_t *ids;	/* at the session's position; valid until gen_take() */
	size_t n;
	bool all;		/* logits of all of them are asked for, not of the last alone */
};
/* After a failure nothing is to be ended. */
enum tb_status gen_begin(struct gen **out, struct chat_model *m, struct session *s,
			 struct token_ids *held, const struct token_ids *prompt,
			 const struct gen_opts *opts, struct tb_job *job,
			 struct gen_result *result, struct tb_err *err) TB_MUST_USE;
/* What comes next is a piece of the prompt, or another long one, of which only the last logits
 * are asked for, or, `apart`, none: not for session_eval_batch(). */
bool gen_reads(const struct gen *g);
/* At most `most` (> 0) rows; of one that does not read, at most SESSION_ROWS with guesses.
 * TB_ECANCEL when the job is cancelled. */
enum tb_status gen_rows(struct gen *g, size_t most, struct gen_rows *out, struct tb_err *err)
	TB_MUST_USE;
/* Those rows were evaluated; seconds: how long it took where no other rows were there, else 0. */
enum tb_status gen_take(struct gen *g, const float *logits, double seconds, bool *more,
			struct tb_err *err) TB_MUST_USE;
/* status: why it ends before its time, else TB_OK. Frees g. */
enum tb_status gen_end(struct gen *g, enum tb_status status, struct tb_err *err) TB_MUST_USE;

/* Of a prompt so many tokens are read at once. */
#define READ_STEP 512

/* What is the same for the same weights, wherever they lie. */
enum tb_status chat_model_mark(const struct chat_model *m, char mark[TB_DIGEST_MAX],
			       struct tb_err *err) TB_MUST_USE;

/* Keeps what the session holds (`held`, see generate()) in a file that its user alone can read;
 * what was there is replaced. */
enum tb_status kv_file_save(const struct chat_model *m, struct session *s,
			    const struct token_ids *held, const char *path, struct tb_job *job,
			    struct tb_err *err) TB_MUST_USE;
/* And back into a session of the same model.  TB_ENOENT: nothing was kept there.  Else the
 * session is empty after a failure, which says what differs. */
enum tb_status kv_file_load(const struct chat_model *m, struct session *s, struct token_ids *held,
			    const char *path, struct tb_job *job, struct tb_err *err) TB_MUST_USE;

struct score_top {
	uint32_t id;
	double logit, logprob;
};

struct score_logits {
	struct token_ids prompt;	/* owned */
	struct score_top *top;		/* owned; best first */
	size_t n;
};
void score_logits_free(struct score_logits *l);
/* The k most likely tokens behind `text`. */
enum tb_status score_logits(struct chat_model *m, const char *text, size_t len, size_t k,
			    struct tb_job *job, struct score_logits *out, struct tb_err *err)
	TB_MUST_USE;

struct score_perplexity {
	uint64_t tokens;	/* that were scored */
	double nll;		/* mean, natural logarithm */
	double perplexity, seconds;
};
/* A text longer than the context is cut into windows that do not overlap, each with
 * the beginning-of-text token before it. */
enum tb_status score_perplexity(struct chat_model *m, const char *text, size_t len,
				struct tb_job *job, struct score_perplexity *out,
				struct tb_err *err) TB_MUST_USE;

/* What two models think of a text, token by token. */
struct score_pair_token {
	uint32_t id, first[2];		/* the token; what each finds likeliest there */
	double logprob[2];		/* of the token */
	double kl;			/* Kullback-Leibler, of the first's shares from the second's */
};
struct score_pair {
	struct score_pair_token *token;	/* owned */
	size_t n, cap;
	size_t same;			/* tokens where both find the same likeliest */
	double kl, kl_most;		/* the mean, and the largest */
	double nll[2];			/* means, natural logarithm */
};
void score_pair_free(struct score_pair *p);
/* Both read the text as the first one's tokens; those from byte `from` on are compared.  Longer
 * than a context: see score_perplexity().  TB_EUSAGE: their vocabularies differ. */
enum tb_status score_pair(struct chat_model *a, struct chat_model *b, const char *text, size_t len,
			  size_t from, struct tb_job *job, struct score_pair *out,
			  struct tb_err *err) TB_MUST_USE;
#endif
