/* cmd_show.c - "tbtui show": one model, read from its files. */
#include "config.h"

#include "src/cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/format/json.h"
#include "src/ops/ctx.h"

#define TEXT_MAX (16u << 20)

/* ---- totals by scheme ---- */

#define MAX_SCHEMES 64

struct total { struct scheme scheme; uint64_t tensors, params, bytes; };

static int
largest_first(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static size_t
totals(const struct model *m, struct total out[MAX_SCHEMES])
{
	size_t n = 0;

	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];
		size_t k = 0;

		while (k < n && !scheme_equal(&out[k].scheme, &t->scheme))
			k++;
		if (k == MAX_SCHEMES)
			k = MAX_SCHEMES - 1;
		if (k == n)
			out[n++] = (struct total){ .scheme = t->scheme };
		out[k].tensors++;
		out[k].params += t->elems;
		out[k].bytes += t->bytes;
	}
	qsort(out, n, sizeof(*out), largest_first);
	return n;
}

/* ---- texts of a model: where each layout keeps them ---- */

static const struct text {
	const char *key, *title;
	enum media media;		/* layer, or MEDIA_UNKNOWN */
	const char *file;		/* file of that name, or NULL */
	bool json;
} texts[] = {
	{ "config", "Config", MEDIA_UNKNOWN, "config.json", true },
	{ "store_config", "Config blob", MEDIA_CONFIG, NULL, true },
	{ "parameters_set", "Parameters", MEDIA_PARAMS, "generation_config.json", true },
	{ "template", "Template", MEDIA_TEMPLATE, "chat_template.jinja", false },
	{ "system", "System", MEDIA_SYSTEM, NULL, false },
	{ "license", "Licence", MEDIA_LICENSE, "LICENSE.txt", false },
};

static char *
read_text(const struct model *m, const struct text *t)
{
	char *text = NULL;
	size_t len;

	if (t->media != MEDIA_UNKNOWN && !model_read_layer(m, t->media, 0, TEXT_MAX, &text, &len, NULL))
		return text;
	if (t->file && !model_read(m, t->file, TEXT_MAX, &text, &len, NULL))
		return text;
	return NULL;
}

/* tokenizer_config.json keeps the template of models without a file for it. */
static char *
read_template(const struct model *m)
{
	char *text = NULL, *out = NULL;
	const char *s;
	cJSON *doc;
	size_t len;

	if (model_read(m, "tokenizer_config.json", TEXT_MAX, &text, &len, NULL))
		return NULL;
	if (!json_parse(&doc, text, len, "tokenizer_config.json", NULL)) {
		s = json_str(json_get(doc, "chat_template"));
		out = s ? strdup(s) : NULL;
		json_free(doc);
	}
	free(text);
	return out;
}

static char *
text_of(const struct model *m, const struct text *t)
{
	char *text = read_text(m, t);

	return !text && !strcmp(t->key, "template") ? read_template(m) : text;
}

/* ---- JSON ---- */

static cJSON *
file_json(const struct model_file *f)
{
	cJSON *o = json_object();

	json_set_str(o, "name", f->name);
	json_set_str(o, "kind", f->is_manifest ? "manifest" : f->media != MEDIA_UNKNOWN
			? media_name(f->media) : f->media_type ? "unknown" : "file");
	json_set_str(o, "media_type", f->media_type);
	json_set_str(o, "digest", *f->digest ? f->digest : NULL);
	json_set_u64(o, "size", f->missing ? f->want_size : f->id.size);
	json_set_str(o, "path", f->path);
	json_set_bool(o, "missing", f->missing);
	return o;
}

static void
texts_json(cJSON *o, const struct model *m)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *text = text_of(m, &texts[i]);
		cJSON *doc = NULL;

		if (text && texts[i].json &&
		    !json_parse(&doc, text, strlen(text), texts[i].key, NULL))
			json_set(o, texts[i].key, doc);
		else
			json_set_str(o, texts[i].key, text);
		free(text);
	}
}

static cJSON *
metadata_json(const struct model *m)
{
	cJSON *o = json_object();

	for (size_t i = 0; i < m->nfiles; i++) {
		struct st_header h;
		struct tb_file f;
		bool weights = m->loc.kind == MODEL_SAFETENSORS_FILE ||
			       (m->files[i].name && tb_ends(m->files[i].name, ".safetensors"));

		if (!weights || m->files[i].missing || tb_file_open(&f, m->files[i].path, NULL))
			continue;
		if (!st_read(&h, &f, NULL)) {
			for (size_t k = 0; k < h.nmeta; k++)
				if (!json_get(o, h.meta[k].key))
					json_set_str(o, h.meta[k].key, h.meta[k].value);
			st_free(&h);
		}
		tb_file_close(&f);
	}
	return o;
}

static cJSON *
schemes_json(const struct model *m)
{
	struct total t[MAX_SCHEMES];
	size_t n = totals(m, t);
	cJSON *list = json_array();

	for (size_t i = 0; i < n; i++) {
		cJSON *o = json_object();
		char name[SCHEME_NAME_MAX];

		json_set_str(o, "scheme", scheme_name(&t[i].scheme, name));
		json_set_u64(o, "tensors", t[i].tensors);
		json_set_u64(o, "parameters", t[i].params);
		json_set_u64(o, "bytes", t[i].bytes);
		json_push(list, o);
	}
	return list;
}

