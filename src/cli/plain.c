/* plain.c - the screens without a screen, for screen readers and dumb terminals: what
 * there is, numbered; what can be done with it, a letter each.  Whatever is chosen is
 * a subcommand, which is said first, so that it can be typed the next time. */
#include "config.h"

#include "db/tensors.h"
#include "src/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/index.h"
#include "src/cli/line.h"
#include "src/face/words.h"

#define PAGE 20
#define WORDS 8

/* %m the model, %t the tensor, "?Question" what is answered; operands behind "--". */
struct choice { char key; const char *label; const char *argv[WORDS]; };

struct plain {
	struct cli *cli;
	struct cli_index x;
	struct tb_err *err;
	bool quit, gone;	/* gone: the model has not that name any more */
};

struct plain_row { char *text, *arg; int64_t id; };	/* owned */

/* Where one is: a list, or a thing with nothing below it. */
struct plain_place {
	const char *prompt;
	const char *model, *tensor;	/* NULL: not there yet */
	int64_t id;			/* of the model in the index */
	const struct choice *choices;
	enum tb_status (*list)(struct plain *p, struct plain_place *at);	/* NULL: no list */
	void (*open)(struct plain *p, const struct plain_place *at, const struct plain_row *row);
	struct plain_row rows[PAGE];
	size_t n;
	uint64_t first, total;
	char *filter;			/* owned; NULL: none */
};

static const struct choice of_models[] = {
	{ 'r', "look for new models", { "scan" } },
	{ 'v', "verify all of them", { "verify" } },
	{ 'V', "verify all of them, their values too", { "verify", "--deep" } },
	{ 'h', "heal what is damaged from good copies", { "heal" } },
	{ 'a', "earlier verify runs", { "audit" } },
	{ 'o', "blobs that no model uses", { "blobs", "--orphans" } },
	{ 'p', "delete what no model uses", { "prune" } },
	{ 'u', "what was deleted and can come back", { "undo", "--list" } },
	{ 'b', "bring back what was deleted", { "undo", "--", "?Number of the operation" } },
	{ 'f', "free what was deleted, for good", { "undo", "--empty", "--",
						    "?Number of the operation" } },
	{ 'i', "import a directory or file", { "import", "--", "?Path", "?Name" } },
	{ 0, NULL, { NULL } }
};

static const struct choice of_model[] = {
	{ 's', "show: files, config, totals", { "show", "--", "%m" } },
	{ 'v', "verify", { "verify", "--", "%m" } },
	{ 'V', "verify, its values too", { "verify", "--deep", "--", "%m" } },
	{ 'h', "heal: damaged files from good copies", { "heal", "--", "%m" } },
	{ 'd', "delete; can come back", { "rm", "--", "%m" } },
	{ 'm', "rename", { "mv", "--", "%m", "?New name" } },
	{ 'y', "copy: a second name", { "cp", "--", "%m", "?Second name" } },
	{ 'c', "chat", { "chat", "--", "%m" } },
	{ 'g', "continue a text", { "generate", "-p", "?Text", "--", "%m" } },
	{ 'k', "a text as tokens", { "tokenize", "--", "%m", "?Text" } },
	{ 'e', "what a conversion would write", { "plan", "-q", "?Scheme (int4, int8, mxfp4, …)",
						  "--", "%m" } },
	{ 'z', "convert", { "quantize", "-q", "?Scheme (int4, int8, mxfp4, …)", "--", "%m",
			    "?Where to (a name or a directory)" } },
	{ 0, NULL, { NULL } }
};

static const struct choice of_tensor[] = {
	{ 'f', "facts", { "tensor", "--", "%m", "%t" } },
	{ 's', "statistics", { "tensor", "--stats", "--", "%m", "%t" } },
	{ 'h', "histogram", { "tensor", "--hist", "--", "%m", "%t" } },
	{ 'w', "values", { "tensor", "--values", "?Rows and columns (0:4,0:8)", "--", "%m", "%t" } },
	{ 'b', "bytes", { "tensor", "--hex", "?Offset and length (0:64)", "--", "%m", "%t" } },
	{ 0, NULL, { NULL } }
};

static void
drop_rows(struct plain_place *at)
{
	for (size_t i = 0; i < at->n; i++) {
		free(at->rows[i].text);
		free(at->rows[i].arg);
	}
	at->n = 0;
}

