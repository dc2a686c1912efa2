/* A conversation as it is read, on a terminal that goes nowhere. */
#include "config.h"

#include "tests/unit/unit.h"

#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <wchar.h>

#include "src/base/buf.h"
#include "src/ops/chat/chat.h"
#include "ui/transcript.h"

static FILE *null;
static SCREEN *screen;
static struct transcript t;

static int
setup(void **state)
{
	(void)state;
	if (!setlocale(LC_ALL, "C.UTF-8") || !(null = fopen("/dev/null", "r+")))
		return -1;
	screen = newterm("tbtest", null, null);
	if (!screen)
		return -1;
	theme_locale();
	theme_init(false);
	transcript_init(&t, true);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	transcript_free(&t);
	endwin();
	delscreen(screen);
	fclose(null);
	return 0;
}

/* Draws it in h rows and w columns; what is seen, with the blanks at the ends of lines gone. */
static char *
seen(int h, int w)
{
	static char out[1 << 16];
	size_t n = 0;

	assert_int_equal(resizeterm(h, w), OK);
	erase();
	transcript_draw((struct area){ 0, 0, h, w }, &t);
	for (int y = 0; y < h; y++) {
		size_t end = n;

		for (int x = 0; x < w; x++) {
			wchar_t wc[CCHARW_MAX + 1];
			cchar_t c;
			attr_t attr;
			short pair;

			assert_int_equal(mvwin_wch(stdscr, y, x, &c), OK);
			assert_int_equal(getcchar(&c, wc, &attr, &pair, NULL), OK);
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%lc", (wint_t)wc[0]);
			if (wc[0] != L' ')
				end = n;
		}
		n = end;
		out[n++] = '\n';
	}
	while (n > 1 && out[n - 2] == '\n')
		n--;
	out[n] = 0;
	return out;
}

static void
set(struct chat_turn *turns, size_t n)
{
	struct chat_path path = { .turns = turns, .n = n, .system = "" };

	transcript_set(&t, &path);
}

#define ASKED(n, text) { .id = (n), .said = { .role = "user", .content = (text) }, .of = 1 }
#define SAID(n, text) { .id = (n), .said = { .role = "assistant", .content = (text) }, .of = 1 }

static void
turns(void **state)
{
	struct chat_turn path[] = {
		ASKED(1, "list\tfiles\nplease, all of them"), SAID(2, "Use **ls**:\n\n```sh\nls -a\n```"),
	};

	(void)state;
	set(path, 2);
	assert_string_equal(seen(12, 20),
			    " ▸ list    files\n   please, all of\n   them\n\n Use ls:\n\n ╭ sh\n │ ls -a\n");
	transcript_step(&t, -1);
	assert_string_equal(seen(12, 20), " ▸ list    files\n   please, all of\n   them\n\n▎Use ls:\n▎\n"
			    "▎╭ sh\n▎│ ls -a\n");
	assert_int_equal(transcript_turn(&t, SAID_MODEL)->id, 2);
	transcript_step(&t, -1);
	assert_null(transcript_turn(&t, SAID_MODEL));
	assert_int_equal(transcript_turn(&t, SAID_NOTE)->id, 1);
	transcript_step(&t, -1);
	assert_int_equal(transcript_turn(&t, SAID_NOTE)->id, 1);
}

