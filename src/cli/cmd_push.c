/* cmd_push.c - tbtui push: a model goes to a registry. */
#include "config.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/unsafe.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"
#include "src/ops/push/push.h"

struct task {
	struct op_ctx ctx;
	struct push_request req;
	struct push_result res;
};

static enum tb_status
push_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	struct push *p;
	enum tb_status status = push_new(&p, &t->ctx, &t->req, err);

	if (status)
		return status;
	status = op_push(p, job, &t->res, err);
	push_free(p);
	return status;
}

static enum cli_exit
push_json(const struct task *t)
{
	const struct push_result *r = &t->res;
	cJSON *doc = json_object();

	json_set_str(doc, "name", r->name);
	json_set_str(doc, "digest", r->digest);
	json_set_bool(doc, "dry_run", t->req.dry_run);
	json_set_bool(doc, "same", r->same);
	json_set_str(doc, "replaced", *r->old && !r->same ? r->old : NULL);
	json_set_u64(doc, "blobs", r->blobs);
	json_set_u64(doc, "bytes", r->bytes);
	json_set_u64(doc, "blobs_sent", r->sum.sent);
	json_set_u64(doc, "blobs_mounted", r->sum.mounted);
	json_set_u64(doc, "blobs_there", r->same ? r->blobs : r->sum.there);
	json_set_u64(doc, "bytes_sent", r->sum.bytes);
	return cli_print_json(doc);
}

static enum cli_exit
push_print(const struct cli *cli, const struct task *t)
{
	const struct push_result *r = &t->res;
	char bytes[16], old[16];

	if (cli->json)
		return push_json(t);
	if (cli->quiet)
		return CLI_OK;
	if (r->same) {
		cli_line("%s: is there already, with this manifest", r->name);
	} else if (t->req.dry_run) {
		cli_line("%s: %zu of %zu blobs to send, %s; the others are there", r->name, r->sum.sent,
			 r->blobs, tb_human_bytes(r->sum.bytes, bytes));
		if (*r->old)
			cli_line("another model is there under that name (%s), manifest %s",
				 tb_human_bytes(r->old_bytes, old), r->old);
		return CLI_OK;
	} else {
		cli_line("%s", r->name);
		cli_line("%zu blob%s sent, %s; %zu taken from another repository, %zu there already",
			 r->sum.sent, tb_plural(r->sum.sent), tb_human_bytes(r->sum.bytes, bytes),
			 r->sum.mounted, r->sum.there);
	}
	cli_line("manifest %s", r->digest);
	return CLI_OK;
}

/* Another model is there: --yes or a person may say that it can go. */
static enum tb_status
ask_replace(const struct cli *cli, struct task *t, struct tb_err *err)
{
	const struct push_result *r = &t->res;
	char question[1200], clean[800], size[16];
	enum tb_status status;

	snprintf(question, sizeof(question), "%s: another model is there under that name: manifest %s, %s. "
		 "Replace it?", tb_text_clean(r->name, clean, sizeof(clean)), r->old,
		 tb_human_bytes(r->old_bytes, size));
	status = cli_confirm(cli, question, &t->req.replace, err);
	if (!status && !t->req.replace)
		status = tb_fail(err, TB_EEXIST, "%s: left as it is", r->name);
	return status;
}

static enum cli_exit
push_do(const struct cli *cli, struct task *t)
{
	struct tb_err err;
	enum cli_exit shown = CLI_FAILED;
	enum tb_status status = cli_run(cli, "push", push_run, t, &err);

	if (status == TB_EEXIST && *t->res.old) {
		status = ask_replace(cli, t, &err);
		push_result_free(&t->res);
		if (!status)
			status = cli_run(cli, "push", push_run, t, &err);
	}
	shown = status ? cli_fail(&err) : push_print(cli, t);
	push_result_free(&t->res);
	return shown;
}

COMMAND(cli_push, "push", "REF [NAME]",
	"upload a model to a registry: only what is missing there")
{
	struct task t = { .req = { .ref = NULL } };
	uint64_t streams = 0;
	const char *chunk = NULL;
	const struct tb_opt opts[] = {
		{ 'n', "dry-run", TB_OPT_FLAG, &t.req.dry_run, NULL, "only ask what would be sent" },
		{ 'f', "replace", TB_OPT_FLAG, &t.req.replace, NULL,
		  "another model may be there under that name" },
		{ 0, "insecure", TB_OPT_FLAG, &t.req.insecure, NULL, "plain HTTP: all in between can read and "
		  "change what is sent" },
		{ 0, "tls-skip-verify", TB_OPT_FLAG, &t.req.skip_verify, NULL, "take any certificate: "
		  "whoever is in between may say that he is the registry" },
		{ 0, "streams", TB_OPT_U64, &streams, "N", "blobs at a time (8)" },
		{ 0, "chunk", TB_OPT_STR, &chunk, "SIZE", "longer blobs go in pieces of that size, for servers "
		  "that take no long ones (64 MiB)" },
		{ .name = NULL }
	};
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, 2, &status))
		return status;
	if (streams > FETCH_STREAMS_MAX)
		return cli_usage("--streams: 1 to %u", FETCH_STREAMS_MAX);
	if (chunk && !tb_parse_bytes(chunk, &t.req.chunk))
		return cli_usage("--chunk: a size like 64MB, not \"%.40s\"", chunk);
	t.req.ref = argv[1];
	t.req.as = argc > 2 ? argv[2] : NULL;
	t.req.streams = (unsigned)streams;
	if (cli_ctx(cli, &t.ctx, &err))
		return cli_fail(&err);
	cli_unsafe(cli, &t.ctx.config, t.req.as ? t.req.as : t.req.ref, t.req.insecure, t.req.skip_verify);
	status = push_do(cli, &t);
	op_ctx_free(&t.ctx);
	return status;
}
