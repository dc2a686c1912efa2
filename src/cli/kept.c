/* kept.c - tells of what was replaced. */
#include "config.h"

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
