/* cmd_blobs.c - "tbtui blobs" and "tbtui whose": content-addressed files and who uses
 * them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/audit.h"
#include "db/copies.h"
#include "src/base/file.h"
#include "src/base/sha256.h"
#include "src/base/text.h"
#include "src/cli/index.h"
#include "src/cli/table.h"
#include "src/face/words.h"
#include "src/format/json.h"

static cJSON *
blob_json(const struct db_blob *b)
{
	cJSON *o = json_object();
	char time[32];

	json_set_str(o, "path", b->path);
	json_set_str(o, "digest", *b->digest ? b->digest : NULL);
	json_set_str(o, "kind", db_file_word(b->kind));
	json_set_str(o, "media", *b->media ? b->media : NULL);
	json_set_u64(o, "size", b->size);
	json_set_u64(o, "owners", b->owners);
	json_set_bool(o, "missing", b->missing);
	json_set_bool(o, "young", b->young);
	json_set_bool(o, "unclear", b->unclear);
	json_set_str(o, "state", db_state_word(b->state));
	json_set_str(o, "modified", b->missing ? NULL : tb_time_rfc3339(b->mtime_ns, time));
	return o;
}

static enum cli_exit
blobs_print(const struct cli *cli, const struct db_blobs *blobs)
{
	struct cli_table t = { .align = "elrrl", .drop = "04132", .wide = cli->wide };
	cJSON *o, *list;
	uint64_t size = 0;
	char human[16];

	for (size_t i = 0; i < blobs->n; i++)
		size += blobs->rows[i].missing ? 0 : blobs->rows[i].size;
	if (cli->json) {
		o = json_object();
		list = json_array();
		for (size_t i = 0; i < blobs->n; i++)
			json_push(list, blob_json(&blobs->rows[i]));
		json_set(o, "blobs", list);
		json_set_u64(o, "size", size);
		return cli_print_json(o);
	}
	if (blobs->n)
		cli_cells(&t, "DIGEST OR FILE", "KIND", "SIZE", "OWNERS", "STATE", NULL);
	for (size_t i = 0; i < blobs->n; i++) {
		const struct db_blob *b = &blobs->rows[i];

		cli_cells(&t, *b->digest ? b->digest : b->path,
			  b->young ? "young" : b->unclear ? "unclear"
			  : b->kind == DB_FILE_BLOB && *b->media ? b->media
			  : db_file_word(b->kind), tb_human_bytes(b->size, human), NULL);
		cli_cell_u64(&t, b->owners);
		cli_cell(&t, db_state_word(b->state));
	}
	if (!cli_table_end(&t))
		return CLI_FAILED;
	printf("%zu file%s, %s\n", blobs->n, tb_plural(blobs->n), tb_human_bytes(size, human));
	return CLI_OK;
}

static enum cli_exit
blobs_of(const struct cli *cli, struct cli_index *x, enum db_blob_set set, struct db_query *q)
{
	struct db_totals t;
	struct db_blobs found;
	struct tb_err err;
	enum cli_exit status;

	q->roots = x->roots;
	if (db_totals(x->db, q->roots, &t, &err) || db_blobs(x->db, set, q, &found, &err))
		return cli_fail(&err);
	status = blobs_print(cli, &found);
	tb_arena_free(&found.mem);
	/* "No orphans" is no answer where nobody looked. */
	if (status == CLI_OK && !t.scanned_ns) {
		cli_note(cli, q->roots ? "not indexed yet; \"scan\" with the same -s does it" : "");
		status = CLI_WRONG;
	}
	return status;
}

