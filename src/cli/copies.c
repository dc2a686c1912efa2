/* copies.c - "blobs --duplicates" and "tensors --duplicates". */
#include "config.h"

#include <stdio.h>

#include "db/copies.h"
#include "src/base/text.h"
#include "src/cli/index.h"
#include "src/format/json.h"

static cJSON *
group_json(const struct db_copies *c, size_t first, size_t end)
{
	cJSON *o = json_object(), *list = json_array();
	uint64_t places = 0;

	for (size_t i = first; i < end; i++) {
		const struct db_copy *x = &c->rows[i];
		cJSON *one = json_object();

		json_set_str(one, "path", x->path);
		if (*x->tensor) {
			json_set_str(one, "model", x->model);
			json_set_str(one, "tensor", x->tensor);
		}
		json_set_u64(one, "owners", x->owners);
		json_set_bool(one, "link", x->link);
		json_push(list, one);
		places += !x->link;
	}
	json_set_str(o, "digest", c->rows[first].digest);
	json_set_u64(o, "size", c->rows[first].size);
	json_set_u64(o, "copies", places);
	json_set(o, "places", list);
	return o;
}

/* The row behind the last of a group. */
static size_t
group_end(const struct db_copies *c, size_t first)
{
	size_t end = first + 1;

	while (end < c->n && c->rows[end].group == c->rows[first].group)
		end++;
	return end;
}

static enum cli_exit
copies_json(const struct db_copies *c, bool files)
{
	cJSON *o = json_object(), *list = json_array();

	for (size_t i = 0, end; i < c->n; i = end) {
		end = group_end(c, i);
		json_push(list, group_json(c, i, end));
	}
	json_set(o, "duplicates", list);
	json_set_u64(o, "spare", c->spare);
	if (files) {
		json_set_u64(o, "unknown", c->unknown);
		json_set_u64(o, "unknown_bytes", c->unknown_bytes);
	}
	return cli_print_json(o);
}

static void
print_group(const struct db_copies *c, size_t first, size_t end)
{
	uint64_t places = 0;
	char size[16];

	for (size_t i = first; i < end; i++)
		places += !c->rows[i].link;
	printf("%s  %s  %ju copies\n", tb_human_bytes(c->rows[first].size, size),
	       c->rows[first].digest, (uintmax_t)places);
	for (size_t i = first; i < end; i++) {
		const struct db_copy *x = &c->rows[i];

		cli_line("%s%s%s%s", x->link ? "  = " : "    ", *x->tensor ? x->model : x->path,
			 *x->tensor ? "  " : "", x->tensor);
	}
}

static bool
has_sums(const struct db_copies *c)
{
	size_t i = 0;

	while (i < c->n && !tb_starts(c->rows[i].digest, "xxh3:"))
		i++;
	return i < c->n;
}

static enum cli_exit
copies_text(const struct cli *cli, const struct db_copies *c, bool files)
{
	char size[16], note[200];

	for (size_t i = 0, end; i < c->n; i = end) {
		end = group_end(c, i);
		print_group(c, i, end);
	}
	printf("%ju %s%s more than once on the disk, %s beyond one copy of each\n",
	       (uintmax_t)c->groups, files ? "file" : "tensor", tb_plural(c->groups),
	       tb_human_bytes(c->spare, size));
	if (c->unknown) {
		snprintf(note, sizeof(note), "%ju file%s (%s) as large as another one were never "
			 "hashed: \"tbtui verify\" finds out", (uintmax_t)c->unknown,
			 tb_plural(c->unknown), tb_human_bytes(c->unknown_bytes, size));
		cli_note(cli, note);
	}
	if (!files && !c->n)
		cli_note(cli, "only tensors whose sums or digests are kept are compared: "
			 "\"tbtui verify\" keeps them");
	else if (!files && has_sums(c))
		cli_note(cli, "xxh3: equal by the sums that verify keeps; their bytes were not compared");
	return CLI_OK;
}

enum cli_exit
cli_copies(const struct cli *cli, bool files)
{
	struct db_copies found;
	struct cli_index x;
	struct tb_err err;
	enum cli_exit status;

	if (cli_index_open(&x, cli, &err) ||
	    (files ? db_copies_of_files : db_copies_of_tensors)(x.db, x.roots, &found, &err)) {
		status = cli_fail(&err);
	} else {
		status = cli->json ? copies_json(&found, files) : copies_text(cli, &found, files);
		tb_arena_free(&found.mem);
	}
	cli_index_close(&x);
	return status;
}
