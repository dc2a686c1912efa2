/* latency.c - how long the program takes to answer a key, on a pseudo terminal.
 *
 *	latency SESSION PROGRAM ARG...
 *
 * Lines of SESSION are "GROUP KEYS" (keys as in tests/scrtest.c); each key is sent alone and
 * timed until the program says that it has drawn, whatever jobs run.  After a line it is
 * waited for until nothing is left to do, unless GROUP ends with "...".  Prints a line a
 * group, "first" (from the start of the program to its first screen) and "all": keys, p50,
 * p99, max in ms. */
#include "config.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "tests/tty.h"

#define SESSION_MAX (1u << 20)
#define ROWS 36
#define COLS 120

struct times { double *ms; size_t n, cap; };

static void
die(const char *text)
{
	fprintf(stderr, "latency: %s\n", text);
	exit(1);
}

static void
add(struct times *t, double ms)
{
	if (!tb_grow(&t->ms, &t->cap, t->n + 1, sizeof(*t->ms)))
		die("out of memory");
	t->ms[t->n++] = ms;
}

static int
cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
report(const char *name, struct times *t)
{
	if (!t->n)
		return;
	qsort(t->ms, t->n, sizeof(*t->ms), cmp);
	printf("%-12s %4zu keys  p50 %7.2f  p99 %7.2f  max %7.2f ms\n", name, t->n,
	       t->ms[t->n / 2], t->ms[(t->n * 99 + 99) / 100 - 1], t->ms[t->n - 1]);
}

/* Each <name> or character for itself. */
static void
type_keys(struct tty *tty, const char *keys, struct times *group, struct times *all)
{
	struct tb_err err = { 0 };

	while (*keys) {
		const char *end = *keys == '<' ? strchr(keys, '>') : NULL;
		size_t n = end ? (size_t)(end - keys) + 1 : 1;
		char *one = tb_strndup(keys, n);
		double start = tb_monotonic();

		if (!one || tty_keys(tty, one, &err) || tty_drawn(tty, &err))
			die(one ? err.msg : "out of memory");
		if (tty->closed)
			die("the program has ended");
		add(group, 1e3 * (tb_monotonic() - start));
		add(all, group->ms[group->n - 1]);
		free(one);
		keys += n;
	}
}

static void
play(struct tty *tty, char *session, struct times *all)
{
	struct tb_err err = { 0 };

	for (char *line = session, *next; *line; line = next) {
		struct times group = { 0 };
		char *keys = strchr(line, ' ');

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		if (*line == '#' || !keys)
			continue;
		*keys++ = 0;
		type_keys(tty, keys, &group, all);
		report(line, &group);
		free(group.ms);
		if (!tb_ends(line, "...") && tty_settle(tty, &err))
			die(err.msg);
	}
}

int
main(int argc, char **argv)
{
	struct tty tty = { .master = -1, .timeout = 600, .busy = true };
	struct times all = { 0 }, first = { 0 };
	struct tb_err err = { 0 };
	char *session;
	double start;

	setlocale(LC_ALL, "");
	if (argc < 3)
		die("latency SESSION PROGRAM ARG...");
	if (tb_file_slurp(argv[1], SESSION_MAX, &session, NULL, &err))
		die(err.msg);
	start = tb_monotonic();
	if (tty_start(&tty, argv + 2, ROWS, COLS, &err))
		die(err.msg);
	add(&first, 1e3 * (tb_monotonic() - start));
	report("first", &first);
	play(&tty, session, &all);
	report("all", &all);
	tty_free(&tty);
	free(session);
	free(first.ms);
	free(all.ms);
	return 0;
}
