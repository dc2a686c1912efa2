/* cmd_calibrate.c - what matters in a model, measured on a text. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/cli/run_model.h"
#include "src/format/json.h"
#include "src/ops/calibrate/calibrate.h"

#define TEXT_MAX (256u << 20)

struct calibrating {
	struct run_model r;
	struct calibrate_request req;
	struct calibrate_result res;
	char *text;			/* owned */
};

static enum tb_status
run_calibrate(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct calibrating *c = arg;

	return op_calibrate(&c->req, job, &c->res, err);
}

/* How much it will be, before it takes long. */
static enum tb_status
say_size(const struct cli *cli, const struct calibrating *c, struct tb_err *err)
{
	uint64_t bytes;
	enum tb_status status = calibrate_bytes(&c->req, &bytes, err);
	char text[16];

	if (!status && c->req.gram && !cli->quiet && !cli->json)
		fprintf(stderr, "tbtui: %s in memory, then in the file\n",
			tb_human_bytes(bytes, text));
	return status;
}

static enum cli_exit
print_result(const struct cli *cli, const struct calibrating *c)
{
	const struct calibrate_result *r = &c->res;
	char bytes[16];
	cJSON *o;

	if (cli->json) {
		o = json_object();
		json_set_str(o, "file", c->req.path);
		json_set_u64(o, "chunks", r->chunks);
		json_set_u64(o, "tokens", r->tokens);
		json_set_u64(o, "matrices", r->matrices);
		json_set_u64(o, "unseen", r->unseen);
		json_set_u64(o, "bytes", r->bytes);
		json_set_f64(o, "seconds", r->seconds);
		return cli_print_json(o);
	}
	if (r->unseen)
		fprintf(stderr, "tbtui: %" PRIu64 " of %" PRIu64 " matrices met no token: a longer "
			"text reaches more experts\n", r->unseen, r->matrices);
	if (!cli->quiet)
		cli_line("%s: %" PRIu64 " matrices over %" PRIu64 " chunks (%" PRIu64 " tokens), %s, "
			 "%.2f s", c->req.path, r->matrices, r->chunks, r->tokens,
			 tb_human_bytes(r->bytes, bytes), r->seconds);
	return CLI_OK;
}

static enum cli_exit
calibrate(struct cli *cli, struct calibrating *c, char **argv)
{
	struct tb_err err;
	enum cli_exit status;

	if (tb_file_slurp(argv[2], TEXT_MAX, &c->text, &c->req.len, &err))
		return cli_fail(&err);
	c->req.text = c->text;
	c->req.dataset = argv[2];
	if (run_model_open(&c->r, cli, argv[1], NULL, &err))
		status = cli_fail(&err);
	else {
		c->req.model = c->r.model;
		if (say_size(cli, c, &err) || cli_run(cli, "Calibrating", run_calibrate, c, &err))
			status = cli_fail(&err);
		else
			status = print_result(cli, c);
	}
	run_model_close(&c->r);
	free(c->text);
	return status;
}

COMMAND(cli_calibrate, "calibrate", "REF TEXT",
	"measure on a text which weights matter (an imatrix)")
{
	struct calibrating c = { .req = { 0 } };
	uint64_t chunk = 0;
	const struct tb_opt opts[] = {
		{ 'o', "output", TB_OPT_STR, &c.req.path, "FILE", "the file to "
		  "write: an importance matrix in llama.cpp's format" },
		{ 0, "chunk", TB_OPT_U64, &chunk, "N", "tokens read at a time (512)" },
		{ 'n', "chunks", TB_OPT_U64, &c.req.chunks, "N", "at most N chunks" },
		{ 0, "gram", TB_OPT_FLAG, &c.req.gram, NULL, "also record products "
		  "of columns, which quantize --feedback needs" },
		{ 'f', "replace", TB_OPT_FLAG, &c.req.replace, NULL, "the file may exist" },
		{ .name = NULL }
	};
	enum cli_exit status;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	if (!c.req.path)
		return cli_usage("calibrate: where to? -o FILE");
	if (chunk > INT32_MAX)
		return cli_usage("calibrate: --chunk: too large");
	c.req.chunk = (uint32_t)chunk;
	return calibrate(cli, &c, argv);
}
