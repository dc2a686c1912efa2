/* Two models, tensor by tensor: what is paired, what is the same, how far the rest is
 * apart, and what is done about files that are not what they were. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "src/base/half.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/ops/diff/diff_run.h"
#include "src/quant/codec.h"
#include "src/store/store.h"
#include "tests/unit/gguf_make.h"
#include "tests/unit/unit.h"

static struct op_ctx ctx;

/* A file being made. */
struct making {
	struct st_tensor t[40];
	const void *data[40];
	size_t n;
	struct st_meta meta[4];
	size_t nmeta;
};

static void
add(struct making *f, const char *name, enum dtype d, const uint64_t dims[4], const void *data)
{
	struct st_tensor *t = &f->t[f->n];

	*t = (struct st_tensor){ .name = name, .dtype = d };
	while (t->ndim < 4 && dims[t->ndim] != UINT64_MAX) {
		t->dim[t->ndim] = dims[t->ndim];
		t->ndim++;
	}
	f->data[f->n++] = data;
}
#define DIMS(...) ((const uint64_t[4]){ __VA_ARGS__, UINT64_MAX })

static struct model *
open_path(const char *path)
{
	struct store_roots none = { 0 };
	struct tb_err err = { 0 };
	struct model_loc loc;
	struct model *m;

	assert_ok(store_resolve(&none, path, &loc, &err), err);
	assert_ok(model_open(&m, &loc, &err), err);
	model_loc_free(&loc);
	return m;
}

static struct model *
finish(struct making *f, const char *file)
{
	struct tb_buf b = TB_BUF(256u << 20);
	struct tb_err err = { 0 };
	const char *path;

	assert_ok(st_layout(f->t, f->n, f->meta, f->nmeta, &b, &err), err);
	for (size_t i = 0; i < f->n; i++) {
		assert_int_equal(b.len, f->t[i].off);
		tb_buf_add(&b, f->data[i], f->t[i].len);
	}
	assert_false(tb_buf_failed(&b));
	path = unit_write(file, b.p, b.len);
	tb_buf_free(&b);
	return open_path(path);
}

static struct model *
one(const char *file, const char *name, enum dtype d, uint64_t n, const void *data)
{
	struct making f = { 0 };

	add(&f, name, d, (const uint64_t[4]){ n, UINT64_MAX }, data);
	return finish(&f, file);
}

static void
diff(struct model *a, struct model *b, enum diff_mode mode, struct diff_result *out)
{
	const struct diff_request req = { .a = a, .b = b, .mode = mode };
	struct tb_err err = { 0 };

	assert_ok(op_diff(&ctx, &req, NULL, out, &err), err);
}

static const struct diff_row *
row(const struct diff_result *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->rows[i].name, name))
			return &r->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void
check(const struct diff_result *r, const char *name, enum diff_verdict want)
{
	const struct diff_row *x = row(r, name);

	if (x->verdict != want)
		fail_msg("%s: %s, not %s (%s)", name, diff_word(x->verdict), diff_word(want),
			 x->message);
}

static void
done(struct diff_result *r, struct model *a, struct model *b)
{
	diff_result_free(r);
	model_free(a);
	model_free(b);
}

