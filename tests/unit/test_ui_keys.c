/* The action table: every key has one meaning in a screen, every action a key or a
 * name, and all of it is explained. */
#include "config.h"

#include "tests/unit/unit.h"

#include <ctype.h>

#include "src/base/text.h"
#include "ui/keys.h"

static bool
is_view(enum action a)
{
	return a >= ACT_VIEW_FIRST;
}

static void
test_every_key_has_a_name(void **state)
{
	(void)state;
	for (enum action a = 1; a < ACT_COUNT; a++)
		for (const char *s = action_info[a].keys; *s; ) {
			const char *start = s;

			if (!keys_parse(&s))
				fail_msg("%s: \"%s\" is no key", action_info[a].name, start);
		}
}

static void
test_every_action_has_help(void **state)
{
	(void)state;
	for (enum action a = 1; a < ACT_COUNT; a++) {
		const char *help = action_info[a].help;

		assert_true(*action_info[a].name != 0);
		if (!*help || help[strlen(help) - 1] == '.' || strlen(help) > 48)	/* Help at 80 columns */
			fail_msg("%s: help \"%s\"", action_info[a].name, help);
		for (const char *p = action_info[a].name; !is_view(a) && *p; p++)
			if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) &&
			    *p != '-')
				fail_msg("%s: names are lower case", action_info[a].name);
	}
}

/* Two actions of one screen may not share a key; one of EVERYWHERE may lose a key to
 * a screen's own, but not its last. */
static void
test_no_conflicts(void **state)
{
	char keys[64];

	(void)state;
	for (enum view_id v = 0; v < VIEW_COUNT; v++)
		for (enum action a = 1; a < ACT_COUNT; a++) {
			const char *s = action_info[a].keys;

			if (!keys_applies(a, v))
				continue;
			keys_all(a, v, keys, sizeof(keys));
			if (*s && !*keys)
				fail_msg("%s has no key left in screen %u", action_info[a].name, v);
			while (*s) {
				const char *start = s;
				enum action got = keys_action(v, keys_parse(&s));

				if (got != a && (action_info[got].where == EVERYWHERE ||
						 action_info[a].where != EVERYWHERE))
					fail_msg("screen %u, \"%s\": %s and %s", v, start,
						 action_info[a].name, action_info[got].name);
			}
		}
}

/* Every action can be typed after ":"; in one screen a name means one thing, its own if it has
 * one. */
static void
test_names(void **state)
{
	(void)state;
	for (enum view_id v = 0; v < VIEW_COUNT; v++)
		for (enum action a = 1; a < ACT_COUNT; a++) {
			enum action got = keys_by_name(action_info[a].name, v);

			if (keys_applies(a, v) && got != a &&
			    (action_info[got].where == EVERYWHERE ||
			     action_info[a].where != EVERYWHERE))
				fail_msg("screen %u: two actions called %s", v,
					 action_info[a].name);
		}
	assert_int_equal(keys_by_name("undo", VIEW_CONVERT), ACT_UNDO);
	assert_int_equal(keys_by_name("undo", VIEW_MODELS), ACT_VIEW_UNDO);
	assert_int_equal(keys_by_name("no-such-thing", VIEW_MODELS), ACT_NONE);
	assert_int_equal(keys_by_name("", VIEW_MODELS), ACT_NONE);
}

/* Keys that a terminal, its flow control or job control may keep for itself. */
static void
test_fragile_keys_are_not_alone(void **state)
{
	static const char *const fragile[] = { "C-s", "C-q", "C-b", "C-h", "C-i", "C-j", "C-m",
					       "F11" };
	char keys[64];

	(void)state;
	for (enum action a = 1; a < ACT_COUNT; a++) {
		keys_all(a, VIEW_MODELS, keys, sizeof(keys));
		for (size_t i = 0; i < sizeof(fragile) / sizeof(*fragile); i++)
			if (!strcmp(keys, fragile[i]))
				fail_msg("%s has only %s", action_info[a].name, fragile[i]);
	}
}

static void
test_parse(void **state)
{
	const char *s = "Enter C-f  F12 é x";
	char label[16];

	(void)state;
	assert_int_equal(keys_parse(&s), '\r');
	assert_int_equal(keys_parse(&s), 6);
	assert_int_equal(keys_parse(&s), KEYS_F12);
	assert_int_equal(keys_parse(&s), 0xe9);
	assert_int_equal(keys_parse(&s), 'x');
	assert_int_equal(keys_parse(&s), 0);
	s = "F13";
	assert_int_equal(keys_parse(&s), 0);
	s = "Entre";
	assert_int_equal(keys_parse(&s), 0);
	assert_string_equal(keys_label(ACT_OPEN, VIEW_MODELS, false, label), "Enter");
	assert_string_equal(keys_label(ACT_OPEN, VIEW_MODELS, true, label), "⏎");
	/* h is the histogram there, so "left" is shown with its other key */
	assert_string_equal(keys_label(ACT_LEFT, VIEW_TENSOR, false, label), "Left");
	assert_int_equal(keys_action(VIEW_MODELS, 8), ACT_BACK);
	assert_int_equal(keys_action(VIEW_MODELS, 0x7fffffff), ACT_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_has_a_name),
		cmocka_unit_test(test_every_action_has_help),
		cmocka_unit_test(test_no_conflicts), cmocka_unit_test(test_names),
		cmocka_unit_test(test_fragile_keys_are_not_alone),
		cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
