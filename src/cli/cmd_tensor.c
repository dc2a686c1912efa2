/* cmd_tensor.c - "tbtui tensor": facts, statistics, values and bytes of one tensor. */
#include "config.h"

#include "src/cli/tensor_task.h"

#include <stdlib.h>
#include <string.h>

#include "db/db.h"
#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"
#include "src/cli/tensors.h"

/* ---- what the options say ---- */

/* "A:B", "A:" or "A" (one); at most `max`. */
static bool
parse_range(const char *s, size_t len, uint64_t max, uint64_t *from, uint64_t *count)
{
	char text[64];
	char *colon;
	uint64_t to = max;

	if (len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = 0;
	colon = strchr(text, ':');
	if (colon)
		*colon++ = 0;
	if (!tb_parse_u64(text, from) || (colon && *colon && !tb_parse_u64(colon, &to)))
		return false;
	if (!colon)
		to = *from + 1;
	*count = to - *from;
	return *from <= to && to <= max;
}

/* "A:B", or whatever is between. */
static bool
parse_pair(const char *s, char between, uint64_t *a, uint64_t *b)
{
	const char *at = strchr(s, between);
	char *first = tb_strndup(s, at ? (size_t)(at - s) : 0);
	bool good = first && at && tb_parse_u64(first, a) && tb_parse_u64(at + 1, b);

	free(first);
	return good;
}

static enum tb_status
parse_window(struct tensor_task *k, struct tb_err *err)
{
	const char *comma = strchr(k->values, ',');
	uint64_t rows, cols;
	size_t len = comma ? (size_t)(comma - k->values) : strlen(k->values);

	inspect_matrix(k->t, &rows, &cols);
	k->win = (struct inspect_window){ .cols = cols };
	if (!parse_range(k->values, len, rows, &k->win.row, &k->win.rows) ||
	    (comma && !parse_range(comma + 1, strlen(comma + 1), cols, &k->win.col, &k->win.cols)))
		return tb_fail(err, TB_EUSAGE, "--values %s: not R0:R1,C0:C1 within %ju x %ju",
			       k->values, (uintmax_t)rows, (uintmax_t)cols);
	return TB_OK;
}

static enum tb_status
read_values(struct tensor_task *k, struct tb_err *err)
{
	enum tb_status status = parse_window(k, err);

	if (status)
		return status;
	if (k->win.rows && k->win.cols > INSPECT_VALUES_MAX / k->win.rows)
		return tb_fail(err, TB_EUSAGE, "--values: at most %u at a time",
			       INSPECT_VALUES_MAX);
	k->v = tb_calloc((size_t)(k->win.rows * k->win.cols), sizeof(*k->v));
	if (!k->v)
		return tb_nomem(err);
	return inspect_values(k->m, k->t, &k->win, k->v, err);
}

static enum tb_status
find_part(struct tensor_task *k, const struct tensor_part **out, struct tb_err *err)
{
	static const char *const names[INSPECT_PARTS] = { "weight", "scale", "bias", "global" };

	for (k->of = 0; k->of < INSPECT_PARTS; k->of++)
		if (!strcmp(k->part ? k->part : "weight", names[k->of])) {
			*out = values_part_of(k->t, k->of);
			if (*out)
				return TB_OK;
			break;
		}
	return tb_fail(err, TB_EUSAGE, "tensor %s has no part \"%s\"", k->t->name, k->part);
}

static enum tb_status
read_hex(struct tensor_task *k, struct tb_err *err)
{
	const struct tensor_part *part;
	enum tb_status status;

	if (!parse_pair(k->hex, ':', &k->off, &k->len) || k->len > TENSOR_HEX_MAX)
		return tb_fail(err, TB_EUSAGE, "--hex %s: not OFF:LEN with at most %u bytes",
			       k->hex, TENSOR_HEX_MAX);
	status = find_part(k, &part, err);
	if (status)
		return status;
	k->bytes = tb_calloc((size_t)k->len, 1);
	if (!k->bytes)
		return tb_nomem(err);
	return values_bytes(k->m, part, k->off, (size_t)k->len, k->bytes, err);
}

/* ---- the command ---- */

static enum tb_status
run_inspect(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct tensor_task *k = arg;
	struct inspect_request req = { .model = k->m, .tensor = k->t, .again = k->again,
				       .bins = k->hist ? (unsigned)k->bins : 0 };
	enum tb_status status;

	/* what is kept is known by a file of this machine */
	req.facts = k->far.look ? NULL : inspect_facts(&k->ctx);
	status = op_inspect(&k->ctx, &req, job, &k->res, err);
	db_close(req.facts);
	return status;
}

static enum tb_status
run_heat(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct tensor_task *k = arg;
	struct heat_request req = { .model = k->m, .tensor = k->t };
	uint64_t rows, cols;

	if (!parse_pair(k->cells, 'x', &rows, &cols) || !rows || !cols || rows > HEAT_SIDE_MAX ||
	    cols > HEAT_SIDE_MAX)
		return tb_fail(err, TB_EUSAGE, "--cells %s: not ROWSxCOLUMNS, each 1 to %u",
			       k->cells, HEAT_SIDE_MAX);
	req.rows = (unsigned)rows;
	req.cols = (unsigned)cols;
	return op_heat(&k->ctx, &req, job, &k->map, err);
}

static enum tb_status
no_tensor(const struct model *m, const char *name, struct tb_err *err)
{
	struct tb_near near = { .word = name };
	char hint[320];

	for (size_t i = 0; !m->nproblems && i < m->ntensors; i++)
		tb_near_try(&near, m->tensors[i].name);
	(void)tb_fail(err, TB_ENOENT, "%.60s: no tensor %.100s%s", m->loc.name, name,
		      m->nproblems ? "" : tb_near_text(&near, hint, sizeof(hint)));
	return model_blame(m, name, err);
}

static enum tb_status
tensor_read(struct cli *cli, const char *name, struct tensor_task *k, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t index;

	k->t = model_tensor(k->m, name);
	if (!k->t)
		return no_tensor(k->m, name, err);
	if (!k->bins || k->bins > INSPECT_BINS_MAX)
		return tb_fail(err, TB_EUSAGE, "--bins: 1 to %d", INSPECT_BINS_MAX);
	if (k->digest && k->far.on)
		return tb_fail(err, TB_EUSAGE, "--digest is of what lies here: pull it first");
	if (k->stats || k->hist || k->heat || k->block)
		status = cli_far_tensor(cli, &k->far, k->m, k->t, err);
	if (!status && k->values)
		status = read_values(k, err);
	if (!status && k->hex)
		status = read_hex(k, err);
	if (!status && k->block)
		status = tb_parse_u64(k->block, &index)
		       ? block_read(k->m, k->t, index, &k->taken, err)
		       : tb_fail(err, TB_EUSAGE, "--block %s: not a number", k->block);
	if (!status && (k->stats || k->hist))
		status = cli_run(cli, "tensor", run_inspect, k, err);
	if (!status && k->heat)
		status = cli_run(cli, "map", run_heat, k, err);
	if (status || !k->digest)
		return status;
	k->sum.t = k->t;
	status = cli_digests(cli, &k->ctx, k->m, &k->sum, 1, err);
	return !status && k->sum.err.code ? tb_pass(err, &k->sum.err) : status;
}

COMMAND(cli_tensor, "tensor", "REF NAME",
	"show one tensor: statistics, histogram, values, bytes")
{
	struct tensor_task k = { .bins = 32, .cells = "16x64" };
	const struct tb_opt opts[] = {
		{ 0, "digest", TB_OPT_FLAG, &k.digest, NULL, "a digest of its bytes: "
		  "equal bytes have equal digests" },
		{ 0, "stats", TB_OPT_FLAG, &k.stats, NULL, "statistics over all values" },
		{ 0, "again", TB_OPT_FLAG, &k.again, NULL,
		  "compute statistics anew, even if they are kept from before" },
		{ 0, "hist", TB_OPT_FLAG, &k.hist, NULL, "a histogram" },
		{ 0, "bins", TB_OPT_U64, &k.bins, "N", "of the histogram (32)" },
		{ 0, "heat", TB_OPT_FLAG, &k.heat, NULL, "a map of how large values "
		  "are" },
		{ 0, "cells", TB_OPT_STR, &k.cells, "ROWSxCOLS", "of the map (16x64)" },
		{ 0, "values", TB_OPT_STR, &k.values, "R0:R1,C0:C1",
		  "rows and columns of values, without R1 and C1" },
		{ 0, "hex", TB_OPT_STR, &k.hex, "OFF:LEN", "bytes as they are in the file" },
		{ 0, "block", TB_OPT_STR, &k.block, "N",
		  "a block taken apart: scale, codes, values" },
		{ 0, "part", TB_OPT_STR, &k.part, "PART",
		  "whose bytes: weight, scale, bias or global" },
		FAR_OPTS(k.far),
		{ .name = NULL }
	};
	enum cli_exit status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &status))
		return status;
	if (cli_ctx(cli, &k.ctx, &err))
		return cli_fail(&err);
	if (cli_far_model(cli, &k.far, argv[1], &k.m, &err) || tensor_read(cli, argv[2], &k, &err))
		status = cli_fail(&err);
	else
		status = cli->json ? tensor_json(&k) : tensor_text(&k);
	cli_far_note(cli, &k.far);
	heat_free(&k.map);
	free(k.v);
	free(k.bytes);
	model_free(k.m);
	cli_far_end(&k.far);
	op_ctx_free(&k.ctx);
	return status;
}
