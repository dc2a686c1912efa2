/* One model in every scheme and every type of ggml's: whatever the CPU path, and whether
 * its tokens come at once, in pieces or one by one, the logits are the same where nothing
 * is rounded, and else as near as 8 bits of x are. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/engine/matrix.h"
#include "src/engine/synthetic.h"
#include "src/format/ggml_type.h"
#include "src/quant/ggml.h"

#define TOKENS 100		/* more than any kernel takes where sgemm takes over */
#define VOCAB 48
static const char config[] =
	"{\"model_type\":\"llama\",\"vocab_size\":48,\"hidden_size\":256,"
	"\"intermediate_size\":256,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
	"\"num_key_value_heads\":2,\"max_position_embeddings\":128,\"rms_norm_eps\":1e-5,"
	"\"tie_word_embeddings\":false}";

static const char *const paths[] = { "scalar", "avx2", "avx512", "avx512-vnni", "avx512-bf16",
				     "amx" };
#define PATHS (sizeof(paths) / sizeof(*paths))

/* Sizes of pieces, ended by 0; the last goes on. */
static const size_t pieces[][6] = { { TOKENS }, { 1, 7, 20, 33 }, { 1 } };
#define WAYS (sizeof(pieces) / sizeof(*pieces))

static float first[TOKENS][VOCAB];

/* How far apart the logits are from `first`, as a part of the largest of them. */
static double
apart(struct engine *e, const size_t *piece, size_t tokens, bool keep)
{
	double most = 0, largest = 0;
	uint32_t ids[TOKENS];
	const float *logits;
	struct session *s;
	struct tb_err err;

	for (uint32_t i = 0; i < TOKENS; i++)
		ids[i] = (i * i * 7 + 3 * i + 1) % VOCAB;
	assert_ok(session_new(&s, e, 0, &err), err);
	for (size_t at = 0, n; at < tokens; at += n) {
		n = *piece < tokens - at ? *piece : tokens - at;
		piece += piece[1] != 0;
		assert_ok(session_eval(s, ids + at, n, true, NULL, &logits, &err), err);
		for (size_t i = 0; i < n * VOCAB; i++) {
			float *want = &first[at][0] + i;

			if (keep)
				*want = logits[i];
			assert_true(isfinite(logits[i]));
			most = fmax(most, fabs((double)logits[i] - *want));
			largest = fmax(largest, fabs(*want));
		}
	}
	session_free(s);
	return most / largest;
}

static void
every_way(struct scheme scheme, bool exact)
{
	const struct engine_opts opts = { .threads = 2, .exact = exact, .kv = KV_F32 };
	const double limit = exact ? 1e-4 : 5e-2;
	struct synthetic spec = { config, sizeof(config) - 1, scheme, 5 };
	char name[SCHEME_NAME_MAX];

	for (size_t p = 0; p < PATHS; p++) {
		struct engine *e;
		struct tb_err err;

		setenv("TBTUI_CPU", paths[p], 1);
		if (strcmp(matmul_kernels(), paths[p]))
			continue;	/* the CPU has less */
		assert_ok(engine_synthetic(&e, &spec, &opts, &err), err);
		for (size_t i = 0; i < WAYS; i++) {
			bool single = pieces[i][0] == 1 && !pieces[i][1];	/* takes long */
			double d = apart(e, pieces[i], single ? 12 : TOKENS, p + i == 0);
			if (!(d <= limit))
				fail_msg("%s on %s, in pieces of %zu: logits are %g apart",
					 scheme_name(&scheme, name), paths[p], pieces[i][0], d);
		}
		engine_free(e);
	}
	unsetenv("TBTUI_CPU");
}

static void
schemes(bool exact)
{
	static const unsigned bits[] = { 2, 3, 4, 5, 6, 8 }, groups[] = { 32, 64, 128 };
	static const char *const others[] = { "f32", "f16", "bf16", "mxfp4", "mxfp8", "nvfp4" };
	struct scheme s;
	struct tb_err err;

	for (size_t b = 0; b < 6; b++)
		for (size_t g = 0; g < 3; g++)
			every_way(scheme_affine(bits[b], groups[g]), exact);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_ok(scheme_parse(others[i], &s, &err), err);
		every_way(s, exact);
	}
}

/* Sums in another order turn an x of 8 bits the other way now and then, and what follows
 * sees it: one product alone is compared to the last bits in test_matmul_ggml.c. */
static void
types(bool exact)
{
	for (unsigned type = 0; type <= GGML_Q2_0; type++)
		if (ggml_decodable(type))
			every_way(scheme_ggml(type), exact);
}

static void
test_rounded(void **state)
{
	(void)state;
	schemes(false);
	types(false);
}

static void
test_exact(void **state)
{
	(void)state;
	schemes(true);
	types(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rounded),
					    cmocka_unit_test(test_exact) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