/* Takes the text over. */
static enum tb_status
plain_add(struct plain *p, struct plain_place *at, struct tb_buf *text, const char *arg, int64_t id)
{
	struct plain_row *r = &at->rows[at->n];

	*r = (struct plain_row){ tb_buf_take(text), tb_strdup(arg), id };
	at->n++;
	return r->text && r->arg ? TB_OK : tb_nomem(p->err);
}

static struct db_query
plain_window(const struct plain_place *at)
{
	return (struct db_query){ .filter = at->filter, .offset = at->first, .limit = PAGE };
}

static enum tb_status
list_models(struct plain *p, struct plain_place *at)
{
	struct db_query q = plain_window(at);
	struct db_models models;
	enum tb_status status;
	char params[16], size[16], family[MODEL_FAMILY_MAX];

	q.roots = p->x.roots;
	status = db_models(p->x.db, &q, &models, p->err);
	if (status)
		return status;
	at->total = models.total;
	for (size_t i = 0; i < models.n && !status; i++) {
		const struct db_model *m = &models.rows[i];
		struct tb_buf b = TB_BUF(4096);

		tb_buf_printf(&b, "%s, %s, %s parameters, %s, %s, verified: %s", m->name,
			      *m->arch ? model_family(m->arch, family) : "architecture unknown",
			      tb_human_count(m->params, params), *m->scheme ? m->scheme : "no tensors",
			      tb_human_bytes(m->bytes, size), db_model_word(m));
		status = plain_add(p, at, &b, m->path, m->id);
	}
	tb_arena_free(&models.mem);
	return status;
}

static enum tb_status
list_tensors(struct plain *p, struct plain_place *at)
{
	struct db_query q = plain_window(at);
	struct db_tensors tensors;
	enum tb_status status = db_tensors(p->x.db, at->id, &q, &tensors, p->err);
	char shape[WORD_MAX], size[16];

	if (status)
		return status;
	at->total = tensors.total;
	for (size_t i = 0; i < tensors.n && !status; i++) {
		const struct db_tensor *t = &tensors.rows[i];
		struct tb_buf b = TB_BUF(4096);

		tb_buf_printf(&b, "%s, %s, %s, %s", t->name, t->scheme,
			      word_shape(t->dim, t->ndim, " by ", shape),
			      tb_human_bytes(t->bytes, size));
		status = plain_add(p, at, &b, t->name, 0);
	}
	tb_arena_free(&tensors.mem);
	return status;
}

static void
show_list(const struct plain_place *at)
{
	if (!at->total)
		puts(at->filter ? "Nothing has that in its name. / alone shows all again."
		     : "Nothing is indexed here yet: r looks for models.");
	for (size_t i = 0; i < at->n; i++)
		cli_line("%ju  %s", (uintmax_t)(at->first + i + 1), at->rows[i].text);
	if (at->n < at->total)
		printf("%ju to %ju of %ju; + shows more, - goes back; ", (uintmax_t)at->first + 1,
		       (uintmax_t)(at->first + at->n), (uintmax_t)at->total);
	puts("? says what can be done");
}

static void
show_choices(const struct plain_place *at)
{
	if (at->list)
		puts("NUMBER  open it\n/TEXT  only names with TEXT");
	for (const struct choice *c = at->choices; c && c->key; c++)
		printf("%c  %s\n", c->key, c->label);
	printf("q  %s\n", at->model ? "back" : "quit");
}

/* One word of a choice's command; NULL: no answer, or no memory. */
static char *
word(const struct plain_place *at, const char *w)
{
	char prompt[80], *line;

	if (!strcmp(w, "%m"))
		return tb_strdup(at->model);
	if (!strcmp(w, "%t"))
		return tb_strdup(at->tensor);
	if (*w != '?')
		return tb_strdup(w);
	snprintf(prompt, sizeof(prompt), "%s: ", w + 1);
	if (line_read(prompt, &line) == LINE_TEXT && *line)
		return line;
	free(line);
	return NULL;
}

