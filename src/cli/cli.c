/* cli.c - global options, the table of commands, and finding the one to run. */
#include "config.h"

#include "src/cli/cli.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/base/near.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"

#define C(fn) extern const struct cli_command fn##_command;
#include "src/cli/commands.h"
#undef C
static const struct cli_command *const cli_commands[] = {
#define C(fn) &fn##_command,
#include "src/cli/commands.h"
#undef C
};
#define CLI_NCOMMANDS (sizeof(cli_commands) / sizeof(*cli_commands))

/* Headings of --help, each before the command that is the first under it. */
static const struct { const char *first, *title; } groups[] = {
	{ "pull", "Get and share" },
	{ "scan", "See" },
	{ "verify", "Trust" },
	{ "dedupe", "Tidy up" },
	{ "plan", "Convert" },
	{ "chat", "Talk" },
	{ "bench", "This machine" },
};

static const char *
heading(const char *command)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (!strcmp(groups[i].first, command))
			return groups[i].title;
	return NULL;
}

static void
print_help(const struct tb_opt *opts)
{
	printf("Usage: tbtui [OPTION...] [COMMAND [ARG...]]\n"
	       "       tbtui [OPTION...] PATH\n"
	       "Without a command, tbtui shows its screens; with PATH, on that model or folder."
	       "\n\nOptions:\n");
	tb_opt_help(opts, stdout);
	printf("\nCommands:\n");
	for (size_t i = 0; i < CLI_NCOMMANDS; i++) {
		const struct cli_command *c = cli_commands[i];
		const char *title = heading(c->name);

		if (title)
			printf("\n%s\n", title);
		printf("  %-11s %s\n", c->name, c->summary);
	}
	printf("\n\"tbtui COMMAND --help\" explains a command; \"man tbtui\" has it all.\n");
}

const struct cli_command *
cli_command(const char *name)
{
	for (size_t i = 0; i < CLI_NCOMMANDS; i++)
		if (!strcmp(cli_commands[i]->name, name))
			return cli_commands[i];
	return NULL;
}

/* Once, however often a command asks for what the options name. */
static void
tell_config(const struct cli *cli, const struct config *c)
{
	static bool told;

	for (const char *s = tb_buf_cstr(&c->wrong); *s && !told; ) {
		char line[512];
		size_t n = strcspn(s, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)n, s);
		cli_note(cli, line);
		s += n + (s[n] == '\n');
	}
	told = true;
}

enum tb_status
cli_ctx(const struct cli *cli, struct op_ctx *ctx, struct tb_err *err)
{
	const char *no_color = getenv("NO_COLOR");
	enum tb_status status = op_ctx_init(ctx, cli->db, cli->stores.v, cli->stores.n,
					    (unsigned)cli->threads, err);

	if (!status)
		tell_config(cli, &ctx->config);
	ctx->exact = cli->exact;
	ctx->template_file = cli->template_file;
	if (!status && cli->kv && !kv_type_named(cli->kv, &ctx->kv)) {
		op_ctx_free(ctx);
		return tb_fail(err, TB_EUSAGE, "--kv: f32, f16 or int8");
	}
	ctx->mono = cli->color ? !strcmp(cli->color, "never") : no_color && *no_color;
	return status;
}

static int
run_screens(struct cli *cli, const struct cli_screens *screens)
{
	struct op_ctx ctx;
	struct tb_err err;
	int status;

	if (cli_ctx(cli, &ctx, &err))
		return cli_fail(&err);
	status = screens->run(&ctx, NULL);
	op_ctx_free(&ctx);
	return status;
}

static enum cli_exit
no_command(const char *word)
{
	struct tb_near near = { .word = word };
	char hint[128];
	struct tb_err err;

	for (size_t i = 0; i < CLI_NCOMMANDS; i++)
		tb_near_try(&near, cli_commands[i]->name);
	tb_near_text(&near, hint, sizeof(hint));
	(void)tb_fail(&err, TB_EUSAGE, "no command \"%.100s\"%s", word,
		      *hint ? hint : "; \"tbtui --help\" lists them");
	return cli_fail(&err);
}

enum tb_status
cli_check(const struct cli *cli, struct tb_err *err)
{
	if (cli->threads > 1024)
		return tb_fail(err, TB_EUSAGE, "--threads: at most 1024");
	if (cli->db && !*cli->db)	/* to SQLite, a file that goes when it is closed */
		return tb_fail(err, TB_EUSAGE, "--db: no name of a file");
	if (cli->color && strcmp(cli->color, "auto") && strcmp(cli->color, "always") &&
	    strcmp(cli->color, "never"))
		return tb_fail(err, TB_EUSAGE, "--color: auto, always or never");
	return TB_OK;
}

