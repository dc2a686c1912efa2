#include "config.h"

#include "src/ops/places/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/blob.h"
#include "db/write.h"
#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"
#include "src/store/journal.h"

#define X(id, word) [id] = word,
static const char *const from_words[] = { PLACE_FROM_LIST(X) };
static const char *const state_words[] = { PLACE_STATE_LIST(X) };
#undef X

const char *
place_from_word(enum place_from f)
{
	return from_words[f];
}

const char *
place_state_word(enum place_state s)
{
	return state_words[s];
}

/* What the disk says; PLACE_NEW: there are files. */
static enum place_state
look_at_place(const char *path)
{
	struct stat st;
	bool empty;

	if (stat(path, &st))
		return errno == ENOENT || errno == ENOTDIR ? PLACE_ABSENT : PLACE_UNREADABLE;
	if (S_ISREG(st.st_mode))	/* "tbtui FILE": one model */
		return PLACE_NEW;
	if (!S_ISDIR(st.st_mode) || tb_dir_empty(path, &empty, NULL))
		return PLACE_UNREADABLE;
	return empty ? PLACE_EMPTY : PLACE_NEW;
}

/* Bytes that are free when the quarantine is emptied. */
static uint64_t
held_in(const char *path)
{
	uint64_t *numbers = NULL, sum = 0;
	size_t n = 0;

	if (journal_list(path, &numbers, &n, NULL))
		return 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t things, bytes = 0;
		struct journal j = { 0 };

		if (!journal_read(&j, path, numbers[i], NULL) &&
		    !journal_held(&j, &things, &bytes, NULL))
			sum += bytes;
		journal_free(&j);
	}
	free(numbers);
	return sum;
}

static enum tb_status
place_row(struct places *out, struct db *db, const char *path, enum place_from from,
	  struct tb_err *err)
{
	const struct store_roots one = { .path = (char *[]){ (char *)path }, .n = 1 };
	struct db_totals t = { 0 };
	struct place *p;

	if (!tb_grow(&out->rows, &out->cap, out->n + 1, sizeof(*out->rows)))
		return tb_nomem(err);
	p = &out->rows[out->n];
	*p = (struct place){ .path = tb_strdup(path), .from = from, .state = look_at_place(path) };
	if (!p->path)
		return tb_nomem(err);
	out->n++;
	p->held = held_in(path);
	if (db && !db_totals(db, &one, &t, NULL)) {
		p->models = t.models;
		p->bytes = t.bytes;
		p->shared = t.shared_bytes;
		p->orphans = t.orphan_bytes;
		p->left = t.left_bytes;
		p->scanned_ns = t.scanned_ns;
	}
	if (p->state == PLACE_NEW && p->scanned_ns)
		p->state = p->models ? PLACE_INDEXED : PLACE_NO_MODELS;
	return TB_OK;
}

enum tb_status
op_places(const struct op_ctx *ctx, bool all, struct places *out, struct tb_err *err)
{
	struct store_roots usual = { 0 };
	struct db *db = NULL;
	enum tb_status status = db_open_read(&db, ctx->db_path, err);

	*out = (struct places){ 0 };
	for (size_t i = 0; i < ctx->roots.n && !status; i++)
		status = place_row(out, db, ctx->roots.path[i],
			     ctx->roots.given ? PLACE_GIVEN
			     : i < ctx->nconfig ? PLACE_CONFIG
			     : i < ctx->nconfig + ctx->nusual ? PLACE_USUAL : PLACE_SCANNED, err);
	if (!status && all && !ctx->roots.given)	/* those that are absent, too */
		status = store_usual(&usual, err);
	for (size_t i = 0; i < usual.n && !status; i++)
		if (store_roots_find(&ctx->roots, usual.path[i]) == ctx->roots.n)
			status = place_row(out, NULL, usual.path[i], PLACE_USUAL, err);
	store_roots_free(&usual);
	db_close(db);
	if (status)
		places_free(out);
	return status;
}

void
places_free(struct places *p)
{
	while (p->n)
		free(p->rows[--p->n].path);
	free(p->rows);
	*p = (struct places){ 0 };
}

/* As people write it. */
static void
put_path(struct tb_buf *out, const char *path, size_t cols)
{
	const char *home = getenv("HOME");
	size_t len = home ? strlen(home) : 0;
	bool inside = len > 1 && !strncmp(path, home, len) && path[len] == '/';
	char *shown = tb_asprintf("%s%s", inside ? "~" : "", inside ? path + len : path);

	if (shown)
		tb_text_middle(out, shown, cols, true);
	free(shown);
}

