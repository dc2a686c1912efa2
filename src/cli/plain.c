/* plain.c - the screens without a screen, for screen readers and dumb terminals: what
 * there is, numbered; what can be done with it, a letter each.  Whatever is chosen is
 * a subcommand, which is said first, so that it can be typed the next time. */
#include "config.h"

#include "src/cli/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/blob.h"
#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/line.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"

#define PAGE 20
#define WORDS 8

/* %m the model, %t the tensor, "?Question" what is answered; operands behind "--". */
struct choice { char key; const char *label; const char *argv[WORDS]; };

struct plain {
	struct cli *cli;
	struct op_ctx ctx;
	struct db *db;
	struct tb_err *err;
	bool quit;
};

struct row { char *text, *arg; int64_t id; };	/* owned */

/* Where one is: a list, or a thing with nothing below it. */
struct place {
	const char *prompt;
	const char *model, *tensor;	/* NULL: not there yet */
	int64_t id;			/* of the model in the index */
	const struct choice *choices;
	enum tb_status (*list)(struct plain *p, struct place *at);	/* NULL: no list */
	void (*open)(struct plain *p, const struct place *at, const struct row *row);
	struct row rows[PAGE];
	size_t n;
	uint64_t first, total;
	char *filter;			/* owned; NULL: none */
};

static const struct choice of_models[] = {
	{ 'r', "look for new models", { "scan" } },
	{ 'v', "verify all of them", { "verify" } },
	{ 'a', "earlier verify runs", { "audit" } },
	{ 'o', "blobs that no model uses", { "blobs", "--orphans" } },
	{ 'i', "import a directory or file", { "import", "--", "?Path", "?Name" } },
	{ 0, NULL, { NULL } }
};

static const struct choice of_model[] = {
	{ 's', "show: files, config, totals", { "show", "--", "%m" } },
	{ 'v', "verify", { "verify", "--", "%m" } },
	{ 'V', "verify, its values too", { "verify", "--deep", "--", "%m" } },
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
drop_rows(struct place *at)
{
	for (size_t i = 0; i < at->n; i++) {
		free(at->rows[i].text);
		free(at->rows[i].arg);
	}
	at->n = 0;
}

/* Takes the text over. */
static enum tb_status
add_row(struct plain *p, struct place *at, struct tb_buf *text, const char *arg, int64_t id)
{
	struct row *r = &at->rows[at->n];

	*r = (struct row){ tb_buf_take(text), tb_strdup(arg), id };
	at->n++;
	return r->text && r->arg ? TB_OK : tb_nomem(p->err);
}

static struct db_query
window(const struct place *at)
{
	return (struct db_query){ .filter = at->filter, .offset = at->first, .limit = PAGE };
}

static enum tb_status
list_models(struct plain *p, struct place *at)
{
	struct db_query q = window(at);
	struct db_models models;
	enum tb_status status;
	char params[16], size[16], family[MODEL_FAMILY_MAX];

	q.roots = p->cli->stores.n ? &p->ctx.roots : NULL;
	status = db_models(p->db, &q, &models, p->err);
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
		status = add_row(p, at, &b, m->path, m->id);
	}
	tb_arena_free(&models.mem);
	return status;
}

static enum tb_status
list_tensors(struct plain *p, struct place *at)
{
	struct db_query q = window(at);
	struct db_tensors tensors;
	enum tb_status status = db_tensors(p->db, at->id, &q, &tensors, p->err);
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
		status = add_row(p, at, &b, t->name, 0);
	}
	tb_arena_free(&tensors.mem);
	return status;
}

static void
say(const char *text)
{
	cli_put(text);
	putchar('\n');
}

static void
show_list(const struct place *at)
{
	if (!at->total)
		say(at->filter ? "Nothing has that in its name. / alone shows all again."
		    : "Nothing is indexed here yet: r looks for models.");
	for (size_t i = 0; i < at->n; i++) {
		printf("%ju  ", (uintmax_t)(at->first + i + 1));
		say(at->rows[i].text);
	}
	if (at->n < at->total)
		printf("%ju to %ju of %ju; + shows more, - goes back; ", (uintmax_t)at->first + 1,
		       (uintmax_t)(at->first + at->n), (uintmax_t)at->total);
	puts("? says what can be done");
}

