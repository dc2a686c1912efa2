/* cmd_quantize.c - tbtui quantize, and pack, unpack and slice, which change no value. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "src/base/file.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/plan_args.h"
#include "src/face/after.h"
#include "src/format/json.h"

struct task {
	struct planned p;
	struct convert_result res;
	bool replace, assemble;
	size_t part, parts;		/* 0: no part */
	const char *map;		/* where the map goes; or NULL */
	struct tb_out map_out;
	const char *pre;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
quantize_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	struct convert_request req = {
		.plan = t->p.plan, .target = &t->p.target, .replace = t->replace,
		.how = t->parts ? CONVERT_PART : t->assemble ? CONVERT_ASSEMBLE : CONVERT_WHOLE,
		.part = t->part, .parts = t->parts, .pre = t->pre,
	};
	enum tb_status status = op_convert(&t->p.ctx, &req, job, &t->res, err);

	after_writing(&t->p.ctx, status, &t->late);
	return status;
}

static size_t
left_quantized(const struct plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nrows; i++)
		n += p->rows[i].why == PLAN_QUANTIZED;
	return n;
}

static enum cli_exit
quantize_json(const struct task *t)
{
	struct rusage use;
	cJSON *doc = json_object();

	json_set_str(doc, "name", t->res.where);
	json_set_str(doc, "scheme", t->p.plan->quant);
	json_set_u64(doc, "tensors", t->res.tensors);
	json_set_u64(doc, "changed", t->res.changed);
	json_set_u64(doc, "kept_quantized", left_quantized(t->p.plan));
	json_set_u64(doc, "files", t->res.blobs);
	json_set_u64(doc, "files_resumed", t->res.resumed);
	json_set_u64(doc, "files_reused", t->res.reused);
	if (t->parts) {
		json_set_u64(doc, "part", t->part);
		json_set_u64(doc, "parts", t->parts);
		json_set_u64(doc, "files_missing", t->res.missing);
		json_set_u64(doc, "bytes_missing", t->res.missing_bytes);
	}
	json_set_u64(doc, "bytes_read", t->res.bytes_read);
	json_set_u64(doc, "bytes_made", t->res.bytes_made);
	json_set_u64(doc, "bytes_written", t->res.bytes_written);
	json_set_f64(doc, "seconds", t->res.seconds);
	kept_json(doc, &t->res.kept);
	if (getrusage(RUSAGE_SELF, &use) == 0)
		json_set_u64(doc, "peak_rss", (uint64_t)use.ru_maxrss * 1024);
	return cli_print_json(doc);
}

/* What did not have to be written. */
static void
print_found(const struct convert_result *r)
{
	char bytes[16];

	if (r->resumed)
		cli_line("%zu of %zu files were there already", r->resumed, r->blobs);
	if (r->reused)
		cli_line("%zu of %zu files are those that the store has; %s written", r->reused,
			 r->blobs, tb_human_bytes(r->bytes_written, bytes));
}

static void
print_part(const struct task *t)
{
	const struct convert_result *r = &t->res;
	char bytes[16], done[16];

	tb_human_bytes(r->bytes_written, done);
	if (r->missing)
		cli_line("%s: part %zu of %zu is there (%s written now); of other parts %zu file%s "
			 "(%s) %s missing", r->where, t->part, t->parts, done, r->missing,
			 tb_plural(r->missing), tb_human_bytes(r->missing_bytes, bytes),
			 r->missing == 1 ? "is" : "are");
	else
		cli_line("%s: part %zu of %zu is there (%s written now), and so are all others: "
			 "--assemble makes the model of them", r->where, t->part, t->parts, done);
}

