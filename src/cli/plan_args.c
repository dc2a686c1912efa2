#include "config.h"

#include "src/cli/plan_args.h"

#include <stdio.h>
#include <strings.h>

#include "src/cli/cli.h"
#include "src/ops/calibrate/calibrate.h"
#include "src/ops/slice/slice.h"

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
		return tb_fail(err, TB_EUSAGE, "--experts: stacked, per-projection, switch-mlp, "
			       "per-expert or keep");
	if (a->shared && !plan_shared_parse(a->shared, &req->shared))
		return tb_fail(err, TB_EUSAGE, "--shared: packed or apart");
	return plan_target_parse(a->quant, &req->target, err);
}

static enum tb_status
read_decode(const char *word, enum dtype *out, struct tb_err *err)
{
	static const struct { const char *word; enum dtype dtype; } words[] = {
		{ "bf16", DT_BF16 }, { "f16", DT_F16 }, { "f32", DT_F32 } };

	*out = DT_COUNT;
	for (size_t i = 0; word && i < sizeof(words) / sizeof(*words); i++)
		if (!strcasecmp(word, words[i].word))
			*out = words[i].dtype;
	return !word || *out != DT_COUNT ? TB_OK
		: tb_fail(err, TB_EUSAGE, "--decode: bf16, f16 or f32");
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

static enum tb_status
take_care(struct planned *p, const struct plan_args *a, const struct model *m,
	  struct plan_care *out, struct tb_err *err)
{
	enum tb_status status;

	out->search = a->search;
	if (!a->imatrix)
		return a->feedback ? tb_fail(err, TB_EUSAGE, "--feedback needs --imatrix FILE, of "
					     "tbtui calibrate --gram") : TB_OK;
	status = importance_open(&p->importance, a->imatrix, m, err);
	return status ? status : importance_care(p->importance, a->feedback, out, err);
}

static enum tb_status
take_slice(const struct cli *cli, const struct slice_args *a, struct model *m,
	   struct plan_request *req, struct tb_err *err)
{
	const struct slice s = {
		.keep = a->keep.v, .nkeep = a->keep.n, .drop = a->drop.v, .ndrop = a->drop.n,
		.rename = a->rename.v, .nrename = a->rename.n,
	};
	char first[200], note[400];
	enum tb_status status;
	size_t lacks;

	if (model_has_keys(m))
		return tb_fail(err, TB_EUNSUP, "%s: slice takes safetensors; quantize -q keep makes some "
			       "of a GGUF", m->loc.path);
	if (a->shard_max && !slice_size(a->shard_max, &req->shard_max))
		return tb_fail(err, TB_EUSAGE, "--shard-max: a size, as 500MB or 4GiB, or none");
	lacks = slice_lacks(m, first, sizeof(first));
	status = slice_model(m, &s, err);
	if (status || lacks == slice_lacks(m, first, sizeof(first)))
		return status;
	snprintf(note, sizeof(note), "what is made will not run by itself: %zu tensors that it needs "
		 "are not in it, %s first", slice_lacks(m, first, sizeof(first)), first);
	cli_note(cli, note);
	return TB_OK;
}

enum tb_status
planned_open(struct planned *p, const struct cli *cli, const struct plan_args *a, const char *src,
	     const char *dst, struct tb_err *err)
{
	struct plan_request req = { .dest = PLAN_TO_STORE, .requantize = a->requantize,
				    .rules = a->rules.v, .nrules = a->rules.n };
	enum dtype decode = DT_COUNT;
	enum tb_status status;

	*p = (struct planned){ 0 };
	status = plan_args_read(a, &req, err);
	if (!status)
		status = read_decode(a->decode, &decode, err);
	if (!status)
		status = cli_ctx(cli, &p->ctx, err);
	if (!status)
		status = open_model(p, src, err);
	if (!status && dst)
		status = convert_target(&p->ctx, dst, &p->target, err);
	if (!status && a->slice)
		status = take_slice(cli, a->slice, p->model, &req, err);
	req.dest = dst ? p->target.dest : PLAN_TO_STORE;
	if (!status && model_has_keys(p->model) && req.dest != PLAN_TO_GGUF)
		status = hf_view_open(&p->view, p->model, decode, err);
	req.model = p->view ? p->view->model : p->model;
	if (!status)
		status = take_care(p, a, req.model, &req.care, err);
	if (!status) {
		req.view = p->view;
		status = plan_new(&p->plan, &req, err);
	}
	if (!status && p->view && p->view->note)
		cli_note(cli, p->view->note);
	return status;
}

void
planned_free(struct planned *p)
{
	plan_free(p->plan);
	importance_free(p->importance);
	hf_view_free(p->view);
	convert_target_free(&p->target);
	model_free(p->model);
	model_loc_free(&p->loc);
	op_ctx_free(&p->ctx);
	*p = (struct planned){ 0 };
}
