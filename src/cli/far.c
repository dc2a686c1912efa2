#include "config.h"

#include "src/cli/far.h"

#include <string.h>

#include "src/base/buf.h"
#include "src/base/job.h"
#include "src/base/text.h"
#include "src/cli/unsafe.h"
#include "src/format/json.h"
#include "src/model/values.h"
#include "src/store/model.h"

struct far_task {
	const struct cli *cli;
	struct cli_far *far;
	const char *ref;
	struct model **out;
};

static enum tb_status
open_far(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct far_task *k = arg;
	const struct look_request req = { .name = k->ref, .insecure = k->far->insecure,
					  .skip_verify = k->far->skip_verify, .all = k->cli->yes };
	struct op_ctx ctx;
	enum tb_status status = cli_ctx(k->cli, &ctx, err);

	if (status)
		return status;
	cli_unsafe(k->cli, &ctx.config, k->ref, k->far->insecure, k->far->skip_verify);
	status = look_open(&k->far->look, &ctx, &req, job, err);
	if (!status) {
		look_job(k->far->look, job);
		status = look_model(k->far->look, k->out, err);
		look_job(k->far->look, NULL);
	}
	op_ctx_free(&ctx);
	return status;
}

enum tb_status
cli_far_model(const struct cli *cli, struct cli_far *far, const char *ref, struct model **out,
	      struct tb_err *err)
{
	struct far_task k = { cli, far, ref, out };
	enum tb_status status;

	*out = NULL;
	if (far->on)
		return cli_run(cli, "looking", open_far, &k, err);
	if (far->insecure || far->skip_verify)
		return tb_fail(err, TB_EUSAGE, "--%s goes with --remote",
			       far->insecure ? "insecure" : "tls-skip-verify");
	status = cli_model(cli, ref, out, err);
	if (status == TB_ENOENT && err && (strstr(ref, "://") || tb_starts(ref, "hf:"))) {
		struct tb_err why = *err;	/* names what is here and similar */

		return tb_fail(err, TB_ENOENT, "%.400s (--remote looks at it where it lies)",
			       why.msg);
	}
	return status;
}

/* ---- a whole tensor ---- */

struct tensor_fetch {
	struct look *look;
	const struct model *m;
	const struct tensor *t;
};

static uint64_t
tensor_lacks(const struct tensor_fetch *k)
{
	uint64_t n = 0;

	for (enum values_part p = 0; p < PART_COUNT; p++) {
		const struct tensor_part *part = values_part_of(k->t, p);

		if (part)
			n += look_lacks(k->look, k->m->files[part->file].path, part->off, part->len);
	}
	return n;
}

static enum tb_status
fetch_tensor(void *arg, struct tb_job *job, struct tb_err *err)
{
	const struct tensor_fetch *k = arg;
	enum tb_status status = TB_OK;

	tb_job_total(job, tensor_lacks(k), 0);
	tb_job_what(job, "%s", k->t->name);
	for (enum values_part p = 0; p < PART_COUNT && !status; p++) {
		const struct tensor_part *part = values_part_of(k->t, p);

		if (part && part->len)
			status = look_need(k->look, k->m->files[part->file].path, part->off, part->len,
					   job, err);
	}
	return status;
}

static enum tb_status
ask_for(const struct cli *cli, struct look *l, const char *what, uint64_t bytes, struct tb_err *err)
{
	struct tb_buf question = TB_BUF(1024);
	char text[16];
	bool yes = false;
	enum tb_status status;

	tb_buf_printf(&question, "load %s of %s from %s?", tb_human_bytes(bytes, text), what,
		      look_host(l));
	status = cli_confirm(cli, tb_buf_cstr(&question), &yes, err);
	tb_buf_free(&question);
	if (!status && !yes)
		status = tb_fail(err, TB_ECANCEL, "nothing was loaded");
	if (!status)
		look_allow(l);
	return status;
}

enum tb_status
cli_far_tensor(const struct cli *cli, struct cli_far *far, const struct model *m,
	       const struct tensor *t, struct tb_err *err)
{
	struct tensor_fetch k = { far->look, m, t };
	enum tb_status status = TB_OK;
	uint64_t n;

	if (!far->look)
		return TB_OK;
	n = tensor_lacks(&k);
	if (n > LOOK_FREE && !cli->yes)
		status = ask_for(cli, far->look, t->name, n, err);
	return status ? status : cli_run(cli, "loading", fetch_tensor, &k, err);
}

/* ---- what it took ---- */

void
cli_far_json(const struct cli_far *far, struct cJSON *doc)
{
	if (far->look)
		json_set_u64(doc, "bytes_moved", look_moved(far->look));
}

void
cli_far_note(const struct cli *cli, const struct cli_far *far)
{
	struct tb_buf text = TB_BUF(512);
	char bytes[16];

	if (!far->look || !cli->verbose)
		return;
	tb_buf_printf(&text, "%s came from %s; headers are as it sent them, their digests cannot be "
		      "checked", tb_human_bytes(look_moved(far->look), bytes), look_host(far->look));
	cli_note(cli, tb_buf_cstr(&text));
	tb_buf_free(&text);
}

void
cli_far_end(struct cli_far *far)
{
	look_close(far->look);
	far->look = NULL;
}
