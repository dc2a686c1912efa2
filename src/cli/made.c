/* made.c - tells of what a command has made, and of what it replaced. */
#include "config.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/format/json.h"
#include "src/ops/output/output.h"

void
kept_print(const struct kept *k)
{
	const struct { const char *label, *text; } rows[] = {
		{ "the old one is kept:", k->where },
		{ "  to have it back:  ", k->restore },
		{ "  to be rid of it:  ", k->remove },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].text)
			cli_line("%s %s", rows[i].label, rows[i].text);
}

void
kept_json(cJSON *doc, const struct kept *k)
{
	cJSON *o;

	if (!k->where) {
		json_set_str(doc, "replaced", NULL);
		return;
	}
	o = json_object();
	json_set_str(o, "name", k->where);
	json_set_str(o, "restore", k->restore);
	json_set_str(o, "remove", k->remove);
	json_set(doc, "replaced", o);
}

static enum cli_exit
made_json(const struct cli_made *m)
{
	cJSON *doc = json_object();
	char key[16];

	json_set_str(doc, "name", m->name);
	json_set_str(doc, "store", m->root);
	for (size_t i = 0; i < 2 && m->parts[i].what; i++) {
		snprintf(key, sizeof(key), "%ss", m->parts[i].what);
		json_set_u64(doc, key, m->parts[i].n);
	}
	json_set_u64(doc, "bytes", m->bytes);
	json_set_f64(doc, "seconds", m->seconds);
	kept_json(doc, m->kept);
	return cli_print_json(doc);
}

enum cli_exit
cli_made(const struct cli *cli, const struct cli_made *m)
{
	char bytes[16], parts[80];
	int at = 0;

	if (cli->json)
		return made_json(m);
	if (cli->quiet)
		return CLI_OK;
	for (size_t i = 0; i < 2 && m->parts[i].what; i++)
		at += snprintf(parts + at, sizeof(parts) - (size_t)at, "%s%zu %s%s", i ? " in " : "",
			       m->parts[i].n, m->parts[i].what, tb_plural(m->parts[i].n));
	cli_line("%s: %s, %s, in %s", m->name, parts, tb_human_bytes(m->bytes, bytes), m->root);
	kept_print(m->kept);
	return CLI_OK;
}

enum cli_exit
cli_made_end(enum tb_status status, const struct tb_err *err, const struct tb_err *late,
	     enum cli_exit shown)
{
	if (status)
		return cli_fail(err);
	return late->code && shown == CLI_OK ? cli_complain(late) : shown;
}
