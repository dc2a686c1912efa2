#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "db/audit.h"
#include "db/blob.h"
#include "db/run_files.h"
#include "db/stmt.h"
#include "db/tensors.h"
#include "db/usage.h"
#include "db/write.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "tests/unit/db_fake.h"

static void
test_absent(void **state)
{
	char *path = fake_path("absent");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_runs runs;
	struct db *db;

	(void)state;
	assert_ok(db_open_read(&db, path, &err), err);
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.n, 0);
	assert_ok(db_runs(db, NULL, &runs, &err), err);
	assert_int_equal(runs.total, 0);
	assert_string_equal(db_notice(db), "");
	assert_false(tb_exists(path));
	assert_false(db_changed(db));
	db_close(db);
	free(path);
}

static void
test_rows(void **state)
{
	char *path = fake_path("rows");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_blobs blobs;
	struct db_totals totals;
	struct fake a, b;
	struct db *w, *r;

	(void)state;
	assert_ok(db_open_read(&r, path, &err), err);
	assert_ok(db_open_write(&w, path, &err), err);
	fake_model(&a, "a10", 100);
	fake_model(&b, "a9", 200);
	fake_put(w, &a, 1);
	fake_put(w, &b, 2);
	fake_finish(w);
	assert_true(db_changed(r));		/* the file has appeared */
	assert_ok(db_models(r, NULL, &models, &err), err);
	assert_int_equal(models.n, 2);
	assert_string_equal(models.rows[0].name, "a9");	/* natural order */
	assert_int_equal(models.rows[0].bytes, 1320);
	assert_int_equal(models.rows[0].exclusive, 320);
	assert_int_equal(models.rows[0].state, DB_NEVER);
	tb_arena_free(&models.mem);
	assert_ok(db_blobs(r, DB_BLOBS_SHARED, NULL, &blobs, &err), err);
	assert_int_equal(blobs.n, 1);
	assert_string_equal(blobs.rows[0].digest, SHARED);
	assert_int_equal(blobs.rows[0].owners, 2);
	assert_string_equal(blobs.rows[0].media, "tensor");
	assert_ok(db_blob_owners(r, blobs.rows[0].id, &models, &err), err);
	assert_int_equal(models.n, 2);
	tb_arena_free(&models.mem);
	tb_arena_free(&blobs.mem);
	assert_ok(db_blob_find(r, "ff23", NULL, &blobs, &err), err);
	assert_int_equal(blobs.n, 2);
	tb_arena_free(&blobs.mem);
	assert_ok(db_totals(r, NULL, &totals, &err), err);
	assert_int_equal(totals.bytes, 1040);
	assert_int_equal(totals.shared_bytes, 1000);
	assert_int_equal(totals.tensors, 8);
	assert_int_equal(totals.scanned_ns, 99);
	db_close(r);
	db_close(w);
	free(path);
}

static void
test_windows(void **state)
{
	char *path = fake_path("windows"), name[16];
	struct tb_err err = { 0 };
	struct db_query q = { .filter = "M", .sort = "size", .reverse = true, .offset = 3, .limit = 4 };
	struct db_models models;
	struct fake f;
	struct db *db;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		fake_model(&f, name, 1000 + 10 * (uint64_t)i);
		f.m.bytes = 100 + (uint64_t)i;
		fake_put(db, &f, 1);
	}
	assert_ok(db_models(db, &q, &models, &err), err);
	assert_int_equal(models.total, 12);
	assert_int_equal(models.n, 4);
	assert_string_equal(models.rows[0].name, "m3");
	tb_arena_free(&models.mem);
	q = (struct db_query){ .filter = "m1?" };
	assert_ok(db_models(db, &q, &models, &err), err);
	assert_int_equal(models.total, 2);
	tb_arena_free(&models.mem);
	q = (struct db_query){ .sort = "weight; DROP TABLE models" };
	assert_fails(db_models(db, &q, &models, &err), err, TB_EUSAGE, "one of: name kind");
	q = (struct db_query){ .filter = "' OR 1 --" };
	assert_ok(db_models(db, &q, &models, &err), err);
	assert_int_equal(models.total, 0);
	tb_arena_free(&models.mem);
	db_close(db);
	free(path);
}