/* What comes in pieces becomes a turn of the path without a change in how it looks. */
static void
streaming(void **state)
{
	struct chat_turn path[] = { ASKED(1, "why?"), SAID(2, "Because *it* is.") };

	(void)state;
	path[1].said.thinking = "Let me think. It is so.";
	transcript_note(&t, "set temperature");
	transcript_ask(&t, "why?");
	assert_string_equal(seen(12, 40), " [set temperature]\n\n ▸ why?\n");
	transcript_piece(&t, GEN_MSG_THINKING, "Let me th", 9);
	transcript_piece(&t, GEN_MSG_THINKING, "ink. It is so.", 14);
	assert_string_equal(seen(12, 40),
			    " [set temperature]\n\n ▸ why?\n\n ▸ thinking, 6 words  [Space]\n");
	assert_true(transcript_fold(&t));
	transcript_piece(&t, GEN_MSG_TEXT, "Because *it", 11);
	assert_string_equal(seen(12, 40), " [set temperature]\n\n ▸ why?\n\n ▾ thought, 6 words  [Space]\n"
			    "   Let me think. It is so.\n\n Because *it\n");
	transcript_piece(&t, GEN_MSG_TEXT, "* is.", 5);
	transcript_end(&t);
	transcript_note(&t, "stopped");
	set(path, 2);
	assert_string_equal(seen(14, 40), " [set temperature]\n\n ▸ why?\n\n ▾ thought, 6 words  [Space]\n"
			    "   Let me think. It is so.\n\n Because it is.\n\n [stopped]\n");
	assert_true(transcript_fold(&t));
	set(path, 2);
	assert_string_equal(seen(14, 40), " [set temperature]\n\n ▸ why?\n\n ▸ thought, 6 words  [Space]\n\n"
			    " Because it is.\n\n [stopped]\n");
	set(path, 0);
	assert_string_equal(seen(14, 40), " [set temperature]\n");
}

/* Answers that are no turns of a path: each stands behind its question. */
static void
questions(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		transcript_ask(&t, "a?");
		transcript_piece(&t, GEN_MSG_TEXT, "b", 1);
		transcript_note(&t, "n");
		transcript_piece(&t, GEN_MSG_TEXT, "c", 1);
		transcript_end(&t);
	}
	assert_string_equal(seen(12, 40), " ▸ a?\n\n bc\n\n [n]\n\n ▸ a?\n\n bc\n\n [n]\n");
}

static void
siblings(void **state)
{
	struct chat_turn path[] = { ASKED(1, "a"), SAID(5, "b"), ASKED(6, "c") };

	(void)state;
	path[1].place = 2;
	path[1].of = 3;
	path[2].place = path[2].of = 2;
	set(path, 3);
	assert_string_equal(seen(12, 40), " ▸ a\n\n 2 of 3  [<] [>]\n b\n\n 2 of 2  [<] [>]\n ▸ c\n");
}

/* The end stays in sight while it comes; found is what the rows say. */
static void
finding(void **state)
{
	struct chat_turn path[40];

	(void)state;
	for (size_t i = 0; i < 40; i++)
		path[i] = (struct chat_turn)SAID(i + 1, i == 7 ? "the *seventh*\none" : "another");
	set(path, 40);
	assert_string_equal(seen(3, 20), " another\n\n another\n");
	pager_find(&t.pager, "The seventh");
	assert_int_equal(t.pager.hits, 1);
	assert_string_equal(seen(3, 20), " the seventh\n one\n");
	t.pager.follow = true;
	(void)seen(3, 20);
	assert_true(pager_next(&t.pager, 1));
	assert_string_equal(seen(3, 20), " the seventh\n one\n");
	set(path, 2);
	pager_find(&t.pager, "another");	/* before it is drawn again */
	assert_string_equal(seen(3, 20), " another\n\n another\n");
}

/* Nothing that a terminal would obey comes through, in whatever place. */
static void
hostile(void **state)
{
	struct chat_turn path[] = { ASKED(1, "\033[2J\x9b"), SAID(2, "`\033]0;x\a`"), SAID(3, "") };

	(void)state;
	path[1].said.thinking = "\033c \b";
	path[2].said.tool_calls = "[{\"\033[1m\": 1}]";
	transcript_note(&t, "\033[H");
	set(path, 3);
	(void)seen(20, 40);
	transcript_step(&t, -1);
	transcript_step(&t, -1);
	assert_true(transcript_fold(&t));
	assert_null(strpbrk(seen(20, 40), "\033\a\b\x9b"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(turns, setup, teardown),
		cmocka_unit_test_setup_teardown(streaming, setup, teardown),
		cmocka_unit_test_setup_teardown(questions, setup, teardown),
		cmocka_unit_test_setup_teardown(siblings, setup, teardown),
		cmocka_unit_test_setup_teardown(finding, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
