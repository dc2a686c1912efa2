/* cmd_copy.c - tbtui copy: images between registries and layouts. */
#include "config.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/unsafe.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"
#include "src/ops/copy/copy.h"

struct task {
	struct op_ctx ctx;
	struct copy_request req;
	struct copy_result res;
};

static enum tb_status
copy_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct task *t = arg;
	struct copy *p;
	enum tb_status status = copy_new(&p, &t->ctx, &t->req, err);

	if (status)
		return status;
	status = op_copy(p, job, &t->res, err);
	copy_free(p);
	return status;
}

static enum cli_exit
copy_json(const struct task *t)
{
	const struct copy_result *r = &t->res;
	cJSON *doc = json_object();

	json_set_str(doc, "from", r->from);
	json_set_str(doc, "to", r->to);
	json_set_str(doc, "digest", r->digest);
	json_set_bool(doc, "dry_run", t->req.dry_run);
	json_set_str(doc, "replaced", *r->old ? r->old : NULL);
	json_set_u64(doc, "manifests", r->manifests);
	json_set_u64(doc, "referrers", r->referrers);
	json_set_u64(doc, "blobs", r->blobs);
	json_set_u64(doc, "bytes", r->bytes);
	json_set_u64(doc, "blobs_sent", r->sum.sent);
	json_set_u64(doc, "blobs_mounted", r->sum.mounted);
	json_set_u64(doc, "blobs_there", r->sum.there);
	json_set_u64(doc, "bytes_sent", r->sum.bytes);
	return cli_print_json(doc);
}

static enum cli_exit
copy_print(const struct cli *cli, const struct task *t)
{
	const struct copy_result *r = &t->res;
	char bytes[16];

	if (cli->json)
		return copy_json(t);
	if (cli->quiet)
		return CLI_OK;
	cli_line("%s", r->to);
	cli_line("%zu manifest%s, %zu of signatures and the like", r->manifests, tb_plural(r->manifests),
		 r->referrers);
	cli_line("%zu blob%s %s, %s; %zu taken from another repository, %zu there already", r->sum.sent,
		 tb_plural(r->sum.sent), t->req.dry_run ? "to copy" : "copied",
		 tb_human_bytes(r->sum.bytes, bytes), r->sum.mounted, r->sum.there);
	if (t->req.dry_run && *r->old)
		cli_line("something else is there under that name, manifest %s", r->old);
	cli_line("manifest %s", r->digest);
	if (r->docker_in_layout)
		cli_line("it is of Docker's kind, kept as it is: skopeo and podman find only OCI's by name in"
			 " a layout; of a model here \"tbtui export --as oci\" makes one");
	return CLI_OK;
}

/* Something else is there: --yes or a person may say that it can go. */
static enum tb_status
ask_replace(const struct cli *cli, struct task *t, struct tb_err *err)
{
	const struct copy_result *r = &t->res;
	char question[1200], clean[800];
	enum tb_status status;

	snprintf(question, sizeof(question), "%s: something else is there under that name: manifest %s. "
		 "Replace it?", tb_text_clean(r->to, clean, sizeof(clean)), r->old);
	status = cli_confirm(cli, question, &t->req.replace, err);
	if (!status && !t->req.replace)
		status = tb_fail(err, TB_EEXIST, "%s: left as it is", r->to);
	return status;
}

static enum cli_exit
copy_do(const struct cli *cli, struct task *t)
{
	struct tb_err err;
	enum cli_exit shown = CLI_FAILED;
	enum tb_status status = cli_run(cli, "copy", copy_run, t, &err);

	if (status == TB_EEXIST && *t->res.old) {
		status = ask_replace(cli, t, &err);
		copy_result_free(&t->res);
		if (!status)
			status = cli_run(cli, "copy", copy_run, t, &err);
	}
	shown = status ? cli_fail(&err) : copy_print(cli, t);
	copy_result_free(&t->res);
	return shown;
}

COMMAND(cli_copy, "copy", "SRC DST", "copy images between registries and OCI layouts")
{
	struct task t = { .req = { .src = NULL } };
	uint64_t streams = 0;
	const char *chunk = NULL;
	const struct tb_opt opts[] = {
		{ 'n', "dry-run", TB_OPT_FLAG, &t.req.dry_run, NULL, "only ask what would be copied" },
		{ 'f', "replace", TB_OPT_FLAG, &t.req.replace, NULL,
		  "something else may be there under that name" },
		{ 0, "alone", TB_OPT_FLAG, &t.req.alone, NULL, "without what refers to it: signatures, "
		  "attestations" },
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

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	if (streams > FETCH_STREAMS_MAX)
		return cli_usage("--streams: 1 to %u", FETCH_STREAMS_MAX);
	if (chunk && !tb_parse_bytes(chunk, &t.req.chunk))
		return cli_usage("--chunk: a size like 64MB, not \"%.40s\"", chunk);
	t.req.src = argv[1];
	t.req.dst = argv[2];
	t.req.streams = (unsigned)streams;
	if (cli_ctx(cli, &t.ctx, &err))
		return cli_fail(&err);
	cli_unsafe(cli, &t.ctx.config, t.req.src, t.req.insecure, t.req.skip_verify);
	if (!t.req.insecure && !t.req.skip_verify)	/* said once for both */
		cli_unsafe(cli, &t.ctx.config, t.req.dst, false, false);
	status = copy_do(cli, &t);
	op_ctx_free(&t.ctx);
	return status;
}