static void
test_tensors(void **state)
{
	char *path = fake_path("tensors");
	struct tb_err err = { 0 };
	struct db_query q = { .filter = "proj" };
	struct db_tensors t;
	struct db_branches b, c;
	struct fake f;
	struct db *db;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	fake_model(&f, "m", 100);
	fake_put(db, &f, 1);
	assert_ok(db_tensors(db, 1, NULL, &t, &err), err);
	assert_int_equal(t.n, 4);
	assert_string_equal(t.rows[1].name, f.tensors[1].name);
	assert_string_equal(t.rows[3].name, f.tensors[3].name);
	assert_string_equal(t.rows[0].scheme, "BF16");
	assert_string_equal(t.rows[0].file, "/store/blobs/shared");
	assert_int_equal(t.rows[0].ndim, 2);
	assert_int_equal(t.rows[0].dim[1], 8);
	tb_arena_free(&t.mem);
	assert_ok(db_tensors(db, 1, &q, &t, &err), err);
	assert_int_equal(t.total, 2);
	tb_arena_free(&t.mem);
	q.filter = "p_proj layers.10";		/* _ is no wildcard; words may stand anywhere */
	assert_ok(db_search(db, &q, &t, &err), err);
	assert_int_equal(t.total, 1);
	assert_string_equal(t.rows[0].name, f.tensors[2].name);
	assert_string_equal(t.rows[0].model_name, "m");
	tb_arena_free(&t.mem);
	q.filter = "p.proj";
	assert_ok(db_search(db, &q, &t, &err), err);
	assert_int_equal(t.total, 0);
	tb_arena_free(&t.mem);
	q.filter = "it's %' \"";
	assert_ok(db_search(db, &q, &t, &err), err);
	assert_int_equal(t.total, 0);
	tb_arena_free(&t.mem);
	assert_ok(db_children(db, 1, NULL, &b, &err), err);
	assert_int_equal(b.n, 2);
	assert_true(b.rows[0].leaf == false && !strcmp(b.rows[0].label, "lm_head"));
	assert_string_equal(b.rows[1].path, "model");
	assert_int_equal(b.rows[1].count, 3);
	assert_int_equal(b.rows[1].elems, 36);
	assert_string_equal(b.rows[1].scheme, "F32");
	assert_ok(db_children(db, 1, &b.rows[1], &c, &err), err);
	assert_int_equal(c.n, 2);
	assert_string_equal(c.rows[0].label, "layers");
	tb_arena_free(&b.mem);
	assert_ok(db_children(db, 1, &c.rows[0], &b, &err), err);
	assert_int_equal(b.n, 2);
	assert_string_equal(b.rows[1].path, "model.layers.10");
	tb_arena_free(&b.mem);
	tb_arena_free(&c.mem);
	db_close(db);
	free(path);
}

/* Windows of a search fit together, in every order, and agree with what SQL says. */
static void
check_search(struct db *db, const char *words, const char *sort, bool reverse, size_t want)
{
	struct db_query q = { .filter = words, .sort = sort, .reverse = reverse };
	struct tb_err err = { 0 };
	struct db_tensors all, part;
	uint64_t at;
	bool found;

	assert_ok(db_search(db, &q, &all, &err), err);
	assert_int_equal(all.total, want);
	assert_int_equal(all.n, want);
	for (size_t i = 0; i < all.n; i++) {
		q.offset = i;
		q.limit = i % 3 + 1;
		assert_ok(db_search(db, &q, &part, &err), err);
		assert_int_equal(part.total, want);
		assert_int_equal(part.n, i + q.limit <= want ? q.limit : want - i);
		assert_string_equal(part.rows[0].name, all.rows[i].name);
		assert_string_equal(part.rows[0].model_name, all.rows[i].model_name);
		assert_ok(db_search_find(db, &q, all.rows[i].model, all.rows[i].ord, &at, &found,
					 &err), err);
		assert_true(found && at == i);
		tb_arena_free(&part.mem);
	}
	q.offset = want + 5;
	assert_ok(db_search(db, &q, &part, &err), err);
	assert_int_equal(part.n, 0);
	assert_int_equal(part.total, want);
	tb_arena_free(&part.mem);
	tb_arena_free(&all.mem);
}

