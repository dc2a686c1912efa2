#include "config.h"

#include "db/chats.h"
#include "db/stmt.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define CHAT_COLUMNS(settings) "c.id, c.title, c.named, c.model, c.ref, c.weights, c.system, " \
	settings ", c.leaf, c.turns, c.from_chat, c.from_turn, c.created_ns, c.updated_ns, c.removed_ns"

/* ---- reading ---- */

static void
read_chat(struct db_rows *r, void *row)
{
	struct db_chat *c = row;

	c->id = rows_i64(r, 0);
	c->title = rows_text(r, 1);
	c->named = rows_i64(r, 2);
	c->model = rows_text(r, 3);
	c->ref = rows_text(r, 4);
	c->weights = rows_text(r, 5);
	c->system = rows_text(r, 6);
	c->settings = rows_text(r, 7);
	c->leaf = rows_i64(r, 8);
	c->turns = rows_u64(r, 9);
	c->from_chat = rows_i64(r, 10);
	c->from_turn = rows_i64(r, 11);
	c->created_ns = rows_i64(r, 12);
	c->updated_ns = rows_i64(r, 13);
	c->removed_ns = rows_i64(r, 14);
	c->hit = rows_i64(r, 15);
	c->snippet = rows_text(r, 16);
}

/* Words as FTS5 has them: each is quoted, whatever it is, and may go on. */
static enum tb_status
fts_words(const char *words, struct tb_buf *out, struct tb_err *err)
{
	const char *p = words;

	while (*(p += strspn(p, " \t\n"))) {
		size_t len = strcspn(p, " \t\n");

		tb_buf_str(out, "\"");
		for (size_t i = 0; i < len; i++)
			tb_buf_str(out, p[i] == '"' ? "\"\"" : (const char[]){ p[i], 0 });
		tb_buf_str(out, "\"* ");
		p += len;
	}
	return tb_buf_status(out, "the words to be searched for", err);
}

static enum tb_status
search(struct db *db, const struct db_chats_query *q, struct db_chats *out, struct tb_err *err)
{
	struct tb_buf words = TB_BUF(1 << 20);
	enum tb_status status = fts_words(q->words, &words, err);

	if (!status && !words.len)	/* blanks */
		tb_buf_str(&words, "\"\"");
	if (!status)
		status = rows_select(db, ROWS(out, read_chat), err,
			"WITH hit AS (SELECT t.chat, max(t.id) AS id FROM words JOIN turns t "
			"  ON t.id = words.rowid WHERE words MATCH ?1 GROUP BY t.chat) "
			"SELECT " CHAT_COLUMNS("''") ", coalesce(t.n, 0), (SELECT snippet(words, 0, "
			"  char(1), char(2), '…', 16) FROM words WHERE words MATCH ?1 AND rowid = hit.id) "
			"FROM chats c LEFT JOIN hit ON hit.chat = c.id LEFT JOIN turns t ON t.id = hit.id "
			"WHERE (hit.id IS NOT NULL OR tb_match(?2, c.title)) AND (c.removed_ns > 0) = ?3 "
			"ORDER BY c.updated_ns DESC, c.id DESC", "ssi", tb_buf_cstr(&words), q->words,
			(int64_t)q->trash);
	tb_buf_free(&words);
	return status;
}

enum tb_status
db_chats_list(struct db *db, const struct db_chats_query *q, struct db_chats *out,
	      struct tb_err *err)
{
	*out = (struct db_chats){ 0 };
	if (q->words && *q->words)
		return search(db, q, out, err);
	return rows_select(db, ROWS(out, read_chat), err, "SELECT " CHAT_COLUMNS("''") ", 0, '' FROM chats c "
			   "WHERE (c.removed_ns > 0) = ? ORDER BY c.updated_ns DESC, c.id DESC", "i",
			   (int64_t)q->trash);
}

