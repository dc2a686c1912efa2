/* Every scheme with rows of 1 to 64 groups, into every kind of destination: what is read
 * back is what encoding and decoding make of it in memory. */
#include "config.h"

#include "tests/unit/tensors.h"

#include <stdio.h>

#include "src/base/file.h"
#include "src/base/half.h"
#include "src/ops/convert/convert.h"
#include "src/quant/codec.h"
#include "src/store/store.h"

#define GROUPS 64
#define ROWS 2u
#define MOST (ROWS * GROUPS * 128)

static float source[MOST];
static uint16_t halves[MOST];

static const char *
name_of(unsigned groups)
{
	static char name[64];

	snprintf(name, sizeof(name), "model.layers.0.mlp.experts.%u.up_proj.weight", groups - 1);
	return name;
}

static struct model *
open_model(const char *name)
{
	const char *roots[] = { unit_path("store") };
	struct store_roots stores;
	struct tb_err err = { 0 };
	struct model_loc loc;
	struct model *m;

	assert_ok(store_roots_init(&stores, roots, 1, &err), err);
	assert_ok(store_resolve(&stores, name, &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	store_roots_free(&stores);
	return m;
}

/* A directory; tensor i has rows of i + 1 groups. */
static struct model *
make_source(const struct scheme *s, enum dtype d)
{
	static char names[GROUPS][64];
	struct st_tensor t[GROUPS];
	const void *data[GROUPS];

	for (unsigned i = 0; i < GROUPS; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", name_of(i + 1));
		t[i] = (struct st_tensor){ .name = names[i], .dtype = d, .ndim = 2,
					   .dim = { ROWS, (i + 1) * s->group } };
		data[i] = d == DT_F32 ? (const void *)source : halves;
	}
	model_free(tensors_model("source/model.safetensors", t, GROUPS, data, NULL, 0));
	return open_model(unit_path("source"));
}

static void
decoded(const struct scheme *s, enum dtype d, size_t n, float *out)
{
	static uint8_t codes[MOST], scales[MOST], biases[MOST];
	struct quant_parts parts = { codes, scales, scheme_has_bias(s) ? biases : NULL };
	struct quant_src q = { codes, scales, parts.biases, scheme_scale_dtype(s, d), 1 };

	quant_encode(s, FLAVOUR_METAL, d, d == DT_F32 ? (const void *)source : halves, n, &parts);
	quant_decode(s, &q, n, out);
}

static void
check(const struct model *m, const struct scheme *s, enum dtype d)
{
	static float got[MOST], want[MOST];
	struct tb_err err = { 0 };
	char name[SCHEME_NAME_MAX];

	assert_int_equal(m->nproblems, 0);
	assert_int_equal(m->ntensors, GROUPS);
	for (unsigned i = 1; i <= GROUPS; i++) {
		const struct tensor *t = model_tensor(m, name_of(i));
		struct inspect_window w = { 0, 0, ROWS, i * s->group };
		size_t n = ROWS * i * s->group;

		assert_non_null(t);
		assert_true(scheme_equal(&t->scheme, s));
		assert_int_equal(t->dim[1], i * s->group);
		assert_ok(inspect_values(m, t, &w, got, &err), err);
		decoded(s, d, n, want);
		if (memcmp(got, want, n * sizeof(*got)))
			fail_msg("%s of %s, rows of %u groups, differs", scheme_name(s, name),
				 m->loc.path, i);
	}
}

static struct model *
convert(const struct model *source_model, const struct scheme *s, const char *dst)
{
	const char *roots[] = { unit_path("store") };
	struct plan_request req = { .model = source_model, .target = { .scheme = *s },
				    .policy = PLAN_UNIFORM, .requantize = true };
	struct convert_target target;
	struct convert_result done;
	struct tb_err err = { 0 };
	struct op_ctx ctx;
	struct plan *p;

	assert_ok(op_ctx_init(&ctx, "/nonexistent", roots, 1, 2, &err), err);
	assert_ok(convert_target(&ctx, dst, &target, &err), err);
	req.dest = target.dest;
	if (req.dest == PLAN_TO_STORE)	/* one blob of a store, not 64 */
		req.experts = PLAN_EXPERTS_EACH;
	assert_ok(plan_new(&p, &req, &err), err);
	assert_ok(op_convert(&ctx, &(struct convert_request){ .plan = p, .target = &target,
		  .replace = true }, NULL, &done, &err), err);
	assert_int_equal(done.changed, GROUPS);
	convert_result_free(&done);
	plan_free(p);
	convert_target_free(&target);
	op_ctx_free(&ctx);
	return open_model(dst);
}

static void
convert_and_check(const struct model *source_model, const struct scheme *s, enum dtype d,
		  const char *dst)
{
	struct model *m = convert(source_model, s, dst);

	check(m, s, d);
	model_free(m);
}

static void
every_destination(const char *scheme, enum dtype d)
{
	char dir[300], file[300], name[64];
	struct tb_err err = { 0 };
	struct scheme s;
	struct model *m;

	assert_ok(scheme_parse(scheme, &s, &err), err);
	m = make_source(&s, d);
	snprintf(dir, sizeof(dir), "%s/", unit_path("dir"));
	snprintf(file, sizeof(file), "%s", unit_path("file.safetensors"));
	snprintf(name, sizeof(name), "m%u-%u-%u-%u", s.kind, s.bits, s.group, d);
	convert_and_check(m, &s, d, dir);
	convert_and_check(m, &s, d, file);
	convert_and_check(m, &s, d, name);
	model_free(m);
}

static void
test_affine(void **state)
{
	static const unsigned bits[] = { 2, 3, 4, 5, 6, 8 }, groups[] = { 32, 64, 128 };

	(void)state;
	for (size_t b = 0; b < 6; b++) {
		for (size_t g = 0; g < 3; g++) {
			char name[32];

			snprintf(name, sizeof(name), "affine:%u:%u", bits[b], groups[g]);
			every_destination(name, DT_BF16);
		}
	}
	every_destination("int4", DT_F32);
}

static void
test_floats(void **state)
{
	(void)state;
	every_destination("mxfp4", DT_BF16);
	every_destination("mxfp8", DT_BF16);
	every_destination("nvfp4", DT_BF16);
	every_destination("nvfp4", DT_F32);
}

/* A file has no config.json to say what shapes leave open: the directory gets one. */
static void
test_alone(void **state)
{
	struct tb_err err = { 0 };
	struct scheme s;
	struct model *m, *file;

	(void)state;
	assert_ok(scheme_parse("int4", &s, &err), err);
	m = make_source(&s, DT_BF16);
	file = open_model(unit_path("source/model.safetensors"));
	convert_and_check(file, &s, DT_BF16, unit_path("made/"));
	model_free(file);
	model_free(m);
}

/* What is quantized becomes F32 with all the bits that its decoder gives. */
static void
test_back(void **state)
{
	static const char *const schemes[] = { "int4", "affine:3:32", "mxfp4", "nvfp4" };
	static float got[MOST], want[MOST];
	struct scheme f32 = scheme_plain(DT_F32);
	struct tb_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct model *m, *q, *back;
		struct scheme s;
		unsigned low = 0;

		assert_ok(scheme_parse(schemes[i], &s, &err), err);
		m = make_source(&s, DT_BF16);
		q = convert(m, &s, unit_path("packed.safetensors"));
		back = convert(q, &f32, unit_path("back.safetensors"));
		for (unsigned g = 1; g <= GROUPS; g++) {
			struct inspect_window w = { 0, 0, ROWS, g * s.group };
			size_t n = ROWS * g * s.group;

			assert_ok(inspect_values(back, model_tensor(back, name_of(g)), &w, got, &err),
				  err);
			decoded(&s, DT_BF16, n, want);
			assert_memory_equal(got, want, n * sizeof(*got));
			for (size_t k = 0; k < n; k++)
				low += want[k] != tb_bf16_f32(tb_f32_bf16(want[k]));
		}
		assert_true(low > 0 || s.kind != SCHEME_AFFINE);	/* or this shows nothing */
		model_free(back);
		model_free(q);
		model_free(m);
	}
}

static int
set_up(void **state)
{
	uint64_t seed = 11;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < MOST; i++)
		source[i] = (float)((double)tensors_next(&seed) / 0x40000000 - 1);
	tb_f32_to_bf16(source, MOST, halves);
	if (tb_mkdirs(unit_path("source"), &err))
		return -1;
	unit_write("source/config.json", "{}", 2);
	return tb_mkdirs(unit_path("store/manifests"), &err) ||
	       tb_mkdirs(unit_path("store/blobs"), &err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_affine),
					    cmocka_unit_test(test_floats),
					    cmocka_unit_test(test_alone),
					    cmocka_unit_test(test_back) };

	return cmocka_run_group_tests(tests, set_up, NULL);
}
