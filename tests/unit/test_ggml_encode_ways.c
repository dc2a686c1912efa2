/* Encoders of ggml's types, by every code path, against digests of what ggml's own make
 * of the same numbers: with and without weights, of rows that are not as weights are. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/sha256.h"
#include "src/format/ggml_type.h"
#include "src/quant/codec.h"
#include "src/quant/ggml_encode.h"

/* ---- what goes in: integers and powers of two, the same on every machine ---- */

#define COLS 768	/* three super-blocks: no row fills the lanes */
#define ROWS 36
#define FAMILIES 12
#define WEIGHTS 5

static uint64_t
next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	return *s ^= *s << 17;
}

/* Nearly normal, a deviation of about 0.29. */
static float
bell(uint64_t *s)
{
	uint64_t r = next(s);
	int sum = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) +
		  (int)(r >> 48) - 131070;

	return (float)sum * 0x1p-17f;
}

static float
finite_bits(uint64_t *s)
{
	uint32_t u;
	float f;

	do {
		u = (uint32_t)(next(s) >> 20);
		memcpy(&f, &u, 4);
	} while (!isfinite(f));
	return f;
}

static float
value(uint64_t *s, unsigned family, size_t at)
{
	static const float odd[] = { 0, -0.f, 0x1p-133f, -0x1p-146f, 0x1p127f,
		-0x1p127f, 65504, 0x1p-24f, 448, -448, 5, 2.5f, 0x1p-23f, 0x1p-50f,
		-0x1p-49f, 0x1p60f, -0x1p-100f };

	switch (family) {
	case 0:
		return bell(s) * (next(s) % 400 ? 0x1p-4f : 1);
	case 1:
		return (float)((int)(next(s) % 7) - 3);
	case 2:
		return odd[next(s) % (sizeof(odd) / sizeof(*odd))];
	case 3:
		return finite_bits(s);
	case 4:
		return at / 96 % 3 ? at / 96 % 3 == 1 ? 0.0125f : -0.03f : 0;
	case 5:
		return bell(s) * 0x1p-47f;	/* about where a group counts as zero */
	case 6:
		return bell(s) * 0x1p126f;
	case 7:
		return 1 + bell(s) * 0x1p-20f;
	case 8:
		return -fabsf(bell(s));
	case 9:
		return next(s) % 3 ? 0 : bell(s);
	case 10:
		return bell(s) * 0x1p-127f;
	default:
		return at / 128 % 2 ? finite_bits(s) : bell(s) * 0x1p-16f;
	}
}

static void
fill(float x[ROWS * COLS])
{
	uint64_t s = 88172645463325252u;

	for (size_t i = 0; i < ROWS * COLS; i++)
		x[i] = value(&s, (unsigned)(i / COLS % FAMILIES), i);
}

/* None; any; all zero; some zero; very unequal. */
static bool
weigh(float w[COLS], unsigned how)
{
	uint64_t s = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < COLS; i++) {
		float any = (float)(next(&s) >> 40) * 0x1p-20f;

		w[i] = how == 1 ? any * any
		     : how == 2 ? 0
		     : how == 3 ? (i / 100 % 2 ? any : 0)
		     : next(&s) % 5 ? 0x1p-66f : 0x1p66f;
	}
	return how > 0;
}

/* ---- what comes out ---- */

