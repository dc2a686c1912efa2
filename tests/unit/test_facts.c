/* What was computed about tensors: kept, found again, and no longer believed when a
 * file of theirs has changed. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "db/audit.h"
#include "db/facts.h"
#include "db/private.h"
#include "db/write.h"
#include "src/base/file.h"
#include "src/base/mem.h"

#include "db/sql_strings.h"

#define TENSORS 200

struct made {
	struct model m;
	struct model_file files[3];
	struct tensor tensors[TENSORS];
	char names[TENSORS][24];
	char *index, *audits;
};

/* File 1 holds the weights, file 2 the scales of the even ones. */
static void
make(struct made *k, const char *dir)
{
	char *path = tb_strdup(unit_path(dir));

	*k = (struct made){ .index = tb_asprintf("%s/index.db", path),
			    .audits = tb_asprintf("%s/audits.db", path) };
	free(path);
	for (unsigned i = 0; i < 3; i++)
		k->files[i] = (struct model_file){ .path = k->names[i], .name = k->names[i],
			.media = MEDIA_TENSOR, .id = { 1, 10 + i, 1000, 7 } };
	for (unsigned i = 0; i < TENSORS; i++) {
		snprintf(k->names[i], sizeof(k->names[i]), "layer.%03u.weight", i);
		k->tensors[i] = (struct tensor){
			.name = k->names[i], .scheme = scheme_plain(DT_BF16), .ndim = 1,
			.dim = { 8 }, .elems = 8, .bytes = 16, .has_scale = i % 2 == 0,
			.weight = { .file = 1, .dtype = DT_BF16, .off = 64 + 16 * i, .len = 16 },
			.scale = { .file = 2, .dtype = DT_BF16, .len = 2 },
		};
	}
	k->m = (struct model){
		.loc = { .kind = MODEL_SAFETENSORS_DIR, .name = (char *)"m",
			 .path = (char *)"/store/m", .root = (char *)"/store", .mtime_ns = 7 },
		.arch = (char *)"llama", .files = k->files, .nfiles = 3,
		.tensors = k->tensors, .ntensors = TENSORS, .scheme = "BF16",
	};
}

static void
unmake(struct made *k)
{
	free(k->index);
	free(k->audits);
}

static const struct db_stats some = {
	.of = { .count = 8, .zeros = 3, .nans = 1, .infs = 0, .first_nan = 5,
		.first_inf = UINT64_MAX, .min = -0x1p-140, .max = 1e300, .absmax = 1e300,
		.mean = 0.1, .std = 2.5 },
	.sketch = "a\0b", .sketch_len = 3, .when_ns = 1700000000000000001,
};

static struct db *
open_facts(const struct made *k)
{
	struct tb_err err = { 0 };
	struct db *db;

	assert_ok(db_facts_open(&db, k->index, &err), err);
	return db;
}

static void
put_stats(struct db *db, const struct made *k, unsigned i, uint64_t stamp)
{
	struct tb_err err = { 0 };

	assert_ok(db_facts_put_stats(db, &k->m, &k->tensors[i], stamp, &some, &err), err);
}

static struct db_fact
get(struct db *db, const struct made *k, unsigned i)
{
	struct tb_err err = { 0 };
	struct db_fact one = { .ord = UINT64_MAX };
	struct db_facts f;

	assert_ok(db_facts_get(db, &k->m, &k->tensors[i], &f, &err), err);
	if (f.n) {
		one = f.rows[0];
		if (one.has_stats) {
			assert_int_equal(one.stats.sketch_len, some.sketch_len);
			assert_memory_equal(one.stats.sketch, some.sketch, some.sketch_len);
		}
	}
	tb_arena_free(&f.mem);
	one.stats.sketch = some.sketch;
	return one;
}

static bool
none(struct db *db, const struct made *k, unsigned i)
{
	return get(db, k, i).ord == UINT64_MAX;
}

static void
test_kept(void **state)
{
	struct made k;
	struct db *db;
	struct db_fact f;

	(void)state;
	make(&k, "kept");
	db = open_facts(&k);
	assert_true(none(db, &k, 3));
	put_stats(db, &k, 3, 1);
	put_stats(db, &k, 3, 1);		/* again: replaces */
	f = get(db, &k, 3);
	assert_true(f.has_stats);
	assert_false(f.has_digest);
	assert_memory_equal(&f.stats, &some, sizeof(some));
	assert_true(none(db, &k, 4));
	db_close(db);
	assert_false(tb_exists(k.index));	/* facts need no index */
	db = open_facts(&k);
	assert_true(get(db, &k, 3).has_stats);
	db_close(db);
	unmake(&k);
}

/* Other files, or the same read differently: nothing is believed any more. */
static void
test_stamp(void **state)
{
	struct made k;
	struct db *db;

	(void)state;
	make(&k, "stamp");
	db = open_facts(&k);
	put_stats(db, &k, 2, 1);
	put_stats(db, &k, 3, 1);
	k.files[2].id.mtime_ns++;		/* of the scales, which 3 has not */
	assert_true(none(db, &k, 2));
	assert_true(get(db, &k, 3).has_stats);
	k.files[2].id.mtime_ns--;
	assert_true(get(db, &k, 2).has_stats);
	k.files[1].id.ino++;
	assert_true(none(db, &k, 3));
	k.files[1].id.ino--;
	k.tensors[3].scheme = scheme_affine(4, 64);
	assert_true(none(db, &k, 3));
	k.tensors[3].scheme = scheme_plain(DT_BF16);
	k.tensors[3].weight.off += 16;
	assert_true(none(db, &k, 3));
	db_close(db);
	unmake(&k);
}

