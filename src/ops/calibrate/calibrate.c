#include "config.h"

#include "src/ops/calibrate/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/blas.h"
#include "src/engine/watch.h"
#include "src/format/gguf.h"
#include "src/format/imatrix.h"
#include "src/ops/run/run.h"

#define EVAL_BLOCK 128		/* tokens whose logits are in memory at once */

/* What the matrices of one slot of a layer meet. */
struct input {
	char name[GGUF_NAME_MAX];	/* "": it does not go into the file */
	uint32_t cols, mats, block;
	size_t same;			/* index + 1 of the input that it shares; 0: none */
	double *sums;			/* [mats][cols]; owned; NULL: shared */
	uint64_t *counts;		/* [mats]; owned */
	float *gram;			/* [mats][blocks][block][block], lower half; owned */
};

struct calibration {
	const struct calibrate_request *req;
	const struct engine *engine;
	struct tb_job *job;
	struct input *inputs;		/* [layers + 1][SLOT_COUNT] */
	size_t n;
	uint32_t layers;
};

/* Matrices that are multiplied with the same x. */
static enum slot
shared_with(enum slot s)
{
	return s == SLOT_K || s == SLOT_V ? SLOT_Q : s == SLOT_UP ? SLOT_GATE
	     : s == SLOT_X_UP ? SLOT_X_GATE : s == SLOT_S_UP ? SLOT_S_GATE : s;
}

static size_t
input_index(const struct calibration *c, enum slot s, uint32_t layer)
{
	return (size_t)(slot_layered(s) ? layer : c->layers) * SLOT_COUNT + s;
}

/* Names, sizes, who shares; no memory for sums yet. */
static enum tb_status
list_inputs(struct calibration *c, const struct calibrate_request *req, struct tb_err *err)
{
	struct engine_info info;

	engine_info(req->model->engine, &info);
	*c = (struct calibration){ .req = req, .engine = req->model->engine, .layers = info.layers };
	c->n = ((size_t)info.layers + 1) * SLOT_COUNT;
	if (!(c->inputs = tb_calloc(c->n, sizeof(*c->inputs))))
		return tb_nomem(err);
	for (size_t i = 0; i < c->n; i++) {
		enum slot s = (enum slot)(i % SLOT_COUNT), with = shared_with(s);
		uint32_t layer = (uint32_t)(i / SLOT_COUNT);
		struct input *in = &c->inputs[i];

		if (s == SLOT_EMBED || s == SLOT_PL_EMBED || slot_layered(s) == (layer == c->layers) ||
		    slot_info(s)->cols == DIM_NONE ||
		    !(in->mats = watch_matrices(c->engine, s, layer, &in->cols)))
			continue;
		in->block = !req->gram ? 0 : in->cols < CALIBRATE_GRAM ? in->cols : CALIBRATE_GRAM;
		if (!watch_gguf_name(c->engine, s, layer, in->name, GGUF_NAME_MAX))
			in->name[0] = 0;
		if (with != s && c->inputs[input_index(c, with, layer)].mats == in->mats)
			in->same = input_index(c, with, layer) + 1;
	}
	return TB_OK;
}

static uint64_t
gram_floats(const struct input *in)
{
	return in->block ? (uint64_t)in->mats * imatrix_blocks(in->cols, in->block) * in->block *
			   in->block : 0;
}

static uint64_t
file_bytes(const struct calibration *c)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct input *in = &c->inputs[i];

		if (in->mats && *in->name)
			bytes += 4 * ((uint64_t)in->mats * (in->cols + 1) +
				      (in->same ? 0 : gram_floats(in)));
	}
	return bytes;
}

static enum tb_status
make_room(struct calibration *c, struct tb_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		struct input *in = &c->inputs[i];

		if (!in->mats || in->same)
			continue;
		in->sums = tb_calloc((size_t)in->mats * in->cols, sizeof(*in->sums));
		in->counts = tb_calloc(in->mats, sizeof(*in->counts));
		if (in->block)
			in->gram = tb_calloc(gram_floats(in), sizeof(*in->gram));
		if (!in->sums || !in->counts || (in->block && !in->gram))
			return tb_nomem(err);
	}
	return TB_OK;
}

static void
calibration_free(struct calibration *c)
{
	for (size_t i = 0; c->inputs && i < c->n; i++) {
		free(c->inputs[i].sums);
		free(c->inputs[i].counts);
		free(c->inputs[i].gram);
	}
	free(c->inputs);
}

static void
watch_input(void *arg, const struct watched *w)
{
	struct calibration *c = arg;
	struct input *in = &c->inputs[input_index(c, w->slot, w->layer)];
	double *sums;

	if (!in->sums || w->expert >= in->mats || w->cols != in->cols)
		return;
	sums = in->sums + (size_t)w->expert * in->cols;
	in->counts[w->expert] += w->m;
	for (size_t t = 0; t < w->m; t++)
		for (uint32_t i = 0; i < in->cols; i++) {
			double x = w->x[t * in->cols + i];

			sums[i] += x * x;
		}
	for (uint32_t at = 0; in->gram && at < in->cols; at += in->block) {
		size_t each = (size_t)in->block * in->block, blocks = imatrix_blocks(in->cols, in->block);
		size_t n = in->cols - at < in->block ? in->cols - at : in->block;

		blas_products(in->gram + (w->expert * blocks + at / in->block) * each, in->block,
			      w->x + at, in->cols, w->m, n);
	}
}

