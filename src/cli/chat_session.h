/* chat_session.h - which kept session "chat" goes on with. */
#ifndef TBTUI_CLI_CHAT_SESSION_H
#define TBTUI_CLI_CHAT_SESSION_H

#include "src/cli/run_model.h"

struct talk;
struct chat_opts;

struct chat_session {
	const char *which;	/* "last", "new", a number; NULL: not said */
	bool none;
};
#define CHAT_SESSION_OPTIONS(s) \
	{ 0, "session", TB_OPT_STR, &(s).which, "N|last|new", "go on with a kept session (without REF " \
	  "with its model), or begin one; with -p keep it" }, \
	{ 0, "no-keep", TB_OPT_FLAG, &(s).none, NULL, "keep nothing of what is said" }

/* The model that answered in it. Caller frees. */
enum tb_status chat_session_ref(const struct chat_session *s, const struct cli *cli, char **ref,
				struct tb_err *err) TB_MUST_USE;
/* What the options say of how answers are made. */
enum tb_status chat_sampling_apply(const struct run_sampling *s, struct chat_opts *o,
				   uint32_t *context, struct tb_err *err) TB_MUST_USE;
/* What is said from now on is kept, unless it is one question (prompt) and no session was
 * named.  What was asked for here counts more than what was set then; what was said last is
 * shown. */
enum tb_status chat_session_begin(const struct chat_session *s, const struct cli *cli,
				  struct talk *t, const struct run_sampling *sampling,
				  const char *system, const char *prompt, struct tb_err *err)
	TB_MUST_USE;
/* The end of the conversation: going on with it will begin at once. */
enum tb_status chat_session_end(const struct cli *cli, struct talk *t, struct tb_err *err)
	TB_MUST_USE;
#endif
