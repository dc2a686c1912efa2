/* bench_model.c - whole tokens: everything an engine does for one. */
#include "config.h"

#include "src/ops/bench/bench_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/engine.h"
#include "src/engine/peak.h"
#include "src/engine/probe.h"
#include "src/engine/synthetic.h"
#include "src/engine/team.h"
#include "src/ops/home/home.h"
#include "src/quant/scheme.h"
#include "src/store/model.h"
#include "src/store/store.h"

#define READ_MAX ((size_t)1 << 30)
#define READ_MIN ((size_t)256 << 20)	/* more than caches hold */
#define READS 3
#define SGEMMS 3
#define WARM_UP 2			/* tokens before the clock starts */

/* An engine that is measured, and memory to read beside it. */
struct runner {
	struct bench *b;
	const char *name;
	struct engine *engine;
	struct session *session;
	struct engine_info info;
	uint32_t *ids, pp, tg, depth;	/* no more than its context has room for */
	void *memory;
	size_t memory_len;
};

static enum tb_status
runner_init(struct runner *r, struct bench *b, const char *name, struct engine *engine)
{
	enum tb_status status;
	uint32_t most;

	*r = (struct runner){ .b = b, .name = name, .engine = engine };
	engine_info(engine, &r->info);
	if (r->info.context <= WARM_UP + 1)
		return tb_fail(b->err, TB_ELIMIT, "%s: a context of %u tokens is too short", name,
			       r->info.context);
	most = r->info.context - WARM_UP - 1;
	r->depth = b->req->depth < most ? b->req->depth : most;
	most = r->info.context - r->depth;
	r->pp = b->req->pp < most ? b->req->pp : most;
	r->tg = b->req->tg < most - WARM_UP ? b->req->tg : most - WARM_UP;
	most = r->depth + (r->pp > r->tg + WARM_UP ? r->pp : r->tg + WARM_UP);
	status = session_new(&r->session, engine, most, b->err);
	if (status)
		return status;
	r->memory_len = r->info.weight_bytes < READ_MIN ? READ_MIN
		      : r->info.weight_bytes > READ_MAX ? READ_MAX : (size_t)r->info.weight_bytes;
	r->memory = tb_aligned(r->memory_len);
	r->ids = tb_calloc(most, sizeof(*r->ids));
	if (!r->memory || !r->ids)
		return tb_nomem(b->err);
	memset(r->memory, 1, r->memory_len);
	for (uint32_t i = 0; i < most; i++)
		r->ids[i] = (i * 7919 + 1) % r->info.vocab;
	return TB_OK;
}

/* The best of a few: a single one may fall into somebody else's second. */
static double
read_rate(const struct runner *r)
{
	double best = 0;

	for (unsigned i = 0; i < READS; i++) {
		double rate = 1e-9 * (double)r->memory_len /
			      probe_read(r->b->team, r->memory, r->memory_len);

		best = rate > best ? rate : best;
	}
	return best;
}

/* Puts the session where the clock starts, with `depth` tokens before it. */
static enum tb_status
go_back(struct runner *r)
{
	const float *logits;

	if (session_pos(r->session) >= r->depth) {
		session_rewind(r->session, r->depth);
		return TB_OK;
	}
	session_rewind(r->session, 0);
	return session_eval(r->session, r->ids, r->depth, false, r->b->job, &logits, r->b->err);
}

/* "512 tokens", and behind how many. */
static const char *
tokens_text(const struct runner *r, uint32_t n, char out[64])
{
	int at = snprintf(out, 64, "%u tokens", n);

	if (r->depth)
		snprintf(out + at, 64 - (size_t)at, " behind %u", r->depth);
	return out;
}

