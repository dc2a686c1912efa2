/* chat.h - a conversation: what was said, and somebody who answers.
 *
 * What was said is a tree of turns, of which nothing is ever overwritten; the conversation as
 * it stands is the path from its beginning to its leaf.  Every answer hands the path to the
 * speaker.  A turn is called by its id, which it keeps for as long as there is the chat.
 *
 * One call at a time; chat_path() and chat_number() alone may come from any thread while another
 * runs. */
#ifndef TBTUI_OPS_CHAT_H
#define TBTUI_OPS_CHAT_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/ops/run/run.h"
#include "src/text/chat_template.h"

struct tb_job;
struct chat;
struct speaker;
struct chat_answer;

#define CHAT_STOPS 16
#define CHAT_STOPS_MAX 256	/* bytes of all of them, each with a NUL */
struct chat_opts {
	struct sampler_opts sampler;
	const char *system;	/* borrowed for the call; NULL or "" = none */
	uint32_t context;	/* positions; 0 = the model's own */
	uint32_t max_tokens;	/* an answer; 0 = until the context is full */
	unsigned top;		/* alternatives of each token: GEN_MSG_TOKEN, gen_result.tokens */
	const char *think;	/* "off", "on", "low", "medium", "high", "max": static; NULL: as the
				 * model does by itself */
	enum guess_how guess;	/* fixed when a speaker is made */
	enum kv_type kv;	/* KV_USUAL: as the model was opened */
	char stops[CHAT_STOPS_MAX];	/* texts that end an answer, besides the model's own: one
					 * behind the other, the last is empty */
};
/* The model's own wishes over our defaults, and a fresh seed. */
void chat_opts_init(struct chat_opts *o, const struct chat_model *m);

/* One of them by the name people know it by ("temperature", "top_p", "min_p", "top_k",
 * "repeat_penalty", "repeat_last_n", "num_predict", "seed", "kv", "think", "stop"); false: no such
 * name or value.  "stop" takes several, each a word or in quotes, where \n, \t, \" and \\ are as in
 * JSON; "" alone: none. */
bool chat_opts_set(struct chat_opts *o, const char *name, const char *value);
/* As chat_opts_set() takes it; "" for what is usual.  false: no such name. */
#define CHAT_OPT_MAX (2 * CHAT_STOPS_MAX + 3 * CHAT_STOPS)
bool chat_opts_get(const struct chat_opts *o, const char *name, char value[CHAT_OPT_MAX]);
const char *chat_opts_name(size_t i);		/* NULL: there are no more */
/* One more text that ends an answer.  TB_EUSAGE: it is empty, or there is no room for it. */
enum tb_status chat_opts_add_stop(struct chat_opts *o, const char *text, struct tb_err *err)
	TB_MUST_USE;
/* All of them, borrowed; how many they are. */
size_t chat_opts_stops(const struct chat_opts *o, const char *stops[CHAT_STOPS]);
/* All of them into an object, as strings; and back, as far as they are known here and can be. */
void chat_opts_put(const struct chat_opts *o, cJSON *object);
void chat_opts_take(struct chat_opts *o, const cJSON *object);

/* ---- who answers ---- */

/* A model that is open here, which is borrowed and must outlive the speaker.  Fails when its
 * chat template cannot be used, with the reason.  Without any, messages are text that is
 * continued: the model has a note about it. */
enum tb_status speaker_local_new(struct speaker **out, struct chat_model *m,
				 const struct chat_opts *opts, struct tb_err *err) TB_MUST_USE;
/* Is REF somebody elsewhere, http(s)://HOST[:PORT]/v1#MODEL? */
bool speaker_is_remote(const char *ref);
/* Asks there first, so it blocks.  *opts: the server's own wishes, which are values of options
 * that no one sees: NAN, UINT32_MAX, UINT64_MAX for the seed. */