static void
test_search(void **state)
{
	char *path = fake_path("search"), name[16];
	struct tb_err err = { 0 };
	struct db_query q = { .filter = "p_proj", .sort = "name", .limit = 3 };
	struct db_tensors t;
	struct fake f;
	struct db *w, *r;

	(void)state;
	assert_ok(db_open_write(&w, path, &err), err);
	for (int i = 12; i-- > 0; ) {
		snprintf(name, sizeof(name), "m%d", i);
		fake_model(&f, name, 1000 + 10 * (uint64_t)i);
		fake_put(w, &f, 1);
	}
	assert_ok(db_open_read(&r, path, &err), err);
	for (int reverse = 0; reverse < 2; reverse++)
		for (int i = 0; i < 4; i++) {
			static const char *const sorts[] = { NULL, "model", "name", "size" };

			check_search(r, "", sorts[i], reverse, 48);
			check_search(r, "layers", sorts[i], reverse, 24);
			check_search(r, "LAYERS.10 proj", sorts[i], reverse, 12);
			check_search(r, "*.layers.10.*", sorts[i], reverse, 12);
			check_search(w, "proj", sorts[i], reverse, 24);
		}
	check_search(r, "layers nowhere", NULL, false, 0);
	assert_ok(db_search(r, &q, &t, &err), err);
	assert_string_equal(t.rows[0].name, t.rows[1].name);	/* models in natural order */
	assert_string_equal(t.rows[0].model_name, "m0");
	assert_string_equal(t.rows[2].model_name, "m2");
	tb_arena_free(&t.mem);
	q.sort = NULL;
	q.offset = 22;		/* the last two are m11's, not m9's */
	assert_ok(db_search(r, &q, &t, &err), err);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.rows[0].model_name, "m11");
	tb_arena_free(&t.mem);
	fake_model(&f, "m5", 2000);		/* a reader sees what a writer puts */
	f.tensors[0].name = "new.name.p_proj";
	fake_put(w, &f, 2);
	check_search(r, "new.name", NULL, false, 1);
	q.sort = "weight";
	assert_fails(db_search(r, &q, &t, &err), err, TB_EUSAGE, "one of: model name size");
	db_close(r);
	db_close(w);
	free(path);
}