/* Every verdict once. */
static void
test_verdicts(void **state)
{
	static float v[100], w[100];
	static uint16_t half[100];
	struct making fa = { 0 }, fb = { 0 };
	struct diff_result r;
	struct model *a, *b;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		w[i] = v[i] = (float)i / 8 - 3;
	w[42] += 0.5f;
	tb_f32_to_f16(v, 100, half);
	add(&fa, "layers.0.a", DT_F32, DIMS(10, 10), v);
	add(&fa, "layers.0.b", DT_F32, DIMS(10, 10), v);
	add(&fa, "layers.0.c", DT_F32, DIMS(10, 10), v);
	add(&fa, "layers.0.d", DT_F32, DIMS(10, 10), v);
	add(&fa, "layers.0.e", DT_F32, DIMS(1, 100), v);
	add(&fa, "layers.0.f", DT_F32, DIMS(0, 7), v);
	add(&fa, "layers.0.h", DT_F32, DIMS(4), v);
	add(&fb, "model.layers.0.a", DT_F32, DIMS(10, 10), v);
	add(&fb, "model.layers.0.b", DT_F16, DIMS(10, 10), half);
	add(&fb, "model.layers.0.c", DT_F32, DIMS(10, 10), w);
	add(&fb, "model.layers.0.d", DT_F32, DIMS(5, 20), v);
	add(&fb, "model.layers.0.e", DT_F32, DIMS(100), v);
	add(&fb, "model.layers.0.f", DT_F32, DIMS(0, 7), v);
	add(&fb, "model.layers.0.g", DT_F32, DIMS(4), v);
	a = finish(&fa, "a.safetensors");
	b = finish(&fb, "b.safetensors");
	diff(a, b, DIFF_BY_VALUE, &r);
	assert_int_equal(r.n, 8);
	check(&r, "layers.0.a", DIFF_SAME);
	check(&r, "layers.0.b", DIFF_SAME_VALUES);
	check(&r, "layers.0.c", DIFF_VALUES);
	check(&r, "layers.0.d", DIFF_SHAPE);
	check(&r, "layers.0.e", DIFF_SAME);
	check(&r, "layers.0.f", DIFF_SAME);
	check(&r, "model.layers.0.g", DIFF_ONLY_B);
	check(&r, "layers.0.h", DIFF_ONLY_A);
	assert_true(row(&r, "layers.0.e")->reshaped && row(&r, "layers.0.b")->recoded);
	assert_int_equal(row(&r, "layers.0.c")->c.max_at, 42);
	assert_true(row(&r, "layers.0.c")->c.max == 0.5 && row(&r, "layers.0.c")->c.unequal == 1);
	assert_false(diff_same(&r));
	assert_int_equal(r.read, 2 * 400 * 2 + 400 + 200 + 800);
	diff_result_free(&r);
	diff(a, b, DIFF_BY_BYTES, &r);
	check(&r, "layers.0.a", DIFF_SAME);
	check(&r, "layers.0.b", DIFF_VALUES);
	check(&r, "layers.0.c", DIFF_VALUES);
	assert_int_equal(r.all.n, 0);
	done(&r, a, b);
}

/* Differences in one chunk of several: all of the tensor is in the sums. */
static void
test_chunks(void **state)
{
	size_t n = (9u << 20) + 77;
	float *v = tb_calloc(n, sizeof(*v)), *w = tb_calloc(n, sizeof(*w));
	struct diff_result r;
	struct model *a, *b;
	const struct diff_row *x;

	(void)state;
	for (size_t i = 0; i < n; i++)
		w[i] = v[i] = 1;
	w[n - 1] = 3;
	a = one("a.safetensors", "t", DT_F32, n, v);
	b = one("b.safetensors", "t", DT_F32, n, w);
	diff(a, b, DIFF_BY_VALUE, &r);
	x = row(&r, "t");
	assert_int_equal(x->verdict, DIFF_VALUES);
	assert_int_equal(x->c.n, n);
	assert_int_equal(x->c.max_at, n - 1);
	assert_true(x->c.aa == (double)n && x->c.bb == (double)n + 8 && x->c.dd == 4);
	done(&r, a, b);
	free(v);
	free(w);
}

static void
test_nan(void **state)
{
	float v[] = { 1, NAN, 3, NAN }, w[] = { 1, NAN, NAN, 4 };
	uint16_t half[4];
	struct model *a = one("a.safetensors", "t", DT_F32, 4, v);
	struct model *b = one("b.safetensors", "t", DT_F32, 4, w);
	struct diff_result r;

	(void)state;
	diff(a, b, DIFF_BY_VALUE, &r);
	assert_int_equal(row(&r, "t")->c.odd, 2);
	assert_int_equal(row(&r, "t")->c.first_odd, 2);
	check(&r, "t", DIFF_VALUES);
	done(&r, a, b);
	tb_f32_to_bf16(v, 4, half);
	a = one("a.safetensors", "t", DT_F32, 4, v);
	b = one("b.safetensors", "t", DT_BF16, 4, half);
	diff(a, b, DIFF_BY_VALUE, &r);
	check(&r, "t", DIFF_SAME_VALUES);
	done(&r, a, b);
}

