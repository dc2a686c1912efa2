/* test_db_sums.c - sums that are kept, and where a finding lies. */
#include "config.h"

#include "db/sums.h"
#include "tests/unit/unit.h"

#include <sqlite3.h>
#include <stdio.h>

#include "db/audit.h"
#include "db/write.h"

static const char one[] = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
static const char two[] = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

static struct db *
open_new(const char *name)
{
	struct tb_err err;
	struct db *db;

	assert_ok(db_open_write(&db, unit_path(name), &err), err);
	return db;
}

static void
put(struct db *db, const char *digest, uint64_t size)
{
	static const uint64_t cut = 100;
	struct tb_buf packed = TB_BUF(1u << 20);
	struct tb_sums s;
	struct tb_err err;

	assert_ok(tb_sums_cut(&s, size, &cut, 1, &err), err);
	assert_ok(tb_sums_pack(&s, &packed, &err), err);
	assert_ok(db_sums_put(db, digest, packed.p, packed.len, &err), err);
	tb_buf_free(&packed);
	tb_sums_free(&s);
}

static uint64_t
size_of(struct db *db, const char *digest)
{
	struct tb_sums s;
	struct tb_err err;
	uint64_t size;
	bool known;

	assert_ok(db_sums_get(db, digest, &s, &err), err);
	assert_ok(db_sums_known(db, digest, &known, &err), err);
	assert_int_equal(known, s.n > 0);
	size = s.size;
	tb_sums_free(&s);
	return size;
}

static void
kept_while_a_file_has_them(void **state)
{
	struct db *db = open_new("kept.db");
	struct db_hash h = { .id = { 1, 2, 3, 4 }, .ok = true };
	struct tb_err err;

	(void)state;
	memcpy(h.digest, one, sizeof(one));
	assert_ok(db_hash_put(db, "/a", &h, &err), err);
	put(db, one, 5000);
	put(db, two, 7000);
	put(db, two, 9000);
	assert_int_equal(size_of(db, one), 5000);
	assert_int_equal(size_of(db, two), 9000);
	assert_ok(db_sums_drop(db, one, &err), err);
	assert_ok(db_sums_drop(db, two, &err), err);
	assert_int_equal(size_of(db, one), 5000);
	assert_int_equal(size_of(db, two), 0);
	db_close(db);
	db = open_new("kept.db");
	assert_int_equal(size_of(db, one), 5000);
	db_close(db);
}

/* Somebody wrote into the file: what is no sums is none. */
static void
odd_rows_are_none(void **state)
{
	static const char *const odd[] = {
		"x'00'", "x''", "'text'", "-1", "zeroblob(100000)", "1e300",
		"x'ffffffffffffffff7f01050000000000000000'",
	};
	struct tb_sums s;
	struct tb_err err;
	bool known;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct db *db = open_new("odd.db");
		sqlite3 *sql;
		char text[256];

		put(db, one, 5000);
		db_close(db);
		snprintf(text, sizeof(text), "UPDATE sums SET pieces = %s", odd[i]);
		assert_int_equal(sqlite3_open(unit_path("odd.db.audits.db"), &sql), SQLITE_OK);
		assert_int_equal(sqlite3_exec(sql, text, NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_changes(sql), 1);
		sqlite3_close(sql);
		assert_ok(db_open_read(&db, unit_path("odd.db"), &err), err);
		assert_ok(db_sums_get(db, one, &s, &err), err);
		assert_int_equal(s.n, 0);
		assert_null(s.sum);
		assert_ok(db_sums_known(db, one, &known, &err), err);
		assert_true(known);
		db_close(db);
	}
}

static void
findings_say_where(void **state)
{
	struct db *db = open_new("where.db");
	const struct db_run run = { .started_ns = 1, .scope = "" };
	struct db_finding f[] = {
		{ .severity = SEV_ERROR, .code = "digest_mismatch", .model = "m", .tensor = "t",
		  .has_offset = true, .offset = 7, .has_bytes = true, .bytes = 9,
		  .rows = "rows 1 to 2", .message = "a" },
		{ .severity = SEV_WARNING, .code = "nonfinite", .model = "m", .has_offset = true,
		  .offset = 8, .message = "b" },
		{ .severity = SEV_NOTE, .code = "orphan", .model = "m", .message = "c" },
	};
	struct db_findings out;
	struct tb_err err;
	int64_t id;

	(void)state;
	assert_ok(db_run_start(db, &run, &id, &err), err);
	for (size_t i = 0; i < 3; i++) {
		f[i].run = id;
		assert_ok(db_finding_add(db, &f[i], &err), err);
	}
	assert_ok(db_findings(db, id, NULL, &out, &err), err);
	assert_int_equal(out.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(out.rows[i].message, f[i].message);
		assert_int_equal(out.rows[i].has_offset, f[i].has_offset);
		assert_int_equal(out.rows[i].offset, f[i].offset);
		assert_int_equal(out.rows[i].has_bytes, f[i].has_bytes);
		assert_int_equal(out.rows[i].bytes, f[i].bytes);
		assert_string_equal(out.rows[i].rows, f[i].rows ? f[i].rows : "");
	}
	tb_arena_free(&out.mem);
	db_close(db);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_while_a_file_has_them),
		cmocka_unit_test(odd_rows_are_none),
		cmocka_unit_test(findings_say_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