static void
test_states(void **state)
{
	char *path = fake_path("states");
	struct tb_err err = { 0 };
	struct db_run_models run;
	struct db_verified v = { .name = "m", .stamp = 1, .when_ns = 5 };
	struct db_hash h = { .id = { 1, 2, 3, 4 }, .digest = OWN, .ok = true, .when_ns = 6 }, got;
	struct db_models models;
	struct fake f;
	struct db *db;
	bool found;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	fake_model(&f, "m", 100);
	assert_ok(db_run_start(db, &(struct db_run){ .scope = "" }, &v.run, &err), err);
	for (int i = 0; i < 7; i++) {
		static const struct { enum db_state kept, want; bool changed, missing; } rows[] = {
			{ DB_HASHED, DB_HASHED, false, false },
			{ DB_STRUCTURE, DB_STRUCTURE, false, false },
			{ DB_HASHED, DB_NEVER, true, false },
			{ DB_INCOMPLETE, DB_INCOMPLETE, false, false },
			{ DB_INCOMPLETE, DB_DAMAGED, true, true },
			{ DB_DAMAGED, DB_DAMAGED, false, false },
			{ DB_HASHED, DB_DAMAGED, false, true },
		};

		f.files[2].missing = rows[i].missing;
		v.state = rows[i].kept;
		v.errors = v.state >= DB_INCOMPLETE ? 3 : 0;
		fake_put(db, &f, rows[i].changed ? 2 : 1);
		assert_ok(db_verified_model(db, f.manifest, &v, &err), err);
		assert_ok(db_models(db, NULL, &models, &err), err);
		assert_int_equal(models.n, 1);
		assert_int_equal(models.rows[0].state, rows[i].want);
		assert_int_equal(models.rows[0].changed, rows[i].changed);
		assert_int_equal(models.rows[0].verified_ns, 5);
		tb_arena_free(&models.mem);
		assert_ok(db_run_models(db, v.run, &run, &err), err);
		assert_int_equal(run.n, 1);
		assert_string_equal(run.rows[0].path, f.manifest);
		assert_int_equal(run.rows[0].state, v.state);
		tb_arena_free(&run.mem);
	}
	assert_ok(db_hash_get(db, "/x", &got, &found, &err), err);
	assert_false(found);
	assert_ok(db_hash_put(db, "/x", &h, &err), err);
	assert_ok(db_hash_get(db, "/x", &got, &found, &err), err);
	assert_true(found && tb_ident_equal(&got.id, &h.id) && got.ok && !got.recorded);
	h.recorded = true;
	assert_ok(db_hash_put(db, "/x", &h, &err), err);
	assert_ok(db_hash_get(db, "/x", &got, &found, &err), err);
	assert_true(found && got.ok && got.recorded);
	assert_string_equal(got.digest, OWN);
	/* the same inode under another name; but not if it was born after it was hashed */
	assert_ok(db_hash_moved(db, &h.id, h.when_ns - 1, &got, &found, &err), err);
	assert_true(found);
	assert_string_equal(got.digest, OWN);
	assert_ok(db_hash_moved(db, &h.id, h.when_ns, &got, &found, &err), err);
	assert_false(found);
	h.id.mtime_ns++;
	assert_ok(db_hash_moved(db, &h.id, 0, &got, &found, &err), err);
	assert_false(found);
	db_close(db);
	free(path);
}

/* A list of files comes back as it was, is kept once, and a tampered one does no harm. */
static void
test_run_files(void **state)
{
	static const struct db_run_file files[] = {
		{ RUN_FILE_HASHED, OWN, 5, "a b" }, { RUN_FILE_MISSING, "", 0, " odd\\\n.gguf " },
		{ RUN_FILE_DAMAGED, OWN, UINT64_MAX, "" },
	};
	static const char *const bad[] = {
		"h", "h \n", "h -\n", "x - 1 a\n", "h - a b\n", "h 12 1 a\n", "h - 1\n", "\n", "h - ",
	};
	char *path = fake_path("runs");
	struct tb_err err = { 0 };
	struct db_run_files got;
	int64_t list, again;
	struct db *db;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	assert_ok(db_run_files_put(db, files, 3, &list, &err), err);
	assert_ok(db_run_files_put(db, files, 3, &again, &err), err);
	assert_int_equal(list, again);
	assert_ok(db_run_files_put(db, files, 2, &again, &err), err);
	assert_int_not_equal(list, again);
	assert_ok(db_run_files(db, list, &got, &err), err);
	assert_int_equal(got.n, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(got.rows[i].state, files[i].state);
		assert_int_equal(got.rows[i].bytes, files[i].bytes);
		assert_string_equal(got.rows[i].digest, files[i].digest);
		assert_string_equal(got.rows[i].path, files[i].path);
	}
	tb_arena_free(&got.mem);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_ok(db_exec(db, &err, "UPDATE audit.file_lists SET lines = ? WHERE id = ?", "si",
				  bad[i], list), err);
		assert_ok(db_run_files(db, list, &got, &err), err);
		assert_int_equal(got.n, 0);
		tb_arena_free(&got.mem);
	}
	db_close(db);
	free(path);
}

