/* bench_bytes.c - bytes in, bytes out: encoding weights. */
#include "config.h"

#include "src/ops/bench/bench_parts.h"

#include <stdlib.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/quant/codec.h"

#define ENCODED ((size_t)128 << 20)	/* bytes of BF16 */
#define PART ((size_t)1 << 20)		/* a call of the encoder's */
#define TIMES 3

struct encoding {
	struct scheme scheme;
	uint8_t *src, *codes, *scales, *biases;
};

static void
encode_part(void *arg, size_t i, unsigned worker)
{
	const struct encoding *e = arg;
	const size_t n = PART / 2;
	const struct quant_parts out = {
		.codes = e->codes + i * scheme_code_bytes(&e->scheme, n),
		.scales = e->scales + i * scheme_scales(&e->scheme, n) * 2,
		.biases = e->biases + i * scheme_scales(&e->scheme, n) * 2,
	};

	(void)worker;
	quant_encode(&e->scheme, FLAVOUR_METAL, DT_BF16, e->src + i * PART, n, &out);
}

/* BF16 between 2^-8 and 2^-6, either sign. */
static void
fill_part(void *arg, size_t i, unsigned worker)
{
	const struct bench_bits bits = { UINT64_C(0x80ff80ff80ff80ff), UINT64_C(0x3b803b803b803b80) };
	const struct encoding *e = arg;

	(void)worker;
	bench_fill(e->src + i * PART, PART, (i + 1) * BENCH_SEED, &bits);
}

static enum tb_status
encode_with(struct bench *b, struct encoding *e, struct tb_pool *pool, unsigned threads)
{
	char name[SCHEME_NAME_MAX];
	double best = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		double start = tb_monotonic(), rate;

		tb_pool_each(pool, ENCODED / PART, encode_part, e);
		rate = 1e-9 * (double)ENCODED / (tb_monotonic() - start);
		best = rate > best ? rate : best;
	}
	return bench_row(b, "GB/s", best, b->read, "quantize, BF16 to %s, %u thread%s",
			 scheme_name(&e->scheme, name), threads, tb_plural(threads));
}

enum tb_status
bench_encode(struct bench *b)
{
	struct encoding e = { .scheme = scheme_affine(4, 64) };
	unsigned threads = tb_pool_size(b->ctx->pool);
	enum tb_status status = TB_OK;

	tb_job_what(b->job, "quantize");
	e.src = tb_aligned(ENCODED);
	e.codes = tb_aligned(scheme_code_bytes(&e.scheme, ENCODED / 2));
	e.scales = tb_aligned(scheme_scales(&e.scheme, ENCODED / 2) * 2);
	e.biases = tb_aligned(scheme_scales(&e.scheme, ENCODED / 2) * 2);
	if (!e.src || !e.codes || !e.scales || !e.biases)
		status = tb_nomem(b->err);
	else
		tb_pool_each(b->ctx->pool, ENCODED / PART, fill_part, &e);
	if (!status)
		status = encode_with(b, &e, NULL, 1);
	if (!status && threads > 1)
		status = encode_with(b, &e, b->ctx->pool, threads);
	free(e.src);
	free(e.codes);
	free(e.scales);
	free(e.biases);
	return status;
}
