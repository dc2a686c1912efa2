/* Headers of tar archives: what is written is read back, also what ustar has no room for. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/format/tar.h"

/* Reads what tar_put() wrote as an archive's reader does. */
static void
read_back(const struct tb_buf *b, const char *path, uint64_t size)
{
	struct tar_pax pax = { 0 };
	struct tar_head h;
	size_t at = 0;

	assert_int_equal(tar_parse((const uint8_t *)b->p, &h), TAR_HEAD);
	if (h.type == 'x') {
		assert_true(tar_pax(b->p + TAR_BLOCK, (size_t)h.size, &pax));
		at = TAR_BLOCK + (size_t)h.size + tar_padding(h.size);
		assert_int_equal(tar_parse((const uint8_t *)b->p + at, &h), TAR_HEAD);
	}
	assert_int_equal(b->len, at + TAR_BLOCK);
	assert_int_equal(h.type, '0');
	assert_string_equal(*pax.path ? pax.path : h.path, path);
	assert_true((pax.sized ? pax.size : h.size) == size);
}

static void
test_round_trip(void **state)
{
	static const size_t lengths[] = { 1, 99, 100, 101, 155, 200, 255, 256, 257, 300, 1000, 1023 };
	static const uint64_t sizes[] = { 0, 1, 511, 512, 077777777777, 0100000000000, UINT64_MAX };
	char path[TAR_PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (unsigned slashes = 0; slashes < 3; slashes++)
			for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
				struct tb_buf b = TB_BUF(1 << 20);

				memset(path, 'a', lengths[i]);
				path[lengths[i]] = 0;
				for (size_t at = 1; slashes && at + 1 < lengths[i]; at += 40 * slashes)
					path[at] = '/';
				tar_put(&b, path, sizes[k], 1750000000);
				assert_false(tb_buf_failed(&b));
				read_back(&b, path, sizes[k]);
				tb_buf_free(&b);
			}
}

/* A header in which any one bit is another is damaged. */
static void
test_damage(void **state)
{
	struct tb_buf b = TB_BUF(1 << 20);
	struct tar_head h;
	unsigned taken = 0;

	(void)state;
	tar_put(&b, "manifests/registry.ollama.ai/library/small/latest", 300, 1750000000);
	for (size_t i = 0; i < TAR_BLOCK * 8; i++) {
		b.p[i / 8] = (char)(b.p[i / 8] ^ (1 << i % 8));
		taken += tar_parse((const uint8_t *)b.p, &h) == TAR_HEAD;
		b.p[i / 8] = (char)(b.p[i / 8] ^ (1 << i % 8));
	}
	assert_int_equal(taken, 0);
	memset(b.p, 0, TAR_BLOCK);
	assert_int_equal(tar_parse((const uint8_t *)b.p, &h), TAR_ZEROS);
	tb_buf_free(&b);
}

static void
test_records(void **state)
{
	static const char *const bad[] = {
		"12 path=abcd", "11 path=abcd\n", "99 path=a\n", "9 path=\n", "3 =", "x", "10 pathabc\n",
		"11 size=1x\n", "9 size=\n", "31 size=99999999999999999999999\n", "0 \n", "2 \n",
	};
	struct tar_pax p;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (tar_pax(bad[i], strlen(bad[i]), &p))
			fail_msg("taken: \"%s\"", bad[i]);
	assert_true(tar_pax("12 path=abc\n20 mtime=1750000000\n13 size=1234\n", 45, &p));
	assert_string_equal(p.path, "abc");
	assert_true(p.sized && p.size == 1234);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