static enum cli_exit
quantize_print(const struct cli *cli, const struct task *t)
{
	const struct convert_result *r = &t->res;
	size_t left = left_quantized(t->p.plan);
	char a[16], b[16], c[16];

	if (cli->json)
		return quantize_json(t);
	if (left)
		fprintf(stderr, "tbtui: quantized already and left so: %zu tensor%s "
			"(--requantize changes them)\n", left, tb_plural(left));
	if (cli->quiet)
		return CLI_OK;
	if (t->parts) {
		print_part(t);
		return CLI_OK;
	}
	print_found(r);
	/* which store nobody said */
	cli_line("%s%s%s: %zu tensor%s, %zu changed, %s -> %s in %zu file%s, %.2f s (%s/s)",
		 r->where, t->p.target.name ? " in " : "",
		 t->p.target.name ? t->p.target.root : "", r->tensors, tb_plural(r->tensors),
		 r->changed, tb_human_bytes(t->p.plan->total.before, a),
		 tb_human_bytes(r->bytes_made, b), r->blobs, tb_plural(r->blobs), r->seconds,
		 tb_human_bytes(r->seconds > 0 ? (uint64_t)((double)r->bytes_read / r->seconds) : 0,
				c));
	kept_print(&r->kept);
	return CLI_OK;
}

/* Something is there already: --replace, --yes or a person may say that it can go.  That
 * the source is there, nobody may. */
static enum tb_status
ask_replace(const struct cli *cli, struct task *t, struct tb_err *err)
{
	const char *where = t->p.target.name ? t->p.target.name : t->p.target.path;
	char question[768], clean[400], victim[128];
	enum tb_status status = convert_target_check(&t->p.target, t->p.model, err);

	if (status || !t->p.target.exists || t->replace || t->parts)
		return status;
	convert_victim(&t->p.target, victim, sizeof(victim));
	snprintf(question, sizeof(question), "%s exists already: %s. Replace it? (The old one is "
		 "kept beside it.)", tb_text_clean(where, clean, sizeof(clean)), victim);
	status = cli_confirm(cli, question, &t->replace, err);
	if (!status && !t->replace)
		status = tb_fail(err, TB_EEXIST, "%s: left as it is", where);
	return status;
}

/* Its place is taken before anything is written, and filled when all is. */
static enum tb_status
open_map(struct task *t, struct tb_err *err)
{
	char *dir;
	enum tb_status status;

	t->map_out.fd = -1;
	if (!t->map)
		return TB_OK;
	if (tb_exists(t->map) && !t->replace)
		return tb_fail(err, TB_EEXIST, "--map %s: exists already", t->map);
	if (tb_is_dir(t->map) || !*tb_path_name(t->map) || tb_ends(t->map, "/"))
		return tb_fail(err, TB_EUSAGE, "--map %s: is a folder", t->map);
	dir = tb_path_parent(t->map);
	status = dir ? tb_out_open(&t->map_out, dir, err) : tb_nomem(err);
	free(dir);
	return status;
}

static enum tb_status
write_map(struct task *t, struct tb_err *err)
{
	char *text;
	enum tb_status status;

	if (!t->map)
		return TB_OK;
	status = convert_map(t->p.plan, &t->p.target, &text, err);
	if (!status)
		status = tb_out_write(&t->map_out, text, strlen(text), err);
	if (!status)
		status = tb_out_write(&t->map_out, "\n", 1, err);
	free(text);
	return status ? status : tb_out_commit(&t->map_out, t->map, t->replace, err);
}

static enum cli_exit
convert(struct cli *cli, const struct plan_args *a, struct task t, char **argv)
{
	enum cli_exit shown = CLI_OK;
	struct tb_err err, why;
	enum tb_status status = planned_open(&t.p, cli, a, argv[1], argv[2], 1, &err);

	if (!status)
		status = convert_target_split(&t.p.target, t.p.plan->nblobs, &err);
	if (!status)
		status = ask_replace(cli, &t, &err);
	if (!status)
		status = open_map(&t, &err);
	if (!status)
		status = cli_run(cli, argv[0], quantize_run, &t, &err);
	if (tb_written(status))
		shown = quantize_print(cli, &t);
	if (tb_written(status) && write_map(&t, &why) && shown == CLI_OK)
		shown = cli_complain(&why);
	shown = cli_made_end(status, &err, &t.late, shown);
	if (t.map)
		tb_out_abort(&t.map_out);
	convert_result_free(&t.res);
	planned_free(&t.p);
	return shown;
}

enum cli_exit
cli_convert(struct cli *cli, const char *what, const struct plan_args *a, bool replace,
	    const char *src, const char *dst)
{
	char *argv[] = { (char *)what, (char *)src, (char *)dst, NULL };

	return convert(cli, a, (struct task){ .replace = replace }, argv);
}

