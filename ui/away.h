/* away.h - models that are looked into where they lie, at a registry or a hub.
 *
 * Such a model has a mirror, and an index of its own in it, so that the screens of one model
 * work on it as they do on others: view_ctx() and view_db() of a screen about it are the
 * mirror's.  What writes, or would read all of it, is refused. */
#ifndef TBTUI_UI_AWAY_H
#define TBTUI_UI_AWAY_H

#include <stdbool.h>

#include "src/base/err.h"
#include "src/ops/home/home.h"
#include "src/ops/look/look.h"
#include "ui/keys.h"

struct db;
struct tb_job;
struct ui;
struct view;

struct away {
	struct away *next;		/* of the screens' list */
	struct look *look;		/* owned */
	struct op_ctx ctx;		/* another's: index and roots are this one's, owned; the rest
					 * is borrowed */
	struct db *db;			/* read-only, the loop's; owned; NULL: not shown yet */
};

/* Reads the headers and makes the index: on a worker.  *out NULL after a failure. */
enum tb_status away_new(struct away **out, struct op_ctx *ctx, const struct look_request *req,
			struct tb_job *job, struct tb_err *err) TB_MUST_USE;
void away_free(struct away *a);		/* NULL is fine; who reads of it has ended */

/* It is the screens' from then on, and stays while that one is open, or others show it. */
void away_keep(struct view *v, struct away *a);
/* Opens the Model screen on one that is kept. */
void away_open(struct view *v, struct away *a);
/* That in whose mirror the model lies; NULL: it is here, as most are. */
struct away *away_of(const struct ui *ui, const struct model_loc *loc);
#define AWAY_REFUSED "That needs the model itself, and it is not here yet: p, then Enter, loads it."
/* Can the screen show a model that is not here? */
bool away_can_open(enum view_id id);
/* Can that be done with it? */
bool away_can(enum action a);
/* Those that nobody shows go, unless jobs may still read of them. */
void away_sweep(struct ui *ui);
void away_free_all(struct ui *ui);
#endif
