/* tensors.c - lists of tensors: of a model, of all models, and as a tree. */
#include "config.h"

#include "db/private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#define COLUMNS "t.model, t.ord, n.name, s.name, t.dtype, t.shape, t.elems, t.bytes, t.off, f.path"
#define FILES "LEFT JOIN model_files mf ON mf.model = t.model AND mf.ord = t.file " \
	"LEFT JOIN files f ON f.id = mf.file"
#define JOINS "tensors t JOIN names n ON n.id = t.name JOIN schemes s ON s.id = t.scheme " \
	FILES

static const struct db_sort sorts[] = {
	{ "name", "t.ord", false },
	{ "dtype", "t.dtype", false },
	{ "shape", "t.shape COLLATE tb_natural", true },
	{ "scheme", "s.name", false },
	{ "params", "t.elems", true },
	{ "size", "t.bytes", true },
	{ "offset", "t.file, t.off", false },
	{ NULL, NULL, false }
};

/* "4096,11008" */
static void
read_shape(struct db_tensor *t, const char *text)
{
	for (t->ndim = 0; *text && t->ndim < TB_MAX_DIMS; text += *text == ',') {
		char *end;

		t->dim[t->ndim++] = strtoull(text, &end, 10);
		if (end == text)
			break;
		text = end;
	}
}

/* Bytes are blocks of a type of their own, which is the scheme, or U8, which is as well. */
static const char *
dtype_word(int64_t dtype, const char *scheme)
{
	if (dtype == DT_U8)
		return scheme;
	return dtype >= 0 && dtype < DT_COUNT ? dtype_name((enum dtype)dtype) : "?";
}

static void
read_row(struct db_rows *r, struct db_tensor *t)
{

	*t = (struct db_tensor){
		.model = rows_i64(r, 0), .ord = (uint64_t)rows_i64(r, 1),
		.name = rows_text(r, 2), .scheme = rows_text(r, 3),
		.dtype = dtype_word(rows_i64(r, 4), rows_text(r, 3)),
		.elems = (uint64_t)rows_i64(r, 6), .bytes = (uint64_t)rows_i64(r, 7),
		.off = (uint64_t)rows_i64(r, 8), .file = rows_text(r, 9), .model_name = "",
	};
	read_shape(t, rows_text(r, 5));
}

static enum tb_status
read_all(struct db_rows *r, struct db_tensors *out, bool with_model)
{
	size_t cap = 0;

	while (rows_next(r)) {
		struct db_tensor *more = rows_push(r, out->rows, &out->n, &cap,
						   sizeof(*out->rows));

		if (!more)
			continue;
		out->rows = more;
		read_row(r, &out->rows[out->n - 1]);
		if (with_model)
			out->rows[out->n - 1].model_name = rows_text(r, 10);
	}
	if (rows_end(r))
		*out = (struct db_tensors){ 0 };
	return r->status;
}

enum tb_status
db_tensors(struct db *db, int64_t model, const struct db_query *q, struct db_tensors *out,
	   struct tb_err *err)
{
	const struct db_list list = {
		.columns = COLUMNS, .from = JOINS, .where = "t.model = ?", .filter = "n.name",
		.tie = "t.ord", .sort = sorts, .has_arg = true, .arg = model,
	};
	struct db_rows r;
	enum tb_status status;

	*out = (struct db_tensors){ 0 };
	status = db_list_open(&r, db, &list, q, &out->mem, &out->total, err);
	return status ? status : read_all(&r, out, false);
}

/* ---- over all models ---- */

static const struct db_sort search_sorts[] = {
	{ "name", "n.name COLLATE tb_natural", false },
	{ "model", "m.name COLLATE tb_natural", false },
	{ "size", "t.bytes", true },
	{ NULL, NULL, false }
};

/* SQL text of a string literal. */
static void
quote(struct tb_buf *out, const char *s, size_t len)
{
	tb_buf_chr(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\'')
			tb_buf_chr(out, '\'');
		tb_buf_chr(out, s[i]);
	}
	tb_buf_chr(out, '\'');
}

/* The trigram index answers LIKE for words of three characters and more.  LIKE reads
 * _ and % as wildcards, so it may find too much, and tb_match() has the last word. */
static void
where_words(struct tb_buf *sql, const char *text)
{
	tb_buf_str(sql, "1");
	while (*text) {
		size_t len;
		struct tb_buf like = TB_BUF(4096);

		text += strspn(text, " \t");
		len = strcspn(text, " \t");
		if (!len)
			break;
		tb_buf_chr(&like, '%');
		tb_buf_add(&like, text, len);
		tb_buf_chr(&like, '%');
		if (len >= 3 && !memchr(text, '*', len) && !memchr(text, '?', len) &&
		    !memchr(text, '[', len)) {
			tb_buf_str(sql, " AND n.id IN (SELECT rowid FROM names_fts WHERE name LIKE ");
			quote(sql, tb_buf_cstr(&like), like.len);
			tb_buf_chr(sql, ')');
		}
		tb_buf_free(&like);
		tb_buf_str(sql, " AND tb_match(");
		quote(sql, text, len);
		tb_buf_str(sql, ", n.name)");
		text += len;
	}
}

