/* Bytes of tensors as numbers: what is refused, and by everybody who reads them. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/model/values.h"
#include "src/ops/convert/convert.h"
#include "src/ops/import/import.h"
#include "src/ops/plan/plan.h"
#include "tests/unit/tensors.h"

#define ROWS 8u
#define COLS 128u
#define ELEMS (ROWS * COLS)

/* A matrix of BF16 under this name, opened. */
static struct model *
matrix(const char *file)
{
	const struct st_tensor t = { .name = "w.weight", .dtype = DT_BF16, .ndim = 2,
				     .dim = { ROWS, COLS } };
	uint16_t v[ELEMS];
	const void *data = v;

	for (unsigned i = 0; i < ELEMS; i++)
		v[i] = (uint16_t)(0x3f80 + i % 100);
	return tensors_model(file, (struct st_tensor[]){ t }, 1, &data, NULL, 0);
}

/* As others do who write to it: the same size, another time. */
static void
touch(const struct model *m)
{
	const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

	assert_int_equal(utimensat(AT_FDCWD, m->files[0].path, times, 0), 0);
}

static enum tb_status
convert(const struct model *m, const char *scheme, struct tb_err *err)
{
	struct plan_request req = { .model = m, .policy = PLAN_UNIFORM, .requantize = true };
	struct convert_target target;
	struct convert_result done;
	enum tb_status status;
	struct plan *p;

	assert_ok(plan_target_parse(scheme, &req.target, err), *err);
	assert_ok(convert_target(&tensors_ctx, unit_path("out.safetensors"), &target, err), *err);
	req.dest = target.dest;
	assert_ok(plan_new(&p, &req, err), *err);
	status = op_convert(&tensors_ctx, &(struct convert_request){ .plan = p,
			    .target = &target, .replace = true }, NULL,
			    &done, err);
	convert_result_free(&done);
	plan_free(p);
	convert_target_free(&target);
	return status;
}

/* A file that is another one than when the model was opened. */
static void
test_identity(void **state)
{
	struct model *m = matrix("m.safetensors");
	const struct plan_care care = { .search = 0 };
	struct plan_sample sample = { .row = 0, .target = scheme_affine(4, 64) };
	struct values_files *fs;
	struct values v;
	struct tb_err err = { 0 };
	uint8_t raw[16];

	(void)state;
	assert_ok(values_open(&v, m, &m->tensors[0], NULL, &err), err);
	assert_ok(values_files_open(&fs, m, &err), err);
	assert_ok(values_files_read(fs, &m->tensors[0].weight, 0, raw, sizeof(raw), &err), err);
	assert_ok(values_check(&v, &err), err);
	touch(m);
	assert_fails(values_check(&v, &err), err, TB_EIO, "changed while it was read");
	values_close(&v);
	assert_fails(values_files_read(fs, &m->tensors[0].weight, 0, raw, sizeof(raw), &err), err,
		     TB_EIO, "changed while it was read");
	values_files_close(fs);
	assert_fails(values_open(&v, m, &m->tensors[0], NULL, &err), err, TB_EIO, "has changed");
	assert_fails(values_bytes(m, &m->tensors[0].weight, 0, 4, raw, &err), err, TB_EIO,
		     "has changed");
	assert_fails(convert(m, "int4", &err), err, TB_EIO, "has changed");
	assert_false(tb_exists(unit_path("out.safetensors")));
	assert_fails(convert(m, "BF16", &err), err, TB_EIO, "has changed");
	assert_fails(convert_price(m, FLAVOUR_METAL, &care, &sample, 1, tensors_ctx.pool, NULL,
				   &err), err, TB_EIO, "has changed");
	model_free(m);
}