/* Numbers that a float, or even a double, would make equal. */
static void
test_wide(void **state)
{
	const int64_t v[] = { 1, INT64_C(1) << 60 }, w[] = { 1, (INT64_C(1) << 60) + 1 };
	const int32_t x[] = { 1, 16777216 }, y[] = { 1, 16777217 };
	const float zero[] = { 0, 1 }, minus[] = { -0.0f, 1 };
	struct diff_result r;
	struct model *a = one("a.safetensors", "t", DT_I64, 2, v);
	struct model *b = one("b.safetensors", "t", DT_I64, 2, w);

	(void)state;
	diff(a, b, DIFF_BY_VALUE, &r);
	check(&r, "t", DIFF_VALUES);
	done(&r, a, b);
	a = one("a.safetensors", "t", DT_I32, 2, x);
	b = one("b.safetensors", "t", DT_I32, 2, y);
	diff(a, b, DIFF_BY_VALUE, &r);
	check(&r, "t", DIFF_VALUES);
	assert_true(row(&r, "t")->c.max == 1);
	done(&r, a, b);
	a = one("a.safetensors", "t", DT_F32, 2, zero);
	b = one("b.safetensors", "t", DT_F32, 2, minus);
	diff(a, b, DIFF_BY_VALUE, &r);
	check(&r, "t", DIFF_SAME_VALUES);
	diff_result_free(&r);
	diff(a, b, DIFF_BY_BYTES, &r);
	check(&r, "t", DIFF_VALUES);
	done(&r, a, b);
}

#define E 3u
#define ROWS 5u
#define COLS 128u
#define EACH (ROWS * COLS)

/* Experts stacked and packed on one side, single and plain on the other. */
static void
test_experts(void **state)
{
	const struct scheme s = scheme_affine(4, 64);
	static float v[E * EACH], back[E * EACH];
	static uint16_t src[E * EACH];
	static uint8_t codes[E * EACH / 2], scales[E * EACH / 32], biases[E * EACH / 32];
	const struct quant_src q = { codes, scales, biases, DT_BF16, 1 };
	const struct st_meta meta[] = { { "group_size", "64" }, { "quant_type", "int4" } };
	struct making fa = { .meta = { meta[0], meta[1] }, .nmeta = 2 }, fb = { 0 };
	static char names[E][80];
	struct diff_result r;
	struct model *a, *b;

	(void)state;
	for (unsigned i = 0; i < E * EACH; i++)
		v[i] = sinf((float)i);
	tb_f32_to_bf16(v, E * EACH, src);
	quant_encode(&s, FLAVOUR_METAL, DT_BF16, src, E * EACH,
		     &(struct quant_parts){ codes, scales, biases });
	quant_decode(&s, &q, E * EACH, back);
	back[EACH + 7] += 1;
	add(&fa, "model.layers.4.mlp.experts.up_proj.weight", DT_U32, DIMS(E, ROWS, COLS / 8),
	    codes);
	add(&fa, "model.layers.4.mlp.experts.up_proj.weight.bias", DT_BF16,
	    DIMS(E, ROWS, COLS / 64), biases);
	add(&fa, "model.layers.4.mlp.experts.up_proj.weight.scale", DT_BF16,
	    DIMS(E, ROWS, COLS / 64), scales);
	for (unsigned e = 0; e < E; e++) {
		snprintf(names[e], sizeof(names[e]), "layers.4.mlp.experts.%u.up_proj.weight", e);
		add(&fb, names[e], DT_F32, DIMS(ROWS, COLS), back + e * EACH);
	}
	a = finish(&fa, "a.safetensors");
	b = finish(&fb, "b.safetensors");
	diff(a, b, DIFF_BY_VALUE, &r);
	assert_int_equal(r.n, E);
	check(&r, names[0], DIFF_SAME_VALUES);
	check(&r, names[1], DIFF_VALUES);
	check(&r, names[2], DIFF_SAME_VALUES);
	assert_int_equal(row(&r, names[1])->c.max_at, 7);
	assert_int_equal(row(&r, names[1])->a.expert, 1);
	diff_result_free(&r);
	diff(b, a, DIFF_BY_VALUE, &r);
	assert_int_equal(r.n, E);
	check(&r, names[1], DIFF_VALUES);
	diff_result_free(&r);
	diff(a, a, DIFF_BY_VALUE, &r);	/* a stack beside a stack is one row */
	assert_int_equal(r.n, 1);
	assert_true(r.rows[0].verdict == DIFF_SAME && r.rows[0].known && r.read == 0);
	done(&r, a, b);
}