enum tb_status
db_search(struct db *db, const struct db_query *q, struct db_tensors *out, struct tb_err *err)
{
	struct tb_buf where = TB_BUF(32768);
	struct db_query window = *q;
	/* Names first: CROSS JOIN keeps the planner from reading all tensors. */
	struct db_list list = {
		.columns = COLUMNS ", m.name", .from = "names n CROSS JOIN tensors t ON t.name = n.id "
		"JOIN models m ON m.id = t.model JOIN roots r ON r.id = m.root "
		"JOIN schemes s ON s.id = t.scheme " FILES, .root = "r.path",
		.tie = "t.model, t.ord", .sort = search_sorts,
	};
	struct db_rows r;
	enum tb_status status = TB_OK;

	*out = (struct db_tensors){ 0 };
	window.filter = NULL;
	where_words(&where, q->filter ? q->filter : "");
	list.where = tb_buf_cstr(&where);
	if (tb_buf_failed(&where))
		status = tb_fail(err, TB_ELIMIT, "the text to search for is too long");
	if (!status)
		status = db_list_open(&r, db, &list, &window, &out->mem, &out->total, err);
	tb_buf_free(&where);
	return status ? status : read_all(&r, out, true);
}

/* ---- the tree ---- */

struct tree {
	struct db_rows *r;
	struct db_branches *out;
	size_t cap, prefix;		/* bytes of the parent's path and its dot */
};

static struct db_branch *
new_branch(struct tree *t, const char *name, size_t len, bool leaf)
{
	struct db_branches *out = t->out;
	struct db_branch *more = rows_push(t->r, out->rows, &out->n, &t->cap, sizeof(*more));
	struct db_branch *b;

	if (!more)
		return NULL;
	out->rows = more;
	b = &out->rows[out->n - 1];
	*b = (struct db_branch){ .leaf = leaf, .first = (uint64_t)rows_i64(t->r, 0) };
	b->path = mem_text(t->r->mem, name, len);
	if (!b->path) {
		t->r->failed = true;
		b->path = "";
	}
	b->label = strlen(b->path) >= t->prefix ? b->path + t->prefix : b->path;
	b->scheme = rows_text(t->r, 4);
	return b;
}

/* Natural order keeps what shares a component together, so only the last row can be
 * the one to add to. */
static void
add(struct tree *t)
{
	const char *name = (const char *)sqlite3_column_text(t->r->st, 1);
	size_t len = name ? strlen(name) : 0;
	const char *dot = len > t->prefix ? strchr(name + t->prefix, '.') : NULL;
	struct db_branch *b = t->out->n ? &t->out->rows[t->out->n - 1] : NULL;

	if (!name)
		return;
	if (dot)
		len = (size_t)(dot - name);
	if (!b || b->leaf || !dot || strlen(b->path) != len || memcmp(b->path, name, len))
		b = new_branch(t, name, len, !dot);
	if (!b)
		return;
	b->count++;
	b->elems += (uint64_t)rows_i64(t->r, 2);
	b->bytes += (uint64_t)rows_i64(t->r, 3);
	if (strcmp(b->scheme, (const char *)sqlite3_column_text(t->r->st, 4)))
		b->scheme = "";
}

enum tb_status
db_children(struct db *db, int64_t model, const struct db_branch *parent,
	    struct db_branches *out, struct tb_err *err)
{
	struct db_rows r;
	struct tree t = { .r = &r, .out = out, .prefix = parent ? strlen(parent->path) + 1 : 0 };
	int64_t first = parent ? (int64_t)parent->first : 0;
	int64_t end = parent ? first + (int64_t)parent->count : INT64_MAX;

	*out = (struct db_branches){ 0 };
	rows_open(&r, db, &out->mem, true, err,
		  "SELECT t.ord, n.name, t.elems, t.bytes, s.name FROM tensors t "
		  "JOIN names n ON n.id = t.name JOIN schemes s ON s.id = t.scheme "
		  "WHERE t.model = ? AND t.ord >= ? AND t.ord < ? ORDER BY t.ord", "iii",
		  model, first, end);
	while (rows_next(&r))
		add(&t);
	if (rows_end(&r))
		*out = (struct db_branches){ 0 };
	out->total = out->n;
	return r.status;
}
