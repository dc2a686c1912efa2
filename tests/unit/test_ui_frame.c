/* The frame in process: a terminal that goes nowhere, read back cell by cell.  What
 * needs a job that stands still is here; all else is in tests/screens. */
#include "config.h"

#include "tests/unit/unit.h"

#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

#include "src/ops/home/home.h"
#include "ui/loop.h"

static FILE *null;
static SCREEN *screen;
static struct ui ui;
static struct op_ctx ctx;
static sem_t started, gate;

static int
start(const char *locale)
{
	if (!setlocale(LC_ALL, locale))
		return -1;
	null = fopen("/dev/null", "r+");
	screen = null ? newterm("tbtest", null, null) : NULL;
	if (!screen || pipe(ui.wake))
		return -1;
	theme_locale();
	theme_init(false);
	ui.ctx = &ctx;
	jobs_init(&ui.jobs, ui.wake[1]);
	sem_init(&started, 0, 0);
	sem_init(&gate, 0, 0);
	ui_open(&ui, VIEW_JOBS, NULL);
	return ui.top ? 0 : -1;
}

static int
setup(void **state)
{
	(void)state;
	return start("C.UTF-8");
}

static int
setup_ascii(void **state)
{
	(void)state;
	return start("C");
}

static int
teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		sem_post(&gate);	/* a test that failed left a job behind it */
	ui_close_all(&ui);
	jobs_free(&ui.jobs);
	endwin();
	delscreen(screen);
	fclose(null);
	close(ui.wake[0]);
	close(ui.wake[1]);
	ui = (struct ui){ 0 };
	return 0;
}

/* Row y as it would be shown, without blanks at its end; '^' in front if its first
 * cell is in reverse. */
static const char *
row(int y)
{
	static char out[2048];
	size_t n = 0, end = 0;

	for (int x = 0; x < COLS; x++) {
		wchar_t wc[CCHARW_MAX + 1];
		cchar_t c;
		attr_t attr;
		short pair;

		assert_int_equal(mvwin_wch(stdscr, y, x, &c), OK);
		assert_int_equal(getcchar(&c, wc, &attr, &pair, NULL), OK);
		if (!x && attr & A_REVERSE)
			out[n++] = '^';
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%lc", (wint_t)wc[0]);
		if (wc[0] != L' ')
			end = n;
		if (wcwidth(wc[0]) == 2)
			x++;
	}
	out[end] = 0;
	return out;
}

static bool
shown(const char *text)
{
	for (int y = 0; y < LINES; y++)
		if (strstr(row(y), text))
			return true;
	return false;
}

/* A job at 40 of 100 that stands until the gate opens. */
static enum tb_status
half_way(void *arg, struct tb_job *job, struct tb_err *err)
{
	(void)arg;
	tb_job_total(job, 100, 0);
	tb_job_step(job, 40, 0);
	tb_job_what(job, "blob\033[31m 7");
	sem_post(&started);
	while (sem_wait(&gate))
		;
	return tb_job_check(job, err);
}

static const struct job_ops half_job = { .flags = JOB_LISTED, .run = half_way };

static struct ui_job *
start_half(const char *title)
{
	struct tb_err err;
	struct ui_job *j = jobs_start(&ui.jobs, &half_job, NULL, NULL, title, &err);

	assert_non_null(j);
	while (sem_wait(&started))
		;
	jobs_pump(&ui.jobs);
	return j;
}

static void
finish(void)
{
	sem_post(&gate);
	while (jobs_busy(&ui.jobs, false)) {
		struct pollfd p = { ui.wake[0], POLLIN, 0 };
		char c;

		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_int_equal(read(ui.wake[0], &c, 1), 1);
		jobs_pump(&ui.jobs);
	}
}

static void
draw_at(int rows, int cols)
{
	assert_int_equal(resizeterm(rows, cols), OK);
	frame_draw(&ui);
}

