/* view.h - what a screen is, and what it may ask of the frame around it.
 *
 * How to add a screen:
 *   1. ui/view_NAME.c: a private state struct, static functions, and at its end
 *      const struct view_ops view_NAME = { .size = sizeof(struct NAME), … };
 *   2. a line in ui/views.def: tab, keys and Help come from it;
 *   3. its actions in ui/action.def, with IN(NAME) (a key of a screen shadows the
 *      same key of EVERYWHERE; tests/unit/test_ui_keys.c finds clashes);
 *   4. the file in ui/local.mk, a screen test tests/screens/NAME.scr.
 *
 * Rules for the code in it:
 *   - It runs on the loop's thread and must not wait: no files, no hashing, no
 *     locks held during I/O.  It may read the index (db.h, windows of rows).
 *     All else is an operation: view_job() starts it, done() brings the result.
 *   - It draws only with draw.h, table.h, pager.h and only inside its area.
 *   - State that a job fills in belongs to the job's arg until done().
 *
 * What the frame does for it: line 1, the summary line, key line and messages; for
 * a table its rows (rows.h) and all movement, "/" filter, sort, marks, mouse; for a
 * pager movement and search; Esc, q, tabs, ":" and resize.  A screen says with
 * columns, table() or pager() what the keys work on now; without them, act() gets
 * everything.  Of a screen that needs a model the frame keeps which one it is. */
#ifndef TBTUI_UI_VIEW_H
#define TBTUI_UI_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"
#include "ui/draw.h"
#include "ui/jobs.h"
#include "ui/keys.h"
#include "ui/list.h"
#include "ui/pager.h"
#include "ui/prompt.h"
#include "ui/rows.h"
#include "ui/table.h"

struct db;
struct op_ctx;
struct ui;
struct view;
typedef bool typed_fn(struct view *v, const char *text);

/* What to open a screen on; everything borrowed for the call. */
struct view_arg {
	const struct model_loc *model;	/* NULL if there is none */
	const char *tensor;
	int64_t id;		/* of a row in the index: audit run, file */
	/* What to compare it with; NULL: nothing. */
	const struct model_loc *other;
	/* The byte of that file (digest or path) to go to, which is the tensor's; NULL: none. */
	const char *blob;
	uint64_t byte;
};

struct view_ops {
	size_t size;		/* of the private state, zeroed before open() */
	bool needs_model;	/* is about one, v->loc: cannot be opened without */
	bool opens_typing;	/* what to filter by is the first thing to be asked */

	/* v->below is set. Fails with a sentence: then the screen is not opened, close() not called. */
	enum tb_status (*open)(struct view *v, const struct view_arg *arg, struct tb_err *err);
	void (*close)(struct view *v);		/* frees what state points to; may be NULL */
	/* Left by its person, should it wait as it is, jobs and all, until it is opened
	 * again on what it shows?  It needs same(). NULL: never. */
	bool (*keeps)(const struct view *v);
	/* What the end of the program would take away that somebody made here, as a sentence;
	 * NULL: nothing. */
	const char *(*loses)(const struct view *v);
	/* It was opened or raised by its key or name; may be NULL. */
	void (*entered)(struct view *v);
	/* Already shows arg: raise it as it is instead of opening it afresh. NULL: always, but
	 * a screen that needs a model only for the same one. */
	bool (*same)(const struct view *v, const struct view_arg *arg);

	/* Its table, whose columns people may choose; NULL: none. */
	const struct table *columns;
	/* What the body is now; NULL function: the table above; NULL result: neither. */
	const struct table *(*table)(const struct view *v);
	struct pager *(*pager)(struct view *v);
	/* Draws the body; NULL: the table or pager fills it. */
	void (*draw)(struct view *v, struct area a);

	/* A key or command; false: not mine, the frame does what it does. */
	bool (*act)(struct view *v, enum action a);
	/* Would act() do something now, for this row?  Decides what the key line offers;
	 * asked only about actions IN() this screen and ACT_OPEN. NULL: all. */
	bool (*can)(const struct view *v, enum action a);

	/* What the key line calls an action now; NULL: as always. */
	const char *(*word)(const struct view *v, enum action a);

	/* Filter or order of v->list changed, or the index did: forget what was read.
	 * The frame reads the table's rows again afterwards and keeps the cursor on
	 * its row.  May be NULL. */
	void (*refresh)(struct view *v);
	/* Left half, unless the rows could not be read: then it says why. May be NULL. */
	void (*summary)(struct view *v, struct tb_buf *out);
	/* Line 1, right; NULL: the model that it needs. */
	void (*where)(struct view *v, struct tb_buf *out);
	/* The key line while its prompt is open; NULL: as always. */
	const char *(*typing)(const struct view *v);
	/* The model that the screen or its row is about: what 2, z, c … open; NULL: the one
	 * that it needs. */
	bool (*subject)(struct view *v, struct view_arg *out);
};

