#include "config.h"

#include "src/cli/kept.h"

#include <stdio.h>

#include "src/cli/cli.h"
#include "src/format/json.h"
#include "src/ops/output/output.h"

static void
line(const char *label, const char *text)
{
	if (!text)
		return;
	fputs(label, stdout);
	cli_put(text);
	putchar('\n');
}

void
kept_print(const struct kept *k)
{
	line("the old one is kept: ", k->where);
	line("  to have it back:   ", k->restore);
	line("  to be rid of it:   ", k->remove);
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
