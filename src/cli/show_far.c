/* show_far.c - of a model that is looked at where it lies: what loading it takes, and whether it
 * would run here. */
#include "config.h"

#include "src/cli/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

/* The least that a run needs: the row of the shortest context. */
static uint64_t
least_memory(const struct show *s)
{
	const struct memory *m = &s->figures.memory;

	return m->n ? m->row[0].total : m->weights + m->work;
}

static bool
too_large(const struct show *s)
{
	return s->figures.memory.machine && least_memory(s) > s->figures.memory.machine;
}

static bool
would_run(const struct show *s)
{
	return s->figures.memory.runs && !s->facts.nlacks && !s->m->nproblems && !too_large(s);
}

static void
run_text(const struct show *s)
{
	const struct memory *m = &s->figures.memory;
	char need[16], has[16];

	if (would_run(s)) {
		cli_line("%-14syes: it takes %s%s%s", "runs here",
			 tb_human_bytes(least_memory(s), need), m->machine ? ", this machine has " : "",
			 m->machine ? tb_human_bytes(m->machine, has) : "");
		return;
	}
	cli_line("%-14sno: %s", "runs here",
		 s->m->nproblems ? "see its problems below"
		 : s->facts.nlacks ? "something that a run needs lacks"
		 : !m->runs ? "tbtui does not run this architecture"
		 : "it takes more memory than this machine has");
	if (!s->m->nproblems && *s->facts.lacks)
		show_lines(s->facts.lacks);
}

bool
show_far(const struct show *s)
{
	const struct look_facts *f = &s->facts;
	char all[16], come[16], room[16];

	if (!s->far->look)
		return true;
	printf("\nRemote\n");
	cli_line("%-14s%s; headers are as it sent them, not compared with digests", "read from",
		 look_host(s->far->look));
	cli_line("%-14s%s to load of %s", "pull", tb_human_bytes(f->to_come, come),
		 tb_human_bytes(f->bytes, all));
	if (f->store)
		cli_line("%-14s%s%s%s%s", "into", f->store, f->free == UINT64_MAX ? "" : ", ",
			 f->free == UINT64_MAX ? "" : tb_human_bytes(f->free, room),
			 f->free == UINT64_MAX ? "" : f->free < f->to_come ? " free: too little" : " free");
	run_text(s);
	return true;
}

cJSON *
show_far_json(const struct show *s)
{
	const struct look_facts *f = &s->facts;
	cJSON *o = json_object(), *lacks = json_array();
	char *copy = strdup(f->lacks), *rest = copy;

	json_set_str(o, "host", look_host(s->far->look));
	json_set_bool(o, "verified", false);
	json_set_u64(o, "bytes", f->bytes);
	json_set_u64(o, "there", f->there);
	json_set_u64(o, "to_come", f->to_come);
	json_set_str(o, "store", f->store);
	if (f->free != UINT64_MAX)
		json_set_u64(o, "free", f->free);
	json_set_bool(o, "runs_here", would_run(s));
	json_set_u64(o, "memory", least_memory(s));
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			json_push_str(lacks, line);
	if (!copy)
		cli_lost();
	free(copy);
	json_set(o, "lacks", lacks);
	cli_far_json(s->far, o);
	return o;
}