static void
test_resize_during_job(void **state)
{
	static const struct { int rows, cols; } sizes[] = {
		{ 24, 80 }, { 10, 40 }, { 3, 12 }, { 1, 1 }, { 2, 200 }, { 16, 60 }, { 45, 160 },
	};

	(void)state;
	start_half("verify 模型");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		draw_at(sizes[i].rows, sizes[i].cols);
		assert_false(shown("\033"));
		if (sizes[i].rows < 6)
			continue;
		assert_non_null(strstr(row(LINES - 2), "40%"));
		assert_non_null(strstr(row(LINES - 2), "▓▓▓▓░░░░░░"));
		assert_true(sizes[i].cols < 60 || shown("runs"));
		assert_true(sizes[i].cols < 60 || shown("verify 模型"));
	}
	draw_at(24, 80);
	assert_non_null(strstr(row(LINES - 1), "X cancel"));
	finish();
	frame_draw(&ui);
	assert_true(shown("done"));
	assert_null(strstr(row(LINES - 1), "X cancel"));
	assert_null(strstr(row(LINES - 2), "40%"));
}

static void
test_cancel_key(void **state)
{
	struct ui_job *j;

	(void)state;
	j = start_half("long");
	draw_at(24, 80);
	ui_act(&ui, ACT_CANCEL);
	finish();
	frame_draw(&ui);
	assert_int_equal(j->progress.state, TB_JOB_CANCELLED);
	assert_true(shown("cancelled"));
	ui_act(&ui, ACT_OPEN);		/* all that is known of it */
	frame_draw(&ui);
	assert_true(shown("state     cancelled"));
	assert_true(shown("blob"));
	ui_act(&ui, ACT_BACK);
	frame_draw(&ui);
	assert_true(shown("PROGRESS"));
}

static bool parts_loaded;	/* the second and third are done by now, a fourth came */

/* Three files of a job: what is the matter is above, what is done below. */
static size_t
three_parts(void *arg, struct job_part *out, size_t max)
{
	static const struct job_part parts[] = {
		{ "config\033[31m", 512, 512, PART_DONE, 0, "" },
		{ "layer 1", 50, 100, PART_RUNS, 1e6, "" },
		{ "layer 2", 0, 1000, PART_AGAIN, 0, "the connection was cut; in 4 s once more" },
	};

	(void)arg;
	for (size_t i = 0; i < 3 && i < max; i++) {
		out[i] = parts[i];
		if (parts_loaded && i)
			out[i].state = PART_DONE;
	}
	if (parts_loaded && max > 3)
		out[3] = (struct job_part){ .name = "layer 3", .total = 100, .state = PART_RUNS };
	return parts_loaded ? 4 : 3;
}

static enum tb_status
fit_again(void *arg, struct tb_err *err)
{
	(void)arg;
	(void)err;
	return TB_OK;
}

static const struct job_ops parts_job = {
	.flags = JOB_LISTED | JOB_TRANSFER, .run = half_way, .parts = three_parts, .again = fit_again,
};

static void
test_parts(void **state)
{
	struct tb_err err;
	struct ui_job *j;

	(void)state;
	start_half("verify");
	finish();
	j = jobs_start(&ui.jobs, &parts_job, NULL, NULL, "pull a:b", &err);
	assert_non_null(j);
	while (sem_wait(&started))
		;
	jobs_pump(&ui.jobs);
	ui_act(&ui, ACT_FIRST);
	draw_at(24, 80);
	assert_non_null(strstr(row(LINES - 1), "X cancel  P pause"));
	ui_act(&ui, ACT_OPEN);
	draw_at(24, 120);
	assert_int_equal(ui.top->id, VIEW_PARTS);
	assert_non_null(strstr(row(0), "pull a:b"));
	assert_non_null(strstr(row(2), "layer 2"));
	assert_non_null(strstr(row(2), "! again"));
	assert_non_null(strstr(row(3), "loading"));
	assert_non_null(strstr(row(3), "50%"));
	assert_non_null(strstr(row(3), "1.0 MB/s"));
	assert_non_null(strstr(row(4), "✓ done"));
	assert_false(shown("\033"));
	assert_non_null(strstr(row(LINES - 3), "the connection was cut"));
	assert_non_null(strstr(row(LINES - 2), "runs · 1 of 3 files · 40 B of 100 B · 1 tried again"));
	draw_at(24, 60);
	assert_true(shown("50%"));
	parts_loaded = true;		/* what is at work is above, and nobody looks at another */
	draw_at(24, 120);
	assert_non_null(strstr(row(2), "layer 3"));
	assert_int_equal(ui.top->list.cur, 0);
	ui_act(&ui, ACT_DOWN);
	assert_int_equal(ui.top->list.cur, 1);
	parts_loaded = false;		/* who looks at one stays there: it is the last now */
	frame_draw(&ui);
	assert_non_null(strstr(row(4), "config"));
	assert_int_equal(ui.top->list.cur, 2);
	ui_act(&ui, ACT_PAUSE);
	assert_true(j->held);
	sem_post(&gate);
	while (j->progress.state == TB_JOB_RUNNING)
		jobs_pump(&ui.jobs);
	frame_draw(&ui);
	assert_non_null(strstr(row(LINES - 2), "paused"));
	assert_non_null(strstr(row(LINES - 1), "P go on"));
	ui_act(&ui, ACT_CANCEL);
	finish();
	frame_draw(&ui);
	assert_non_null(strstr(row(LINES - 2), "cancelled"));
	assert_null(strstr(row(LINES - 1), "cancel"));
	ui_act(&ui, ACT_BACK);
	frame_draw(&ui);
	assert_int_equal(ui.top->id, VIEW_JOBS);
}

