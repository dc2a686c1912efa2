/* test_db_files.c - indexes that cannot be trusted, and one that changes while it is read. */
#include "config.h"

#include "db/tensors.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/audit.h"
#include "src/base/mem.h"
#include "tests/unit/db_fake.h"

static unsigned
set_aside_as(const char *path, const char *word)
{
	char *pattern = tb_asprintf("%s.%s-*", path, word);
	glob_t g;
	unsigned n = 0;

	if (glob(pattern, 0, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			n += !strstr(g.gl_pathv[i], "-wal") && !strstr(g.gl_pathv[i], "-shm");
		globfree(&g);
	}
	free(pattern);
	return n;
}

static unsigned
set_aside(const char *path)
{
	return set_aside_as(path, "damaged");
}

static void
scribble(const char *path, off_t at, off_t cut)
{
	char noise[512];
	int fd = open(path, O_WRONLY);

	memset(noise, 0xa5, sizeof(noise));
	assert_true(fd >= 0);
	if (at >= 0)
		assert_int_equal(pwrite(fd, noise, sizeof(noise), at), sizeof(noise));
	if (cut >= 0)
		assert_int_equal(ftruncate(fd, cut), 0);
	close(fd);
}

/* The index is gone then, the audits are not. */
static void
check_renewed(const char *path, unsigned aside)
{
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_runs runs;
	struct db *db;

	assert_ok(db_open_read(&db, path, &err), err);
	db_close(db);
	assert_ok(db_open_write(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "set aside"));
	assert_int_equal(set_aside(path), aside);
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.total, 0);
	assert_ok(db_runs(db, NULL, &runs, &err), err);
	assert_int_equal(runs.total, 1);
	tb_arena_free(&runs.mem);
	db_close(db);
}

static void
test_damaged(void **state)
{
	static const struct { off_t at, cut; } how[] = {
		{ 0, -1 },		/* the header */
		{ 4096, -1 },		/* a page of the tables */
		{ -1, 6000 },		/* cut */
		{ -1, 50 },
	};
	char *path = fake_path("damaged");

	(void)state;
	for (unsigned i = 0; i < sizeof(how) / sizeof(*how); i++) {
		unlink(unit_path("damaged/audits.db"));
		fake_index(path);
		scribble(path, how[i].at, how[i].cut);
		check_renewed(path, i + 1);
	}
	free(path);
}

static void
test_foreign(void **state)
{
	char *path = fake_path("foreign");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db *db;
	char *audits = tb_strdup(unit_path("foreign/audits.db"));

	(void)state;
	fake_index(path);
	assert_int_equal(rename(audits, path), 0);	/* SQLite, but not an index */
	assert_ok(db_open_read(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "not a file of this program"));
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.total, 0);
	db_close(db);
	assert_ok(db_open_write(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "not a file of this program"));
	assert_int_equal(set_aside(path), 1);
	db_close(db);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_fails(db_open_write(&db, path, &err), err, TB_EUSAGE, "not a file");
	assert_fails(db_open_read(&db, path, &err), err, TB_EUSAGE, "not a file");
	free(audits);
	free(path);
}

/* Bytes 60 to 63 of a SQLite file are its user_version. */
static void
test_versions(void **state)
{
	char *path = fake_path("versions");
	struct tb_err err = { 0 };
	static const unsigned char newer[4] = { 0, 0, 0, 99 };
	unsigned char was[4];
	struct db_models models;
	struct db *db;
	int fd;

	(void)state;
	fake_index(path);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, was, 4, 60), 4);
	assert_int_equal(pwrite(fd, newer, 4, 60), 4);
	close(fd);
	assert_ok(db_open_read(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "newer version"));

	/* When it is one of ours in its place, whoever reads sees what is in it. */
	assert_false(db_changed(db));
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, was, 4, 60), 4);
	close(fd);
	assert_true(db_changed(db));
	assert_string_equal(db_notice(db), "");
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_true(models.n > 0);
	tb_arena_free(&models.mem);
	db_close(db);

	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, newer, 4, 60), 4);
	close(fd);
	assert_ok(db_open_write(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "newer version"));
	assert_int_equal(set_aside_as(path, "newer"), 1);
	db_close(db);
	free(path);
}

/* Versions that there never were. */
static void
test_no_version(void **state)
{
	static const unsigned char versions[][4] = {
		{ 0xff, 0xff, 0xff, 0xff }, { 0x80, 0, 0, 0 }, { 0, 0, 0, 0 },
	};
	char *path = fake_path("no-version");

	(void)state;
	for (unsigned i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		int fd;

		unlink(unit_path("no-version/audits.db"));
		fake_index(path);
		fd = open(path, O_WRONLY);
		assert_int_equal(pwrite(fd, versions[i], 4, 60), 4);
		close(fd);
		check_renewed(path, i + 1);
	}
	free(path);
}

