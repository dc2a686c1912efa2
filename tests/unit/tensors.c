#include "config.h"

#include "tests/unit/tensors.h"

#include <math.h>

#include "src/base/buf.h"
#include "src/store/store.h"

struct op_ctx tensors_ctx;

/* A file that holds the tensors with this data, opened. */
struct model *
tensors_model(const char *file, struct st_tensor *t, size_t n, const void *const *data,
	 const struct st_meta *meta, size_t nmeta)
{
	struct tb_buf b = TB_BUF(256u << 20);
	struct tb_err err = { 0 };
	struct store_roots none = { 0 };
	struct model_loc loc;
	struct model *m;
	const char *path;

	assert_ok(st_layout(t, n, meta, nmeta, &b, &err), err);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(b.len, t[i].off);
		tb_buf_add(&b, data[i], t[i].len);
	}
	assert_false(tb_buf_failed(&b));
	path = unit_write(file, b.p, b.len);
	tb_buf_free(&b);
	assert_ok(store_resolve(&none, path, &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	assert_int_equal(m->nproblems, 0);
	return m;
}

struct model *
tensors_one(enum dtype d, uint64_t n, const void *data)
{
	struct st_tensor t = { .name = "t", .dtype = d, .ndim = 1, .dim = { n } };

	return tensors_model("one.safetensors", &t, 1, &data, NULL, 0);
}

void
tensors_run(const struct model *m, const char *name, unsigned bins, struct inspect_result *out)
{
	struct inspect_request req = { .model = m, .tensor = model_tensor(m, name), .bins = bins };
	struct tb_err err = { 0 };

	assert_non_null(req.tensor);
	assert_ok(op_inspect(&tensors_ctx, &req, NULL, out, &err), err);
}

void
tensors_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.17g is not %.17g", got, want);
}

uint64_t
tensors_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

int
tensors_set_up(void **state)
{
	struct tb_err err;

	(void)state;
	return op_ctx_init(&tensors_ctx, "/nonexistent", (const char *[]){ unit_tmp() }, 1, 3, &err);
}

int
tensors_tear_down(void **state)
{
	(void)state;
	op_ctx_free(&tensors_ctx);
	return 0;
}
