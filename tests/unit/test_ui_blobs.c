/* A list of blobs in memory: its sets, its filter, its orders. */
#include "config.h"

#include "tests/unit/unit.h"

#include "src/base/mem.h"
#include "ui/blob_rows.h"

/* n blobs: digests count up, sizes are in no order, each seventh nobody uses. */
static void
make(struct blob_rows *b, size_t n)
{
	struct db_blob_keys keys = { .n = n };

	*b = (struct blob_rows){ 0 };
	keys.rows = tb_arena_get(&keys.mem, n * sizeof(*keys.rows));
	assert_non_null(keys.rows);
	for (size_t i = 0; i < n; i++) {
		struct db_blob_key *k = &keys.rows[i];

		*k = (struct db_blob_key){
			.id = (int64_t)i + 1, .size = i * 7919 % 1000003, .owners = i % 7,
			.kind = DB_FILE_BLOB, .media = i % 2 ? MEDIA_TENSOR : MEDIA_LICENSE,
			.hashed = true, .mtime_ns = (int64_t)(n - i),
		};
		for (int d = 0; d < 4; d++)
			k->digest[d] = (uint8_t)(i >> (24 - 8 * d));
	}
	assert_true(blob_rows_set(b, &keys));
	assert_null(keys.rows);
}

static const struct db_blob_key *
at(const struct blob_rows *b, size_t row)
{
	return &b->keys.rows[b->row[row]];
}

static void
test_sets(void **state)
{
	struct blob_rows b;

	(void)state;
	make(&b, 700);
	assert_int_equal(b.set[SET_ALL].n, 700);
	assert_int_equal(b.set[SET_ORPHANS].n, 100);
	assert_int_equal(b.set[SET_SHARED].n, 500);
	assert_int_equal(b.set[SET_MISSING].n, 0);
	blob_rows_show(&b, SET_ORPHANS, "", ORDER_DIGEST, false);
	assert_int_equal(b.n, 100);
	for (size_t i = 0; i < b.n; i++)
		assert_int_equal(at(&b, i)->owners, 0);
	/* What may yet be used is no orphan. */
	b.keys.rows[0].young = b.keys.rows[7].unclear = true;
	blob_rows_show(&b, SET_UNDECIDED, "", ORDER_DIGEST, false);
	assert_int_equal(b.n, 2);
	blob_rows_show(&b, SET_ORPHANS, "", ORDER_DIGEST, false);
	assert_int_equal(b.n, 98);
	blob_rows_free(&b);
}

static void
test_filter(void **state)
{
	struct blob_rows b;

	(void)state;
	make(&b, 70000);
	blob_rows_show(&b, SET_ALL, "sha256:00010ABC", ORDER_DIGEST, false);
	assert_int_equal(b.n, 1);
	assert_int_equal(at(&b, 0)->id, 0x10abc + 1);
	blob_rows_show(&b, SET_ALL, "licen", ORDER_DIGEST, false);
	assert_int_equal(b.n, 35000);
	blob_rows_show(&b, SET_ALL, "no such", ORDER_DIGEST, false);
	assert_int_equal(b.n, 0);
	blob_rows_free(&b);
}

/* What is equal stays in the order of digests. */
static void
test_orders(void **state)
{
	struct blob_rows b;
	size_t row;

	(void)state;
	make(&b, 3000);
	for (enum blob_order o = 0; o < ORDER_COUNT; o++) {
		blob_rows_show(&b, SET_ALL, "", o, false);
		assert_int_equal(b.n, 3000);
		for (size_t i = 1; i < b.n; i++) {
			const struct db_blob_key *x = at(&b, i - 1), *y = at(&b, i);
			int d = strcmp(blob_kind(x), blob_kind(y));
			bool fine = o == ORDER_SIZE ? x->size >= y->size
				  : o == ORDER_OWNERS ? x->owners > y->owners ||
						       (x->owners == y->owners && x->id < y->id)
				  : o == ORDER_MODIFIED ? x->mtime_ns > y->mtime_ns
				  : o == ORDER_KIND ? d < 0 || (!d && x->id < y->id)
				  : x->id < y->id;

			assert_true(fine);
		}
	}
	blob_rows_show(&b, SET_ALL, "", ORDER_SIZE, true);
	assert_int_equal(at(&b, 0)->size, 0);
	blob_rows_show(&b, SET_ALL, "", ORDER_DIGEST, true);
	assert_int_equal(at(&b, 0)->id, 3000);
	assert_true(blob_rows_find(&b, 2999, &row));
	assert_int_equal(row, 1);
	assert_false(blob_rows_find(&b, 3001, &row));
	blob_rows_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_orders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