/* An index of a version that no step leads on from is made again, and kept beside. */
static void
test_too_old(void **state)
{
	static const unsigned char older[4] = { 0, 0, 0, 6 };
	char *path = fake_path("too-old");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_runs runs;
	struct db *db;
	int fd;

	(void)state;
	fake_index(path);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, older, 4, 60), 4);
	close(fd);
	assert_ok(db_open_read(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "older version of this program: scan to renew it"));
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.total, 0);
	db_close(db);
	assert_ok(db_open_write(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "older version of this program; it was set aside"));
	assert_int_equal(set_aside_as(path, "older"), 1);
	assert_ok(db_runs(db, NULL, &runs, &err), err);
	assert_int_equal(runs.total, 1);
	tb_arena_free(&runs.mem);
	db_close(db);
	assert_ok(db_open_read(&db, path, &err), err);
	assert_string_equal(db_notice(db), "");
	db_close(db);
	free(path);
}

/* Somebody is killed while the first tables are made: SQLite leaves a journal, which whoever
 * only reads may not play back. */
static void
test_killed_over_making(void **state)
{
	static const char half[] = "PRAGMA cache_size = 1; BEGIN IMMEDIATE; CREATE TABLE t(x);"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)"
		"INSERT INTO t SELECT randomblob(500) FROM n";
	char *path = fake_path("killed"), *journal = tb_asprintf("%s-journal", path);
	struct tb_err err = { 0 };
	struct db_models models;
	struct db *db;
	pid_t pid;
	int how;

	(void)state;
	fake_index(path);	/* for the folder */
	assert_int_equal(unlink(path), 0);
	pid = fork();
	if (!pid) {
		sqlite3 *sql;

		_exit(sqlite3_open(path, &sql) || sqlite3_exec(sql, half, NULL, NULL, NULL));
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_int_equal(how, 0);
	assert_int_equal(access(journal, F_OK), 0);
	assert_ok(db_open_read(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "not made to its end"));
	db_close(db);
	assert_ok(db_open_write(&db, path, &err), err);
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.total, 0);
	tb_arena_free(&models.mem);
	db_close(db);
	free(journal);
	free(path);
}

/* Nothing is damaged, and yet the lists would be wrong. */
static void
test_changed_by_others(void **state)
{
	static const char *const how[] = {
		"UPDATE roots SET path = '/elsewhere'", "UPDATE models SET root = 77",
		"UPDATE names SET name = 'x'", "DELETE FROM contents", "INSERT INTO problems "
		"VALUES (1, 9, 'made up')", "UPDATE roots SET models = -1",
	};
	char *path = fake_path("changed");

	(void)state;
	for (unsigned i = 0; i < sizeof(how) / sizeof(*how); i++) {
		struct tb_err err = { 0 };
		sqlite3 *sql;
		struct db *db;

		unlink(unit_path("changed/audits.db"));
		fake_index(path);
		assert_ok(db_open_write(&db, path, &err), err);
		assert_string_equal(db_notice(db), "");
		db_close(db);
		assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
		assert_int_equal(sqlite3_exec(sql, how[i], NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(sql);
		check_renewed(path, i + 1);
	}
	free(path);
}

/* ---- a reader beside a writer ---- */

struct reading {
	const char *path;
	bool stop, bad;
};

static void *
read_on(void *arg)
{
	struct reading *r = arg;
	struct tb_err err = { 0 };
	struct db *db;

	if (db_open_read(&db, r->path, &err)) {
		r->bad = true;
		return NULL;
	}
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		struct db_models models;
		struct db_tensors t;

		r->bad |= db_models(db, NULL, &models, &err) != TB_OK;
		for (size_t i = 0; !r->bad && i < models.n; i++) {
			r->bad |= db_tensors(db, models.rows[i].id, NULL, &t, &err) != TB_OK;
			r->bad |= !r->bad && t.n != 4;	/* whole models or none */
			tb_arena_free(&t.mem);
		}
		tb_arena_free(&models.mem);
		(void)db_changed(db);
	}
	db_close(db);
	return NULL;
}

static void
test_concurrent(void **state)
{
	char *path = fake_path("concurrent"), name[16];
	struct tb_err err = { 0 };
	struct reading r = { .path = path };
	struct fake f;
	struct db *db;
	pthread_t thread;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "m%d", i % 20);
		fake_model(&f, name, 1000 + 10 * (uint64_t)i);
		fake_put(db, &f, (uint64_t)i);
	}
	__atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_false(r.bad);
	db_close(db);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_no_version),
		cmocka_unit_test(test_too_old),
		cmocka_unit_test(test_changed_by_others),
		cmocka_unit_test(test_killed_over_making),
		cmocka_unit_test(test_concurrent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