static const struct known {
	enum ggml_type type;
	const char *digest[WEIGHTS];	/* 64 bits of SHA-256 */
} known[] = {
	{ GGML_F16, { "39cfc4c4f26d8b92", "39cfc4c4f26d8b92",
			"39cfc4c4f26d8b92", "39cfc4c4f26d8b92", "39cfc4c4f26d8b92" } },
	{ GGML_BF16, { "0ad4a0d0e059f2d7", "0ad4a0d0e059f2d7",
			"0ad4a0d0e059f2d7", "0ad4a0d0e059f2d7", "0ad4a0d0e059f2d7" } },
	{ GGML_Q4_0, { "4c27a544069774d5", "06a3d1b5565c1535",
			"1aa000e180ea3a01", "e7b7d4cf52dedc1e", "3d92528f39a6d8a2" } },
	{ GGML_Q4_1, { "ec26407b86f61b10", "946ea2eb68d5b288",
			"794f5b24be128a69", "d35996f1362256bd", "de8627dfe205e1cc" } },
	{ GGML_Q5_0, { "b6b72fe1fd1c8a69", "c39a63e366a26a9e",
			"40918f68ca90295a", "8a3e3589f54e86cd", "75cea2662d65fedf" } },
	{ GGML_Q5_1, { "aeb8d9f8b2347e1e", "10aa6139d1ad7c90",
			"d43096b7cb58f700", "e8942f1efa8f4cf3", "0fc8423914a0af10" } },
	{ GGML_Q8_0, { "b4eb006391060ead", "b4eb006391060ead",
			"b4eb006391060ead", "b4eb006391060ead", "b4eb006391060ead" } },
	{ GGML_Q2_K, { "960c590d12a8e37a", "e5daea0b087603c9", "ff36bbeaab1d85aa",
			"3b65c4610dbf7bf7", "008311113594929f" } },
	{ GGML_Q3_K, { "c83c6949535924b4", "87b5c0dbaebba196", "40301afcdfe1c3b9",
			"a4ca19b9a63269ef", "cd7902ed53b6d75f" } },
	{ GGML_Q4_K, { "a39499c69c841a56", "c2e7f5dc90ff78de", "ac6893be26ccba3b",
			"2b2aa6282bec159c", "e4423bc684941eeb" } },
	{ GGML_Q5_K, { "ac512f6ee4c34651", "dcb956bf061f80a6", "c7e70e97f950a016",
			"d8b8ebd310eff28a", "b6f9c9c6aad85950" } },
	{ GGML_Q6_K, { "105f1ceb9aae69e2", "a1d442b45b1028ba", "cb3b33bae3d00894",
			"8b7eba8d89f8fb90", "925461eea14218f1" } },
	{ GGML_IQ4_NL, { "8ee8a34d49c889f6", "f11fe6102217e48a",
			"41fc3ad3f6f91045", "7a7de385c24fc0b1", "8dd4165724b9ef11" } },
	{ GGML_IQ4_XS, { "3166567f817f83ef", "8b62cf23e77a9b8f",
			"47bf18ff141f701c", "0092274a6be20908", "bb2413f6dc23c632" } },
	{ GGML_TQ1_0, { "af327b696f4ef762", "af327b696f4ef762",
			"af327b696f4ef762", "af327b696f4ef762", "af327b696f4ef762" } },
	{ GGML_TQ2_0, { "8ba7d56142bb0985", "8ba7d56142bb0985",
			"8ba7d56142bb0985", "8ba7d56142bb0985", "8ba7d56142bb0985" } },
	{ GGML_MXFP4, { "4748556db2396dad", "4748556db2396dad",
			"4748556db2396dad", "4748556db2396dad", "4748556db2396dad" } },
	{ GGML_NVFP4, { "9730508a7db56199", "9730508a7db56199",
			"9730508a7db56199", "9730508a7db56199", "9730508a7db56199" } },
	{ GGML_Q1_0, { "a51f16085caad635", "a51f16085caad635",
			"a51f16085caad635", "a51f16085caad635", "a51f16085caad635" } },
	{ GGML_Q2_0, { "2347421801b068af", "2347421801b068af",
			"2347421801b068af", "2347421801b068af", "2347421801b068af" } },
};
#define NKNOWN (sizeof(known) / sizeof(*known))

static bool
same(const struct known *k, unsigned how, const float *x, const char *path)
{
	const struct ggml_info *info = ggml_info(k->type);
	size_t len = ROWS * COLS / info->block * info->bytes;
	uint8_t *out = tb_calloc(1, len);
	char digest[TB_DIGEST_MAX];
	struct tb_err err;
	float w[COLS];
	bool ok;

	ggml_encode(k->type, x, ROWS, COLS, weigh(w, how) ? w : NULL, out);
	ok = !tb_sha256_bytes(out, len, digest, &err) &&
	     !strncmp(digest + 7, k->digest[how], 16);
	if (!ok)
		fprintf(stderr, "%s: %s, weights %u: %.16s, not %s\n", path, info->name,
			how, digest + 7, k->digest[how]);
	free(out);
	return ok;
}

/* The path is chosen once a process. */
static void
by_path(const char *path)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		float *x = malloc(sizeof(*x) * ROWS * COLS);
		bool ok = true;

		setenv("TBTUI_CPU", path, 1);
		if (!x || strcmp(quant_path(), path))
			_exit(x ? 77 : 1);
		fill(x);
		for (size_t i = 0; i < NKNOWN; i++)
			for (unsigned how = 0; how < WEIGHTS; how++)
				ok = same(known + i, how, x, path) && ok;
		free(x);
		_exit(!ok);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
test_scalar(void **state)
{
	(void)state;
	by_path("scalar");
}

static void
test_avx2(void **state)
{
	(void)state;
	by_path("avx2");
}

static void
test_avx512(void **state)
{
	(void)state;
	by_path("avx512");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalar),
		cmocka_unit_test(test_avx2),
		cmocka_unit_test(test_avx512),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
