/* Every code path gives the same bytes as the scalar one, whatever comes in.  The
 * path is chosen once a process, so each runs in a child and reports a digest. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/half.h"
#include "src/base/sha256.h"
#include "src/quant/codec.h"
#include "src/quant/feedback.h"
#include "src/quant/search.h"
#include "tests/unit/unit.h"

#define N (128 * 67)	/* no multiple of a block of 16 groups of any size */

static uint64_t
next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	return *s ^= *s << 17;
}

/* What encoders trip over: ties, signs of zero, subnormals, infinities, NaN, and any
 * bits at all. */
static float
hostile(uint64_t *s, unsigned family)
{
	static const float odd[] = { 0, -0.f, 1e-40f, -1e-44f, INFINITY, -INFINITY, NAN, 3e38f,
				     -3e38f, 65504, 6e-8f, 448, 464, -448, 5, 2.5f, 1e-7f };
	uint64_t r = next(s);
	uint32_t bits = (uint32_t)r;
	float f;

	switch (family) {
	case 0:
		return ((float)(r & 0xffff) - 32768) / 1e6f;
	case 1:
		return (float)((int)(r % 4097) - 2048) / 16;
	case 2:
		return odd[r % (sizeof(odd) / sizeof(odd[0]))];
	case 3:
		return r & 1 ? ldexpf((float)(r >> 8 & 255), (int)(r >> 16) % 160) : 0;
	default:
		memcpy(&f, &bits, 4);
		return f;
	}
}

static void
fill(float *w, unsigned family)
{
	uint64_t s = 0x9e3779b97f4a7c15u + family;

	for (size_t i = 0; i < N; i++)
		w[i] = hostile(&s, i / 128 % 2 ? family : 0);
}

static void
convert(enum dtype t, const float *w, void *out)
{
	if (t == DT_BF16)
		tb_f32_to_bf16(w, N, out);
	else if (t == DT_F16)
		tb_f32_to_f16(w, N, out);
	else
		memcpy(out, w, 4 * N);
}

/* NaN of whatever bits counts as NaN: which operand's payload survives is not ours. */
static void
add_values(struct tb_sha256 *sha, float *v)
{
	for (size_t i = 0; i < N; i++)
		if (isnan(v[i]))
			v[i] = NAN;
	tb_sha256_add(sha, v, 4 * N);
}

static void
run(const struct scheme *s, enum dtype t, const float *w, struct tb_sha256 *sha)
{
	char *mem = malloc(20 * N + 3), *src = mem + 1, *codes = src + 4 * N;
	char *scales = codes + N, *biases = scales + N;
	float *out = malloc(4 * N);

	assert_true(mem && out);
	convert(t, w, src);
	for (unsigned f = FLAVOUR_METAL; f <= FLAVOUR_MLX_CPU; f++) {
		uint64_t ns = scheme_scales(s, N);
		unsigned size = dtype_bits(scheme_scale_dtype(s, t)) / 8;
		struct quant_src q = { codes, scales, biases, scheme_scale_dtype(s, t), 1 };

		quant_encode(s, f, t, src, N, &(struct quant_parts){ codes, scales, biases });
		tb_sha256_add(sha, codes, scheme_code_bytes(s, N));
		tb_sha256_add(sha, scales, ns * size);
		if (scheme_has_bias(s))
			tb_sha256_add(sha, biases, ns * size);
		quant_decode(s, &q, N, out);
		add_values(sha, out);
	}
	free(mem);
	free(out);
}

/* Products of 128 columns that go together two by two. */
static void
run_feedback(const struct scheme *s, enum dtype t, const char *src, const struct quant_parts *out)
{
	static float gram[128 * 128];
	struct quant_feedback *f;
	struct tb_err err;

	for (unsigned i = 0; i < 128; i++) {
		gram[i * 129] = 1 + (float)(i % 5);
		gram[i * 128 + (i ^ 1)] = 0.5f;
	}
	assert_ok(quant_feedback_new(&f, 128, 128, &err), err);
	assert_ok(quant_feedback_set(f, 0, gram, &err), err);
	assert_ok(quant_encode_fed(s, FLAVOUR_METAL, t, src, N / 128, f, out, &err), err);
	quant_feedback_free(f);
}

