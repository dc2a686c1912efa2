/* Which columns of a command's table go, and which are cut, on a narrow terminal. */
#include "config.h"

#include <stdint.h>

#include "src/cli/table.h"
#include "tests/unit/unit.h"

static const size_t need[] = { 30, 5, 8, 71 };

static void
expect(const struct cli_table *t, size_t room, const size_t want[4])
{
	size_t got[4];

	assert_true(cli_table_fit(t, need, room, got));
	for (int i = 0; i < 4; i++)
		assert_int_equal(got[i], want[i]);
}

static void
test_whole(void **state)
{
	struct cli_table t = { .align = "mrle", .drop = "0213" };

	(void)state;
	expect(&t, SIZE_MAX, (size_t[]){ 30, 5, 8, 71 });
	expect(&t, 120, (size_t[]){ 30, 5, 8, 71 });
}

/* First what may be cut is cut, then columns go, the greatest digit first. */
static void
test_narrow(void **state)
{
	struct cli_table t = { .align = "mrle", .drop = "0213" };
	const size_t out = CLI_LEFT_OUT;

	(void)state;
	expect(&t, 119, (size_t[]){ 30, 5, 8, 70 });
	expect(&t, 80, (size_t[]){ 30, 5, 8, 31 });
	expect(&t, 60, (size_t[]){ 25, 5, 8, 16 });
	expect(&t, 50, (size_t[]){ 30, 5, 8, out });
	expect(&t, 40, (size_t[]){ 23, 5, 8, out });
	expect(&t, 30, (size_t[]){ 20, out, 8, out });
	expect(&t, 20, (size_t[]){ 20, out, out, out });
	expect(&t, 9, (size_t[]){ 9, out, out, out });
	expect(&t, 1, (size_t[]){ 1, out, out, out });
}

/* Without priorities nothing goes, and what cannot be cut runs over. */
static void
test_all_stay(void **state)
{
	struct cli_table t = { .align = "llle" };

	(void)state;
	expect(&t, 60, (size_t[]){ 30, 5, 8, 16 - 5 });
	expect(&t, 20, (size_t[]){ 30, 5, 8, 1 });
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_all_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
