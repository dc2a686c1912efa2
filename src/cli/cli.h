/* cli.h - the subcommands: they start an operation, show its progress on standard
 * error and print its result.  No formats, SQL or threads of their own here. */
#ifndef TBTUI_CLI_CLI_H
#define TBTUI_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/base/opt.h"

struct cJSON;
struct config;
struct model;
struct model_loc;
struct op_ctx;
struct tb_buf;
struct tb_job;

/* Done, nothing is wrong; done, something is wrong; could not be done. */
enum cli_exit { CLI_OK = 0, CLI_WRONG = 1, CLI_FAILED = 2 };

/* The global options. */
struct cli {
	const char *db;			/* NULL = the default place */
	struct tb_strs stores;		/* none = the default roots */
	uint64_t threads;		/* 0 = all cores */
	bool json, quiet, verbose, plain, wide, progress, yes, help, version, print_config;
	const char *color;
	bool exact;			/* of commands that run a model: engine_opts */
	const char *kv;			/* as it was said; NULL: it was not */
	const char *template_file;	/* of --template; NULL: the model's own */
};

/* A command. argv[0] is its name; options are parsed by the command itself, with
 * cli_parse(). */
struct cli_command {
	const char *name;
	const char *args;		/* "[PATTERN]" */
	const char *summary;
	enum cli_exit (*run)(struct cli *cli, int argc, char **argv);
};
/* Stands where the head of the command's function would: what --help, completions and the
 * manual say of it.  The list of them is made from the files in local.mk, in their order. */
#define COMMAND(fn, name, args, summary) \
	static enum cli_exit fn(struct cli *cli, int argc, char **argv); \
	extern const struct cli_command fn##_command; \
	const struct cli_command fn##_command = { name, args, summary, fn }; \
	static enum cli_exit fn(struct cli *cli, int argc, char **argv)
/* NULL: there is none of that name. */
const struct cli_command *cli_command(const char *name);

/* The global options as rows that fill *cli; they are understood before and after
 * the command.  Ends with a row of name NULL; CLI_GLOBALS rows with it. */
#define CLI_GLOBALS 15
void cli_global_opts(struct cli *cli, struct tb_opt rows[CLI_GLOBALS]);
/* Are their values ones that we know? */
enum tb_status cli_check(const struct cli *cli, struct tb_err *err) TB_MUST_USE;

/* The full-screen program, of which nothing is known here. */
struct cli_screens {
	/* open: the model whose page comes first, or, with a URL for a path, the conversation;
	 * NULL: the list of all. */
	int (*run)(struct op_ctx *ctx, const struct model_loc *open);
	/* Keys, colours and columns as they are, in lines of the configuration; what is
	 * wrong with its lines joins config->wrong. */
	void (*print_config)(struct config *config, struct tb_buf *out);
};
int cli_main(int argc, char **argv, const struct cli_screens *screens);

/* The index, stores and workers that the global options name. */
enum tb_status cli_ctx(const struct cli *cli, struct op_ctx *ctx, struct tb_err *err) TB_MUST_USE;

/* The model that REF names, opened; model_free() it. */
enum tb_status cli_model(const struct cli *cli, const char *ref, struct model **out,
			 struct tb_err *err) TB_MUST_USE;

/* Parses a command's own options (a table ended by name NULL) and the global ones
 * (a letter that both have is the command's), and prints its --help.  false: return
 * *status. min/max operands; max < 0 = any number. */
bool cli_parse(struct cli *cli, const struct tb_opt *opts, int *argc, char **argv,
	       int min, int max, enum cli_exit *status);