static void
run_choice(struct plain *p, const struct plain_place *at, const struct choice *c)
{
	char *argv[WORDS + 1] = { NULL };
	int n = 0;
	bool whole = true;
	enum cli_exit status;

	while (whole && n < WORDS && c->argv[n]) {
		argv[n] = word(at, c->argv[n]);
		whole = argv[n] != NULL;
		n += whole;
	}
	if (whole) {
		char *given[WORDS + 1];

		memcpy(given, argv, sizeof(given));	/* the command may turn them round */
		fputs("tbtui", stdout);
		for (int i = 0; i < n; i++) {
			putchar(' ');
			cli_put(argv[i]);
		}
		putchar('\n');
		fflush(stdout);
		status = cli_command(argv[0])->run(p->cli, n, given);
		printf("%s\n", status == CLI_OK ? "done" : status == CLI_WRONG ?
		       "done, and something is wrong" : "could not be done");
		p->gone = at->model && status == CLI_OK &&
			  (!strcmp(given[0], "rm") || !strcmp(given[0], "mv"));
	}
	for (int i = 0; i < n; i++)
		free(argv[i]);
}

static enum tb_status
plain_load(struct plain *p, struct plain_place *at)
{
	enum tb_status status;

	drop_rows(at);
	if (!at->list)
		return TB_OK;
	(void)db_changed(p->x.db);	/* what a command has just stored is seen */
	status = at->list(p, at);
	if (!status)
		show_list(at);
	return status;
}

/* A number opens a row, a letter runs a command; false: nothing of that kind. */
static bool
plain_choose(struct plain *p, struct plain_place *at, const char *answer)
{
	uint64_t n;

	if (tb_parse_u64(answer, &n)) {
		bool there = n > at->first && n <= at->first + at->n;

		if (there)
			at->open(p, at, &at->rows[n - at->first - 1]);
		return there;
	}
	for (const struct choice *c = at->choices; c && c->key && !answer[1]; c++) {
		if (c->key != *answer)
			continue;
		run_choice(p, at, c);
		return true;
	}
	return false;
}

/* false: leave this place.  *again: its list is worth hearing again. */
static bool
plain_answer(struct plain *p, struct plain_place *at, const char *line, bool *again)
{
	*again = true;
	if (!strcmp(line, "q"))
		return false;
	if (at->list && *line == '/') {
		free(at->filter);
		at->filter = line[1] ? tb_strdup(line + 1) : NULL;
		at->first = 0;
	} else if (at->list && !strcmp(line, "+")) {
		at->first += at->first + at->n < at->total ? PAGE : 0;
	} else if (at->list && !strcmp(line, "-")) {
		at->first -= at->first < PAGE ? at->first : PAGE;
	} else if (*line && strcmp(line, "?") && plain_choose(p, at, line)) {
		*again = at->list == list_models;	/* a scan may have changed it */
		if (p->gone) {
			p->gone = false;
			return false;
		}
	} else {
		*again = !*line;
		if (*line && strcmp(line, "?"))
			puts("That is not one of these:");
		if (*line)
			show_choices(at);
	}
	return !p->quit;
}

static void
visit(struct plain *p, struct plain_place *at)
{
	bool stay = true, again = true;
	char *line;

	if (!at->list)
		show_choices(at);
	while (stay) {
		if (again && plain_load(p, at)) {
			p->quit = cli_fail(p->err) != CLI_OK;
			break;
		}
		fflush(stdout);
		switch (line_read(at->prompt, &line)) {
		case LINE_TEXT:
			stay = plain_answer(p, at, line, &again);
			break;
		case LINE_INTERRUPTED:
			stay = false;
			break;
		case LINE_EOF:
			p->quit = true;
			stay = false;
			break;
		}
		free(line);
	}
	drop_rows(at);
	free(at->filter);
}

static void
open_tensor(struct plain *p, const struct plain_place *at, const struct plain_row *row)
{
	struct plain_place tensor = { .prompt = "tensor> ", .model = at->model, .tensor = row->arg,
				.choices = of_tensor };

	cli_line("%s", row->text);
	visit(p, &tensor);
}

static void
open_model(struct plain *p, const struct plain_place *at, const struct plain_row *row)
{
	struct plain_place model = { .prompt = "model> ", .model = row->arg, .id = row->id,
			       .choices = of_model, .list = list_tensors, .open = open_tensor };

	(void)at;
	cli_line("%s", row->text);
	visit(p, &model);
}

enum cli_exit
plain_main(struct cli *cli)
{
	struct tb_err err = { 0 };
	struct plain p = { .cli = cli, .err = &err };
	struct plain_place models = { .prompt = "models> ", .choices = of_models, .list = list_models,
				.open = open_model };

	line_init();
	if (!cli_index_open(&p.x, cli, &err))
		visit(&p, &models);
	cli_index_close(&p.x);
	return err.code ? cli_fail(&err) : CLI_OK;
}
