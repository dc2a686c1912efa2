/* Pasted text between its marks, whatever is in it. */
#include "config.h"

#include <string.h>

#include "tests/unit/unit.h"
#include "ui/paste.h"
#include "ui/term.h"

/* Feeds it; the number of bytes until the end was seen, 0 if it was not. */
static size_t
feed(struct paste *p, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (paste_byte(p, (unsigned char)s[i]))
			return i + 1;
	return 0;
}

static void
expect(const char *in, const char *want)
{
	struct paste p;

	paste_begin(&p);
	assert_int_equal(feed(&p, in, strlen(in)), 0);
	assert_true(p.on);
	assert_int_equal(feed(&p, TERM_PASTE_END "q", sizeof(TERM_PASTE_END "q") - 1),
			 sizeof(TERM_PASTE_END) - 1);
	assert_false(p.on);
	assert_false(p.cut);
	assert_string_equal(tb_buf_cstr(&p.text), want);
	paste_end(&p);
}

static void
test_whole(void **state)
{
	(void)state;
	expect("", "");
	expect("one\rtwo\r", "one\rtwo\r");
	expect("\033", "\033");
	expect("\033[20", "\033[20");
	expect("\033\033[201", "\033\033[201");
	expect("a\033[200~b", "a\033[200~b");
}

/* More than anybody types: the end is missing, and the end mark is still seen. */
static void
test_too_long(void **state)
{
	struct paste p;

	(void)state;
	paste_begin(&p);
	for (int i = 0; i < 65 << 20; i++)
		assert_false(paste_byte(&p, 'x'));
	assert_true(p.cut);
	assert_true(p.text.len <= 64u << 20);
	assert_int_equal(feed(&p, TERM_PASTE_END, sizeof(TERM_PASTE_END) - 1),
			 sizeof(TERM_PASTE_END) - 1);
	paste_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