/* Statistics and digests of the same bytes stand side by side; of other bytes, the
 * old ones go. */
static void
test_both(void **state)
{
	static const uint8_t digest[TB_SHA256_LEN] = { 0, 1, 2, 0xff };
	struct tb_err err = { 0 };
	struct made k;
	struct db *db;
	struct db_fact f;

	(void)state;
	make(&k, "both");
	db = open_facts(&k);
	put_stats(db, &k, 1, 1);
	assert_ok(db_facts_put_digest(db, &k.m, &k.tensors[1], 1, digest, 77, &err), err);
	f = get(db, &k, 1);
	assert_true(f.has_stats && f.has_digest);
	assert_memory_equal(f.digest, digest, sizeof(digest));
	assert_int_equal(f.digest_ns, 77);
	put_stats(db, &k, 1, 2);
	assert_true(get(db, &k, 1).has_digest);
	k.files[1].id.size++;
	put_stats(db, &k, 1, 2);
	assert_false(get(db, &k, 1).has_digest);
	assert_ok(db_facts_put_digest(db, &k.m, &k.tensors[1], 1, digest, 77, &err), err);
	k.files[1].id.size++;
	assert_ok(db_facts_put_digest(db, &k.m, &k.tensors[1], 1, digest, 77, &err), err);
	f = get(db, &k, 1);
	assert_true(f.has_digest && !f.has_stats);
	db_close(db);
	unmake(&k);
}

static void
put_model(struct made *k, uint64_t stamp)
{
	struct tb_err err = { 0 };
	struct db_put p = { .model = &k->m, .stamp = stamp };
	struct db *db;

	assert_ok(db_open_write(&db, k->index, &err), err);
	assert_ok(db_root(db, "/store", &p.root, &err), err);
	assert_ok(db_begin(db, &err), err);
	assert_ok(db_put_model(db, &p, &err), err);
	assert_ok(db_end(db, TB_OK, &err), err);
	db_close(db);
}

/* How many of [first, first + n) are known, and the first of them. */
static size_t
list(const struct made *k, uint64_t first, uint64_t n, uint64_t *ord)
{
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_facts f;
	struct db *db;
	size_t found;

	assert_ok(db_open_read(&db, k->index, &err), err);
	assert_ok(db_model_by_path(db, "/store/m", &models, &err), err);
	assert_ok(db_facts_list(db, models.rows[0].id, first, n, &f, &err), err);
	found = f.n;
	*ord = f.n ? f.rows[0].ord : UINT64_MAX;
	for (size_t i = 0; i < f.n; i++)
		assert_true(f.rows[i].ord >= first && f.rows[i].ord - first < n &&
			    f.rows[i].has_stats);
	tb_arena_free(&f.mem);
	tb_arena_free(&models.mem);
	db_close(db);
	return found;
}

static void
test_list(void **state)
{
	struct tb_err err = { 0 };
	struct made k;
	struct db *db;
	uint64_t ord;

	(void)state;
	make(&k, "list");
	put_model(&k, 5);
	assert_int_equal(list(&k, 0, UINT64_MAX, &ord), 0);
	db = open_facts(&k);
	assert_ok(db_begin(db, &err), err);
	for (unsigned i = 10; i < 110; i++)
		put_stats(db, &k, i, 5);
	assert_ok(db_end(db, TB_OK, &err), err);
	db_close(db);
	assert_int_equal(list(&k, 0, UINT64_MAX, &ord), 100);
	assert_int_equal(ord, 10);
	assert_int_equal(list(&k, 50, 64, &ord), 60);
	assert_int_equal(ord, 50);
	assert_int_equal(list(&k, 110, UINT64_MAX, &ord), 0);
	assert_int_equal(list(&k, UINT64_MAX, UINT64_MAX, &ord), 0);
	/* an index that is made anew takes nothing along; another model stamp hides */
	assert_int_equal(unlink(k.index), 0);
	put_model(&k, 5);
	assert_int_equal(list(&k, 0, 200, &ord), 100);
	put_model(&k, 6);
	assert_int_equal(list(&k, 0, 200, &ord), 0);
	unmake(&k);
}

/* What the first version left is kept, with the table that it had not. */
static void
test_upgrade(void **state)
{
	struct tb_err err = { 0 };
	struct db_runs runs;
	struct db *db, old = { .path = (char *)"old" };
	struct made k;
	char *uri;

	(void)state;
	make(&k, "upgrade");
	db_close(open_facts(&k));	/* makes the folder */
	assert_int_equal(unlink(k.audits), 0);
	uri = db_uri(k.audits, "mode=rwc");
	assert_ok(db_connect(&old, uri, true, &err), err);
	assert_ok(db_run_sql(&old, audits_sql, &err), err);
	assert_ok(db_run_sql(&old, "PRAGMA application_id = 0x74627461; PRAGMA user_version = 1;"
			     "INSERT INTO runs(started_ns, scope, deep, state) VALUES (1, '', 0, 1)",
			     &err), err);
	db_disconnect(&old);
	free(uri);
	db = open_facts(&k);
	put_stats(db, &k, 0, 1);
	assert_ok(db_runs(db, NULL, &runs, &err), err);
	assert_int_equal(runs.n, 1);
	tb_arena_free(&runs.mem);
	db_close(db);
	assert_ok(db_open_write(&db, k.index, &err), err);	/* checks the tables */
	assert_string_equal(db_notice(db), "");
	assert_true(get(db, &k, 0).has_stats);
	db_close(db);
	unmake(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_stamp),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_upgrade),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