static enum tb_status
read_chunk(struct calibration *c, struct session *s, const uint32_t *ids, size_t n,
	   struct tb_err *err)
{
	const float *logits;
	enum tb_status status = TB_OK;

	session_rewind(s, 0);
	for (size_t at = 0, m; at < n && !status; at += m) {
		m = n - at < EVAL_BLOCK ? n - at : EVAL_BLOCK;
		status = session_eval(s, ids + at, m, true, c->job, &logits, err);
		tb_job_step(c->job, 0, m);
	}
	return status;
}

static enum tb_status
read_chunks(struct calibration *c, struct token_ids *ids, uint32_t chunk,
	    struct calibrate_result *out, struct tb_err *err)
{
	struct session *s;
	uint64_t n = ids->n / chunk;
	uint32_t bos;
	bool has_bos = tokenizer_bos(c->req->model->tokenizer, &bos) && ids->n && ids->v[0] == bos;
	enum tb_status status = session_new(&s, c->req->model->engine, chunk, err);

	if (status)
		return status;
	if (c->req->chunks && n > c->req->chunks)
		n = c->req->chunks;
	tb_job_total(c->job, 0, n * chunk);
	session_watch(s, watch_input, c);
	for (; out->chunks < n && !status; out->chunks++) {
		uint32_t *at = ids->v + out->chunks * chunk;

		if (has_bos)
			*at = bos;
		status = read_chunk(c, s, at, chunk, err);
	}
	out->tokens = out->chunks * chunk;
	session_free(s);
	return status;
}

/* The upper half, and sums that others share. */
static enum tb_status
write_inputs(struct calibration *c, uint32_t chunk, struct calibrate_result *out,
	     struct tb_err *err)
{
	struct imatrix_sums *sums = tb_calloc(c->n, sizeof(*sums));
	enum tb_status status;
	size_t n = 0;

	if (!sums)
		return tb_nomem(err);
	for (size_t i = 0; i < c->n; i++) {
		const struct input *in = &c->inputs[i];
		const struct input *from = in->same ? &c->inputs[in->same - 1] : in;

		if (!in->mats || !*in->name)
			continue;
		for (uint64_t b = 0, w = in->block; in->gram && b < gram_floats(in) / (w * w); b++)
			for (uint64_t r = 0; r < w; r++)
				for (uint64_t k = 0; k < r; k++)
					in->gram[(b * w + k) * w + r] = in->gram[(b * w + r) * w + k];
		for (uint32_t m = 0; m < from->mats; m++)
			out->unseen += from->counts[m] == 0;
		out->matrices += in->mats;
		sums[n++] = (struct imatrix_sums){ in->name, in->cols, in->mats, from->sums,
						   from->counts, in->gram, in->block };
	}
	status = imatrix_write(c->req->path, sums, n, (uint32_t)out->chunks, chunk,
			       c->req->dataset, c->req->replace, err);
	free(sums);
	return status;
}

static enum tb_status
check_tokens(const struct token_ids *ids, uint32_t chunk, const struct engine_info *info,
	     struct tb_err *err)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->v[i] >= info->vocab)
			return tb_fail(err, TB_EFORMAT, "the tokenizer gives token %u, the model "
				       "knows %u", ids->v[i], info->vocab);
	if (ids->n < chunk)
		return tb_fail(err, TB_EUSAGE, "the text has %zu tokens, and %u are read together: "
			       "give more of it, or --chunk %zu", ids->n, chunk, ids->n);
	return TB_OK;
}

enum tb_status
calibrate_bytes(const struct calibrate_request *req, uint64_t *out, struct tb_err *err)
{
	struct calibration c;
	enum tb_status status = list_inputs(&c, req, err);

	*out = status ? 0 : file_bytes(&c);
	calibration_free(&c);
	return status;
}

enum tb_status
op_calibrate(const struct calibrate_request *req, struct tb_job *job, struct calibrate_result *out,
	     struct tb_err *err)
{
	uint32_t chunk = req->chunk ? req->chunk : CALIBRATE_CHUNK;
	double began = tb_monotonic();
	struct token_ids ids = { 0 };
	struct engine_info info;
	struct calibration c = { 0 };
	enum tb_status status;

	*out = (struct calibrate_result){ 0 };
	engine_info(req->model->engine, &info);
	chunk = chunk < info.context ? chunk : info.context;
	if (!req->replace && tb_exists(req->path))
		return tb_fail(err, TB_EEXIST, "%s: exists already", req->path);
	status = tokenizer_encode(req->model->tokenizer, req->text, req->len, true, false, &ids, err);
	if (!status)
		status = check_tokens(&ids, chunk, &info, err);
	if (!status)
		status = list_inputs(&c, req, err);
	c.job = job;
	if (!status)
		status = make_room(&c, err);
	if (!status)
		status = read_chunks(&c, &ids, chunk, out, err);
	if (!status)
		status = write_inputs(&c, chunk, out, err);
	out->bytes = file_bytes(&c);
	out->seconds = tb_monotonic() - began;
	calibration_free(&c);
	free(ids.v);
	return status;
}