struct view {
	const struct view_ops *ops;
	enum view_id id;
	struct ui *ui;		/* borrowed */
	struct view *below;	/* what Esc goes back to; owned by the frame */
	struct list list;	/* of the table: cursor, filter, order, marks */
	struct rows rows;	/* of the table */
	/* What it was opened on, if it needs a model; owned.  Else that of view_about(). */
	struct model_loc loc;
	void *state;		/* ops->size bytes; owned by the frame */
	struct away *away;	/* what it is about is not here: it lies in that mirror; or NULL */
	struct away *holds;	/* stays while this screen does; NULL: none (away.h) */
	double opened;		/* when: tb_monotonic() */
	const char *asks;	/* the label of what is typed, and who gets it */
	typed_fn *typed;
	void *about;		/* what is typed is for this; owned: of view_type_about() */
	void (*forget)(void *about);
	/* The i-th that Tab makes of what is typed there; NULL: nothing.  Of view_type_offers(). */
	const char *(*offers)(struct view *v, const char *word, size_t i);
};

/* What the frame offers. */
struct view *view_home(const struct view *v);	/* Models, which is always there */
struct op_ctx *view_ctx(const struct view *v);
struct db *view_db(const struct view *v);	/* read-only, the loop's own; NULL while none exists */

/* Another number each time the index has changed: what was read whole is old. */
unsigned view_index(const struct view *v);

const struct table *view_table(const struct view *v);	/* what is shown now; NULL: none */
/* For subject(): a row of the index, borrowed; false if it is NULL. */
bool view_about(struct view *v, const struct db_model *m, struct view_arg *out);
/* "12 tensors", and what the filter is: true if there is one. */
bool view_count(const struct view *v, const char *what, struct tb_buf *out);
/* Rows that a movement is worth where `height` of them are seen; 0: it is none. */
long view_rows_of(enum action a, size_t height);
bool loc_same(const struct model_loc *a, const struct model_loc *b);
/* Zeroed; NULL: there is no memory, and a message says so. */
void *view_alloc(struct view *v, size_t size);

/* Opens (or raises) a screen; a failure becomes a message. */
void view_open(struct view *v, enum view_id id, const struct view_arg *arg);
void view_back(struct view *v);			/* leaves this screen */
bool view_on_top(const struct view *v);

/* Starts an operation with v as its owner; arg is taken in every case. NULL: it was
 * not started and a message says why. */
struct ui_job *view_job(struct view *v, const struct job_ops *ops, void *arg,
			const char *title, ...) __attribute__((format(printf, 4, 5)));
/* All jobs, for Jobs. */
struct jobs *view_jobs_list(const struct view *v);

/* A line above the keys until the next key. */
void view_say(struct view *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void view_complain(struct view *v, const struct tb_err *err);
/* A line typed at the bottom: Enter gives it to done(); false: it is there again, to be
 * put right.  label: borrowed for as long. */
void view_type(struct view *v, const char *label, const char *text, typed_fn *done);
/* The same, where done() finds in v->about what the text is for, which is freed by forget(). */
void view_type_about(struct view *v, const char *label, const char *text, typed_fn *done,
		     void *about, void (*forget)(void *about));
/* What Tab offers where view_type_about() has just begun to ask. */
void view_type_offers(struct view *v, const char *(*offers)(struct view *, const char *, size_t));
/* The text in its person's editor, which has the terminal meanwhile; NULL: it stays as it
 * was, and a message says why.  The caller frees. */
char *view_edit(struct view *v, const char *text);
/* Waits for y; anything else is no. The question names what goes. */
void view_ask(struct view *v, void (*yes)(struct view *v), const char *question, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with what the answer is about: yes() takes arg, after a no forget() does. */
void view_ask_about(struct view *v, void (*yes)(struct view *v, void *arg), void *arg,
		    void (*forget)(void *arg), const char *question);
/* May a job that has ended ask something now?  Not while its screen is behind another one,
 * or somebody types, or is being asked. */
bool view_may_ask(const struct view *v);

/* The rows of the table are others now (a job brought them, a branch was opened):
 * refresh(), count, and the cursor stays on its row. */
void view_refresh(struct view *v);
/* Durations and rates are shown as "-" when the screen is compared by a test. */
bool view_steady(const struct view *v);
#endif