enum tb_status
db_chats_get(struct db *db, int64_t id, struct db_chats *out, struct tb_err *err)
{
	*out = (struct db_chats){ 0 };
	return rows_select(db, ROWS(out, read_chat), err, "SELECT " CHAT_COLUMNS("c.settings") ", 0, '' "
			   "FROM chats c WHERE c.id = ?", "i", id);
}

enum tb_status
db_chats_last(struct db *db, int64_t *id, struct tb_err *err)
{
	return db_value(db, id, 0, err, "SELECT id FROM chats WHERE removed_ns = 0 "
			"ORDER BY updated_ns DESC, id DESC LIMIT 1", "");
}

/* NULL for null. */
static const char *
text_or_null(struct db_rows *r, int col)
{
	return sqlite3_column_type(r->st, col) == SQLITE_NULL ? NULL : rows_text(r, col);
}

static void
read_turn(struct db_rows *r, void *row)
{
	struct db_turn *t = row;

	t->n = rows_i64(r, 0);
	t->parent = rows_i64(r, 1);
	t->role = rows_text(r, 2);
	t->content = rows_text(r, 3);
	t->thinking = text_or_null(r, 4);
	t->tool_calls = text_or_null(r, 5);
	t->tool_name = text_or_null(r, 6);
	t->tool_call_id = text_or_null(r, 7);
	t->model = text_or_null(r, 8);
	t->stop = rows_text(r, 9);
	t->figures = rows_text(r, 10);
	t->finished = rows_i64(r, 11);
	t->created_ns = rows_i64(r, 12);
}

enum tb_status
db_chats_turns(struct db *db, int64_t id, struct db_turns *out, struct tb_err *err)
{
	*out = (struct db_turns){ 0 };
	return rows_select(db, ROWS(out, read_turn), err, "SELECT n, parent, role, content, thinking, "
			   "tool_calls, tool_name, tool_call_id, model, stop, figures, finished, "
			   "created_ns FROM turns WHERE chat = ? ORDER BY n", "i", id);
}

enum tb_status
db_chats_reading(struct db *db, int64_t chat, void **data, size_t *len, struct tb_err *err)
{
	struct db_rows r;

	*data = NULL;
	*len = 0;
	rows_open(&r, db, NULL, true, err, "SELECT reading FROM readings WHERE chat = ?", "i", chat);
	while (rows_next(&r)) {
		const void *bytes = sqlite3_column_blob(r.st, 0);
		size_t n = (size_t)sqlite3_column_bytes(r.st, 0);

		if (!bytes || *data || !(*data = malloc(n)))
			continue;
		memcpy(*data, bytes, n);
		*len = n;
	}
	return rows_end(&r);
}

/* ---- writing ---- */

static enum tb_status
insert_chat(struct db *db, struct db_chat *c, struct tb_err *err)
{
	int64_t now = tb_now_ns();
	enum tb_status status;

	status = db_exec(db, err, "INSERT INTO chats(title, named, model, ref, weights, system, "
			 "settings, leaf, turns, from_chat, from_turn, created_ns, updated_ns) "
			 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "sisssssiiiiii", c->title,
			 (int64_t)c->named, c->model, c->ref, c->weights, c->system, c->settings,
			 c->leaf, (int64_t)c->turns, c->from_chat, c->from_turn,
			 c->created_ns ? c->created_ns : now, now);
	if (!status)
		c->id = sqlite3_last_insert_rowid(db->sql);
	return status;
}

enum tb_status
db_chats_put(struct db *db, struct db_chat *c, struct tb_err *err)
{
	if (!c->id)
		return insert_chat(db, c, err);
	return db_exec(db, err, "UPDATE chats SET title = CASE WHEN named AND NOT ?1 THEN title ELSE ?2 "
		       "END, named = named OR ?1, model = ?3, ref = ?4, weights = ?5, system = ?6, "
		       "settings = ?7, leaf = ?8, turns = ?9, updated_ns = ?10, removed_ns = 0 "
		       "WHERE id = ?11", "issssssiiii", (int64_t)c->named, c->title, c->model, c->ref,
		       c->weights, c->system, c->settings, c->leaf, (int64_t)c->turns, tb_now_ns(),
		       c->id);
}