void
places_explain(const struct op_ctx *ctx, bool screen, struct tb_buf *out)
{
	struct places p;
	size_t wide = 0;
	bool fresh = false;

	if (op_places(ctx, true, &p, NULL))
		return;
	tb_buf_str(out, "Looked for models in:\n");
	for (size_t i = 0; i < p.n; i++) {
		size_t w = tb_width(p.rows[i].path);

		wide = w > wide ? w : wide;
		fresh |= p.rows[i].state == PLACE_NEW;
	}
	for (size_t i = 0; i < p.n; i++) {
		tb_buf_str(out, "  ");
		put_path(out, p.rows[i].path, wide < 52 ? wide : 52);
		tb_buf_printf(out, "  %s\n", place_state_word(p.rows[i].state));
	}
	tb_buf_chr(out, '\n');
	if (fresh)
		tb_buf_printf(out, "%-20s  indexes what is there\n", screen ? "R" : "tbtui scan");
	tb_buf_printf(out, "%-20s  loads a model from a registry\n", screen ? "p" : "tbtui pull NAME");
	tb_buf_str(out, "tbtui stores add DIR  adds a folder of yours; tbtui DIR shows it\n"
		   "tbtui demo            makes a small store to try things on\n");
	places_free(&p);
}

/* ---- adding and removing ---- */

/* In full; a trailing slash is nobody's name. */
static char *
place_path(const char *dir)
{
	char *path = realpath(dir, NULL), *cwd = NULL;
	size_t n;

	if (!path && *dir == '/')
		path = tb_strdup(dir);
	else if (!path && (cwd = realpath(".", NULL)))
		path = tb_path_join(cwd, dir);
	free(cwd);
	n = path ? strlen(path) : 0;
	while (n > 1 && path[n - 1] == '/')
		path[--n] = 0;
	return path;
}

enum tb_status
place_add(const struct op_ctx *ctx, const char *dir, bool *known, struct tb_err *err)
{
	char *path = place_path(dir);
	enum tb_status status = TB_OK;
	size_t at;

	*known = false;
	if (!path)
		return tb_nomem(err);
	if (!tb_is_dir(path))
		status = tb_fail(err, TB_ENOENT, "%s: there is no such folder", dir);
	at = store_roots_find(&ctx->roots, path);
	*known = at < ctx->nconfig + ctx->nusual;
	if (!status && !*known)
		status = config_add_store(&ctx->config, path, err);
	free(path);
	return status;
}

static enum tb_status
forget(const struct op_ctx *ctx, const char *path, bool *found, uint64_t *models,
       struct tb_err *err)
{
	struct store_roots one = { .path = (char *[]){ (char *)path }, .n = 1 };
	struct db_totals t = { 0 };
	struct db_lines roots = { 0 };
	struct db *db = NULL;
	int64_t id;
	enum tb_status status = db_open_write(&db, ctx->db_path, err);

	if (!status)
		status = db_roots(db, &roots, err);
	for (size_t i = 0; i < roots.n && !status && !*found; i++)
		*found = !strcmp(roots.rows[i], path);
	if (!status && *found)
		status = db_totals(db, &one, &t, err);
	if (!status && *found)
		status = db_unseal(db, err);
	if (!status && *found)
		status = db_begin(db, err);
	if (!status && *found) {
		status = db_root(db, path, &id, err);
		if (!status)
			status = db_drop_root(db, id, err);
		status = db_end(db, status, err);
		if (!status)
			db_settle(db);
	}
	*models = t.models;
	tb_arena_free(&roots.mem);
	db_close(db);
	return status;
}

static enum tb_status
not_known(const struct op_ctx *ctx, const char *dir, struct tb_err *err)
{
	struct tb_near near = { .word = dir };
	char hint[300];

	for (size_t i = 0; i < ctx->roots.n; i++)
		tb_near_try(&near, ctx->roots.path[i]);
	tb_near_text(&near, hint, sizeof(hint));
	return tb_fail(err, TB_ENOENT, "%.150s is none of the stores%s", dir,
		       *hint ? hint : "; \"tbtui stores\" lists them");
}

enum tb_status
place_remove(const struct op_ctx *ctx, const char *dir, uint64_t *models, struct tb_err *err)
{
	char *path = place_path(dir);
	bool configured = false, indexed = false;
	enum tb_status status;
	size_t at;

	*models = 0;
	if (!path)
		return tb_nomem(err);
	at = store_roots_find(&ctx->roots, path);
	if (at >= ctx->nconfig && at < ctx->nconfig + ctx->nusual) {
		status = tb_fail(err, TB_EUSAGE, "%s is one of the usual places: it is looked into as"
				 " long as it is there", path);
	} else {
		const char *name = at < ctx->roots.n ? ctx->roots.path[at] : path;

		status = config_drop_store(&ctx->config, name, &configured, err);
		if (!status && tb_exists(ctx->db_path))
			status = forget(ctx, name, &indexed, models, err);
		if (!status && !configured && !indexed)
			status = not_known(ctx, dir, err);
	}
	free(path);
	return status;
}
