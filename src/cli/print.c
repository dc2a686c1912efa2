/* print.c - how results and errors of a command are put out. */
#include "config.h"

#include "src/cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"

enum cli_exit
cli_fail(const struct tb_err *err)
{
	char clean[sizeof(err->msg) * 2];

	fprintf(stderr, "tbtui: %s\n", tb_text_clean(err->msg, clean, sizeof(clean)));
	return CLI_FAILED;
}

enum cli_exit
cli_usage(const char *fmt, ...)
{
	struct tb_err err = { .code = TB_EUSAGE };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.msg, sizeof(err.msg), fmt, ap);
	va_end(ap);
	return cli_fail(&err);
}

enum cli_exit
cli_complain(const struct tb_err *err)
{
	(void)cli_fail(err);
	return CLI_WRONG;
}

static bool lost;

void
cli_lost(void)
{
	lost = true;
}

/* Who read it has seen enough ("tbtui ls | head"), which is no failure. */
static bool
reader_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return errno == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR));
}

/* No memory is needed here: there may be none. */
int
cli_end(int status)
{
	struct tb_err err;

	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		if (reader_gone())
			return status;
		(void)(errno ? tb_fail_errno(&err, "standard output could not be written")
		       : tb_fail(&err, TB_EIO, "standard output could not be written"));
		return cli_fail(&err);
	}
	if (!lost)
		return status;
	(void)tb_fail(&err, TB_ENOMEM, "out of memory: what was printed is not whole");
	return cli_fail(&err);
}

void
cli_put_buf(const struct tb_buf *b)
{
	if (tb_buf_failed(b))
		cli_lost();
	fwrite(tb_buf_cstr(b), 1, b->len, stdout);
}

enum cli_exit
cli_print_json(cJSON *doc)
{
	struct tb_err err;
	char *text = json_print(doc);

	json_free(doc);
	if (!text) {
		(void)tb_nomem(&err);
		return cli_fail(&err);
	}
	puts(text);
	free(text);
	return CLI_OK;
}

void
cli_put(const char *s)
{
	struct tb_buf b = TB_BUF(1u << 20);

	tb_text_clip(&b, s, SIZE_MAX, false);
	cli_put_buf(&b);
	tb_buf_free(&b);
}

void
cli_line(const char *fmt, ...)
{
	char *line;
	va_list ap;

	va_start(ap, fmt);
	line = tb_vasprintf(fmt, ap);
	va_end(ap);
	if (line)
		cli_put(line);
	else
		cli_lost();
	putchar('\n');
	free(line);
}

void
cli_put_lines(const char *text, size_t len)
{
	struct tb_buf b = TB_BUF(4 * len + 16);

	tb_text_clean_lines(&b, text, len);
	cli_put_buf(&b);
	tb_buf_free(&b);
}

enum tb_status
cli_read_text(const char *arg, struct tb_buf *out, struct tb_err *err)
{
	char part[65536];
	size_t n;

	if (strcmp(arg, "-"))
		tb_buf_str(out, arg);
	else
		while ((n = fread(part, 1, sizeof(part), stdin)) > 0)
			tb_buf_add(out, part, n);
	if (!strcmp(arg, "-") && ferror(stdin))
		return tb_fail_errno(err, "standard input");
	return tb_buf_status(out, "the text", err);
}

enum tb_status
cli_confirm(const struct cli *cli, const char *question, bool *yes, struct tb_err *err)
{
	char answer[16];

	*yes = cli->yes;
	if (cli->yes)
		return TB_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return tb_fail(err, TB_EUSAGE, "%s Give --yes to answer without a terminal.",
			       question);
	fprintf(stderr, "%s [y/N] ", question);
	*yes = fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
	return TB_OK;
}

static bool
has_row(const struct tb_opt *opts, size_t n, char letter, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (name ? !strcmp(opts[i].name, name) : letter && opts[i].letter == letter)
			return true;
	return false;
}

/* A command's rows, then the global ones that it does not use otherwise: caller frees.  NULL: no
 * memory. */
static struct tb_opt *
merge(struct cli *cli, const struct tb_opt *own)
{
	struct tb_opt globals[CLI_GLOBALS], *all;
	size_t n = 0, nown = 0;

	while (own && own[nown].name)
		nown++;
	if (!(all = tb_calloc(nown + CLI_GLOBALS, sizeof(*all))))
		return NULL;
	for (; n < nown; n++)
		all[n] = own[n];
	cli_global_opts(cli, globals);
	for (size_t i = 0; globals[i].name; i++) {
		if (has_row(all, nown, 0, globals[i].name))
			continue;
		all[n] = globals[i];
		if (has_row(all, nown, all[n].letter, NULL))
			all[n].letter = 0;
		n++;
	}
	all[n] = (struct tb_opt){ .name = NULL };
	return all;
}

static void
print_examples(const char *command)
{
	static const struct { const char *command, *line, *what; } examples[] = {
#define E(command, line, what) { command, line, what },
#include "src/cli/examples.def"
#undef E
	};
	const char *before = "\nExamples:\n";

	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
		if (!strcmp(examples[i].command, command)) {
			printf("%s  %s\n      %s\n", before, examples[i].line, examples[i].what);
			before = "";
		}
}

static void
print_help(const char *command, const struct tb_opt *own)
{
	const struct cli_command *c = cli_command(command);

	if (c)		/* a path is none */
		printf("Usage: tbtui %s [OPTION...]%s%s\n%c%s.\n", c->name, *c->args ? " " : "",
		       c->args, toupper((unsigned char)*c->summary), c->summary + 1);
	if (own && own->name) {
		printf("\nOptions:\n");
		tb_opt_help(own, stdout);
	}
	print_examples(command);
	printf("\nGlobal options: \"tbtui --help\".\n");
}

bool
cli_parse(struct cli *cli, const struct tb_opt *opts, int *argc, char **argv, int min, int max,
	  enum cli_exit *status)
{
	struct tb_opt *all = merge(cli, opts);
	const char *command = argv[0];
	struct tb_err err;
	enum tb_status wrong = all ? tb_opt_parse(all, argc, argv, false, &err) : tb_nomem(&err);

	free(all);
	*status = CLI_OK;
	if (wrong || cli_check(cli, &err)) {
		*status = cli_fail(&err);
		return false;
	}
	if (cli->help) {
		print_help(command, opts);
		return false;
	}
	if (*argc - 1 < min || (max >= 0 && *argc - 1 > max)) {
		*status = cli_usage("%s: %s operands; see \"tbtui %s --help\"", command,
				    *argc - 1 < min ? "too few" : "too many", command);
		return false;
	}
	return true;
}
