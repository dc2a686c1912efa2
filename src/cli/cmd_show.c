/* cmd_show.c - "tbtui show": one model, read from its files. */
#include "config.h"

#include "src/cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/cli/problems.h"
#include "src/cli/table.h"
#include "src/face/texts.h"
#include "src/ops/create/create.h"
#include "src/ops/model_text/model_text.h"

static void
show_head(const struct show *s)
{
	const struct model *m = s->m;
	char params[40], number[16], size[16], bytes[16], time[32], count[24];
	const char *const rows[][2] = {
		{ "name", m->loc.name }, { "kind", kind_name(m->loc.kind) },
		{ "path", show_place(m) }, { "architecture", *m->arch ? m->arch : "-" },
		{ "parameters", params },
		{ "scheme", *m->scheme ? m->scheme : "-" },
		{ "size", tb_human_bytes(m->bytes, bytes) }, { "tensors", count },
		{ "modified", s->far->look ? "-" : tb_time_rfc3339(m->loc.mtime_ns, time) },
	};

	snprintf(count, sizeof(count), "%zu", m->ntensors);
	snprintf(params, sizeof(params), "%s", tb_human_count(m->params, number));
	if (s->figures.params.total.active != s->figures.params.total.params)
		snprintf(params, sizeof(params), "%s, %s active",
			 tb_human_count(m->params, number),
			 tb_human_count(s->figures.params.total.active, size));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cli_line("%-14s%s", rows[i][0], rows[i][1]);
}

static bool
files_text(const struct show *s)
{
	const struct model *m = s->m;
	struct cli_table t = { .align = "lrme", .drop = "0103", .wide = s->cli->wide };

	printf("\nFiles\n");
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];
		char size[16];

		cli_cells(&t, figures_file_kind(f),
			  f->missing ? "missing" : tb_human_bytes(f->id.size, size),
			  f->name ? f->name : "", f->digest, NULL);
	}
	return cli_table_end(&t);
}

static bool
licence_text(void *arg, enum text_kind kind, const char *name, const char *text)
{
	unsigned *n = arg;

	(void)name;
	printf("\n%s", text_info[kind].title);
	if (++*n > 1)
		printf(" %u", *n);
	putchar('\n');
	show_lines(text);
	return true;
}

/* Each of them binds. */
static void
licences_text(const struct show *s)
{
	struct tb_err err;
	unsigned n = 0;

	if (texts_each(s->m, 1u << TEXT_LICENCE, licence_text, &n, &err))
		show_no_text(s, &err);
}

/* A text that cannot be read is told; the others are shown. */
static void
texts_text(const struct show *s)
{
	for (enum text_kind k = 0; k < TEXT_COUNT; k++) {
		char *text, *pretty = NULL, note[TEMPLATE_NOTE_MAX];
		struct template_used used;
		struct tb_err err;

		if (k == TEXT_LICENCE) {
			licences_text(s);
			continue;
		}
		if (text_first(s->m, k, &text, &err))
			show_no_text(s, &err);
		if (!text)
			continue;
		if (text_info[k].json && text_lay_out(text, &pretty, &err))
			cli_lost();
		printf("\n%s\n", text_info[k].title);
		/* which one a conversation is written with: what follows may be another */
		if (k == TEXT_TEMPLATE && model_template_used(s->m, &used, NULL))
			cli_lost();
		else if (k == TEXT_TEMPLATE)
			printf("(%s)\n", template_said(&used, note));
		show_lines(pretty ? pretty : text);
		free(pretty);
		free(text);
	}
}

/* What the model's problems say already need not be told again. */
void
show_no_text(const struct show *s, const struct tb_err *err)
{
	bool told = false;

	for (size_t i = 0; i < s->m->nproblems; i++)
		told = told || strstr(s->m->problems[i].message, err->msg);
	if (err->code == TB_ENOMEM)
		cli_lost();
	else if (!told)
		cli_note(s->cli, err->msg);
}

void
show_lines(const char *text)
{
	size_t len = strlen(text);

	cli_put_lines(text, len);
	if (len && text[len - 1] != '\n')
		putchar('\n');
}

const char *
show_place(const struct model *m)
{
	return kind_has_manifest(m->loc.kind) && m->nfiles ? model_file_place(&m->files[0]) : m->loc.path;
}

static enum tb_status
show_facts(struct show *s, struct tb_err *err)
{
	struct op_ctx ctx;
	enum tb_status status;

	if (!s->far->look)
		return TB_OK;
	status = cli_ctx(s->cli, &ctx, err);
	if (status)
		return status;
	status = look_facts(s->far->look, &ctx, s->m, &s->facts, err);
	op_ctx_free(&ctx);
	return status;
}

static enum cli_exit
show_text(const struct show *s)
{
	const struct model *m = s->m;
	bool ok;

	show_head(s);
	ok = show_far(s) && show_params(s) && show_memory(s) && files_text(s) && show_metadata(s);
	texts_text(s);
	if (m->nproblems)
		printf("\nProblems\n");
	cli_problems_print(m);
	if (m->remark) {
		printf("\nRemark\n");
		cli_line("%s", m->remark);
	}
	return ok ? CLI_OK : CLI_FAILED;
}

/* What goes into a file is as it is, what goes to a terminal is clean. */
static enum cli_exit
show_modelfile(const struct show *s)
{
	struct tb_buf text = TB_BUF(SIZE_MAX / 2);
	struct tb_err err;
	cJSON *doc;

	if (create_modelfile(s->m, &text, &err)) {
		tb_buf_free(&text);
		return cli_fail(&err);
	}
	if (s->cli->json) {
		doc = json_object();
		json_set_buf(doc, "modelfile", &text);
		cli_print_json(doc);
	} else if (isatty(STDOUT_FILENO)) {
		cli_put_lines(text.p, text.len);
	} else {
		fwrite(text.p, 1, text.len, stdout);
	}
	tb_buf_free(&text);
	return CLI_OK;
}

COMMAND(cli_show, "show", "REF", "show a model: files, config, template, licence, totals")
{
	const char *key = NULL;
	bool modelfile = false;
	struct cli_far far = { 0 };
	const struct tb_opt opts[] = {
		{ 'k', "key", TB_OPT_STR, &key, "NAME", "one metadata value in full: "
		  "a key of GGUF, config.json (rope_scaling.factor) or safetensors" },
		{ 0, "modelfile", TB_OPT_FLAG, &modelfile, NULL, "print a Modelfile "
		  "from which create can make it again" },
		FAR_OPTS(far),
		{ .name = NULL }
	};
	struct model *m = NULL;
	struct show s = { .cli = cli, .far = &far };
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, 1, &status))
		return status;
	if (cli_far_model(cli, &far, argv[1], &m, &err)) {
		cli_far_end(&far);
		return cli_fail(&err);
	}
	s.m = m;
	if (modelfile)
		status = show_modelfile(&s);
	else if (key)
		status = show_key(&s, key);
	else if (show_facts(&s, &err) || figures_of(m, (unsigned)cli->threads, &s.figures, &err))
		status = cli_fail(&err);
	else
		status = cli->json ? cli_print_json(show_json(&s)) : show_text(&s);
	if (!key && !modelfile && status == CLI_OK && m->nproblems)
		status = CLI_WRONG;
	cli_far_note(cli, &far);
	look_facts_free(&s.facts);
	model_free(m);
	cli_far_end(&far);
	return status;
}