void
cli_global_opts(struct cli *cli, struct tb_opt rows[CLI_GLOBALS])
{
	const struct tb_opt all[CLI_GLOBALS] = {
		{ 'd', "db", TB_OPT_STR, &cli->db, "FILE", "the index (env TBTUI_DB)" },
		{ 's', "store", TB_OPT_LIST, &cli->stores, "DIR",
		  "a store or folder to work on; repeatable" },
		{ 't', "threads", TB_OPT_U64, &cli->threads, "N", "worker and compute threads" },
		{ 0, "json", TB_OPT_FLAG, &cli->json, NULL, "JSON on standard output" },
		{ 'q', "quiet", TB_OPT_FLAG, &cli->quiet, NULL, "say less" },
		{ 'v', "verbose", TB_OPT_FLAG, &cli->verbose, NULL, "say more" },
		{ 0, "plain", TB_OPT_FLAG, &cli->plain, NULL,
		  "no cursor addressing: for screen readers and dumb terminals" },
		{ 0, "wide", TB_OPT_FLAG, &cli->wide, NULL,
		  "whole tables, also where the terminal is narrower" },
		{ 0, "color", TB_OPT_STR, &cli->color, "WHEN", "auto, always or never" },
		{ 0, "progress", TB_OPT_FLAG, &cli->progress, NULL,
		  "show progress even if standard error is no terminal" },
		{ 'y', "yes", TB_OPT_FLAG, &cli->yes, NULL, "answer yes to questions" },
		{ 0, "print-config", TB_OPT_FLAG, &cli->print_config, NULL,
		  "stores, keys, colours and columns, as a configuration file" },
		{ 'h', "help", TB_OPT_FLAG, &cli->help, NULL, "this text" },
		{ 'V', "version", TB_OPT_FLAG, &cli->version, NULL, "the version" },
		{ .name = NULL }
	};

	memcpy(rows, all, sizeof(all));
}

static enum cli_exit
print_config(struct cli *cli, const struct cli_screens *screens)
{
	struct tb_buf out = TB_BUF(4u << 20), clean = TB_BUF(4u << 20);
	struct config config;
	struct tb_err err;
	bool wrong;

	if (config_load(&config, &err))
		return cli_fail(&err);
	config_print(&config, &out);
	screens->print_config(&config, &out);
	if (isatty(STDOUT_FILENO))
		tb_text_clean_lines(&clean, tb_buf_cstr(&out), out.len);
	cli_put_buf(isatty(STDOUT_FILENO) ? &clean : &out);
	tell_config(cli, &config);
	wrong = config.nwrong;
	tb_buf_free(&out);
	tb_buf_free(&clean);
	config_free(&config);
	return wrong ? CLI_WRONG : CLI_OK;
}

int
cli_main(int argc, char **argv, const struct cli_screens *screens)
{
	struct cli cli = { 0 };
	struct tb_opt opts[CLI_GLOBALS];
	struct rlimit limit;
	const struct cli_command *command;
	int status = CLI_OK;
	struct tb_err err;

	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");	/* 0.5 is 0.5 in options and JSON everywhere */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* a limit of sizes is an error as a full disk is */
	/* Each thread opens files: as many as the system lets us have. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)!setrlimit(RLIMIT_NOFILE, &limit);
	}
	cli_global_opts(&cli, opts);
	if (tb_opt_parse(opts, &argc, argv, true, &err) || cli_check(&cli, &err))
		status = cli_fail(&err);
	else if (cli.version)
		printf("tbtui %s\n", PACKAGE_VERSION);
	else if (cli.help)
		print_help(opts);
	else if (cli.print_config)
		status = print_config(&cli, screens);
	else if (argc < 2 && cli.plain)
		status = plain_main(&cli);
	else if (argc < 2)
		status = run_screens(&cli, screens);
	else if ((command = cli_command(argv[1])))
		status = command->run(&cli, argc - 1, argv + 1);
	else if (cli_is_path(argv[1]))
		status = cli_open(&cli, argc - 1, argv + 1, screens);
	else
		status = no_command(argv[1]);
	status = cli_end(status);
	tb_strs_free(&cli.stores);
	return status;
}
