/* Edit distance and what is suggested for a mistyped name. */
#include "config.h"

#include "tests/unit/unit.h"

#include "src/base/near.h"

static void
distances(void **state)
{
	static const struct { const char *a, *b; unsigned d; } rows[] = {
		{ "", "", 0 }, { "verify", "verify", 0 }, { "verify", "VERIFY", 0 },
		{ "verfy", "verify", 1 }, { "veriffy", "verify", 1 }, { "verifi", "verify", 1 },
		{ "evrify", "verify", 1 }, { "verfiy", "verify", 1 }, { "kitten", "sitting", 3 },
		{ "", "abc", 3 }, { "abc", "", 3 }, { "ca", "abc", 3 }, { "abcdef", "uvwxyz", 4 },
		{ "abcdefgh", "a", 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (tb_distance(rows[i].a, rows[i].b, 3) != rows[i].d)
			fail_msg("%s, %s: %u", rows[i].a, rows[i].b,
				 tb_distance(rows[i].a, rows[i].b, 3));
		assert_int_equal(tb_distance(rows[i].b, rows[i].a, 3), rows[i].d);
	}
}

static const char *
suggest(const char *word, const char *const *names)
{
	static char text[256];
	struct tb_near near = { .word = word };

	for (; *names; names++)
		tb_near_try(&near, *names);
	return tb_near_text(&near, text, sizeof(text));
}

static void
suggestions(void **state)
{
	static const char *const names[] = { "show", "scan", "tensors", "tensor", "verify",
		"verify", "blk.0.attn_q.weight", "blk.1.attn_q.weight", "blk.2.attn_q.weight",
		"blk.3.attn_q.weight", NULL };

	(void)state;
	assert_string_equal(suggest("verfy", names), "; did you mean \"verify\"?");
	assert_string_equal(suggest("tensros", names), "; did you mean \"tensors\" or \"tensor\"?");
	assert_string_equal(suggest("shwo", names), "; did you mean \"show\"?");
	assert_string_equal(suggest("nothing-like-it", names), "");
	assert_string_equal(suggest("x", names), "");
	assert_string_equal(suggest("", names), "");
	/* the nearest three, and those first that differ least */
	assert_string_equal(suggest("blk.3.attn_q.wieght", names), "; did you mean "
			    "\"blk.3.attn_q.weight\", \"blk.0.attn_q.weight\" or "
			    "\"blk.1.attn_q.weight\"?");
	assert_string_equal(suggest("blk.2.attn_q", names), "; did you mean "
			    "\"blk.2.attn_q.weight\"?");
}

/* A name that does not fit is not cut. */
static void
no_room(void **state)
{
	struct tb_near near = { .word = "verfy" };
	char text[20];

	(void)state;
	tb_near_try(&near, "verify");
	assert_string_equal(tb_near_text(&near, text, sizeof(text)), "");
	assert_int_equal(near.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances), cmocka_unit_test(suggestions),
		cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
