/* run_files.c - what a verify run saw: the files of a model, and the stores. */
#include "config.h"

#include "db/run_files.h"
#include "db/stmt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"

#define LINES_MAX (256u << 20)

static const struct { char letter; const char *word; } states[] = {
#define X(id, letter, word) [id] = { letter, word },
	RUN_FILE_LIST(X)
#undef X
};

const char *
run_file_word(enum run_file_state s)
{
	return states[s].word;
}

/* ---- lines ---- */

/* "h 0123… 4096 model.safetensors"; no digest is "-", a line ends where the path does. */
static void
put_line(struct tb_buf *out, const struct db_run_file *f)
{
	const char *hex = tb_starts(f->digest, "sha256:") ? f->digest + 7 : "-";

	tb_buf_printf(out, "%c %s %ju ", states[f->state].letter, hex, (uintmax_t)f->bytes);
	for (const char *s = f->path; *s; s++)
		if (*s == '\n')
			tb_buf_str(out, "\\n");
		else
			tb_buf_printf(out, *s == '\\' ? "\\\\" : "%c", *s);
	tb_buf_chr(out, '\n');
}

/* Undoes what put_line() did to a path; NULL: no memory. */
static const char *
read_path(struct tb_arena *mem, const char *s, size_t len)
{
	char *out = tb_arena_get(mem, len + 1), *p = out;

	for (size_t i = 0; out && i < len; i++) {
		bool escaped = s[i] == '\\' && i + 1 < len;

		i += escaped;
		*p++ = escaped && s[i] == 'n' ? '\n' : s[i];
	}
	return out;
}

/* false: the line is none; or no memory, which is noted in r. */
static bool
read_line(struct db_rows *r, const char *s, size_t len, struct db_run_file *out)
{
	const char *hex = s + 2, *size = memchr(hex, ' ', len > 2 ? len - 2 : 0), *path;
	char digest[TB_DIGEST_MAX] = "", *end;
	uint8_t bytes[TB_SHA256_LEN];

	*out = (struct db_run_file){ .state = RUN_FILE_COUNT };
	for (int i = 0; i < RUN_FILE_COUNT; i++)
		if (states[i].letter == *s)
			out->state = (enum run_file_state)i;
	if (out->state == RUN_FILE_COUNT || !size || s[1] != ' ')
		return false;
	if (size - hex == 64)
		snprintf(digest, sizeof(digest), "sha256:%.64s", hex);
	if (*digest ? !tb_digest_bytes(digest, bytes) : size - hex != 1 || *hex != '-')
		return false;
	out->bytes = strtoull(size + 1, &end, 10);
	path = end + 1;
	if (end == size + 1 || *end != ' ' || path > s + len)
		return false;
	out->digest = tb_arena_str(r->mem, digest);
	out->path = read_path(r->mem, path, (size_t)(s + len - path));
	r->failed |= !out->digest || !out->path;
	return out->digest && out->path;
}

enum tb_status
db_run_files_put(struct db *db, const struct db_run_file *files, size_t n, int64_t *list,
		 struct tb_err *err)
{
	struct tb_buf lines = TB_BUF(LINES_MAX);
	char digest[TB_DIGEST_MAX];
	enum tb_status status;

	*list = 0;
	for (size_t i = 0; i < n; i++)
		put_line(&lines, &files[i]);
	status = tb_buf_status(&lines, "the list of a model's files", err);
	if (!status)
		status = tb_sha256_bytes(tb_buf_cstr(&lines), lines.len, digest, err);
	if (!status)
		status = db_exec(db, err, "INSERT OR IGNORE INTO audit.file_lists(digest, lines)"
				 " VALUES (?, ?)", "ds", digest, tb_buf_cstr(&lines));
	if (!status)
		status = db_value(db, list, 0, err, "SELECT id FROM audit.file_lists WHERE digest = ?",
				  "d", digest);
	tb_buf_free(&lines);
	return status;
}

enum tb_status
db_run_files(struct db *db, int64_t list, struct db_run_files *out, struct tb_err *err)
{
	struct tb_arena mem = { 0 };
	struct db_rows r;
	size_t cap = 0;

	*out = (struct db_run_files){ 0 };
	rows_open(&r, db, &mem, true, err, "SELECT lines FROM audit.file_lists WHERE id = ?", "i",
		  list);
	while (rows_next(&r)) {
		const char *s = (const char *)sqlite3_column_text(r.st, 0), *end;

		for (; s && (end = strchr(s, '\n')); s = end + 1) {
			struct db_run_file f, *rows;

			if (!read_line(&r, s, (size_t)(end - s), &f))
				continue;
			rows = rows_push(&mem, out->rows, &out->n, &cap, sizeof(f));
			if (!rows) {
				r.failed = true;
				break;
			}
			out->rows = rows;
			rows[out->n - 1] = f;
		}
	}
	if (rows_end(&r)) {
		tb_arena_free(&mem);
		*out = (struct db_run_files){ 0 };
		return r.status;
	}
	out->total = out->n;
	out->mem = mem;
	return TB_OK;
}

/* ---- stores ---- */

static void
read_root(struct db_rows *r, void *row)
{
	*(struct db_run_root *)row = (struct db_run_root){
		.path = rows_text(r, 0), .away = rows_i64(r, 1), .orphans = rows_u64(r, 2),
		.orphan_bytes = rows_u64(r, 3), .rest = rows_u64(r, 4),
		.rest_bytes = rows_u64(r, 5), .held = rows_u64(r, 6), .held_bytes = rows_u64(r, 7),
	};
}

enum tb_status
db_run_root_put(struct db *db, int64_t run, const struct db_run_root *root, struct tb_err *err)
{
	return db_exec(db, err, "INSERT OR REPLACE INTO audit.run_roots(run, path, away, orphans,"
		       " orphan_bytes, rest, rest_bytes, held, held_bytes)"
		       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", "isiiiiiii", run, root->path,
		       (int64_t)root->away, (int64_t)root->orphans, (int64_t)root->orphan_bytes,
		       (int64_t)root->rest, (int64_t)root->rest_bytes, (int64_t)root->held,
		       (int64_t)root->held_bytes);
}

enum tb_status
db_run_roots(struct db *db, int64_t run, struct db_run_roots *out, struct tb_err *err)
{
	return rows_select(db, ROWS(out, read_root), err, "SELECT path, away, orphans, orphan_bytes,"
			   " rest, rest_bytes, held, held_bytes FROM audit.run_roots WHERE run = ?"
			   " ORDER BY path", "i", run);
}
