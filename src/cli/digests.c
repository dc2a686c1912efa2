/* digests.c - digests of tensors, for "tensor" and "tensors". */
#include "config.h"

#include "src/cli/cli.h"

#include "src/cli/tensors.h"
#include "src/ops/digest/digest.h"

struct digest_task {
	struct op_ctx *ctx;
	struct digest_request req;
	struct digest_result res;
};

static enum tb_status
run_digest(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct digest_task *k = arg;

	return op_digest(k->ctx, &k->req, job, &k->res, err);
}

enum tb_status
cli_digests(const struct cli *cli, struct op_ctx *ctx, const struct model *m,
	    struct digest_item *items, size_t n, struct tb_err *err)
{
	struct digest_task k = { .ctx = ctx, .req = { .model = m, .items = items, .n = n } };
	enum tb_status status = cli_run(cli, "digest", run_digest, &k, err);

	if (status)
		return status;
	cli_note(cli, k.res.notice);
	for (size_t i = 0; i < n; i++)
		if (items[i].err.code)
			cli_note(cli, items[i].err.msg);
	return TB_OK;
}
