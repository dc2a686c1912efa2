/* The list model and which columns fit: no terminal. */
#include "config.h"

#include "tests/unit/unit.h"

#include <limits.h>

#include "ui/list.h"
#include "ui/table.h"

/* Rows 0..n-1 in order or turned round; with `odd` only those with odd numbers.
 * Counts how often a row was asked for. */
struct fake {
	size_t n;
	bool odd, reverse;
	size_t asked;
};

static size_t
count(void *arg)
{
	struct fake *f = arg;

	return f->odd ? f->n / 2 : f->n;
}

static uint64_t
id_of(void *arg, size_t row)
{
	struct fake *f = arg;

	f->asked++;
	if (f->reverse)
		row = count(f) - 1 - row;
	return f->odd ? 2 * row + 1 : row;
}

static bool
find(void *arg, uint64_t id, size_t *row)
{
	struct fake *f = arg;

	if (id >= f->n || (f->odd && id % 2 == 0))
		return false;
	*row = f->odd ? id / 2 : id;
	if (f->reverse)
		*row = count(f) - 1 - *row;
	return true;
}

/* The rows are others now; id: of the one that was under the cursor, NULL: none was. */
static void
requery(struct list *l, struct fake *f, const uint64_t *id)
{
	size_t row;

	list_requery(l, count(f), id && find(f, *id, &row) ? &row : NULL);
}

static void
query(struct list *l, struct fake *f)
{
	requery(l, f, NULL);
}

static void
test_moves_inside(void **state)
{
	struct fake f = { .n = 100 };
	struct list l;

	(void)state;
	list_init(&l);
	query(&l, &f);
	list_set_height(&l, 10);
	assert_int_equal(l.n, 100);
	list_move(&l, -5);
	assert_int_equal(l.cur, 0);
	list_move(&l, 9);
	assert_int_equal(l.top, 0);
	list_move(&l, 1);
	assert_int_equal(l.cur, 10);
	assert_int_equal(l.top, 1);
	list_move(&l, 1000);
	assert_int_equal(l.cur, 99);
	assert_int_equal(l.top, 90);
	list_move(&l, LONG_MIN);
	assert_int_equal(l.cur, 0);
	list_goto(&l, 50);
	assert_int_equal(l.cur, 50);
	assert_true(l.top <= 50 && 50 < l.top + l.height);
	list_goto(&l, SIZE_MAX);
	assert_int_equal(l.cur, 99);
	list_free(&l);
}

static void
test_empty(void **state)
{
	struct fake f = { .n = 0 };
	struct list l;

	(void)state;
	list_init(&l);
	query(&l, &f);
	list_set_height(&l, 10);
	list_move(&l, 3);
	list_goto(&l, 7);
	list_scroll(&l, 2);
	assert_int_equal(l.cur, 0);
	assert_int_equal(l.top, 0);
	list_free(&l);
}

/* No blank rows at the end of the window while there are rows above it. */
static void
test_resize(void **state)
{
	struct fake f = { .n = 20 };
	struct list l;

	(void)state;
	list_init(&l);
	query(&l, &f);
	list_set_height(&l, 5);
	list_goto(&l, 19);
	assert_int_equal(l.top, 15);
	list_set_height(&l, 12);
	assert_int_equal(l.top, 8);
	list_set_height(&l, 50);
	assert_int_equal(l.top, 0);
	list_set_height(&l, 0);
	assert_int_equal(l.height, 1);
	assert_int_equal(l.top, 19);
	list_free(&l);
}

static void
test_scroll(void **state)
{
	struct fake f = { .n = 100 };
	struct list l;

	(void)state;
	list_init(&l);
	query(&l, &f);
	list_set_height(&l, 10);
	list_scroll(&l, 3);
	assert_int_equal(l.top, 3);
	assert_int_equal(l.cur, 3);
	list_scroll(&l, 1000);
	assert_int_equal(l.top, 90);
	list_scroll(&l, -1000);
	assert_int_equal(l.top, 0);
	assert_int_equal(l.cur, 9);
	list_free(&l);
}

/* The cursor stays on its row, and on its line of the screen where it can. */
static void
test_cursor_survives(void **state)
{
	struct fake f = { .n = 100 };
	struct list l;
	uint64_t id;

	(void)state;
	list_init(&l);
	query(&l, &f);
	list_set_height(&l, 10);
	list_goto(&l, 41);
	id = id_of(&f, l.cur);
	f.odd = true;
	requery(&l, &f, &id);
	assert_int_equal(l.n, 50);
	assert_int_equal(l.cur, 20);
	f.reverse = true;
	requery(&l, &f, &id);
	assert_int_equal(id_of(&f, l.cur), 41);
	f.odd = f.reverse = false;
	requery(&l, &f, &id);
	assert_int_equal(l.cur, 41);
	/* a row that the filter hides: the place is kept as well as it can be */
	list_goto(&l, 98);
	id = id_of(&f, l.cur);
	f.odd = true;
	requery(&l, &f, &id);
	assert_int_equal(l.cur, 49);
	list_free(&l);
}

static void
test_marks(void **state)
{
	struct list l;

	(void)state;
	list_init(&l);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(list_mark(&l, i * 7919 % 1000, true));
	assert_int_equal(l.nmarks, 1000);
	for (uint64_t i = 0; i < 1000; i += 2)
		assert_true(list_mark(&l, i, false));
	assert_int_equal(l.nmarks, 500);
	assert_true(list_mark(&l, 501, true));
	assert_int_equal(l.nmarks, 500);
	assert_true(list_marked(&l, 501));
	assert_false(list_marked(&l, 500));
	for (size_t i = 1; i < l.nmarks; i++)
		assert_true(l.marks[i - 1] < l.marks[i]);
	list_unmark_all(&l);
	assert_false(list_marked(&l, 501));
	list_free(&l);
}