COMMAND(cli_quantize, "quantize", "SRC DST",
	"convert a model into a store, a directory or a file")
{
	struct plan_args a = { 0 };
	const char *part = NULL;
	struct task t = { .replace = false };
	struct tb_err err;
	const struct tb_opt opts[] = {
		PLAN_OPTS(a),
		SPLIT_OPT(a),
		{ 'f', "replace", TB_OPT_FLAG, &t.replace, NULL,
		  "replace DST if it exists; the old one is kept" },
		{ 0, "part", TB_OPT_STR, &part, "I/N",
		  "write only part I of N; other machines may write the others at "
		  "the same time" },
		{ 0, "pre", TB_OPT_STR, &t.pre, "NAME", "to GGUF: the name of its "
		  "pre-tokenizer, instead of the one that is detected" },
		{ 0, "assemble", TB_OPT_FLAG, &t.assemble, NULL,
		  "put the model together from its parts" },
		{ .name = NULL }
	};
	enum cli_exit status = CLI_OK;
	enum tb_status wrong = TB_OK;

	if (cli_parse(cli, opts, &argc, argv, 2, 2, &status) && !plan_args_words(&a)) {
		if (part && t.assemble)
			wrong = tb_fail(&err, TB_EUSAGE, "--part writes a part, --assemble comes "
					"after all of them: one of the two");
		else if (part)
			wrong = convert_part_parse(part, &t.part, &t.parts, &err);
		status = wrong ? cli_fail(&err) : convert(cli, &a, t, argv);
	}
	plan_args_free(&a);
	return status;
}

#define MAP_OPT(t) \
	{ 0, "map", TB_OPT_STR, &(t).map, "FILE", "write where each tensor's bytes " \
	  "went, as JSON" }

static enum cli_exit
regroup(struct cli *cli, int argc, char **argv, const char *experts)
{
	struct plan_args a = { .quant = "keep", .experts = experts };
	struct task t = { .replace = false };
	const struct tb_opt opts[] = {
		PLAN_EXPERT_OPTS(a),
		MAP_OPT(t),
		{ 'f', "replace", TB_OPT_FLAG, &t.replace, NULL,
		  "replace DST if it exists; the old one is kept" },
		{ .name = NULL }
	};
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	return convert(cli, &a, t, argv);
}

COMMAND(cli_pack, "pack", "SRC DST", "stack experts into packed blobs, lossless")
{
	return regroup(cli, argc, argv, "stacked");
}

COMMAND(cli_unpack, "unpack", "SRC DST",
	"split packed experts into a tensor each, lossless")
{
	return regroup(cli, argc, argv, "per-expert");
}

COMMAND(cli_slice, "slice", "SRC DST", "keep, drop, rename or reshard tensors")
{
	struct slice_args s = { .shard_max = NULL };
	struct plan_args a = { .quant = "keep", .experts = "keep", .slice = &s };
	struct task t = { .replace = false };
	const struct tb_opt opts[] = {
		{ 'k', "keep", TB_OPT_LIST, &s.keep, "PATTERN", "tensors that stay, by a glob; "
		  "repeatable (without: all)" },
		{ 0, "drop", TB_OPT_LIST, &s.drop, "PATTERN", "tensors that go; repeatable" },
		{ 0, "rename", TB_OPT_LIST, &s.rename, "FROM=TO", "other names, one * on each side for "
		  "what stays; repeatable, one after the other" },
		{ 0, "shard-max", TB_OPT_STR, &s.shard_max, "SIZE", "largest size of "
		  "a file in a directory (5GB); none: a single file" },
		PLAN_OPTS(a),
		MAP_OPT(t),
		{ 'f', "replace", TB_OPT_FLAG, &t.replace, NULL,
		  "replace DST if it exists; the old one is kept" },
		{ .name = NULL }
	};
	enum cli_exit status;

	if (cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		status = convert(cli, &a, t, argv);
	tb_strs_free(&s.keep);
	tb_strs_free(&s.drop);
	tb_strs_free(&s.rename);
	plan_args_free(&a);
	return status;
}
