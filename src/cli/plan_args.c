#include "config.h"

#include "src/cli/plan_args.h"

#include "src/cli/cli.h"

enum tb_status
plan_args_read(const struct plan_args *a, struct plan_request *req, struct tb_err *err)
{
	if (!a->quant)
		return tb_fail(err, TB_EUSAGE, "which scheme? -q int4, for example");
	if (a->policy && !plan_policy_parse(a->policy, &req->policy))
		return tb_fail(err, TB_EUSAGE, "--policy: ollama or uniform");
	if (a->flavour && !flavour_parse(a->flavour, &req->flavour))
		return tb_fail(err, TB_EUSAGE, "--flavour: metal or mlx-cpu");
	if (a->experts && !plan_experts_parse(a->experts, &req->experts))
		return tb_fail(err, TB_EUSAGE, "--experts: stacked, per-expert or keep");
	return plan_target_parse(a->quant, &req->target, err);
}

static enum tb_status
open_model(struct planned *p, const char *src, struct tb_err *err)
{
	enum tb_status status = store_resolve(&p->ctx.roots, src, &p->loc, err);

	if (!status)
		status = model_open(&p->model, &p->loc, err);
	if (status)
		return status;
	if (p->model->nproblems)
		return tb_fail(err, TB_EFORMAT, "%s is damaged: %s", src,
			       p->model->problems[0].message);
	return TB_OK;
}

enum tb_status
planned_open(struct planned *p, const struct cli *cli, const struct plan_args *a, const char *src,
	     const char *dst, struct tb_err *err)
{
	struct plan_request req = { .dest = PLAN_TO_STORE, .requantize = a->requantize,
				    .rules = a->rules.v, .nrules = a->rules.n };
	enum tb_status status;

	*p = (struct planned){ 0 };
	status = plan_args_read(a, &req, err);
	if (!status)
		status = cli_ctx(cli, &p->ctx, err);
	if (!status)
		status = open_model(p, src, err);
	if (!status && dst)
		status = convert_target(&p->ctx, dst, &p->target, err);
	if (!status) {
		req.model = p->model;
		req.dest = dst ? p->target.dest : PLAN_TO_STORE;
		status = plan_new(&p->plan, &req, err);
	}
	return status;
}

void
planned_free(struct planned *p)
{
	plan_free(p->plan);
	convert_target_free(&p->target);
	model_free(p->model);
	model_loc_free(&p->loc);
	op_ctx_free(&p->ctx);
	*p = (struct planned){ 0 };
}