/* Ten million rows cost what ten do. */
static void
test_never_all_rows(void **state)
{
	struct fake f = { .n = 10000000 };
	struct list l;
	uint64_t id;

	(void)state;
	list_init(&l);
	query(&l, &f);
	list_set_height(&l, 40);
	for (int i = 0; i < 100; i++) {
		list_move(&l, 99991);
		id = id_of(&f, l.cur);
		requery(&l, &f, &id);
	}
	assert_true(f.asked <= 200);
	list_free(&l);
}

static void
test_filter_change(void **state)
{
	struct list l;

	(void)state;
	list_init(&l);
	assert_false(list_set_filter(&l, ""));
	assert_true(list_set_filter(&l, "q_proj"));
	assert_false(list_set_filter(&l, "q_proj"));
	assert_true(list_set_filter(&l, ""));
	list_free(&l);
}

/* Columns. */

static const struct column cols[] = {
	{ "NAME", 10, 40, false, SORTS_UP, 0, .middle = true },
	{ "A", 8, 0, true, SORTS_DOWN, 2, .head = false },
	{ "B", 8, 0, true, SORTS_NOT, 3, .head = false },
	{ "C", 8, 12, true, SORTS_DOWN, 1, .head = false },
};
#define NCOLS (sizeof(cols) / sizeof(*cols))

static int
total(const short *w)
{
	int sum = 1;

	for (size_t i = 0, first = 1; i < NCOLS; i++)
		if (w[i]) {
			sum += w[i] + (first ? 0 : 2);
			first = 0;
		}
	return sum;
}

static void
test_columns_drop(void **state)
{
	short w[NCOLS];

	(void)state;
	columns_fit(cols, NCOLS, 99, NULL, w);
	assert_int_equal(w[0], 40);
	assert_int_equal(w[3], 12);
	columns_fit(cols, NCOLS, 37, NULL, w);
	assert_true(w[0] && w[1] && !w[2] && w[3]);
	columns_fit(cols, NCOLS, 24, NULL, w);
	assert_true(w[0] && !w[1] && !w[2] && w[3]);
	columns_fit(cols, NCOLS, 15, NULL, w);
	assert_true(w[0] == 15 && !w[1] && !w[2] && !w[3]);
	for (int width = 3; width < 200; width++) {
		columns_fit(cols, NCOLS, width - 1, NULL, w);
		assert_true(w[0] >= 1);
		assert_true(total(w) <= width);
	}
}

static void
expect_fit(int width, const short want[NCOLS], const short result[NCOLS])
{
	short w[NCOLS];

	columns_fit(cols, NCOLS, width - 1, want, w);
	for (size_t i = 0; i < NCOLS; i++)
		assert_int_equal(w[i], result[i]);
	assert_true(total(w) <= width);
}

/* No text is cut beside blanks: names first, then others up to their max. */
static void
test_columns_lend(void **state)
{
	static const short lends[NCOLS] = { 20, 4, 8, 8 }, all[NCOLS] = { 60, 4, 2, 3 };
	static const short other[NCOLS] = { 6, 8, 8, 20 }, title[NCOLS] = { 99, 0, 0, 0 };

	(void)state;
	expect_fit(41, (short[NCOLS]){ 10, 8, 8, 8 }, (short[NCOLS]){ 10, 8, 8, 8 });
	expect_fit(47, lends, (short[NCOLS]){ 20, 4, 8, 8 });
	expect_fit(42, lends, (short[NCOLS]){ 15, 4, 8, 8 });
	expect_fit(100, all, (short[NCOLS]){ 60, 8, 8, 12 });
	expect_fit(41, other, (short[NCOLS]){ 6, 8, 8, 12 });
	expect_fit(41, title, (short[NCOLS]){ 31, 1, 1, 1 });
	for (short width = 3; width < 200; width++)
		for (short n = 0; n < 120; n = (short)(n + 7)) {
			short w[NCOLS];

			columns_fit(cols, NCOLS, width - 1, (short[NCOLS]){ n, 3, n, 9 }, w);
			assert_true(w[0] >= 1);
			assert_true(total(w) <= width);
		}
}

static void
test_sort_cycles(void **state)
{
	const struct table t = { .cols = cols, .ncols = NCOLS };
	struct list l;

	(void)state;
	list_init(&l);
	assert_true(table_sort_next(&t, &l));
	assert_int_equal(l.sort, 1);
	assert_true(table_sort_next(&t, &l));
	assert_int_equal(l.sort, 3);
	assert_true(table_sort_next(&t, &l));
	assert_int_equal(l.sort, 0);
	list_free(&l);
}

static void
test_column_at(void **state)
{
	const struct table t = { .cols = cols, .ncols = NCOLS };
	struct list l = { 0 };

	(void)state;
	assert_int_equal(table_column_at(&t, &l, 25, 0), NCOLS);
	assert_int_equal(table_column_at(&t, &l, 25, 1), 0);
	assert_int_equal(table_column_at(&t, &l, 25, 24), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves_inside), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_resize), cmocka_unit_test(test_scroll),
		cmocka_unit_test(test_cursor_survives), cmocka_unit_test(test_marks),
		cmocka_unit_test(test_never_all_rows), cmocka_unit_test(test_filter_change),
		cmocka_unit_test(test_columns_drop), cmocka_unit_test(test_columns_lend),
		cmocka_unit_test(test_sort_cycles),
		cmocka_unit_test(test_column_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