/* Token after token; what a token reads is compared with reading it. */
static enum tb_status
decode(struct runner *r)
{
	struct bench *b = r->b;
	const float *logits;
	enum tb_status status = go_back(r);
	double start = 0, rate, read = 0;
	char tokens[64];

	for (uint32_t i = 0; i < r->tg + WARM_UP && !status; i++) {
		if (i == WARM_UP) {
			read = read_rate(r);
			start = tb_monotonic();
		}
		status = session_eval(r->session, r->ids + i, 1, false, b->job, &logits, b->err);
	}
	if (status)
		return status;
	rate = r->tg / (tb_monotonic() - start);
	read = (read + read_rate(r)) / 2;
	status = bench_row(b, "tok/s", rate, 0, "decode, %s, %s", r->name,
			   tokens_text(r, r->tg, tokens));
	return status ? status
		      : bench_row(b, "GB/s", 1e-9 * rate * (double)r->info.weight_bytes, read,
				  "decode, %s, weights read", r->name);
}

/* What the kernels of the prompt could do at most: their instruction on registers, or where
 * OpenBLAS computes, its widest product of the prompt. */
static enum tb_status
peak(const struct runner *r, double *best)
{
	const struct peak *p = peak_named(r->info.prefill);
	enum tb_status status = TB_OK;
	double rate = 0;

	if (p)
		rate = peak_measure(p, r->b->team);
	else
		status = probe_sgemm(team_size(r->b->team), r->pp, r->info.ffn, r->info.dim, SGEMMS,
				     &rate, r->b->err);
	*best = rate > *best ? rate : *best;
	return status;
}

static enum tb_status
prefill(struct runner *r)
{
	const struct engine_info *i = &r->info;
	/* products of a token without the head, which only the last one meets */
	double attention = 2.0 * i->dim * i->heads * i->head_dim +
			   2.0 * i->dim * i->kv_heads * i->head_dim;
	double ffn = 3.0 * i->dim * i->ffn * (i->experts ? i->experts_used : 1);
	struct bench *b = r->b;
	double best = 0, limit = 0;
	const float *logits;
	enum tb_status status = peak(r, &limit);
	char tokens[64];

	for (unsigned k = 0; k < 2 && !status && !(status = go_back(r)); k++) {
		double start = tb_monotonic(), rate;

		status = session_eval(r->session, r->ids, r->pp, false, b->job, &logits, b->err);
		rate = r->pp / (tb_monotonic() - start);
		best = rate > best ? rate : best;
	}
	if (status || (status = peak(r, &limit)))
		return status;
	status = bench_row(b, "tok/s", best, 0, "prefill, %s, %s", r->name,
			   tokens_text(r, r->pp, tokens));
	return status ? status
		      : bench_row(b, "GFLOP/s", best * 2e-9 * i->layers * (attention + ffn), limit,
				  "prefill, %s, products by %s", r->name, i->prefill);
}

static enum tb_status
measure_engine(struct bench *b, const char *name, struct engine *engine)
{
	struct runner r;
	enum tb_status status = runner_init(&r, b, name, engine);

	tb_job_what(b->job, "tokens, %s", name);
	if (!status && !(status = decode(&r)))
		status = prefill(&r);
	session_free(r.session);
	free(r.ids);
	free(r.memory);
	engine_free(engine);
	return status;
}

enum tb_status
bench_synthetic(struct bench *b, const struct scheme *s)
{
	const struct engine_opts opts = { .threads = team_size(b->team),
					  .exact = b->ctx->exact,
					  .kv = b->ctx->kv };
	const struct synthetic spec = { synthetic_1b_config, strlen(synthetic_1b_config), *s, 1 };
	struct engine *engine;
	char scheme[SCHEME_NAME_MAX], name[40];
	enum tb_status status = engine_synthetic(&engine, &spec, &opts, b->err);

	snprintf(name, sizeof(name), "1.1B %s", scheme_name(s, scheme));
	return status ? status : measure_engine(b, name, engine);
}

enum tb_status
bench_model(struct bench *b, const char *ref)
{
	const struct engine_opts opts = { .threads = team_size(b->team),
					  .exact = b->ctx->exact,
					  .kv = b->ctx->kv };
	struct engine *engine;
	struct model_loc loc;
	struct model *m;
	enum tb_status status = store_resolve(&b->ctx->roots, ref, &loc, b->err);

	if (status)
		return status;
	if (!(status = model_open(&m, &loc, b->err))) {
		if (!(status = engine_open(&engine, m, &opts, b->err)))
			status = measure_engine(b, ref, engine);
		model_free(m);
	}
	model_loc_free(&loc);
	return status;
}
