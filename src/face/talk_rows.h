/* talk_rows.h - inside src/face: the commands of a conversation, a row each. */
#ifndef TBTUI_FACE_TALK_ROWS_H
#define TBTUI_FACE_TALK_ROWS_H

#include "src/face/talk.h"

/* What Tab offers behind the name; words of the row come first. */
enum talk_argument {
	TALK_ARG_NONE, TALK_ARG_FILE, TALK_ARG_MODEL, TALK_ARG_SETTING, TALK_ARG_COMMAND
};

/* c->rest is what follows the name.  Fills did and say, and whatever else comes of it. */
typedef enum tb_status talk_fn(struct talk_call *c, struct tb_job *job, struct tb_err *err);

struct talk_row {
	const char *name, *args, *help;
	talk_fn *run;
	bool quick;			/* changes and reads what is the face's alone */
	enum talk_argument argument;
	const char *words;		/* separated by blanks; NULL: none */
};
extern const struct talk_row talk_rows[];
extern const size_t talk_nrows;

/* Cuts the next word off. */
char *talk_word(char **rest);
enum tb_status talk_refuse(struct talk_call *c, const char *fmt, ...) TB_PRINTF(2, 3);

talk_fn talk_run_set, talk_run_system, talk_run_show, talk_run_clear, talk_run_regen, talk_run_edit,
	talk_run_undo, talk_run_redo, talk_run_other, talk_run_model, talk_run_load, talk_run_read,
	talk_run_copy, talk_run_tokens, talk_run_help, talk_run_sessions, talk_run_save,
	talk_run_fork, talk_run_export, talk_run_template, talk_run_think, talk_run_tools,
	talk_run_result,
	talk_run_format;

/* Another model answers from now on. */
enum tb_status talk_change_model(struct talk_call *c, const char *ref, struct tb_job *job,
				 struct tb_err *err) TB_MUST_USE;
/* Goes on with a kept session: its number, or "last". */
enum tb_status talk_load_session(struct talk_call *c, const char *name, struct tb_job *job,
				 struct tb_err *err) TB_MUST_USE;
/* With ~/ in full; the caller frees, NULL: no memory. */
char *talk_path(const char *path);

/* "/set format json" and "/set noformat" are /format. */
void talk_set_format(struct talk_call *c);
/* "temperature", "system", "verbose", …; NULL behind the last. */
const char *talk_setting(size_t i);
/* All parameters as they are, a line each. */
void talk_settings_show(const struct chat_opts *o, struct tb_buf *out);
/* What differs from the usual was set before the conversation began. */
void talk_note_sets(struct talk *t, const struct chat_opts *usual);
/* After another model: what its person had set. */
void talk_set_again(struct talk *t);
#endif
