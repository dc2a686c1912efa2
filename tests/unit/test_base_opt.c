#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/opt.h"

static struct {
	bool all, quiet;
	const char *name;
	struct tb_strs list;
	uint64_t n;
	double temp;
} got;

static const struct tb_opt table[] = {
	{ 'a', "all", TB_OPT_FLAG, &got.all, NULL, "everything" },
	{ 'q', "quiet", TB_OPT_FLAG, &got.quiet, NULL, "less" },
	{ 'o', "name", TB_OPT_STR, &got.name, "NAME", "a name" },
	{ 's', "store", TB_OPT_LIST, &got.list, "DIR", "a store" },
	{ 'n', "count", TB_OPT_U64, &got.n, "N", "how many" },
	{ 0, "temp", TB_OPT_F64, &got.temp, "T", "temperature" },
	{ .name = NULL }
};

static char *argv[16];
static int argc;
static struct tb_err err;

/* Words separated by one blank each. */
static enum tb_status
parse(const char *line, bool stop)
{
	static char words[256];

	tb_strs_free(&got.list);
	memset(&got, 0, sizeof(got));
	snprintf(words, sizeof(words), "prog %s", line);
	argc = 0;
	for (char *p = words; p; ) {
		argv[argc++] = p;
		p = strchr(p, ' ');
		if (p)
			*p++ = 0;
	}
	argv[argc] = NULL;
	return tb_opt_parse(table, &argc, argv, stop, &err);
}

static void
values_in_every_form(void **state)
{
	(void)state;
	assert_ok(parse("-aq -n3 -n 4 --store=x -s y --temp 0.5 one --name z two", false), err);
	assert_true(got.all && got.quiet);
	assert_int_equal(got.n, 4);
	assert_int_equal(got.list.n, 2);
	assert_string_equal(got.list.v[0], "x");
	assert_string_equal(got.list.v[1], "y");
	assert_string_equal(got.name, "z");
	assert_true(got.temp == 0.5);
	assert_int_equal(argc, 3);
	assert_string_equal(argv[1], "one");
	assert_string_equal(argv[2], "two");
	assert_null(argv[3]);
	assert_ok(parse("-qn7", false), err);
	assert_int_equal(got.n, 7);
	assert_ok(parse("--temp -1.5 --name= -s -a", false), err);
	assert_true(got.temp == -1.5);
	assert_string_equal(got.name, "");
	assert_string_equal(got.list.v[0], "-a");
	assert_false(got.all);
}

static void
operands_end_options(void **state)
{
	(void)state;
	assert_ok(parse("-a -- -q --name", false), err);
	assert_true(got.all && !got.quiet);
	assert_int_equal(argc, 3);
	assert_string_equal(argv[1], "-q");
	assert_ok(parse("-", false), err);
	assert_string_equal(argv[1], "-");
	assert_ok(parse("-a ls -q --unknown", true), err);
	assert_int_equal(argc, 4);
	assert_string_equal(argv[1], "ls");
	assert_string_equal(argv[3], "--unknown");
	assert_false(got.quiet);
	assert_ok(parse("-- ls", true), err);
	assert_string_equal(argv[1], "ls");
}

static void
mistakes_are_named(void **state)
{
	static const struct { const char *line, *part; } bad[] = {
		{ "--nothing", "no option \"--nothing\"" }, { "--al", "\"--al\"" },
		{ "--allx", "\"--allx\"" }, { "-x", "no option \"-x\"" }, { "-ax", "\"-x\"" },
		{ "--all=yes", "--all takes no value" }, { "--name", "--name needs a value (NAME)" },
		{ "-n", "-n needs a value (N)" }, { "-n x", "\"x\" is no whole number" },
		{ "-n -1", "\"-1\"" }, { "-n 18446744073709551616", "no whole number" },
		{ "--count=", "\"\" is no whole number" }, { "--temp 1x", "\"1x\" is no number" },
		{ "--temp=", "no number" }, { "--temp nan", "no number" }, { "--temp 1e999", "no number" },
		{ "--temp inf", "no number" }, { "--=x", "no option" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_fails(parse(bad[i].line, false), err, TB_EUSAGE, bad[i].part);
	assert_ok(parse("-n 18446744073709551615", false), err);
	assert_true(got.n == UINT64_MAX);
}

static void
help_has_every_row(void **state)
{
	FILE *f = fopen(unit_path("help"), "w+");
	char text[2048];
	size_t n;

	(void)state;
	assert_non_null(f);
	tb_opt_help(table, f);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	for (const struct tb_opt *o = table; o->name; o++) {
		assert_non_null(strstr(text, o->name));
		assert_non_null(strstr(text, o->help));
	}
	assert_non_null(strstr(text, "-s, --store DIR"));
	tb_strs_free(&got.list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_in_every_form),
		cmocka_unit_test(operands_end_options),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(help_has_every_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
