/* tensor.h - what the parts of the Tensor screen share; for its own files. */
#ifndef TBTUI_UI_TENSOR_H
#define TBTUI_UI_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/ops/inspect/inspect.h"
#include "ui/draw.h"
#include "ui/opened.h"
#include "ui/view.h"

enum { PANE_FACTS, PANE_HEAT, PANE_VALUES, PANE_BYTES, PANE_COUNT = PANE_BYTES + INSPECT_PARTS };

/* A window into something large that scrolls: what is wanted, what is there. */
struct grid {
	uint64_t rows, cols;		/* the whole */
	uint64_t row, col;		/* what the screen starts with */
	unsigned show_rows, show_cols;	/* what fits, as last drawn */
	struct inspect_window have;	/* what `data` holds */
	void *data;			/* owned: floats or bytes; NULL = nothing yet */
	uint64_t cur;			/* bytes: where the cursor is */
	struct block *block;		/* bytes: the one under it; owned, NULL: none (yet) */
	uint64_t asked;			/* its number, as asked for */
	bool loading;
	char error[256];
};

/* The map: what is wanted (a window, and cells for the screen), asked for, there. */
struct heat_view {
	uint64_t all_rows, all_cols;
	struct heat_request want, asked, have;	/* window and cells only */
	struct heat map;		/* owned */
	struct ui_job *job;		/* borrowed until it is done */
	bool max;			/* the largest value of a cell, not the mean */
	char error[256];
};

struct tensor_view {
	char *name;		/* owned */
	char *blob;		/* owned; the file that … */
	uint64_t byte;		/* … this byte to begin with is in; NULL: there is none */
	struct opened *o;	/* NULL until opened */
	const struct tensor *t;	/* of o->m */
	unsigned pane;
	char error[512];	/* why there is no t */
	struct inspect_result *result;	/* owned; NULL until computed */
	const struct ui_job *computing;	/* borrowed until it is done */
	char result_error[512];
	bool log_scale;
	struct heat_view heat;
	struct grid values, bytes[INSPECT_PARTS];
};

/* tensor_facts.c */
void facts_draw(struct area a, const struct tensor_view *s);
/* Statistics and histogram, on a worker; again: not those that are kept. */
void facts_compute(struct view *v, bool again);

/* tensor_heat.c */
void heat_view_init(struct tensor_view *s);
void heat_view_free(struct tensor_view *s);
void heat_draw(struct view *v, struct area a);
bool heat_act(struct tensor_view *s, enum action a);
void heat_place(const struct tensor_view *s, struct tb_buf *out);
void heat_leave(struct tensor_view *s);		/* what is being read is not wanted now */

/* tensor_grid.c */
void grid_init(struct tensor_view *s);
void grid_free(struct tensor_view *s);
/* Draws what is there of the pane and has a worker fetch what is not. */
void grid_draw(struct view *v, struct area a);
bool grid_act(struct tensor_view *s, enum action a);
/* tensor_bytes.c: how many rows of bytes there are beside the block under the cursor, and
 * which block it is */
unsigned bytes_rows(const struct tensor_view *s, struct area a);
uint64_t bytes_block(const struct tensor_view *s, const struct grid *g);
void bytes_draw(struct area a, const struct tensor_view *s, const struct grid *g);
/* Shows the byte that it was opened for, if it is one of the tensor's. */
void bytes_open_at(struct tensor_view *s);
void bytes_follow(struct grid *g);	/* the cursor stays in sight */
bool bytes_act(const struct tensor_view *s, struct grid *g, enum action a);

/* Where the pane is: "row 12 of 512". */
void grid_place(const struct tensor_view *s, struct tb_buf *out);
#endif
