/* markdown_block.h - a block while md4c reads it; for markdown_block.c and
 * markdown_table.c alone. */
#ifndef TBTUI_FACE_MARKDOWN_BLOCK_H
#define TBTUI_FACE_MARKDOWN_BLOCK_H

#include "src/face/markdown_rows.h"

#define DEPTH 16	/* of quotes, lists and items that are shown */

enum in_kind { IN_QUOTE, IN_LIST, IN_ORDERED, IN_ITEM };

struct container {
	enum in_kind kind;
	unsigned number;	/* of the next item */
	bool tight;		/* no empty rows between items */
	bool marked;		/* the item's mark was shown */
	char mark[24];
	int width;		/* columns of it */
};

struct cell { size_t text, len, run, width; unsigned align; };

struct table_made {
	bool on;
	size_t cols;
	struct spans cells;	/* the text of all, one behind the other */
	struct cell *cell;	/* owned */
	size_t n, cap;
};

struct mblock {
	struct mrow_made *r;
	struct spans line;	/* what has come and is not in rows yet */
	struct spans prefix;
	int prefix_cols;
	struct container in[DEPTH];
	unsigned depth;		/* may be more than that */
	unsigned strong, em, code, head;
	bool verbatim;		/* in a block of code */
	bool gap;		/* an empty row comes before whatever comes next */
	unsigned gap_depth;	/* in what it stands */
	size_t link;		/* where the text of the link begins */
	size_t calls;		/* that md4c may still make */
	struct table_made table;
};

void mblock_put_wrapped(struct mblock *b, const struct spans *s);

void mtable_begin(struct mblock *b, size_t cols);
void mtable_cell(struct mblock *b, unsigned align);	/* takes b->line */
void mtable_end(struct mblock *b);
void mtable_free(struct mblock *b);
/* Goes over `n` bytes of runs. */
void mspan_skip(const struct spans *s, size_t n, size_t *run, size_t *off);
/* The row's prefix, and the row has begun. */
void mblock_put_prefix(struct mblock *b);
#endif
