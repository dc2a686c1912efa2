/* bench_bytes.c - bytes in, bytes out: encoding weights. */
#include "config.h"

#include "src/ops/bench/bench_parts.h"

#include <stdlib.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/format/ggml_type.h"
#include "src/ops/home/home.h"
#include "src/quant/codec.h"

#define ENCODED ((size_t)128 << 20)	/* bytes of BF16 */
#define PART ((size_t)1 << 20)		/* a call of the encoder's */
#define TIMES 3
#define FEW 8		/* parts */
#define SLOW 2.0	/* GB/s */

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

/* GB/s over so many parts. */
static double
encode_rate(struct encoding *e, struct tb_pool *pool, size_t parts)
{
	double start = tb_monotonic();

	tb_pool_each(pool, parts, encode_part, e);
	return 1e-9 * (double)(parts * PART) / (tb_monotonic() - start);
}

/* The best of some times; those that try scales are slow, and a little tells as much. */
static enum tb_status
encode_with(struct bench *b, struct encoding *e, struct tb_pool *pool, unsigned threads)
{
	double best = encode_rate(e, pool, FEW), rate;
	char name[SCHEME_NAME_MAX];

	for (unsigned i = 0; i < TIMES && best > SLOW; i++) {
		rate = encode_rate(e, pool, ENCODED / PART);
		best = rate > best || !i ? rate : best;
	}
	return bench_row(b, "GB/s", best, b->read, "quantize, BF16 to %s%s, %u thread%s",
			 scheme_form(&e->scheme) == FORM_BLOCKS ? "GGUF's " : "",
			 scheme_name(&e->scheme, name), threads, tb_plural(threads));
}

/* int4 by one thread as well; the others by all. */
static enum tb_status
encode_all(struct bench *b, struct encoding *e)
{
	static const char *const names[] = { "int4", "int8", "mxfp4", "mxfp8", "nvfp4" };
	static const unsigned types[] = { GGML_Q8_0, GGML_Q6_K, GGML_Q5_K, GGML_Q4_K, GGML_Q3_K,
		GGML_Q2_K, GGML_Q5_1, GGML_Q5_0, GGML_Q4_1, GGML_Q4_0, GGML_IQ4_XS, GGML_IQ4_NL,
		GGML_MXFP4 };
	const unsigned threads = tb_pool_size(b->ctx->pool), many = sizeof(names) / sizeof(*names);
	enum tb_status status = TB_OK;

	if (threads > 1)
		status = encode_with(b, e, NULL, 1);
	for (unsigned i = 0; i < many + sizeof(types) / sizeof(*types) && !status; i++) {
		if (i >= many)
			e->scheme = scheme_ggml(types[i - many]);
		else
			status = scheme_parse(names[i], &e->scheme, b->err);
		if (!status)
			status = encode_with(b, e, b->ctx->pool, threads);
	}
	return status;
}

/* Room for the widest: a byte and a bit a code, two bytes for 16. */
enum tb_status
bench_encode(struct bench *b)
{
	const size_t n = ENCODED / 2;
	struct encoding e = { .scheme = scheme_affine(4, 64) };
	enum tb_status status = TB_OK;

	tb_job_what(b->job, "quantize");
	e.src = tb_aligned(ENCODED);
	e.codes = tb_aligned(n + n / 8);
	e.scales = tb_aligned(n / 8);
	e.biases = tb_aligned(n / 8);
	if (!e.src || !e.codes || !e.scales || !e.biases)
		status = tb_nomem(b->err);
	else
		tb_pool_each(b->ctx->pool, ENCODED / PART, fill_part, &e);
	if (!status)
		status = encode_all(b, &e);
	free(e.src);
	free(e.codes);
	free(e.scales);
	free(e.biases);
	return status;
}