/* An expert of an odd size begins anywhere, and names may clash. */
static void
test_odd_experts(void **state)
{
	static const float v[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct making fa = { 0 }, fb = { 0 };
	struct diff_result r;
	struct model *a, *b;

	(void)state;
	add(&fa, "layers.0.moe.experts.up.weight", DT_F32, DIMS(3, 1, 3), v);
	add(&fa, "layers.0.norm", DT_F32, DIMS(3), v);
	add(&fa, "model.layers.0.norm", DT_F32, DIMS(3), v + 3);
	add(&fb, "layers.0.moe.experts.0.up.weight", DT_F32, DIMS(1, 3), v);
	add(&fb, "layers.0.moe.experts.1.up.weight", DT_F32, DIMS(1, 3), v + 3);
	add(&fb, "layers.0.moe.experts.7.up.weight", DT_F32, DIMS(1, 3), v + 6);
	add(&fb, "layers.0.norm", DT_F32, DIMS(3), v);
	add(&fb, "model.layers.0.norm", DT_F32, DIMS(3), v + 3);
	a = finish(&fa, "a.safetensors");
	b = finish(&fb, "b.safetensors");
	diff(a, b, DIFF_BY_VALUE, &r);
	assert_int_equal(r.n, 6);
	check(&r, "layers.0.moe.experts.0.up.weight", DIFF_SAME);
	check(&r, "layers.0.moe.experts.1.up.weight", DIFF_SAME);
	check(&r, "layers.0.moe.experts.up.weight[2]", DIFF_ONLY_A);
	check(&r, "layers.0.moe.experts.7.up.weight", DIFF_ONLY_B);
	check(&r, "layers.0.norm", DIFF_SAME);
	check(&r, "model.layers.0.norm", DIFF_SAME);
	done(&r, a, b);
}

/* llama's queries in a GGUF file: heads of 4 rows as pairs. */
static void
test_pairs(void **state)
{
	static const unsigned order[8] = { 0, 2, 1, 3, 4, 6, 5, 7 };
	static float hf[8 * 32], gguf[8 * 32];
	struct making f = { 0 };
	struct tb_buf b = make_head(1, 3);
	struct diff_result r;
	struct model *x, *y;

	(void)state;
	for (unsigned i = 0; i < 8 * 32; i++)
		hf[i] = (float)i;
	for (unsigned i = 0; i < 8; i++)
		memcpy(gguf + i * 32, hf + order[i] * 32, 32 * sizeof(*hf));
	make_key(&b, "general.architecture", 8);
	make_str(&b, "llama");
	make_key(&b, "llama.attention.head_count", 4);
	make_num(&b, 8, 4);
	make_key(&b, "llama.embedding_length", 4);
	make_num(&b, 32, 4);
	make_tensor(&b, "blk.0.attn_q.weight", 32, 8, 0, 0);
	make_pad(&b, 32, 0);
	tb_buf_add(&b, gguf, sizeof(gguf));
	x = open_path(unit_write("pairs.gguf", b.p, b.len));
	add(&f, "model.layers.0.self_attn.q_proj.weight", DT_F32, DIMS(8, 32), hf);
	y = finish(&f, "a.safetensors");
	diff(x, y, DIFF_BY_VALUE, &r);
	check(&r, "blk.0.attn_q.weight", DIFF_SAME_VALUES);
	diff_result_free(&r);
	diff(y, x, DIFF_BY_VALUE, &r);
	check(&r, "model.layers.0.self_attn.q_proj.weight", DIFF_SAME_VALUES);
	done(&r, y, NULL);
	hf[5 * 32 + 3] = -1;
	y = finish(&f, "a.safetensors");
	diff(y, x, DIFF_BY_VALUE, &r);
	assert_int_equal(row(&r, "model.layers.0.self_attn.q_proj.weight")->c.max_at, 5 * 32 + 3);
	done(&r, x, y);
	tb_buf_free(&b);
}

/* What cannot be read is told, and the rest is compared. */
static void
test_unreadable(void **state)
{
	static float v[3000];
	struct making f = { 0 };
	struct model *a, *b = one("b.safetensors", "t", DT_F32, 3000, v);
	struct diff_result r;

	(void)state;
	add(&f, "t", DT_F32, DIMS(3000), v);
	a = finish(&f, "a.safetensors");
	assert_int_equal(truncate(unit_path("a.safetensors"), 5000), 0);
	diff(a, b, DIFF_BY_VALUE, &r);
	check(&r, "t", DIFF_UNREADABLE);
	assert_non_null(strstr(r.rows[0].message, "A: "));
	assert_non_null(strstr(r.rows[0].message, "changed"));
	assert_false(diff_same(&r));
	diff_result_free(&r);
	a->files[0].missing = true;
	diff(b, a, DIFF_BY_VALUE, &r);
	check(&r, "t", DIFF_UNREADABLE);
	assert_non_null(strstr(r.rows[0].message, "missing"));
	done(&r, a, b);
}

/* A file that is cut while it is read: its pages read as zeros, and that is told. */
static void
test_torn(void **state)
{
	static float v[20000];
	struct model *a = one("a.safetensors", "t", DT_F32, 20000, v);
	struct model *b = one("b.safetensors", "t", DT_F32, 20000, v);
	const struct diff_request req = { .a = a, .b = b };
	struct diff_result r = { 0 };
	struct diff_pair p;
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(diff_match(&req, &r, &err), err);
	assert_ok(diff_pair_open(&p, &req, &r.rows[0], &err), err);
	assert_ok(values_check(&p.b, &err), err);
	assert_int_equal(truncate(unit_path("b.safetensors"), 4096), 0);
	(void)diff_pair_equal(&p, 0, 20000);
	assert_fails(values_check(&p.b, &err), err, TB_EIO, "shrank");
	values_close(&p.a);
	values_close(&p.b);
	done(&r, a, b);
}

static void
test_cancel(void **state)
{
	float *v = tb_calloc(5u << 20, sizeof(*v));
	struct model *a = one("a.safetensors", "t", DT_F32, 5u << 20, v);
	struct model *b = one("b.safetensors", "t", DT_F32, 5u << 20, v);
	const struct diff_request req = { .a = a, .b = b };
	struct tb_job *job = tb_job_new(-1);
	struct tb_progress p;
	struct diff_result r;
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(op_diff(&ctx, &req, job, &r, &err), err);
	tb_job_progress(job, &p);
	assert_int_equal(p.done, p.total);
	assert_int_equal(p.items, 1);
	diff_result_free(&r);
	tb_job_cancel(job);
	assert_int_equal(op_diff(&ctx, &req, job, &r, &err), TB_ECANCEL);
	assert_null(r.rows);
	tb_job_free(job);
	done(&r, a, b);
	free(v);
}

static void
test_orders(void **state)
{
	struct diff_row x = { .name = "x2", .c = { .n = 1, .aa = 1, .bb = 1, .dd = 2, .max = 1 } };
	struct diff_row y = { .name = "x10", .c = { .n = 1, .aa = 1, .bb = 1, .ab = 1, .dd = 1,
						    .max = 3 } };
	struct diff_row z = { .name = "x1", .verdict = DIFF_ONLY_A };

	(void)state;
	assert_true(diff_order("name")(&x, &y) < 0);
	assert_true(diff_order("nmse")(&x, &y) < 0);
	assert_true(diff_order("max")(&x, &y) > 0);
	assert_true(diff_order("cos")(&x, &y) < 0);
	assert_true(diff_order("nmse")(&z, &y) > 0);
	x.c.dd = NAN;
	assert_true(diff_order("nmse")(&x, &y) < 0);
	assert_null(diff_order("colour"));
}

static int
set_up(void **state)
{
	struct tb_err err;

	(void)state;
	return op_ctx_init(&ctx, "/nonexistent", (const char *[]){ unit_tmp() }, 1, 3, &err);
}

static int
tear_down(void **state)
{
	(void)state;
	op_ctx_free(&ctx);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_nan),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_experts),
		cmocka_unit_test(test_odd_experts),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_orders),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