static cJSON *
model_json(const struct model *m)
{
	cJSON *o = json_object(), *files = json_array(), *problems = json_array();
	char time[32];

	json_set_str(o, "name", m->loc.name);
	json_set_str(o, "kind", model_kind_name(m->loc.kind));
	json_set_str(o, "path", m->loc.path);
	json_set_str(o, "architecture", *m->arch ? m->arch : NULL);
	json_set_str(o, "model_type", *m->model_type ? m->model_type : NULL);
	json_set_u64(o, "parameters", m->params);
	json_set_str(o, "scheme", *m->scheme ? m->scheme : NULL);
	json_set_u64(o, "size", m->bytes);
	json_set_u64(o, "tensors", m->ntensors);
	json_set_str(o, "modified", tb_time_rfc3339(m->loc.mtime_ns, time));
	json_set(o, "schemes", schemes_json(m));
	for (size_t i = 0; i < m->nfiles; i++)
		json_push(files, file_json(&m->files[i]));
	json_set(o, "files", files);
	json_set(o, "metadata", metadata_json(m));
	texts_json(o, m);
	for (size_t i = 0; i < m->nproblems; i++)
		json_push_str(problems, m->problems[i].message);
	json_set(o, "problems", problems);
	return o;
}

/* ---- text ---- */

static void
put_lines(const char *title, const char *text)
{
	struct tb_buf b = TB_BUF(TEXT_MAX + 65536);

	printf("\n%s\n", title);
	tb_text_clean_lines(&b, text, strlen(text));
	fputs(tb_buf_cstr(&b), stdout);
	if (b.len && b.p[b.len - 1] != '\n')
		putchar('\n');
	tb_buf_free(&b);
}

static void
head(const struct model *m)
{
	char params[16], size[16], time[32], count[24];
	const char *const rows[][2] = {
		{ "name", m->loc.name }, { "kind", model_kind_name(m->loc.kind) },
		{ "path", m->loc.path }, { "architecture", *m->arch ? m->arch : "-" },
		{ "parameters", tb_human_count(m->params, params) },
		{ "scheme", *m->scheme ? m->scheme : "-" },
		{ "size", tb_human_bytes(m->bytes, size) }, { "tensors", count },
		{ "modified", tb_time_rfc3339(m->loc.mtime_ns, time) },
	};

	snprintf(count, sizeof(count), "%zu", m->ntensors);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		printf("%-14s", rows[i][0]);
		cli_put(rows[i][1]);
		putchar('\n');
	}
}

static bool
schemes_text(const struct model *m)
{
	struct total total[MAX_SCHEMES];
	size_t n = totals(m, total);
	struct cli_table t = { .align = "lrrr" };

	if (!n)
		return true;
	printf("\nTensors by scheme\n");
	for (size_t i = 0; i < n; i++) {
		char name[SCHEME_NAME_MAX], params[16], size[16];

		cli_cell(&t, scheme_name(&total[i].scheme, name));
		cli_cellf(&t, "%ju tensor%s", (uintmax_t)total[i].tensors,
			  tb_plural(total[i].tensors));
		cli_cell(&t, tb_human_count(total[i].params, params));
		cli_cell(&t, tb_human_bytes(total[i].bytes, size));
	}
	return cli_table_end(&t);
}

static bool
files_text(const struct model *m)
{
	struct cli_table t = { .align = "lrll" };

	printf("\nFiles\n");
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];
		char size[16];

		cli_cell(&t, f->is_manifest ? "manifest" : f->media != MEDIA_UNKNOWN
			     ? media_name(f->media) : f->media_type ? f->media_type : "file");
		cli_cell(&t, f->missing ? "missing" : tb_human_bytes(f->id.size, size));
		cli_cell(&t, f->name ? f->name : "");
		cli_cell(&t, *f->digest ? f->digest : "");
	}
	return cli_table_end(&t);
}

static void
texts_text(const struct model *m)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *text = text_of(m, &texts[i]), *pretty = NULL;
		cJSON *doc;

		if (!text)
			continue;
		if (texts[i].json && !json_parse(&doc, text, strlen(text), texts[i].key, NULL)) {
			pretty = json_print_pretty(doc);
			json_free(doc);
		}
		put_lines(texts[i].title, pretty ? pretty : text);
		free(pretty);
		free(text);
	}
}

static enum cli_exit
print_text(const struct model *m)
{
	bool ok;

	head(m);
	ok = schemes_text(m) && files_text(m);
	texts_text(m);
	if (m->nproblems)
		printf("\nProblems\n");
	for (size_t i = 0; i < m->nproblems; i++) {
		cli_put(m->problems[i].message);
		putchar('\n');
	}
	return ok ? CLI_OK : CLI_FAILED;
}

enum cli_exit
cli_show(struct cli *cli, int argc, char **argv)
{
	struct model *m = NULL;
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, NULL, &argc, argv, 1, 1, &status))
		return status;
	if (cli_model(cli, argv[1], &m, &err))
		return cli_fail(&err);
	status = cli->json ? cli_print_json(model_json(m)) : print_text(m);
	if (status == CLI_OK && cli_model_damaged(m))
		status = CLI_WRONG;
	model_free(m);
	return status;
}