enum tb_status speaker_remote_new(struct speaker **out, const char *url, struct chat_opts *opts,
				  struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* What a person should know of one that is elsewhere; "": nothing. */
const char *speaker_note(const struct speaker *s);
void speaker_free(struct speaker *s);		/* NULL is fine */
const char *speaker_name(const struct speaker *s);
/* Its answer to these messages, of which no chat keeps anything; the pieces go to the job. */
enum tb_status speaker_answer(struct speaker *s, const struct chat_message *messages, size_t n,
			      const struct chat_opts *opts, struct tb_job *job,
			      struct chat_answer *out, struct tb_err *err) TB_MUST_USE;

/* ---- a chat ---- */

/* Takes the speaker, also when it fails. */
enum tb_status chat_begin(struct chat **out, struct speaker *s, const struct chat_opts *opts,
			 struct tb_err *err) TB_MUST_USE;
/* With a model that is open here: see speaker_local_new(). */
enum tb_status chat_new(struct chat **out, struct chat_model *m, const struct chat_opts *opts,
			struct tb_err *err) TB_MUST_USE;
void chat_free(struct chat *c);
/* Another one answers from now on; the one before is freed.  Takes s, also when it fails, and
 * then all is as before. */
enum tb_status chat_change_speaker(struct chat *c, struct speaker *s, const struct chat_opts *opts,
				   struct tb_err *err) TB_MUST_USE;
const struct speaker *chat_speaker(const struct chat *c);
/* From the next answer on.  o->context 0: as it is; with another one all is read again. */
enum tb_status chat_configure(struct chat *c, const struct chat_opts *o, struct tb_err *err)
	TB_MUST_USE;

/* Answers are what the grammar allows from now on; it is taken, also after a failure.  NULL:
 * anything.  name: what people know it by.  A server elsewhere is told, if it can be. */
struct grammar;
enum tb_status chat_constrain(struct chat *c, struct grammar *g, const char *name,
			      struct tb_err *err) TB_MUST_USE;
const char *chat_constrained(const struct chat *c);	/* its name; NULL: they are not */

/* Keeps what was evaluated so far in a file; and takes it up before the first answer, so that
 * what begins with the same text need not be evaluated again (kv_file_load()).  Nothing where
 * the speaker is elsewhere. */
enum tb_status chat_keep(struct chat *c, const char *path, struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;
enum tb_status chat_take_up(struct chat *c, const char *path, struct tb_job *job,
			    struct tb_err *err) TB_MUST_USE;

/* ---- kept in chats.db (db/chats.h) ---- */

/* From the next message on all of it is kept beside the index at this path: turns when they are
 * finished, an answer on its way every second.  Nothing is written before there is a message. */
enum tb_status chat_keep_in(struct chat *c, const char *index_path, struct tb_err *err) TB_MUST_USE;
bool chat_is_kept(const struct chat *c);
int64_t chat_number(const struct chat *c);	/* 0: nothing is kept yet */
const char *chat_title(const struct chat *c);	/* "": none yet; until the next call */
/* What there is to say about keeping it, once: "" or a sentence. Borrowed until the next call. */
const char *chat_notice(struct chat *c);
/* Goes on with session `id` (0: the last one): turns, options, system message, what answers have
 * to look like, tools.  Of a chat in which nothing was said yet and that is kept.  *o is what the options are now; o->system is borrowed
 * until they change.  One that is open elsewhere becomes a copy as soon as something is said. */
enum tb_status chat_resume(struct chat *c, int64_t id, struct chat_opts *o, struct tb_err *err)
	TB_MUST_USE;
/* A session of its own, which begins with the path up to `turn` (0: all of it), and is `c` from
 * now on; the one before stays as it is. */
enum tb_status chat_fork(struct chat *c, uint64_t turn, struct tb_err *err) TB_MUST_USE;
/* Before it is freed: keeps what the speaker has read beside the index, so that going on begins at
 * once.  All that is kept there takes at most so many bytes: the oldest goes.  A cache: nothing is
 * said differently without it. */
enum tb_status chat_park(struct chat *c, uint64_t max_bytes, struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;
enum tb_status chat_rename(struct chat *c, const char *title, struct tb_err *err) TB_MUST_USE;

/* A kept session as a text for people (roles as headings, the path alone), or as a JSON object with
 * all of its turns ("tree") and the path as OpenAI has messages ("messages"). */
enum chat_format { CHAT_MARKDOWN, CHAT_JSON };
struct db_chat;
struct db_turns;
void chat_export(const struct db_chat *chat, const struct db_turns *turns, enum chat_format as,
		 struct tb_buf *out);
/* Deletes what is in the trash for good. *n sessions. */
enum tb_status chat_empty_trash(const char *index_path, size_t *n, struct tb_err *err) TB_MUST_USE;
/* A session of such a JSON text (also a mere list of messages, or an object with "messages"). */
enum tb_status chat_import(const char *index_path, const char *json, size_t len, int64_t *number,
			   struct tb_err *err) TB_MUST_USE;

/* ---- what was said ---- */

struct chat_turn {
	uint64_t id;			/* > 0 */
	struct chat_message said;
	const char *model;		/* who said it; "": the person */
	unsigned place, of;		/* the 2nd of 3 answers to the same, counted from 1 */
	bool finished;			/* false: it broke off, with the program or the line */
	bool left_out;			/* the speaker had no room for it any more */
	enum gen_stop stop;		/* of an answer */
	struct gen_figures figures;
	int64_t created_ns;
};
struct chat_path {
	struct chat_turn *turns;	/* from the beginning to the leaf, without the system's */
	size_t n;
	const char *system;		/* "": none */
	uint64_t unanswered;		/* what was asked last, and nothing came: see chat_again() */
	struct tb_arena mem;		/* all texts are copies in it */
};
enum tb_status chat_path(struct chat *c, struct chat_path *out, struct tb_err *err) TB_MUST_USE;
void chat_path_free(struct chat_path *p);

/* Tools that may be called, as JSON: a list of { "type": "function", "function": { "name",
 * "description", "parameters" } }; NULL: none.  Nothing is ever run here: a call is part of the
 * answer, and what came of it is said by chat_say_message() with role "tool". */
enum tb_status chat_set_tools(struct chat *c, const char *json, struct tb_err *err) TB_MUST_USE;
const cJSON *chat_tools(const struct chat *c);		/* borrowed; NULL: none */
/* The path as its speaker writes it out for the model, appended. TB_EUNSUP: it is elsewhere, and
 * nobody knows. */
enum tb_status chat_rendered(struct chat *c, struct tb_buf *out, struct tb_err *err) TB_MUST_USE;

/* The path as messages; the system's and those of the model's own (MESSAGE of a Modelfile) come
 * first.  Valid until the next call. */
const struct chat_message *chat_messages(struct chat *c, size_t *n);

/* ---- saying something ---- */

/* A piece of the answer as it comes, whole characters: GEN_MSG_TEXT or GEN_MSG_THINKING. */
typedef void chat_piece_fn(void *arg, enum gen_msg kind, const char *text, size_t len);

struct chat_answer {
	struct gen_result gen;		/* gen.text is the answer, without what was thought */
	char *thinking, *tool_calls;	/* as those of struct chat_message; owned; NULL: none */
	size_t left_out;		/* turns at the beginning that there was no room for … */
	uint32_t dropped;		/* … and those that there still was the last time */
	uint64_t turn;			/* the answer's; 0: nothing came */
	char note[256];			/* why it could not be kept, once; or "" */
};
void chat_answer_free(struct chat_answer *a);

/* Who gets the answer as it comes: pieces go to `fn`, or with fn == NULL are posted to `job`
 * (see enum gen_msg).  All block: the UI runs them on a worker.
 *
 * After tb_job_cancel() the partial answer is kept and this is TB_OK.  If nothing came yet, or
 * it failed, the path is that of before, and what was asked waits: chat_again() with turn 0
 * asks it again. */
enum tb_status chat_say(struct chat *c, const char *text, chat_piece_fn *fn, void *arg,
			struct tb_job *job, struct chat_answer *out, struct tb_err *err) TB_MUST_USE;
/* It is said, and not answered yet: one of several results of tools. */
enum tb_status chat_tell(struct chat *c, const struct chat_message *m, struct tb_err *err)
	TB_MUST_USE;
/* What a tool gave: m->role "tool". */
enum tb_status chat_say_message(struct chat *c, const struct chat_message *m, chat_piece_fn *fn,
				void *arg, struct tb_job *job, struct chat_answer *out,
				struct tb_err *err) TB_MUST_USE;
/* Another answer to what this turn answers, or to this turn of the person's; 0: to what was
 * asked last.  The one that is there stays, as its sibling. */
enum tb_status chat_again(struct chat *c, uint64_t turn, chat_piece_fn *fn, void *arg,
			  struct tb_job *job, struct chat_answer *out, struct tb_err *err) TB_MUST_USE;
/* The person's turn (0: the last one) said otherwise, and answered.  What there was stays, as
 * its sibling. */
enum tb_status chat_edit(struct chat *c, uint64_t turn, const char *text, chat_piece_fn *fn,
			 void *arg, struct tb_job *job, struct chat_answer *out,
			 struct tb_err *err) TB_MUST_USE;
/* Another answer beside this one (0: the last one), that begins with these tokens, or this
 * text (the other is NULL). */
enum tb_status chat_continue(struct chat *c, uint64_t turn, const struct token_ids *ids,
			     const char *text, chat_piece_fn *fn, void *arg, struct tb_job *job,
			     struct chat_answer *out, struct tb_err *err) TB_MUST_USE;

/* ---- moving in the tree ---- */

/* Back to before what the person said last; *said (may be NULL) is a copy of it, to be freed.
 * TB_ENOENT: nothing was said. */
enum tb_status chat_undo(struct chat *c, char **said, struct tb_err *err) TB_MUST_USE;
/* Forward again, to what was said last below the leaf. TB_ENOENT: there is nothing. */
enum tb_status chat_redo(struct chat *c, struct tb_err *err) TB_MUST_USE;
/* The path goes through the sibling that stands `by` places after this turn (0: the last), and
 * on to what was said last behind it.  TB_ENOENT: there is none. */
enum tb_status chat_choose(struct chat *c, uint64_t turn, int by, struct tb_err *err) TB_MUST_USE;
/* A conversation of its own begins with what is said next, with the same options; the one before
 * is kept, if any was. */
void chat_clear(struct chat *c);

/* What a token of its speaker's answers is as text (GEN_MSG_TOKEN, gen_result.tokens), appended as
 * its bytes are; false: it is none.  Any thread. */
bool chat_token_text(struct chat *c, uint32_t id, struct tb_buf *out);
/* How many tokens the path, and `more` said after it (NULL: nothing), are for the speaker.
 * TB_EUNSUP: it cannot say. */
enum tb_status chat_count(struct chat *c, const char *more, uint64_t *tokens, struct tb_err *err)
	TB_MUST_USE;
#endif
