/* Rows of tables: windows of a list that is elsewhere, lists in memory. */
#include "config.h"

#include "tests/unit/unit.h"

#include "src/ops/home/home.h"
#include "ui/loop.h"

#define TOTAL 100000

static unsigned reads;
static bool broken;
static uint64_t store[TOTAL];

static enum tb_status
window_read(struct view *v, const struct db_query *q, struct rows *out)
{
	uint64_t n = q->offset < TOTAL ? TOTAL - q->offset : 0;

	(void)v;
	reads++;
	if (broken)
		return tb_fail(&out->err, TB_EDB, "the index is busy");
	ROWS_ALL(out, store + q->offset, n < q->limit ? n : q->limit);
	out->total = TOTAL;
	return TB_OK;
}

static enum tb_status
window_find(struct view *v, const struct db_query *q, uint64_t id, uint64_t *row, bool *found)
{
	(void)v;
	assert_int_equal(q->offset, 0);
	assert_int_equal(q->limit, 0);
	*row = id - 7;
	*found = id >= 7 && id - 7 < TOTAL;
	return TB_OK;
}

static enum tb_status
memory_read(struct view *v, const struct db_query *q, struct rows *out)
{
	static const uint64_t rows[] = { 50, 20, 91, 40, 20, 13 };

	(void)v;
	(void)q;
	ROWS_ALL(out, rows, sizeof(rows) / sizeof(*rows));
	return TB_OK;
}

/* The filter is a digit that the tens must have. */
static bool
memory_match(const struct view *v, const void *row)
{
	return !*v->list.filter || *(const uint64_t *)row / 10 == (uint64_t)(*v->list.filter - '0');
}

static int
memory_order(const struct view *v, const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return v->list.sort ? (x > y) - (x < y) : 0;
}

static const struct rows_source window = {
	.size = sizeof(uint64_t), .read = window_read, .find = window_find, .id = rows_own_id,
};
static const struct rows_source memory = {
	.size = sizeof(uint64_t), .read = memory_read, .match = memory_match,
	.order = memory_order,
};
static const struct column cols[] = { { "A", 4, 8, .key = "a" }, { "B", 4, 8, .key = "b" } };
static const struct table tables[] = {
	{ TABLE_COLS(cols), .rows = &window }, { TABLE_COLS(cols), .rows = &memory },
};
static const struct view_ops ops[] = { { .columns = &tables[0] }, { .columns = &tables[1] } };
static struct op_ctx ctx;
static struct ui ui = { .ctx = &ctx };

static void
test_windows(void **state)
{
	struct view v = { .ops = &ops[0], .ui = &ui };
	size_t row;

	(void)state;
	for (size_t i = 0; i < TOTAL; i++)
		store[i] = i + 7;
	reads = 0;
	assert_int_equal(rows_count(&v), TOTAL);
	assert_string_equal(v.rows.q.sort, "a");
	assert_int_equal(reads, 1);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(*(const uint64_t *)rows_at(&v, i), i + 7);
	assert_int_equal(reads, 1);
	rows_hold(&v.rows, &v, 50000, 200);
	for (size_t i = 50000; i < 50200; i++)
		assert_int_equal(rows_id(&v, i), i + 7);
	assert_int_equal(reads, 2);
	assert_int_equal(*(const uint64_t *)rows_at(&v, TOTAL - 1), TOTAL + 6);
	assert_null(rows_at(&v, TOTAL));
	assert_int_equal(reads, 3);
	assert_true(rows_find(&v, 4242, &row));
	assert_int_equal(row, 4235);
	assert_false(rows_find(&v, 3, &row));
	rows_free(&v.rows);
}

/* What could not be read is not there, and is read when it can be. */
static void
test_busy(void **state)
{
	struct view v = { .ops = &ops[0], .ui = &ui };

	(void)state;
	broken = true;
	assert_int_equal(rows_count(&v), 0);
	assert_int_equal(v.rows.err.code, TB_EDB);
	broken = false;
	assert_int_equal(rows_count(&v), TOTAL);
	assert_int_equal(v.rows.err.code, TB_OK);
	broken = true;
	assert_null(rows_at(&v, 5000));
	assert_int_equal(v.rows.err.code, TB_EDB);
	broken = false;
	assert_non_null(rows_at(&v, 5000));
	assert_int_equal(v.rows.err.code, TB_OK);
	rows_free(&v.rows);
}

static void
expect(struct view *v, size_t n, const uint64_t *want, const uint64_t *ids)
{
	assert_int_equal(rows_count(v), n);
	for (size_t i = 0; i < n; i++) {
		size_t row;

		assert_int_equal(*(const uint64_t *)rows_at(v, i), want[i]);
		assert_int_equal(rows_id(v, i), ids[i]);
		assert_true(rows_find(v, ids[i], &row));
		assert_int_equal(row, i);
	}
	assert_null(rows_at(v, n));
}

/* What is equal stays as it lies, and turns round with all else. */
static void
test_memory(void **state)
{
	struct view v = { .ops = &ops[1], .ui = &ui };
	size_t row;

	(void)state;
	expect(&v, 6, (uint64_t[]){ 50, 20, 91, 40, 20, 13 }, (uint64_t[]){ 0, 1, 2, 3, 4, 5 });
	v.list.sort = 1;
	expect(&v, 6, (uint64_t[]){ 13, 20, 20, 40, 50, 91 }, (uint64_t[]){ 5, 1, 4, 3, 0, 2 });
	v.list.reverse = true;
	expect(&v, 6, (uint64_t[]){ 91, 50, 40, 20, 20, 13 }, (uint64_t[]){ 2, 0, 3, 4, 1, 5 });
	list_set_filter(&v.list, "2");
	expect(&v, 2, (uint64_t[]){ 20, 20 }, (uint64_t[]){ 4, 1 });
	assert_false(rows_find(&v, 0, &row));
	list_set_filter(&v.list, "3");
	assert_int_equal(rows_count(&v), 0);
	assert_null(rows_current(&v));
	rows_free(&v.rows);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows), cmocka_unit_test(test_busy),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