/* A global scale that divides, and is zero, has no inverse: nobody says infinite. */
static void
test_zero_global(void **state)
{
	static const uint8_t codes[32], scales[4];
	static const float zero = 0;
	struct st_tensor t[] = {
		{ .name = "a.weight_global_scale", .dtype = DT_F32, .ndim = 1, .dim = { 1 } },
		{ .name = "a.weight_packed", .dtype = DT_U8, .ndim = 2, .dim = { 1, 32 } },
		{ .name = "a.weight_scale", .dtype = DT_F8_E4M3, .ndim = 2, .dim = { 1, 4 } },
	};
	struct model *m = tensors_model("nv.safetensors", t, 3,
					(const void *[]){ &zero, codes, scales }, NULL, 0);
	struct import_request import = { .path = m->loc.path, .name = "nv" };
	struct import_result imported;
	struct values_files *fs;
	struct values v;
	struct tb_err err = { 0 };
	float out;

	(void)state;
	assert_int_equal(m->ntensors, 1);
	assert_true(m->tensors[0].global_inverse);
	assert_fails(values_open(&v, m, &m->tensors[0], NULL, &err), err, TB_EFORMAT,
		     "its global scale is zero");
	assert_ok(values_files_open(&fs, m, &err), err);
	assert_fails(values_open(&v, m, &m->tensors[0], fs, &err), err, TB_EFORMAT,
		     "its global scale is zero");
	values_files_close(fs);
	assert_fails(convert(m, "BF16", &err), err, TB_EFORMAT, "its global scale is zero");
	assert_fails(convert(m, "keep", &err), err, TB_EFORMAT, "its global scale is zero");
	assert_ok(tb_mkdirs(unit_path("manifests"), &err), err);
	assert_ok(tb_mkdirs(unit_path("blobs"), &err), err);
	assert_fails(op_import(&tensors_ctx, &import, NULL, &imported, &err), err, TB_EFORMAT,
		     "its global scale is zero");
	/* One for each expert is none for all. */
	m->tensors[0].global.len = 8;
	assert_ok(values_global(&m->tensors[0], (float[]){ 0, 4 }, 1, 2, &out, &err), err);
	assert_true(out == .25f);
	assert_fails(values_open(&v, m, &m->tensors[0], NULL, &err), err, TB_EFORMAT,
		     "not one number");
	model_free(m);
}

/* Parts that are shorter than the shape are found before anything is decoded. */
static void
test_short(void **state)
{
	struct model *m = matrix("m.safetensors");
	struct tensor t = m->tensors[0];
	struct values_files *fs;
	struct values v;
	struct tb_err err = { 0 };
	uint16_t raw[8];

	(void)state;
	assert_ok(values_files_open(&fs, m, &err), err);
	t.weight.len--;
	assert_fails(values_open(&v, m, &t, NULL, &err), err, TB_EFORMAT, "shorter");
	assert_fails(values_open(&v, m, &t, fs, &err), err, TB_EFORMAT, "shorter");
	assert_ok(values_open_parts(&v, m, &t, &err), err);
	assert_int_equal(v.part[PART_WEIGHT].len, 2 * ELEMS - 1);
	values_close(&v);
	assert_fails(values_files_read(fs, &t.weight, 2 * ELEMS - 8, raw, 8, &err), err, TB_EFORMAT,
		     "shorter");
	assert_fails(values_bytes(m, &t.weight, 2 * ELEMS - 8, 8, raw, &err), err, TB_EUSAGE,
		     "outside");
	t.scheme = scheme_affine(4, 64);
	assert_fails(values_open(&v, m, &t, NULL, &err), err, TB_EFORMAT, "missing");
	t = m->tensors[0];
	assert_ok(values_open(&v, m, &t, fs, &err), err);
	assert_ok(values_read(&v, ELEMS - 8, 8, &(struct quant_parts){ .codes = raw }, &err), err);
	assert_int_equal(raw[7], 0x3f80 + (ELEMS - 1) % 100);
	values_files_close(fs);
	model_free(m);
}

