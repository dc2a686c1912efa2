/* tree.h - the tensors of a model as a tree by dotted name, read from the index
 * branch by branch as they are opened. */
#ifndef TBTUI_UI_TREE_H
#define TBTUI_UI_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "db/tensors.h"

struct node {
	struct db_branch b;	/* strings borrowed from the parent's `children` */
	struct node *parent;	/* NULL at the top */
	unsigned depth;
	bool open;
	struct db_branches children;	/* rows as read; empty until opened */
	struct node *child;	/* children.n of them; owned */
	uint64_t largest;	/* bytes of the largest child */
};

struct tree {
	struct db *db;		/* borrowed */
	int64_t model;
	struct node top;	/* above all; never shown */
	struct node **row;	/* what shows; owned */
	size_t nrows, cap;
};

/* Reads the top and opens the branches that hold most of the tensors. */
enum tb_status tree_init(struct tree *t, struct db *db, int64_t model, struct tb_err *err)
	TB_MUST_USE;
void tree_free(struct tree *t);
/* Opens or closes a branch; leaves stay as they are. */
enum tb_status tree_toggle(struct tree *t, struct node *n, bool open, struct tb_err *err)
	TB_MUST_USE;
/* Row of a node that shows; nrows if it does not. */
size_t tree_row(const struct tree *t, const struct node *n);
#endif
