/* Walks through a tensor: src/ops/translate/walk.c. */
#include "config.h"

#include "tests/unit/unit.h"

#include "src/ops/translate/translate.h"

static void
pairs_and_halves_undo_each_other(void **state)
{
	struct strided to = walk_to_pairs(16, 3, 8), back = walk_to_halves(16, 3, 8);

	(void)state;
	assert_int_equal(walk_elems(&to), 48);
	assert_int_equal(walk_place(&to, 3), 4 * 3);	/* row 1 was row 4, half a head on */
	assert_int_equal(walk_place(&to, 2 * 3), 1 * 3);
	for (uint64_t i = 0; i < 48; i++)
		assert_int_equal(walk_place(&to, walk_place(&back, i)), i);
}

static void
runs_and_places(void **state)
{
	struct strided rows = walk_to_pairs(16, 3, 8);
	struct strided turned = { 3, { 2, 4, 5 }, { 20, 1, 4 }, 7 };	/* 5 x 4 each */
	struct strided whole = { 2, { 4, 5 }, { 5, 1 }, 0 };

	(void)state;
	assert_int_equal(walk_stretch(&rows, 0, 100), 3);
	assert_int_equal(walk_stretch(&rows, 4, 100), 2);
	assert_int_equal(walk_stretch(&rows, 4, 1), 1);
	assert_int_equal(walk_stretch(&whole, 6, 100), 14);
	assert_int_equal(walk_stretch(&turned, 3, 100), 1);
	assert_int_equal(walk_place(&turned, 0), 7);
	assert_int_equal(walk_place(&turned, 1), 11);
	assert_int_equal(walk_place(&turned, 5), 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_and_halves_undo_each_other),
		cmocka_unit_test(runs_and_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