/* The same of a search, with a cost that is not even the same for all columns. */
static void
run_search(const struct scheme *s, enum dtype t, const float *w, struct tb_sha256 *sha)
{
	char *src = malloc(4 * N), *codes = calloc(3, 4 * N);
	struct quant_parts out = { codes, codes + 4 * N, codes + 8 * N };
	float cost[256];

	assert_true(src && codes);
	convert(t, w, src);
	for (unsigned i = 0; i < 256; i++)
		cost[i] = i < 128 ? (float)(i % 11) : 0;
	for (unsigned f = FLAVOUR_METAL; f <= FLAVOUR_MLX_CPU; f++) {
		quant_search(s, f, t, src, N, NULL, &out);
		tb_sha256_add(sha, codes, 12 * N);
		quant_search(s, f, t, src, N, &(struct quant_weights){ cost, 256, 0 }, &out);
		tb_sha256_add(sha, codes, 12 * N);
	}
	run_feedback(s, t, src, &out);
	tb_sha256_add(sha, codes, 12 * N);
	free(src);
	free(codes);
}

static const char *const schemes[] = {
	"affine:2:32", "affine:2:64", "affine:2:128", "affine:3:32", "affine:3:64", "affine:3:128",
	"affine:4:32", "affine:4:64", "affine:4:128", "affine:5:32", "affine:5:64", "affine:5:128",
	"affine:6:32", "affine:6:64", "affine:6:128", "affine:8:32", "affine:8:64", "affine:8:128",
	"mxfp4", "mxfp8", "nvfp4",
};
#define NSCHEMES (sizeof(schemes) / sizeof(schemes[0]))
#define NRUNS (NSCHEMES * 3 * 5)

/* One digest a scheme, dtype and family. */
static void
digests(char (*out)[TB_DIGEST_MAX])
{
	static const enum dtype dtypes[] = { DT_BF16, DT_F16, DT_F32 };
	float *w = malloc(4 * N);
	struct tb_err err;

	assert_non_null(w);
	for (size_t i = 0; i < NRUNS; i++) {
		struct scheme s;
		struct tb_sha256 sha;

		fill(w, (unsigned)(i % 5));
		assert_ok(scheme_parse(schemes[i / 15], &s, &err), err);
		assert_ok(tb_sha256_init(&sha, &err), err);
		run(&s, dtypes[i / 5 % 3], w, &sha);
		run_search(&s, dtypes[i / 5 % 3], w, &sha);
		tb_sha256_done(&sha, out[i]);
	}
	free(w);
}

/* Under the path of that name; false where this machine has none. */
static bool
digests_under(const char *cpu, char (*out)[TB_DIGEST_MAX])
{
	int fds[2], status;
	size_t have = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		char *p = (char *)out;

		setenv("TBTUI_CPU", cpu, 1);
		digests(out);
		if (!strcmp(quant_path(), cpu))
			for (size_t left = NRUNS * TB_DIGEST_MAX; left; left -= (size_t)n, p += n)
				if ((n = write(fds[1], p, left)) <= 0)
					_exit(1);
		_exit(strcmp(quant_path(), cpu) ? 77 : 0);
	}
	close(fds[1]);
	while ((n = read(fds[0], (char *)out + have, NRUNS * TB_DIGEST_MAX - have)) > 0)
		have += (size_t)n;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
	return WEXITSTATUS(status) == 0 && have == NRUNS * TB_DIGEST_MAX;
}

static void
compare(const char *cpu)
{
	static char want[NRUNS][TB_DIGEST_MAX], got[NRUNS][TB_DIGEST_MAX];

	assert_true(digests_under("scalar", want));
	memset(got, 0, sizeof(got));
	if (!digests_under(cpu, got))
		skip();
	for (size_t i = 0; i < NRUNS; i++)
		if (strcmp(want[i], got[i]))
			fail_msg("%s differs from scalar: %s, dtype %zu, family %zu", cpu,
				 schemes[i / 15], i / 5 % 3, i % 5);
}

static void
test_avx2(void **state)
{
	(void)state;
	compare("avx2");
}

static void
test_avx512(void **state)
{
	(void)state;
	compare("avx512");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_avx2),
		cmocka_unit_test(test_avx512),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
