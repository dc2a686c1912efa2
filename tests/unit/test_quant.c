/* Schemes, packing and the codecs on vectors worked out by hand from the rules. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "src/base/half.h"
#include "src/quant/bits.h"
#include "src/quant/codec.h"
#include "src/quant/fp.h"
#include "src/quant/scheme_row.h"
#include "tests/unit/unit.h"

static void
test_scheme_names(void **state)
{
	static const struct { const char *in, *out; } rows[] = {
		{ "int4", "int4" }, { "affine:4:64", "int4" }, { "AFFINE:8:64", "int8" },
		{ "q8", "int8" }, { "fp4", "int4" }, { "affine:3:128", "affine:3:128" },
		{ "MXFP4", "mxfp4" }, { "nvfp4", "nvfp4" }, { "bf16", "BF16" }, { "F32", "F32" },
	};
	static const char *const wrong[] = { "", "int", "int3", "affine", "affine:7:64", "affine:4",
		"affine:4:16", "affine:4:64:1", "affine::64", "affine:99999999999:64", "u8", " int4" };
	char name[SCHEME_NAME_MAX];
	struct scheme s, again;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_ok(scheme_parse(rows[i].in, &s, &err), err);
		assert_string_equal(scheme_name(&s, name), rows[i].out);
		assert_ok(scheme_parse(name, &again, &err), err);
		assert_true(scheme_equal(&s, &again));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_fails(scheme_parse(wrong[i], &s, &err), err, TB_EUSAGE, "no scheme");
}

static void
test_scheme_metadata(void **state)
{
	struct scheme s, want = scheme_affine(4, 64);

	(void)state;
	assert_true(scheme_from_quant_type("int4", 0, &s) && scheme_equal(&s, &want));
	want = scheme_affine(4, 32);
	assert_true(scheme_from_quant_type("INT4", 32, &s) && scheme_equal(&s, &want));
	want = scheme_affine(3, 128);
	assert_true(scheme_from_quant_type(scheme_quant_type(&want), 128, &s));
	assert_true(scheme_equal(&s, &want));
	assert_true(scheme_from_quant_type("nvfp4", 16, &s) && s.kind == SCHEME_NVFP4);
	assert_false(scheme_from_quant_type("nvfp4", 32, &s));
	assert_false(scheme_from_quant_type("int7", 64, &s));
	assert_false(scheme_from_quant_type("affine", 64, &s));
	assert_true(scheme_from_mode(NULL, 6, 0, &s) && s.bits == 6 && s.group == 64);
	assert_true(scheme_from_mode("mxfp8", 0, 0, &s) && s.bits == 8 && s.group == 32);
	assert_false(scheme_from_mode("mxfp8", 4, 32, &s));
	assert_false(scheme_from_mode("dwq", 4, 32, &s));
}

/* Words with a blank behind each; patterns are none. */
static void
parse_all(const char *words)
{
	struct scheme s;
	struct tb_err err;

	for (size_t n; *words; words += n + 1) {
		char word[32];

		n = strcspn(words, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, words);
		if (!strstr(word, "BITS:GROUP"))
			assert_ok(scheme_parse(word, &s, &err), err);
	}
}

/* Every row says what its form needs; what -q lists is taken; siblings have 8 bits. */
static void
test_scheme_rows(void **state)
{
	char name[SCHEME_NAME_MAX];
	struct scheme s, again;
	struct tb_err err;
	bool experts;

	(void)state;
	for (enum scheme_kind k = SCHEME_PLAIN + 1; k < SCHEME_KINDS; k++) {
		const struct scheme_row *r = scheme_row(k);

		assert_non_null(r->mode);
		assert_int_equal(r->form == FORM_MATRIX, r->foreign != NULL);
		assert_int_equal(r->form == FORM_MATRIX, r->decode == NULL);
		assert_int_equal(r->form == FORM_GROUPS, r->encode && r->exact && r->bits[0]);
		for (const uint8_t *bits = r->bits; *bits; bits++) {
			assert_true(scheme_from_mode(r->mode, *bits, 0, &s));
			assert_ok(scheme_parse(scheme_name(&s, name), &again, &err), err);
			assert_true(scheme_equal(&s, &again));
			assert_true(scheme_from_quant_type(scheme_quant_type(&s), s.group, &again));
			assert_true(scheme_equal(&s, &again));
			assert_int_equal(scheme_eight(&s, &experts).bits, 8);
			assert_true(s.group <= QUANT_GROUP_MAX);
		}
	}
	parse_all(SCHEME_WORDS SCHEME_DTYPES);
	parse_all(SCHEME_EXAMPLES);
}

