/* Answers on a terminal: lines end between words, however the text comes. */
#include "config.h"

#include <locale.h>

#include "src/cli/wrap.h"
#include "tests/unit/unit.h"

/* The same in pieces of every size, cut between characters. */
static void
gives(size_t columns, const char *text, const char *want)
{
	for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
		struct wrap w = WRAP(columns);
		struct tb_buf out = TB_BUF(1000);

		for (size_t i = 0, end; i < strlen(text); i = end) {
			end = i + piece < strlen(text) ? i + piece : strlen(text);
			while (((uint8_t)text[end] & 0xc0) == 0x80)
				end++;
			wrap_add(&w, text + i, end - i, &out);
		}
		wrap_end(&w, &out);
		assert_string_equal(tb_buf_cstr(&out), want);
		tb_buf_free(&out);
	}
}

static void
test_words(void **state)
{
	(void)state;
	gives(10, "one two three four", "one two\nthree four");
	gives(10, "aaaa bbbbb", "aaaa bbbbb");
	gives(10, "aaaa bbbbbb", "aaaa\nbbbbbb");
	gives(10, "a  b\n\n    c", "a  b\n\n    c");
	gives(10, "aaaa    bbbbbbb", "aaaa\nbbbbbbb");
	gives(5, "na\xc3\xafve \xc3\xa9t\xc3\xa9", "na\xc3\xafve\n\xc3\xa9t\xc3\xa9");
	gives(80, "trailing  ", "trailing");
	gives(80, "", "");
}

/* Longer than a line: from its own line on, as the terminal breaks it. */
static void
test_long(void **state)
{
	(void)state;
	gives(4, "a bbbbbb cc d", "a\nbbbbbb\ncc d");
	gives(4, "bbbbbbbb c", "bbbbbbbb\nc");
}

/* Chinese has no blanks: a line may end behind each character. */
static void
test_wide(void **state)
{
	(void)state;
	gives(5, "\xe4\xbd\xa0\xe5\xa5\xbd\xe5\x90\x97", "\xe4\xbd\xa0\xe5\xa5\xbd\n\xe5\x90\x97");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words), cmocka_unit_test(test_long),
		cmocka_unit_test(test_wide),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