COMMAND(cli_blobs, "blobs", "",
	"list content-addressed files and how many models use each")
{
	bool orphans = false, shared = false, missing = false, left = false, copies = false;
	struct db_query q = { 0 };
	const struct tb_opt opts[] = {
		{ 0, "orphans", TB_OPT_FLAG, &orphans, NULL, "only those that no "
		  "model uses, older than an hour" },
		{ 0, "shared", TB_OPT_FLAG, &shared, NULL, "only those that two or "
		  "more models use" },
		{ 0, "missing", TB_OPT_FLAG, &missing, NULL, "those that a model "
		  "needs but are missing" },
		{ 0, "left", TB_OPT_FLAG, &left, NULL, "partial downloads and other leftovers" },
		{ 0, "duplicates", TB_OPT_FLAG, &copies, NULL,
		  "the same content in several files, across stores and folders" },
		{ 'S', "sort", TB_OPT_STR, &q.sort, "KEY",
		  "digest, size, owners, kind, state or modified" },
		{ .name = NULL }
	};
	enum db_blob_set set;
	enum cli_exit status;
	struct cli_index x;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 0, 0, &status))
		return status;
	if (orphans + shared + missing + left + copies > 1) {
		(void)tb_fail(&err, TB_EUSAGE, "blobs: one of --orphans, --shared, --missing, --left, "
			      "--duplicates");
		return cli_fail(&err);
	}
	set = orphans ? DB_BLOBS_ORPHANS : shared ? DB_BLOBS_SHARED
	    : missing ? DB_BLOBS_MISSING : left ? DB_BLOBS_LEFT : DB_BLOBS_ALL;
	if (copies)
		return cli_copies(cli, true);
	status = cli_index_open(&x, cli, &err) ? cli_fail(&err) : blobs_of(cli, &x, set, &q);
	cli_index_close(&x);
	return status;
}

/* ---- whose ---- */

/* A digest or the beginning of one as bare lower-case hex. */
static bool
as_hex(const char *text, char out[2 * TB_SHA256_LEN + 1])
{
	size_t n;

	if (tb_starts(text, "sha256:") || tb_starts(text, "sha256-"))
		text += 7;
	n = strlen(text);
	if (n < 8 || n > 2 * TB_SHA256_LEN || strspn(text, "0123456789abcdefABCDEF") != n)
		return false;
	for (size_t i = 0; i <= n; i++)
		out[i] = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] + 32) : text[i];
	return true;
}

#define HELD_MAX 8	/* tensors of a file that are named one by one, for people */

struct hashing { const struct tb_file *file; char digest[TB_DIGEST_MAX]; };

static enum tb_status
hash(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct hashing *h = arg;

	return tb_sha256_file(h->file, job, NULL, h->digest, err);
}

static enum tb_status
whose_find(const struct cli *cli, struct db *db, const char *text, struct db_blobs *out,
	   struct db_copies *tensors, struct tb_err *err)
{
	char hex[2 * TB_SHA256_LEN + 1];
	char *path = realpath(text, NULL);
	struct tb_file f;
	struct hashing h = { .file = &f };
	struct tb_ident id;
	enum tb_status status;

	if (!path) {
		if (!as_hex(text, hex))
			return tb_fail(err, TB_ENOENT, "%s: no such file, and no digest", text);
		status = db_blob_find(db, hex, NULL, out, err);
		return status ? status : db_copies_of_digest(db, hex, tensors, err);
	}
	status = tb_file_ident(path, &id, err);
	if (!status)
		status = db_blob_like(db, path, &id, out, err);
	/* what the index does not know may be a copy of what it knows */
	if (!status && !out->n && !(status = tb_file_open(&f, path, err))) {
		status = cli_run(cli, "hash", hash, &h, err);
		tb_file_close(&f);
		if (!status)
			status = db_blob_find(db, h.digest + strlen("sha256:"), NULL, out, err);
	}
	free(path);
	return status;
}

/* Of each model that uses the file, what is in it. */
static enum tb_status
put_held(const struct cli *cli, struct db *db, const struct db_blob *b, const struct db_model *m,
	 cJSON *list, struct tb_err *err)
{
	struct db_places held;
	enum tb_status status = db_blob_tensors(db, b->id, m->id, cli->json ? 0 : HELD_MAX, &held,
						err);

	for (size_t i = 0; !status && i < held.n; i++) {
		cJSON *o = json_object();

		json_set_str(o, "model", m->name);
		json_set_str(o, "tensor", held.rows[i].tensor);
		json_set_u64(o, "offset", held.rows[i].off);
		json_push(list, o);
		if (cli->json)
			continue;
		cli_line("      tensor %s at byte %ju", held.rows[i].tensor,
			 (uintmax_t)held.rows[i].off);
	}
	if (!status && held.n < held.total)
		printf("      and %ju more\n", (uintmax_t)(held.total - held.n));
	if (!status)
		tb_arena_free(&held.mem);
	return status;
}

