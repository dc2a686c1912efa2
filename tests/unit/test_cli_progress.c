/* The line that shows how far a command is: it never runs over the terminal's edge. */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/job.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "tests/unit/unit.h"

static const struct tb_progress half = {
	.done = 2350000000u, .total = 4700000000u, .items = 98, .items_total = 201,
	.rate = 1.9e9, .eta = 21,
	.what = "model.layers.17.post_attention_layernorm.weight",
};

static void
test_never_wider(void **state)
{
	(void)state;
	for (size_t cols = 1; cols < 160; cols++) {
		struct tb_buf b = TB_BUF(4096);

		cli_progress_line(&b, "quantize", &half, cols);
		assert_true(tb_width(tb_buf_cstr(&b)) <= cols);
		assert_true(b.len > 0);
		tb_buf_free(&b);
	}
}

static void
expect(const struct tb_progress *p, size_t cols, const char *want)
{
	struct tb_buf b = TB_BUF(4096);

	cli_progress_line(&b, "quantize", p, cols);
	assert_string_equal(tb_buf_cstr(&b), want);
	tb_buf_free(&b);
}

/* Numbers first, then as much of the name as there is room for. */
static void
test_what_goes(void **state)
{
	struct tb_progress start = { .eta = -1 };

	(void)state;
	expect(&half, SIZE_MAX, "quantize   50 %  2.4 GB of 4.7 GB  98/201  1.9 GB/s  ETA 0:21  "
	       "model.layers.1…ayernorm.weight");
	expect(&half, 79, "quantize   50 %  2.4 GB of 4.7 GB  98/201  1.9 GB/s  ETA 0:21  "
	       "model.l…m.weight");
	expect(&half, 65, "quantize   50 %  2.4 GB of 4.7 GB  98/201  1.9 GB/s  ETA 0:21");
	expect(&half, 30, "quantize   50 %  2.4 GB of 4.…");
	expect(&start, 79, "quantize");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_wider),
		cmocka_unit_test(test_what_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