/* What does not fit in a line takes more of them: there are empty ones above. */
static void
test_messages(void **state)
{
	(void)state;
	draw_at(10, 40);
	ui_say(&ui, ROLE_ERROR, "evil \033]0;title\007 and long enough to go on below");
	frame_draw(&ui);
	assert_false(shown("\033"));
	assert_non_null(strstr(row(LINES - 3), "evil"));
	assert_non_null(strstr(row(LINES - 2), " below"));
	start_half("long");		/* its bar keeps the line */
	frame_draw(&ui);
	assert_non_null(strstr(row(LINES - 4), "evil"));
	assert_non_null(strstr(row(LINES - 3), " below"));
	assert_non_null(strstr(row(LINES - 2), "40%"));
	finish();
	ui_say(&ui, ROLE_ERROR, "evil");
	draw_at(4, 40);			/* no summary line: it goes where the keys are */
	assert_non_null(strstr(row(LINES - 1), "evil"));
}

/* Nobody can say yes to what is not there to be read. */
static void
test_long_question(void **state)
{
	(void)state;
	draw_at(10, 40);
	view_ask(ui.top, NULL, "REPLACE %s (int8, 7.2 GB; it is kept beside the new one) by int4, "
		 "4.1 GB?", "a:model");
	frame_draw(&ui);
	assert_non_null(strstr(row(LINES - 3), "REPLACE a:model"));
	assert_non_null(strstr(row(LINES - 1), "[y/N]"));
	assert_non_null(strstr(row(0), "7 Jobs"));
	*ui.question = 0;
	draw_at(10, 40);
	assert_null(strstr(row(LINES - 3), "REPLACE"));
}

static void
test_tabs(void **state)
{
	(void)state;
	draw_at(24, 80);
	assert_non_null(strstr(row(0), "1 Models"));
	for (int x = 0; x < COLS; x++) {
		enum view_id id = frame_tab_at(&ui, x);

		assert_true(id == VIEW_COUNT || view_rows[id].tab);
	}
	assert_int_equal(frame_tab_at(&ui, 0), VIEW_COUNT);
	assert_int_equal(frame_tab_at(&ui, 9), VIEW_MODELS);
	draw_at(24, 30);		/* digits alone, and where one is */
	assert_non_null(strstr(row(0), "7 Jobs"));
	assert_null(strstr(row(0), "Models"));
	assert_int_equal(frame_tab_at(&ui, 1), VIEW_MODELS);
}

/* Where the locale knows only ASCII, no other byte is drawn. */
static void
test_ascii(void **state)
{
	(void)state;
	start_half("verify \xe6\xa8\xa1\xe5\x9e\x8b");
	draw_at(24, 80);
	assert_non_null(strstr(row(LINES - 2), "####......"));
	assert_true(shown("verify ??"));
	for (int y = 0; y < LINES; y++)
		for (const char *s = row(y); *s; s++)
			assert_true((unsigned char)*s < 0x80);
	finish();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_resize_during_job, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancel_key, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_question, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tabs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ascii, setup_ascii, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