static void
show_choices(const struct place *at)
{
	if (at->list)
		puts("NUMBER  open it\n/TEXT  only names with TEXT");
	for (const struct choice *c = at->choices; c && c->key; c++)
		printf("%c  %s\n", c->key, c->label);
	printf("q  %s\n", at->model ? "back" : "quit");
}

/* One word of a choice's command; NULL: no answer, or no memory. */
static char *
word(const struct place *at, const char *w)
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
say_command(char *const *argv)
{
	fputs("tbtui", stdout);
	for (; *argv; argv++) {
		putchar(' ');
		cli_put(*argv);
	}
	putchar('\n');
	fflush(stdout);
}

static void
run_choice(struct plain *p, const struct place *at, const struct choice *c)
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
		say_command(argv);
		status = cli_command(argv[0])->run(p->cli, n, given);
		printf("%s\n", status == CLI_OK ? "done" : status == CLI_WRONG ?
		       "done, and something is wrong" : "could not be done");
	}
	for (int i = 0; i < n; i++)
		free(argv[i]);
}

static enum tb_status
load(struct plain *p, struct place *at)
{
	enum tb_status status;

	drop_rows(at);
	if (!at->list)
		return TB_OK;
	(void)db_changed(p->db);	/* what a command has just stored is seen */
	status = at->list(p, at);
	if (!status)
		show_list(at);
	return status;
}

static void
set_filter(struct place *at, const char *text)
{
	free(at->filter);
	at->filter = *text ? tb_strdup(text) : NULL;
	at->first = 0;
}

static void
turn_page(struct place *at, bool forward)
{
	if (forward && at->first + at->n < at->total)
		at->first += PAGE;
	else if (!forward)
		at->first -= at->first < PAGE ? at->first : PAGE;
}

/* A number opens a row, a letter runs a command; false: nothing of that kind. */
static bool
choose(struct plain *p, struct place *at, const char *answer)
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
answer(struct plain *p, struct place *at, const char *line, bool *again)
{
	*again = true;
	if (!strcmp(line, "q"))
		return false;
	if (at->list && *line == '/') {
		set_filter(at, line + 1);
	} else if (at->list && (!strcmp(line, "+") || !strcmp(line, "-"))) {
		turn_page(at, *line == '+');
	} else if (*line && strcmp(line, "?") && choose(p, at, line)) {
		*again = at->list == list_models;	/* a scan may have changed it */
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
visit(struct plain *p, struct place *at)
{
	bool stay = true, again = true;
	char *line;

	if (!at->list)
		show_choices(at);
	while (stay) {
		if (again && load(p, at)) {
			p->quit = cli_fail(p->err) != CLI_OK;
			break;
		}
		fflush(stdout);
		switch (line_read(at->prompt, &line)) {
		case LINE_TEXT:
			stay = answer(p, at, line, &again);
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
open_tensor(struct plain *p, const struct place *at, const struct row *row)
{
	struct place tensor = { .prompt = "tensor> ", .model = at->model, .tensor = row->arg,
				.choices = of_tensor };

	say(row->text);
	visit(p, &tensor);
}

static void
open_model(struct plain *p, const struct place *at, const struct row *row)
{
	struct place model = { .prompt = "model> ", .model = row->arg, .id = row->id,
			       .choices = of_model, .list = list_tensors, .open = open_tensor };

	(void)at;
	say(row->text);
	visit(p, &model);
}

enum cli_exit
plain_main(struct cli *cli)
{
	struct tb_err err = { 0 };
	struct plain p = { .cli = cli, .err = &err };
	struct place models = { .prompt = "models> ", .choices = of_models, .list = list_models,
				.open = open_model };

	if (cli_ctx(cli, &p.ctx, &err))
		return cli_fail(&err);
	line_init();
	if (!cli_index(cli, &p.ctx, &p.db, &err))
		visit(&p, &models);
	db_close(p.db);
	op_ctx_free(&p.ctx);
	return err.code ? cli_fail(&err) : CLI_OK;
}
