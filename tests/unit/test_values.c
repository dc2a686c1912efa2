/* Bytes of tensors as numbers: what is refused, and by everybody who reads them. */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/half.h"
#include "src/base/text.h"
#include "src/format/gguf.h"
#include "src/model/values.h"
#include "src/ops/convert/convert.h"
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
	status = op_convert(&tensors_ctx, p, &target, true, NULL, &done, err);
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
	struct plan_sample sample = { .row = 0, .target = scheme_affine(4, 64) };
	struct values_files *fs;
	struct values v;
	struct tb_err err = { 0 };
	uint8_t raw[16];

	(void)state;
	assert_ok(values_open(&v, m, &m->tensors[0], &err), err);
	assert_ok(values_files_open(&fs, m, &err), err);
	assert_ok(values_files_read(fs, &m->tensors[0].weight, 0, raw, sizeof(raw), &err), err);
	assert_ok(values_check(&v, &err), err);
	touch(m);
	assert_fails(values_check(&v, &err), err, TB_EIO, "changed while it was read");
	values_close(&v);
	assert_fails(values_files_read(fs, &m->tensors[0].weight, 0, raw, sizeof(raw), &err), err,
		     TB_EIO, "changed while it was read");
	values_files_close(fs);
	assert_fails(values_open(&v, m, &m->tensors[0], &err), err, TB_EIO, "has changed");
	assert_fails(values_bytes(m, &m->tensors[0].weight, 0, 4, raw, &err), err, TB_EIO,
		     "has changed");
	assert_fails(convert(m, "int4", &err), err, TB_EIO, "has changed");
	assert_false(tb_exists(unit_path("out.safetensors")));
	assert_fails(convert(m, "BF16", &err), err, TB_EIO, "has changed");
	assert_fails(plan_price(m, FLAVOUR_METAL, &sample, 1, tensors_ctx.pool, NULL, &err), err,
		     TB_EIO, "has changed");
	model_free(m);
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
	assert_ok(values_open(&v, m, &m->tensors[0], &err), err);
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
	};

	return cmocka_run_group_tests(tests, tensors_set_up, tensors_tear_down);
}
