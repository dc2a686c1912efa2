/* show_meta.c - the keys of a model: a table of all, or one in full. */
#include "config.h"

#include "src/cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/cli/table.h"
#include "src/ops/metadata/metadata.h"

/* A value as one line: what would end it becomes a blank. */
static void
value_cell(struct cli_table *t, const struct meta_row *r)
{
	struct tb_buf line = TB_BUF(1u << 20);
	size_t len = strlen(r->text);
	bool more = !r->whole && !tb_ends(r->text, "…");

	tb_text_clip(&line, r->text, SIZE_MAX, false);
	if (more && len)
		tb_buf_str(&line, "…");
	if (r->files > 1)
		tb_buf_printf(&line, " (%ju files)", (uintmax_t)r->files);
	cli_cell_buf(t, &line);
	tb_buf_free(&line);
}

static bool
metadata_table(const struct show *s, const struct metadata *md)
{
	struct cli_table t = { .align = "mle", .drop = "010", .wide = s->cli->wide };
	size_t shown = 0;

	for (size_t i = 0; i < md->n; i++)	/* config.json is printed as it is */
		shown += md->rows[i].from != META_CONFIG;
	if (!shown)
		return true;
	printf("\nMetadata");
	if (md->version)
		printf(" (GGUF version %u, alignment %ju, %zu keys)", md->version,
		       (uintmax_t)md->alignment, shown);
	putchar('\n');
	for (size_t i = 0; i < md->n; i++) {
		const struct meta_row *r = &md->rows[i];

		if (r->from == META_CONFIG)
			continue;
		cli_cell(&t, r->key);
		cli_cell(&t, r->type);
		value_cell(&t, r);
	}
	return cli_table_end(&t);
}

bool
show_metadata(const struct show *s)
{
	struct metadata md;
	struct tb_err err;
	bool ok;

	if (metadata_read(s->m, NULL, &md, &err)) {
		cli_note(s->cli, err.msg);
		return false;
	}
	ok = metadata_table(s, &md);
	metadata_free(&md);
	return ok;
}

static const char *
file_type(const struct metadata *md)
{
	for (size_t i = 0; i < md->n; i++)
		if (!strcmp(md->rows[i].key, "general.file_type"))
			return metadata_file_type(strtoull(md->rows[i].text, NULL, 10));
	return NULL;
}

void
show_set_metadata(const struct show *s, cJSON *o)
{
	cJSON *all = json_object(), *head = NULL;
	struct metadata md;
	struct tb_err err;

	if (metadata_all(s->m, all, NULL, &err))
		cli_note(s->cli, err.msg);
	if (!metadata_read(s->m, NULL, &md, &err)) {
		if (md.version) {
			head = json_object();
			json_set_u64(head, "version", md.version);
			json_set_u64(head, "alignment", md.alignment);
			json_set_str(head, "file_type", file_type(&md));
		}
		metadata_free(&md);
	}
	json_set(o, "metadata", all);
	if (head)
		json_set(o, "gguf", head);
	else
		json_set_str(o, "gguf", NULL);
}

/* ---- one key ---- */

struct one {
	const struct show *s;
	const char *key;
	cJSON *o;
};

static enum tb_status
put_item(void *arg, const char *text, size_t len, struct tb_err *err)
{
	(void)arg;
	(void)len;
	(void)err;
	if (*text)
		show_lines(text);
	else
		putchar('\n');
	return TB_OK;
}

static enum tb_status
run_key(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct one *k = arg;

	if (k->o)
		return metadata_value(k->s->m, k->key, k->o, job, err);
	return metadata_each(k->s->m, k->key, put_item, NULL, job, err);
}

enum cli_exit
show_key(const struct show *s, const char *key)
{
	struct one k = { s, key, s->cli->json ? json_object() : NULL };
	struct tb_err err;

	if (k.o)
		json_set_str(k.o, "key", key);
	if (cli_run(s->cli, "read", run_key, &k, &err)) {
		json_free(k.o);
		return cli_fail(&err);
	}
	return k.o ? cli_print_json(k.o) : CLI_OK;
}
