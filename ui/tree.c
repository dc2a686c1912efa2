#include "config.h"

#include "ui/tree.h"

#include <stdlib.h>

#include "src/base/mem.h"

static void
node_free(struct node *n)
{
	for (size_t i = 0; n->child && i < n->children.n; i++)
		node_free(&n->child[i]);
	free(n->child);
	tb_arena_free(&n->children.mem);
}

static enum tb_status
node_load(struct tree *t, struct node *n, struct tb_err *err)
{
	if (n->child)
		return TB_OK;
	if (db_children(t->db, t->model, n == &t->top ? NULL : &n->b, &n->children, err))
		return err->code;
	n->child = tb_calloc(n->children.n, sizeof(*n->child));
	if (!n->child) {
		tb_arena_free(&n->children.mem);
		n->children = (struct db_branches){ 0 };
		return tb_nomem(err);
	}
	for (size_t i = 0; i < n->children.n; i++) {
		n->child[i] = (struct node){
			.b = n->children.rows[i], .parent = n == &t->top ? NULL : n,
			.depth = n == &t->top ? 0 : n->depth + 1,
		};
		/* A branch with one tensor is that tensor, with a longer label. */
		if (n->child[i].b.count == 1)
			n->child[i].b.leaf = true;
		if (n->child[i].b.bytes > n->largest)
			n->largest = n->child[i].b.bytes;
	}
	return TB_OK;
}

/* Depth is the number of dots in a name: bounded by its length. */
static bool
add_rows(struct tree *t, struct node *n)
{
	for (size_t i = 0; i < n->children.n; i++) {
		struct node *c = &n->child[i];

		if (!tb_grow(&t->row, &t->cap, t->nrows + 1, sizeof(*t->row)))
			return false;
		t->row[t->nrows++] = c;
		if (c->open && !add_rows(t, c))
			return false;
	}
	return true;
}

static enum tb_status
lay_out(struct tree *t, struct tb_err *err)
{
	t->nrows = 0;
	return add_rows(t, &t->top) ? TB_OK : tb_nomem(err);
}

/* The branch that holds more than half of what is below n, NULL if none does. */
static struct node *
most(struct node *n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n->children.n; i++)
		all += n->child[i].b.count;
	for (size_t i = 0; i < n->children.n; i++)
		if (n->child[i].b.count > all / 2 && !n->child[i].b.leaf)
			return &n->child[i];
	return NULL;
}

enum tb_status
tree_init(struct tree *t, struct db *db, int64_t model, struct tb_err *err)
{
	*t = (struct tree){ .db = db, .model = model };
	for (struct node *n = &t->top; n; n = most(n)) {
		if (node_load(t, n, err)) {
			tree_free(t);
			return err->code;
		}
		n->open = true;
	}
	return lay_out(t, err);
}

void
tree_free(struct tree *t)
{
	node_free(&t->top);
	free(t->row);
	*t = (struct tree){ 0 };
}

enum tb_status
tree_toggle(struct tree *t, struct node *n, bool open, struct tb_err *err)
{
	if (n->b.leaf || n->open == open)
		return TB_OK;
	if (open && node_load(t, n, err))
		return err->code;
	n->open = open;
	return lay_out(t, err);
}

size_t
tree_row(const struct tree *t, const struct node *n)
{
	size_t i = 0;

	while (i < t->nrows && t->row[i] != n)
		i++;
	return i;
}