static void
test_scheme_sizes(void **state)
{
	struct scheme three = scheme_affine(3, 64), bf16 = scheme_plain(DT_BF16);

	(void)state;
	assert_int_equal(scheme_code_bytes(&three, 64), 24);
	assert_int_equal(scheme_scales(&three, 640), 10);
	assert_int_equal(scheme_code_bytes(&bf16, 3), 6);
	assert_int_equal(scheme_scales(&bf16, 3), 0);
	assert_true(scheme_fits(&three, 128) && !scheme_fits(&three, 96) && !scheme_fits(&three, 0));
	assert_true(scheme_fits(&bf16, 7));
}

/* 3-bit element 10 lies across a word: bits 30 to 32. */
static void
test_bits(void **state)
{
	uint8_t code[16] = { 0 }, packed[8], again[16];

	(void)state;
	code[10] = 5;
	bits_pack(code, 16, 3, packed);
	assert_memory_equal(packed, ((uint8_t[]){ 0, 0, 0, 0x40, 1, 0 }), 6);
	for (unsigned bits = 2; bits <= 8; bits++) {
		for (unsigned i = 0; i < 8; i++)
			code[i] = (uint8_t)((0x9d * i + 3) & ((1u << bits) - 1));
		bits_pack(code, 8, bits, packed);
		bits_unpack(packed, 8, bits, again);
		assert_memory_equal(code, again, 8);
	}
}

