#include "config.h"

#include "src/cli/problems.h"

#include <stdio.h>

#define SHOWN_MAX 50			/* a manifest can name 20,000 blobs that are not there */

static size_t
shown(const struct model *m)
{
	return m->nproblems > SHOWN_MAX ? SHOWN_MAX : m->nproblems;
}

void
cli_problems_print(const struct model *m)
{
	for (size_t i = 0; i < shown(m); i++)
		cli_line("%s", m->problems[i].message);
	if (m->nproblems > SHOWN_MAX)
		cli_line("and %zu more", m->nproblems - SHOWN_MAX);
}

bool
cli_problems_note(const struct cli *cli, const struct model *m)
{
	char more[40];

	for (size_t i = 0; i < shown(m); i++)
		cli_note(cli, m->problems[i].message);
	snprintf(more, sizeof(more), "and %zu more", m->nproblems - shown(m));
	if (m->nproblems > SHOWN_MAX)
		cli_note(cli, more);
	return m->nproblems > 0;
}