/* Matrices of other programs: mapped only. */
static void
test_foreign(void **state)
{
	static const float scales[] = { 1, 2, -4, .5f };
	int8_t codes[4 * 32];
	struct st_tensor in[] = {
		{ .name = "a", .dtype = DT_I8, .ndim = 2, .dim = { 4, 32 } },
		{ .name = "b", .dtype = DT_F32, .ndim = 2, .dim = { 4, 1 } },
	};
	struct tensor t;
	struct values_files *fs;
	struct values v;
	struct model *m;
	struct tb_err err = { 0 };
	float out[50];

	(void)state;
	for (unsigned i = 0; i < 4 * 32; i++)
		codes[i] = (int8_t)(i - 60);
	m = tensors_model("foreign.safetensors", in, 2, (const void *[]){ codes, scales }, NULL, 0);
	t = *model_tensor(m, "a");
	t.scheme = (struct scheme){ .kind = SCHEME_INT8, .bits = 8, .group = SCHEME_PER_ROW };
	t.has_scale = true;
	t.scale = model_tensor(m, "b")->weight;
	assert_ok(values_open(&v, m, &t, NULL, &err), err);
	values_any(&v, 70, 50, out);
	for (unsigned i = 0; i < 50; i++)
		assert_true(out[i] == (float)codes[70 + i] * scales[(70 + i) / 32]);
	assert_ok(values_check(&v, &err), err);
	values_close(&v);
	assert_ok(values_files_open(&fs, m, &err), err);
	assert_fails(values_open(&v, m, &t, fs, &err), err, TB_EUNSUP, "as a whole");
	values_files_close(fs);
	t.scale.len = 12;
	assert_fails(values_open(&v, m, &t, NULL, &err), err, TB_EFORMAT, "shorter");
	model_free(m);
}

/* What F32 would round is to be had without. */
static void
test_wide(void **state)
{
	static const int64_t big[] = { INT64_C(1) << 52, (INT64_C(1) << 52) + 1, -3 };
	struct model *m = tensors_one(DT_I64, 3, big);
	struct values v;
	struct tb_err err = { 0 };
	double wide[3];
	float out[3];

	(void)state;
	assert_ok(values_open(&v, m, &m->tensors[0], NULL, &err), err);
	assert_true(values_wide(&v));
	values_f64(&v, 0, 3, wide);
	values_f32(&v, 0, 3, out);
	for (unsigned i = 0; i < 3; i++)
		assert_true(wide[i] == (double)big[i]);
	assert_true(out[0] == out[1] && out[2] == -3);
	values_close(&v);
	model_free(m);
}

/* More files than stay open, by many threads. */
struct many { const struct model *m; struct values_files *fs; };

static void
read_one(void *arg, size_t i, unsigned worker)
{
	const struct many *a = arg;
	struct tensor_part p = { .file = (unsigned)(i * 7 % a->m->nfiles), .len = 4 };
	struct tb_err err = { 0 };
	char raw[4] = "", want[8];

	(void)worker;
	snprintf(want, sizeof(want), "%04u", p.file);
	if (values_files_read(a->fs, &p, 0, raw, 4, &err) || memcmp(raw, want, 4))
		abort();
}

static void
test_many_files(void **state)
{
	enum { N = 600 };
	static struct model_file files[N];
	struct model m = { .files = files, .nfiles = N };
	struct many a = { .m = &m };
	struct tb_err err = { 0 };
	char name[16];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "%04u", i);
		files[i].path = tb_strdup(unit_write(name, name, 4));
		assert_ok(tb_file_ident(files[i].path, &files[i].id, &err), err);
	}
	assert_ok(values_files_open(&a.fs, &m, &err), err);
	tb_pool_each(tensors_ctx.pool, 5 * N, read_one, &a);
	values_files_close(a.fs);
	for (unsigned i = 0; i < N; i++)
		free(files[i].path);
}

/* Whoever uses a blob again touches it: that is no other file. */
static void
test_blob(void **state)
{
	struct model *m = matrix("m.safetensors");
	struct values v;
	struct tb_err err = { 0 };
	uint8_t raw[16];

	(void)state;
	memcpy(m->files[0].digest, "sha256:00", 10);
	assert_ok(values_open(&v, m, &m->tensors[0], NULL, &err), err);
	touch(m);
	assert_ok(values_check(&v, &err), err);
	values_close(&v);
	assert_ok(values_bytes(m, &m->tensors[0].weight, 0, 4, raw, &err), err);
	assert_ok(convert(m, "int4", &err), err);
	assert_int_equal(truncate(m->files[0].path, 1000), 0);
	assert_fails(values_bytes(m, &m->tensors[0].weight, 0, 4, raw, &err), err, TB_EIO,
		     "has changed");
	model_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_blob),
		cmocka_unit_test(test_zero_global),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_many_files),
	};

	return cmocka_run_group_tests(tests, tensors_set_up, tensors_tear_down);
}
