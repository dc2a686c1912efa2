/* Errors on samples are near those of the whole, also where few rows and columns make most
 * of them, and they are read once for all candidates. */
#include "config.h"

#include <math.h>

#include "src/base/half.h"
#include "src/ops/convert/convert.h"
#include "src/quant/codec.h"
#include "tests/unit/tensors.h"

#define ROWS 4096u
#define COLS 2048u
#define N ((size_t)ROWS * COLS)

static float values[N], back[N];
static uint16_t halves[N];

/* Nearly normal. */
static float
normal(uint64_t *state)
{
	double sum = 0;

	for (unsigned i = 0; i < 6; i++)
		sum += (double)tensors_next(state) / (double)(1u << 31);
	return (float)((sum - 3) * 1.4);
}

/* Rows of very different size, and columns that are much larger than the others. */
static void
fill(double rows, unsigned every, float factor)
{
	uint64_t state = 7;

	for (size_t r = 0; r < ROWS; r++) {
		float scale = (float)exp(rows * (double)normal(&state));

		for (size_t c = 0; c < COLS; c++)
			values[r * COLS + c] = normal(&state) * scale * .02f *
					       (every && c % every == 5 ? factor : 1);
	}
	tb_f32_to_bf16(values, N, halves);
	tb_bf16_to_f32(halves, N, values);
}

static double
whole(const struct scheme *s)
{
	static uint8_t codes[N], scales[N / 4], biases[N / 4];
	const struct quant_parts parts = { codes, scales, scheme_has_bias(s) ? biases : NULL };
	const struct quant_src q = { codes, scales, parts.biases, scheme_scale_dtype(s, DT_BF16), 1 };
	struct quant_error e = { 0 };

	quant_encode(s, FLAVOUR_METAL, DT_BF16, halves, N, &parts);
	quant_decode(s, &q, N, back);
	quant_error_add(&e, values, back, N);
	return quant_error_rms(&e);
}

static void
test_near(void **state)
{
	static const struct { double rows; unsigned every; float factor; } kinds[] = {
		{ 0, 0, 1 }, { .3, 512, 30 }, { 1, 64, 10 },
	};
	static const char *const schemes[] = { "int4", "affine:2:32", "mxfp4", "nvfp4", "int8" };
	const struct plan_care care = { .search = 0 };
	struct plan_sample s[5];
	struct tb_err err = { 0 };

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct st_tensor t = { .name = "t.weight", .dtype = DT_BF16, .ndim = 2,
				       .dim = { ROWS, COLS } };
		const void *data = halves;
		struct model *m;

		fill(kinds[k].rows, kinds[k].every, kinds[k].factor);
		m = tensors_model("t.safetensors", &t, 1, &data, NULL, 0);
		for (size_t i = 0; i < 5; i++) {
			s[i] = (struct plan_sample){ .row = 0, .share = 1, .error = -1, .loss = -1 };
			assert_ok(scheme_parse(schemes[i], &s[i].target, &err), err);
		}
		assert_ok(convert_price(m, FLAVOUR_METAL, &care, s, 5, tensors_ctx.pool, NULL, &err),
			  err);
		for (size_t i = 0; i < 5; i++) {
			double want = whole(&s[i].target);

			want *= want;		/* as parts of the numbers' squares */
			if (fabs(s[i].loss - want) > .05 * want)
				fail_msg("%s of kind %zu: %g, not %g", schemes[i], k, s[i].loss, want);
		}
		model_free(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_near) };

	return cmocka_run_group_tests(tests, tensors_set_up, tensors_tear_down);
}