enum tb_status
db_chats_put_turn(struct db *db, int64_t chat, const struct db_turn *t, struct tb_err *err)
{
	enum tb_status status;

	status = db_exec(db, err, "INSERT INTO turns(chat, n, parent, role, content, thinking, tool_calls,"
			 " tool_name, tool_call_id, model, stop, figures, finished, created_ns) "
			 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
			 "ON CONFLICT (chat, n) DO UPDATE SET parent = excluded.parent, "
			 "role = excluded.role, content = excluded.content, "
			 "thinking = excluded.thinking, tool_calls = excluded.tool_calls, "
			 "tool_name = excluded.tool_name, tool_call_id = excluded.tool_call_id, "
			 "model = excluded.model, stop = excluded.stop, figures = excluded.figures, "
			 "finished = excluded.finished WHERE NOT turns.finished", "iiisssssssssii", chat,
			 t->n, t->parent, t->role, t->content, t->thinking, t->tool_calls, t->tool_name,
			 t->tool_call_id, t->model, t->stop, t->figures, (int64_t)t->finished,
			 t->created_ns);
	if (!status && !sqlite3_changes(db->sql))
		status = tb_fail(err, TB_EEXIST, "session %lld has another turn %lld already",
				 (long long)chat, (long long)t->n);
	return status;
}

enum tb_status
db_chats_put_reading(struct db *db, int64_t chat, const void *data, size_t len, struct tb_err *err)
{
	if (!len)
		return db_exec(db, err, "DELETE FROM readings WHERE chat = ?", "i", chat);
	return db_exec(db, err, "INSERT OR REPLACE INTO readings VALUES (?, ?)", "ib", chat, data, len);
}

static enum tb_status
changed_one(struct db *db, enum tb_status status, int64_t id, const char *what, struct tb_err *err)
{
	if (!status && !sqlite3_changes(db->sql))
		status = tb_fail(err, TB_ENOENT, "there is no session %lld%s", (long long)id, what);
	return status;
}

enum tb_status
db_chats_rename(struct db *db, int64_t id, const char *title, struct tb_err *err)
{
	return changed_one(db, db_exec(db, err, "UPDATE chats SET title = ?, named = 1 WHERE id = ?",
				       "si", title, id), id, "", err);
}

enum tb_status
db_chats_remove(struct db *db, int64_t id, int64_t when_ns, struct tb_err *err)
{
	enum tb_status status = db_exec(db, err, "UPDATE chats SET removed_ns = ?1 WHERE id = ?2 "
					"AND (removed_ns > 0) <> (?1 > 0)", "ii", when_ns, id);

	return changed_one(db, status, id, when_ns ? "" : " in the trash", err);
}

enum tb_status
db_chats_empty(struct db *db, struct db_chats *out, struct tb_err *err)
{
	enum tb_status status = db_chats_begin(db, true, err);

	*out = (struct db_chats){ 0 };
	if (status)
		return status;
	status = db_chats_list(db, &(struct db_chats_query){ .trash = true }, out, err);
	/* not by the cascade: each turn's words go by a trigger of its own */
	if (!status)
		status = db_exec(db, err, "DELETE FROM turns WHERE chat IN "
				 "(SELECT id FROM chats WHERE removed_ns > 0)", "");
	if (!status)
		status = db_exec(db, err, "DELETE FROM chats WHERE removed_ns > 0", "");
	/* FTS5 only marks what is deleted: its words would still be read in the file */
	if (!status)
		status = db_exec(db, err, "INSERT INTO words(words) VALUES ('rebuild')", "");
	status = db_chats_end(db, status, err);
	if (!status)	/* another reader may keep the old pages for a while */
		(void)!db_run_sql(db, "PRAGMA wal_checkpoint(truncate)", NULL);
	return status;
}