/* Dropping a model takes what was its own, and nothing of the others. */
static void
test_drop(void **state)
{
	char *path = fake_path("drop");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_totals totals;
	struct db_tensors t;
	struct fake a, b;
	struct db *db;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	fake_model(&a, "a", 100);
	fake_model(&b, "b", 200);
	a.tensors[0].name = "only.in.a";
	fake_put(db, &a, 1);
	fake_put(db, &b, 1);
	fake_finish(db);
	assert_ok(db_model_by_path(db, a.manifest, &models, &err), err);
	assert_int_equal(models.n, 1);
	assert_ok(db_drop_model(db, models.rows[0].id, &err), err);
	tb_arena_free(&models.mem);
	fake_finish(db);
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.n, 1);
	assert_int_equal(models.rows[0].exclusive, 1320);
	tb_arena_free(&models.mem);
	assert_ok(db_totals(db, NULL, &totals, &err), err);
	assert_int_equal(totals.tensors, 4);
	assert_int_equal(totals.orphans, 1);
	assert_ok(db_search(db, &(struct db_query){ .filter = "only.in" }, &t, &err), err);
	assert_int_equal(t.total, 0);
	tb_arena_free(&t.mem);
	db_close(db);
	free(path);
}

/* "a" and "b" share a blob with "c"; a path of "b" leads to the file that is only a's. */
static void
test_usage(void **state)
{
	static const char *const names[] = { "a", "b", "c" };
	char *path = fake_path("usage");
	struct tb_err err = { 0 };
	struct db_usage u;
	struct db_models models;
	struct fake f[3];
	struct db_share share;
	uint64_t id[4] = { 0 };
	struct db *db;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	for (size_t i = 0; i < 3; i++)
		fake_model(&f[i], names[i], 100 * (i + 1));
	f[1].files[2].id.ino = 101;
	for (size_t i = 0; i < 3; i++)
		fake_put(db, &f[i], i + 1);
	fake_finish(db);
	assert_ok(db_models(db, NULL, &models, &err), err);
	for (size_t i = 0; i < 3; i++)
		id[i] = (uint64_t)models.rows[i].id;
	assert_ok(db_usage_read(db, &u, &err), err);
	for (size_t i = 0; i < 3; i++) {
		share = db_usage_of(&u, &id[i], 1);
		assert_int_equal(share.alone, models.rows[i].exclusive);
		assert_int_equal(share.shared, i < 2 ? 1020 : 1000);
	}
	id[3] = 12345;			/* not there: counts nothing */
	share = db_usage_of(&u, (uint64_t[]){ id[0], id[1], id[3] }, 3);
	assert_int_equal(share.alone, 620);
	assert_int_equal(share.shared, 1000);
	share = db_usage_of(&u, id, 4);
	assert_int_equal(share.alone, 300 + 300 + 300 + 1000 + 20 + 20);
	assert_int_equal(share.shared, 0);
	share = db_usage_of(&u, NULL, 0);
	assert_int_equal(share.alone + share.shared, 0);
	tb_arena_free(&models.mem);
	db_usage_free(&u);
	db_close(db);
	free(path);
}

static enum tb_status
count_row(void *arg, int n, const char *const *names, const char *const *values,
	  struct tb_err *err)
{
	(void)err;
	assert_int_equal(n, 1);
	assert_string_equal(names[0], "name");
	assert_string_equal(values[0], "m");
	++*(int *)arg;
	return TB_OK;
}

static void
test_sql(void **state)
{
	static const char *const refused[] = {
		"DELETE FROM models", "SELECT 1; SELECT 2", "", "ATTACH 'x.db' AS x", "SELEC",
		"PRAGMA main.user_version = 7", "CREATE TABLE t(a)",
	};
	char *path = fake_path("sql");
	struct tb_err err = { 0 };
	struct db *db;
	int rows = 0;

	(void)state;
	fake_index(path);
	assert_ok(db_open_read(&db, path, &err), err);
	assert_ok(db_sql(db, "SELECT name FROM models;", count_row, &rows, &err), err);
	assert_int_equal(rows, 1);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		assert_fails(db_sql(db, refused[i], count_row, &rows, &err), err, TB_EUSAGE, "sql");
	assert_int_equal(rows, 1);
	db_close(db);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_tensors),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_run_files),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_sql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