static void
test_small_floats(void **state)
{
	static const struct { float x; uint8_t e4m3, gpu, cpu; } rows[] = {
		{ 0, 0, 0, 0 }, { -0.f, 0x80, 8, 0 }, { .25f, 0x28, 0, 0 }, { .75f, 0x34, 2, 1 },
		{ -.75f, 0xb4, 10, 9 }, { 1.25f, 0x3a, 2, 2 }, { 1.75f, 0x3e, 4, 3 },
		{ 2.5f, 0x42, 4, 4 }, { 3.5f, 0x46, 6, 5 }, { 5, 0x4a, 6, 6 },
		{ 5.5f, 0x4b, 7, 7 }, { 448, 0x7e, 7, 7 }, { 1e9f, 0x7e, 7, 0 },
		{ -INFINITY, 0xfe, 15, 0 }, { 0x1p-10f, 0, 0, 0 }, { 0x1.8p-10f, 1, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(fp_e4m3_encode(rows[i].x), rows[i].e4m3);
		assert_int_equal(fp_e2m1_encode(rows[i].x), rows[i].gpu);
		assert_int_equal(fp_e2m1_nearest(rows[i].x), rows[i].cpu);
	}
	assert_int_equal(fp_e2m1_encode(NAN), 7);
	assert_int_equal(fp_e2m1_nearest(NAN), 0);
	for (unsigned b = 0; b < 256; b++)
		if ((b & 0x7f) != 0x7f)
			assert_int_equal(fp_e4m3_encode(fp_e4m3_decode((uint8_t)b)), b);
	assert_true(fp_e4m3_decode(0x7f) == 480);
	assert_true(fp_e8m0_decode(0) == 0x1p-127f && isinf(fp_e8m0_decode(255)));
	assert_int_equal(fp_e8m0_round(0), 0);
	assert_int_equal(fp_e8m0_round(1.4142f), 127);
	assert_int_equal(fp_e8m0_round(1.4143f), 128);
	assert_int_equal(fp_e8m0_round(INFINITY), 255);
	assert_int_equal(fp_e8m0_round(3e38f), 254);
}

/* The short way around log2f() may never show. */
static void
test_exponent(void **state)
{
	(void)state;
	for (uint32_t u = 0x00000100; u < 0x7f800000; u += 9973) {
		float d, l;

		memcpy(&d, &u, 4);
		l = roundf(log2f(d));
		l = l < -127 ? -127 : l > 127 ? 127 : l;
		assert_int_equal(fp_e8m0_round(d), (int)l + 127);
	}
}

struct coded { uint8_t codes[64]; uint16_t scale[2], bias[2]; };

static struct coded
encode64(const char *scheme, enum flavour f, enum dtype t, const void *src)
{
	struct coded c = { 0 };
	struct scheme s;
	struct tb_err err;

	assert_ok(scheme_parse(scheme, &s, &err), err);
	quant_encode(&s, f, t, src, 64, &(struct quant_parts){ c.codes, c.scale, c.bias });
	return c;
}

static void
test_affine_flat(void **state)
{
	static const uint8_t none[64];
	uint16_t w[64] = { 0 };
	struct coded c = encode64("int4", FLAVOUR_METAL, DT_BF16, w);

	(void)state;
	assert_memory_equal(c.codes, none, 64);		/* zeros: scale -1e-7, bias 0 */
	assert_int_equal(c.scale[0], 0xb3d7);
	assert_int_equal(c.bias[0], 0);
	c = encode64("int4", FLAVOUR_MLX_CPU, DT_F16, w);
	assert_int_equal(c.scale[0], 0x8002);
	for (size_t i = 0; i < 64; i++)
		w[i] = 0xc000;				/* -2: the grid reaches from it to 0 */
	c = encode64("int4", FLAVOUR_METAL, DT_BF16, w);
	assert_memory_equal(c.codes, none, 64);
	assert_int_equal(c.scale[0], tb_f32_bf16(2.f / 15));
	assert_int_equal(c.bias[0], 0xc000);
}

/* Edges -1 and 0.5 with 2 bits: scale 0.5, bias -1, and -0.75 lies half way. */
static void
test_affine_tie(void **state)
{
	float w[64] = { -1, -.75f, -.5f, .5f };
	uint8_t codes[16];
	float scale, bias, out[64];
	struct scheme s = scheme_affine(2, 64);
	struct quant_src q = { codes, &scale, &bias, DT_F32, 1 };

	(void)state;
	quant_encode(&s, FLAVOUR_METAL, DT_F32, w, 64, &(struct quant_parts){ codes, &scale, &bias });
	assert_true(scale == .5f && bias == -1);
	assert_int_equal(codes[0], 0 | 1 << 2 | 1 << 4 | 3 << 6);
	quant_decode(&s, &q, 64, out);
	assert_true(out[0] == -1 && out[1] == -.5f && out[2] == -.5f && out[3] == .5f);
	assert_true(out[4] == 0);
	quant_encode(&s, FLAVOUR_MLX_CPU, DT_F32, w, 64,
		     &(struct quant_parts){ codes, &scale, &bias });
	assert_int_equal(codes[0], 0 | 0 << 2 | 1 << 4 | 3 << 6);
}

/* Decoding what was encoded is never further off than half a step. */
static void
test_round_trip(void **state)
{
	static const unsigned bits[] = { 2, 3, 4, 5, 6, 8 };
	float w[640], out[640], scales[20], biases[20];
	uint8_t codes[640];

	(void)state;
	for (size_t i = 0; i < 640; i++)
		w[i] = sinf((float)i * 1.7f) * (i % 7 ? 1 : 3);
	for (size_t b = 0; b < 6; b++) {
		struct scheme s = scheme_affine(bits[b], 32);
		struct quant_src q = { codes, scales, biases, DT_F32, 1 };

		quant_encode(&s, FLAVOUR_METAL, DT_F32, w, 640,
			     &(struct quant_parts){ codes, scales, biases });
		quant_decode(&s, &q, 640, out);
		for (size_t i = 0; i < 640; i++)
			assert_true(fabsf(w[i] - out[i]) <= fabsf(scales[i / 32]) * 1.01f);
	}
}

static void
test_error(void **state)
{
	struct quant_error e = { 0 };
	const float a[] = { 3, 4 }, b[] = { 3, 3.5f };

	(void)state;
	assert_true(quant_error_rms(&e) == 0);
	quant_error_add(&e, a, b, 2);
	assert_true(quant_error_rms(&e) == .1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scheme_names), cmocka_unit_test(test_scheme_metadata),
		cmocka_unit_test(test_scheme_rows), cmocka_unit_test(test_scheme_sizes), cmocka_unit_test(test_bits),
		cmocka_unit_test(test_small_floats), cmocka_unit_test(test_exponent),
		cmocka_unit_test(test_affine_flat), cmocka_unit_test(test_affine_tie),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