/* What is known of where it is damaged. */
static enum tb_status
put_damage(const struct cli *cli, struct db *db, const struct db_blob *b, cJSON *list,
	   struct tb_err *err)
{
	struct db_findings places;
	enum tb_status status = db_damaged_places(db, b->digest, b->path, &places, err);

	for (size_t i = 0; !status && i < places.n; i++) {
		const struct db_finding *f = &places.rows[i];
		struct tb_buf place = TB_BUF(1u << 16);
		cJSON *o = json_object();

		json_set_str(o, "tensor", *f->tensor ? f->tensor : NULL);
		json_set_str(o, "rows", *f->rows ? f->rows : NULL);
		json_set_u64(o, "offset", f->offset);
		json_set_u64(o, "bytes", f->bytes);
		json_push(list, o);
		word_place(f, &place);
		if (!cli->json)
			cli_line("  damaged in %s", tb_buf_cstr(&place));
		tb_buf_free(&place);
	}
	if (!status && !places.n && !cli->json)
		cli_line("  damaged; where is not known");
	tb_arena_free(&places.mem);
	return status;
}

static enum tb_status
put_owners(const struct cli *cli, struct db *db, const struct db_blob *b, bool alone,
	   cJSON *list, struct tb_err *err)
{
	cJSON *o = blob_json(b), *names = json_array(), *held = json_array();
	cJSON *damage = json_array();
	struct db_models owners;
	enum tb_status status = db_blob_owners(db, b->id, &owners, err);

	if (!status && !cli->json)
		cli_line("%s%s", alone && *b->digest ? b->digest : b->path,
			 owners.n ? "" : "  (no model uses it)");
	if (!status && b->state == DB_DAMAGED)
		status = put_damage(cli, db, b, damage, err);
	for (size_t i = 0; !status && i < owners.n; i++) {
		json_push_str(names, owners.rows[i].name);
		if (!cli->json)
			cli_line("  %s", owners.rows[i].name);
		status = put_held(cli, db, b, &owners.rows[i], held, err);
	}
	tb_arena_free(&owners.mem);
	json_set(o, "models", names);
	json_set(o, "tensors", held);
	json_set(o, "damage", damage);
	json_push(list, o);
	return status;
}

static void
put_tensors(const struct cli *cli, const struct db_copies *tensors, cJSON *list)
{
	for (size_t i = 0; i < tensors->n; i++) {
		const struct db_copy *x = &tensors->rows[i];
		cJSON *o = json_object();

		json_set_str(o, "digest", x->digest);
		json_set_str(o, "model", x->model);
		json_set_str(o, "tensor", x->tensor);
		json_push(list, o);
		if (cli->json)
			continue;
		if (!i || strcmp(x->digest, tensors->rows[i - 1].digest))
			printf("tensor %s\n", x->digest);
		cli_line("  %s  %s", x->model, x->tensor);
	}
}

COMMAND(cli_whose, "whose", "DIGEST|FILE", "show which models use a file or digest")
{
	struct db_blobs found = { 0 };
	struct db_copies tensors = { 0 };
	struct cli_index x;
	cJSON *list, *more, *o;
	enum cli_exit done;
	enum tb_status status;
	struct tb_err err;
	size_t n;

	if (!cli_parse(cli, NULL, &argc, argv, 1, 1, &done))
		return done;
	list = json_array();
	more = json_array();
	o = json_object();
	json_set(o, "blobs", list);
	json_set(o, "tensors", more);
	status = cli_index_open(&x, cli, &err);
	if (!status)
		status = whose_find(cli, x.db, argv[1], &found, &tensors, &err);
	for (size_t i = 0; !status && i < found.n; i++)
		status = put_owners(cli, x.db, &found.rows[i], found.n == 1, list, &err);
	if (!status)
		put_tensors(cli, &tensors, more);
	n = found.n + tensors.n;
	tb_arena_free(&found.mem);
	tb_arena_free(&tensors.mem);
	cli_index_close(&x);
	if (!status && cli->json)
		done = cli_print_json(o);
	else
		json_free(o);
	if (status)
		return cli_fail(&err);
	if (!n)
		cli_note(cli, "nothing in the index holds that");
	return done == CLI_OK && !n ? CLI_WRONG : done;
}
