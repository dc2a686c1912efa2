/* loop.h - the state of the screens and what turns around it.  For the frame's own
 * files; a screen sees view.h only. */
#ifndef TBTUI_UI_LOOP_H
#define TBTUI_UI_LOOP_H

#include <stdbool.h>

#include "src/base/err.h"
#include "ui/paste.h"
#include "ui/view.h"

struct ui {
	struct op_ctx *ctx;	/* borrowed */
	struct db *db;
	unsigned index;		/* counts its changes */
	struct view *top, *dead;	/* dead: closed, freed after the key */
	struct away *away;	/* models that are looked at where they lie; owned */
	struct view *kept;	/* left, but they wait to be opened again; the last one first */
	struct paste paste;
	struct jobs jobs;
	int wake[2];
	bool quit, test, idle_asked, drawn_asked;
	char message[512];	/* "" = none; until the next key */
	enum role message_role;
	char filter_was[LIST_FILTER_MAX];	/* while another one is typed */
	char question[1500];	/* with what may answer it; "" = none */
	struct view *asker;
	void (*yes)(struct view *v);
	/* of view_ask_about(): owned until it is answered */
	struct { void (*yes)(struct view *v, void *arg); void (*forget)(void *arg); void *arg; } about;
};

struct view_row {
	const struct view_ops *ops;
	const char *title;
	char tab;
};
extern const struct view_row view_rows[VIEW_COUNT];

/* Waits for keys and jobs until it is time to quit. */
void loop_run(struct ui *ui);

/* view.c */
void ui_open(struct ui *ui, enum view_id id, const struct view_arg *arg);
void ui_close_all(struct ui *ui);
void ui_bury(struct ui *ui);		/* frees what was closed */
void ui_answer(struct ui *ui, bool yes);	/* of the question, which is over */
void ui_refresh(struct ui *ui);		/* the index has changed: all screens count again */
bool ui_subject_of(struct view *v, struct view_arg *out);
void ui_act(struct ui *ui, enum action a);	/* the top screen first, then the frame */
bool ui_can(const struct ui *ui, enum action a);	/* worth a place in the key line? */
void ui_say(struct ui *ui, enum role role, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A screen with something to lose, and what it asks; or NULL. */
const struct view *ui_loses(const struct ui *ui, const char **question);
struct pager *ui_pager(struct view *v);
void ui_filter(struct ui *ui, const char *text);
void ui_sort(struct ui *ui, unsigned column, bool reverse);

/* frame.c */
void frame_draw(struct ui *ui);
/* The tab at column x of line 1, VIEW_COUNT if none. */
enum view_id frame_tab_at(const struct ui *ui, int x);
bool frame_has_tabs(void);

/* command.c */
void command_prompt(struct ui *ui);
#endif