/* "tbtui: message" on standard error, cleaned; CLI_FAILED. */
enum cli_exit cli_fail(const struct tb_err *err);
/* The same of how the command was called. */
enum cli_exit cli_usage(const char *fmt, ...) TB_PRINTF(1, 2);
/* The same of what was done, but for that; CLI_WRONG. */
enum cli_exit cli_complain(const struct tb_err *err);
/* Something to know, on standard error, cleaned; "" and --quiet: nothing. */
void cli_note(const struct cli *cli, const char *text);
/* Something that belongs on standard output could not be put together: cli_end() says so. */
void cli_lost(void);
/* The last of all: has everything been written?  The exit status of the program. */
int cli_end(int status);
/* What came together in a buffer, on standard output. */
void cli_put_buf(const struct tb_buf *b);
/* The same, and where models were looked for, and how to get some; for people only. */
void cli_explain(const struct cli *cli, const struct op_ctx *ctx, const char *text);
/* One document and a newline on standard output; frees it. */
enum cli_exit cli_print_json(struct cJSON *doc);
/* A string from outside, cleaned, on standard output. */
void cli_put(const char *s);
/* A line of such strings, cleaned as a whole. */
void cli_line(const char *fmt, ...) TB_PRINTF(1, 2);
/* cli_put() of a text of several lines; no newline is added. */
void cli_put_lines(const char *text, size_t len);

/* Runs fn(arg, job, err) here while its progress is drawn on standard error (when
 * that is a terminal or --progress); SIGINT cancels it,
 * SIGTERM and SIGHUP cancel it and then end the program. */
typedef enum tb_status cli_op(void *arg, struct tb_job *job, struct tb_err *err);
enum tb_status cli_run(const struct cli *cli, const char *title, cli_op *fn, void *arg,
		       struct tb_err *err) TB_MUST_USE;

/* The same; last(cli, arg, err) says what failed where nothing behind it will be said any more, as
 * a signal ends the program. */
typedef void cli_last(const struct cli *cli, void *arg, const struct tb_err *err);
enum tb_status cli_run_to(const struct cli *cli, const char *title, cli_op *fn, void *arg,
			  cli_last *last, struct tb_err *err) TB_MUST_USE;

/* How far it is, in at most `cols` columns (SIZE_MAX: no limit); appended. */
struct tb_progress;
void cli_progress_line(struct tb_buf *out, const char *title, const struct tb_progress *p,
		       size_t cols);

/* An operand that is a text; "-": standard input.  Appended to *out, which says how much is
 * too long. */
enum tb_status cli_read_text(const char *arg, struct tb_buf *out, struct tb_err *err) TB_MUST_USE;

/* true = yes. Asks on the terminal; --yes answers; without both TB_EUSAGE. */
enum tb_status cli_confirm(const struct cli *cli, const char *question, bool *yes,
			   struct tb_err *err) TB_MUST_USE;

/* open.c, "tbtui PATH": is the first operand rather a path than a mistyped command?
 * argv[0] is the path. */
bool cli_is_path(const char *word);
int cli_open(struct cli *cli, int argc, char **argv, const struct cli_screens *screens);
/* plain.c, "tbtui --plain": numbered menus, a line at a time. */
enum cli_exit plain_main(struct cli *cli);

/* made.c: what was replaced, as three lines, or none where nothing was; as "replaced" of an
 * object: its name and two commands, or null. */
struct kept;
void kept_print(const struct kept *k);
void kept_json(struct cJSON *doc, const struct kept *k);
/* A model that a command has made in a store, as two or three lines or as JSON. */
struct cli_made {
	const char *name, *root;	/* root: of the store */
	struct { const char *what; size_t n; } parts[2];	/* "layer", 3; what NULL: no more */
	uint64_t bytes;
	double seconds;
	const struct kept *kept;
};
enum cli_exit cli_made(const struct cli *cli, const struct cli_made *m);
/* How a command ends that writes to a store: why it failed (status, err), else what the index
 * could not follow (*late, see face/after.h), else `shown`, as printing has ended. */
enum cli_exit cli_made_end(enum tb_status status, const struct tb_err *err,
			   const struct tb_err *late, enum cli_exit shown);
#endif
