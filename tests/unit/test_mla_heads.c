/* test_mla_heads.c - products a head, both ways, of every scheme on every CPU path,
 * against doubles. */
#include "config.h"

#include <math.h>

#include "src/engine/mla_heads.h"
#include "src/engine/team.h"
#include "src/engine/vec.h"
#include "tests/unit/matrices.h"
#include "tests/unit/unit.h"

static const char *const paths[] = { "scalar", "avx2", "avx512" };
static const char *const schemes[] = {
	"f32", "bf16", "int4", "int8", "mxfp4", "nvfp4", "mxfp8", "affine:3:32", "affine:2:128"
};

/* Heads, rows of a head that are not the product's before and behind those that are, groups
 * a row, rows of x.  Of plain numbers a group is 23, so that no register is full. */
static const struct shape { uint32_t heads, before, rows, behind, groups; size_t m; } shapes[] = {
	{ 1, 0, 1, 0, 1, 1 }, { 3, 5, 19, 2, 2, 1 }, { 4, 0, 16, 8, 9, 2 }, { 2, 7, 33, 0, 1, 5 },
	{ 5, 16, 24, 16, 3, 64 }, { 2, 3, 40, 1, 17, 67 }, { 3, 0, 48, 9, 24, 129 },
};

struct sums { double diff, all; };

static void
compare(const struct sample *s, const struct head_product *p, size_t m, struct sums *sums)
{
	uint32_t n = p->turned ? s->w.cols : p->rows, k = p->turned ? p->rows : s->w.cols;

	for (uint32_t h = 0; h < p->heads; h++) {
		const double *w = s->value + ((size_t)h * p->each + p->first) * s->w.cols;

		for (size_t i = 0; i < m; i++) {
			const float *x = p->x + h * p->x_step + i * p->x_row;
			const float *y = p->y + h * p->y_step + i * p->y_row;

			for (size_t c = 0; c < n; c++) {
				double want = 0;

				for (size_t j = 0; j < k; j++)
					want += x[j] * (p->turned ? w[j * s->w.cols + c]
								  : w[c * s->w.cols + j]);
				sums->diff += (y[c] - want) * (y[c] - want);
				sums->all += want * want;
			}
			/* What lies between the results is nobody's. */
			for (size_t c = n; c < p->y_step; c++)
				assert_true(y[c] == 77);
		}
	}
}

static void
try_shape(struct matmul *mm, struct team *team, const struct scheme *scheme, const struct shape *sh,
	  bool turned)
{
	uint32_t group = scheme->group ? scheme->group : 23;
	uint32_t cols = sh->groups * group, each = sh->before + sh->rows + sh->behind;
	uint32_t k = turned ? sh->rows : cols, n = turned ? cols : sh->rows;
	size_t x_step = k + 3, y_step = n + 2;
	struct head_product p = {
		.heads = sh->heads, .each = each, .first = sh->before, .rows = sh->rows,
		.turned = turned, .x_step = x_step, .x_row = x_step * sh->heads,
		.y_step = y_step, .y_row = y_step * sh->heads,
	};
	float *x = test_calloc(sh->m * p.x_row, sizeof(*x));
	float *y = test_calloc(sh->m * p.y_row + VEC_SLACK, sizeof(*y));
	float *gather = test_calloc(sh->m * (k + n), sizeof(*gather));
	struct sums sums = { 0, 1e-60 };
	struct sample s;
	struct tb_err err;
	char name[SCHEME_NAME_MAX];
	uint64_t seed = 5 + cols;

	for (size_t i = 0; i < sh->m * p.x_row; i++)
		x[i] = sample_normal(&seed);
	for (size_t i = 0; i < sh->m * p.y_row; i++)
		y[i] = 77;
	sample_make(&s, *scheme, scheme_scale_dtype(scheme, DT_BF16), sh->heads * each, cols, 0.75f,
		    cols + sh->rows);
	p.w = &s.w;
	p.x = x;
	p.y = y;
	p.gather = gather;
	assert_ok(head_products(mm, team, vec_ops(), &p, sh->m, &err), err);
	compare(&s, &p, sh->m, &sums);
	/* Straight products may cut x short. */
	if (!(sqrt(sums.diff / sums.all) < (turned ? 1e-6 : 5e-3)))
		fail_msg("%s %s %u heads of %ux%u, %zu x: %g off", turned ? "turned" : "straight",
			 scheme_name(scheme, name), sh->heads, sh->rows, cols, sh->m,
			 sqrt(sums.diff / sums.all));
	sample_free(&s);
	test_free(x);
	test_free(y);
	test_free(gather);
}

static void
test_products(void **state)
{
	struct scheme scheme;
	struct tb_err err;

	(void)state;
	for (size_t path = 0; path < sizeof(paths) / sizeof(*paths); path++) {
		struct team *team;
		struct matmul *mm;

		assert_int_equal(setenv("TBTUI_CPU", paths[path], 1), 0);
		assert_non_null(team = team_new(3));
		assert_ok(matmul_new(&mm, team, &err), err);
		for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
			assert_ok(scheme_parse(schemes[i], &scheme, &err), err);
			for (size_t j = 0; j < 2 * (sizeof(shapes) / sizeof(*shapes)); j++)
				try_shape(mm, team, &scheme, &shapes[j / 2], j % 2);
		}
		matmul_free(mm);
		team_free(team);
		unsetenv("TBTUI_CPU");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_products) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
