#include "config.h"

#include "tests/unit/unit.h"

#include <unistd.h>
#ifdef HAVE_X86
#include <cpuid.h>
#endif

#include "src/base/file.h"
#include "src/base/sums.h"

#define MIB TB_SUMS_PIECE

/* Half a MiB of header, 2.5 MiB, nothing, 1 MiB exactly, 5 bytes. */
static const uint64_t cuts[] = { 4 * MIB, MIB / 2, 3 * MIB, 3 * MIB, 0, 4 * MIB + 5, 9 * MIB };
#define SIZE (4 * MIB + 5)
static const struct tb_place pieces[] = {
	{ 0, MIB / 2 }, { MIB / 2, MIB }, { 3 * MIB / 2, MIB }, { 5 * MIB / 2, MIB / 2 },
	{ 3 * MIB, MIB }, { 4 * MIB, 5 },
};
#define PIECES (sizeof(pieces) / sizeof(*pieces))

static uint8_t *
make_bytes(void)
{
	uint8_t *p = malloc(SIZE);

	for (size_t i = 0; i < SIZE; i++)
		p[i] = (uint8_t)(i * 31 + i / 65537);
	return p;
}

/* In windows of `step` bytes. */
static void
sum_bytes(struct tb_sums *s, const uint8_t *p, size_t step)
{
	struct tb_summing m;
	struct tb_err err;

	assert_ok(tb_sums_cut(s, SIZE, cuts, sizeof(cuts) / sizeof(*cuts), &err), err);
	assert_ok(tb_summing_start(&m, s, &err), err);
	for (size_t at = 0; at < SIZE; at += step)
		tb_summing_add(&m, at, p + at, SIZE - at < step ? SIZE - at : step);
	assert_true(tb_summing_end(&m));
}

static void
pieces_begin_where_parts_do(void **state)
{
	struct tb_piece p = { 0 };
	struct tb_sums s;
	struct tb_err err;

	(void)state;
	assert_ok(tb_sums_cut(&s, SIZE, cuts, sizeof(cuts) / sizeof(*cuts), &err), err);
	assert_int_equal(s.ncuts, 3);
	assert_int_equal(s.n, PIECES);
	for (size_t i = 0; i < PIECES; i++) {
		assert_true(tb_sums_next(&s, &p));
		assert_int_equal(p.i, i);
		assert_int_equal(p.off, pieces[i].off);
		assert_int_equal(p.len, pieces[i].len);
	}
	assert_false(tb_sums_next(&s, &p));
	tb_sums_free(&s);
	assert_ok(tb_sums_cut(&s, 0, NULL, 0, &err), err);
	assert_int_equal(s.n, 0);
	tb_sums_free(&s);
}

static void
windows_do_not_matter(void **state)
{
	static const size_t steps[] = { SIZE, MIB, MIB / 2, 65521, 4096 };
	uint8_t *bytes = make_bytes();
	struct tb_sums want, have;

	(void)state;
	sum_bytes(&want, bytes, 12345);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		sum_bytes(&have, bytes, steps[i]);
		assert_memory_equal(have.sum, want.sum, want.n * TB_SUM_LEN);
		tb_sums_free(&have);
	}
	for (size_t i = 1; i < want.n; i++)
		assert_memory_not_equal(want.sum[0], want.sum[i], TB_SUM_LEN);
	tb_sums_free(&want);
	free(bytes);
}

/* The same bytes have the same sums wherever they lie, and XXH3's authors' number. */
static void
sums_are_of_the_bytes_alone(void **state)
{
	static const uint8_t abc[TB_SUM_LEN] = { 0x06, 0xb0, 0x5a, 0xb6, 0x73, 0x3a, 0x61, 0x85,
		0x78, 0xaf, 0x5f, 0x94, 0x89, 0x2f, 0x39, 0x50 };
	static const uint64_t at = 3;
	struct tb_summing m;
	struct tb_sums s;
	struct tb_err err;

	(void)state;
	assert_ok(tb_sums_cut(&s, 6, &at, 1, &err), err);
	assert_ok(tb_summing_start(&m, &s, &err), err);
	tb_summing_add(&m, 0, (const uint8_t *)"abca", 4);
	tb_summing_add(&m, 4, (const uint8_t *)"bc", 2);
	assert_true(tb_summing_end(&m));
	assert_memory_equal(s.sum[0], abc, TB_SUM_LEN);
	assert_memory_equal(s.sum[1], abc, TB_SUM_LEN);
	assert_ok(tb_summing_start(&m, &s, &err), err);
	tb_summing_add(&m, 0, (const uint8_t *)"abc", 3);
	tb_summing_add(&m, 4, (const uint8_t *)"bc", 2);	/* one is missing */
	assert_false(tb_summing_end(&m));
	tb_sums_free(&s);
}

static void
compare(const struct tb_sums *was, const uint8_t *bytes, size_t size, const struct tb_place *want,
	size_t n)
{
	struct tb_places places;
	struct tb_file f;
	struct tb_err err;

	assert_ok(tb_file_open(&f, unit_write("now", bytes, size), &err), err);
	assert_ok(tb_sums_compare(was, &f, NULL, &places, &err), err);
	assert_int_equal(places.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(places.v[i].off, want[i].off);
		assert_int_equal(places.v[i].len, want[i].len);
	}
	tb_places_free(&places);
	tb_file_close(&f);
}

static void
what_differs_is_found(void **state)
{
	uint8_t *bytes = make_bytes(), *longer = calloc(1, SIZE + 10);
	struct tb_sums was;

	(void)state;
	sum_bytes(&was, bytes, MIB);
	compare(&was, bytes, SIZE, NULL, 0);
	bytes[0] ^= 1;				/* the first byte, and the last */
	bytes[SIZE - 1] ^= 128;
	compare(&was, bytes, SIZE, (struct tb_place[]){ pieces[0], pieces[5] }, 2);
	bytes[0] ^= 1;
	bytes[SIZE - 1] ^= 128;
	for (size_t at = MIB - 1; at < 4 * MIB; at += MIB / 2)
		bytes[at] ^= 4;			/* neighbours are one place, up to a cut */
	compare(&was, bytes, SIZE, (struct tb_place[]){ { MIB / 2, 5 * MIB / 2 }, pieces[4] }, 2);
	compare(&was, bytes, 3 * MIB + 7, (struct tb_place[]){ { MIB / 2, 5 * MIB / 2 } }, 1);
	compare(&was, bytes, 0, NULL, 0);
	memcpy(longer, bytes, SIZE);
	compare(&was, longer, SIZE + 10, (struct tb_place[]){ { MIB / 2, 5 * MIB / 2 }, pieces[4] },
		2);
	tb_sums_free(&was);
	free(longer);
	free(bytes);
}

/* Whatever stands in the place of what was kept is refused, and nothing else happens. */
static void
what_is_kept_comes_back(void **state)
{
	static const uint8_t huge[] = "\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x05";
	struct tb_buf packed = TB_BUF(4096);
	uint8_t *bytes = make_bytes();
	struct tb_sums s, again;
	struct tb_err err;

	(void)state;
	sum_bytes(&s, bytes, MIB);
	assert_ok(tb_sums_pack(&s, &packed, &err), err);
	assert_ok(tb_sums_unpack(&again, packed.p, packed.len, &err), err);
	assert_int_equal(again.size, s.size);
	assert_int_equal(again.ncuts, s.ncuts);
	assert_memory_equal(again.cut, s.cut, s.ncuts * sizeof(*s.cut));
	assert_int_equal(again.n, s.n);
	assert_memory_equal(again.sum, s.sum, s.n * TB_SUM_LEN);
	tb_sums_free(&again);
	for (size_t i = 0; i < packed.len; i++) {
		packed.p[i] ^= 16;
		assert_fails(tb_sums_unpack(&again, packed.p, packed.len, &err), err, TB_EFORMAT,
			     "damaged");
		packed.p[i] ^= 16;
		assert_fails(tb_sums_unpack(&again, packed.p, i, &err), err, TB_EFORMAT, "damaged");
	}
	assert_fails(tb_sums_unpack(&again, huge, sizeof(huge) - 1, &err), err, TB_EFORMAT,
		     "damaged");
	tb_buf_free(&packed);
	tb_sums_free(&s);
	free(bytes);
}

/* Numbers that nobody packed, with a right check: TB_SUMS' own reader must refuse them. */
static void
odd_numbers_are_refused(void **state)
{
	struct tb_sums odd[] = {
		{ .size = INT64_MAX },					/* too few sums */
		{ .size = 10, .cut = (uint64_t[]){ 10 }, .ncuts = 1 },	/* cut at the end */
		{ .size = 10, .cut = (uint64_t[]){ 5, 5 }, .ncuts = 2 },
		{ .size = 10, .cut = (uint64_t[]){ 5, 3 }, .ncuts = 2 },	/* backwards */
		{ .size = 0, .sum = (uint8_t[1][TB_SUM_LEN]){ { 1 } }, .n = 1 },
	};
	struct tb_sums out;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct tb_buf packed = TB_BUF(4096);

		assert_ok(tb_sums_pack(&odd[i], &packed, &err), err);
		assert_fails(tb_sums_unpack(&out, packed.p, packed.len, &err), err, TB_EFORMAT,
			     "damaged");
		tb_buf_free(&packed);
	}
}

/* What is in use of the registers' upper halves, 0 where the CPU does not tell. */
static unsigned
upper_halves(void)
{
	unsigned in_use = 0;

#ifdef HAVE_X86
	unsigned b, c, d, more;

	if (__get_cpuid_count(0xd, 1, &more, &b, &c, &d) && (more & 4))
		__asm__ volatile("xgetbv" : "=a"(in_use), "=d"(d) : "c"(1));
#endif
	return in_use & 0x44;
}

/* Else everything after it is slow. */
static void
registers_are_left_clean(void **state)
{
	uint8_t *bytes = make_bytes();
	struct tb_sums s;

	(void)state;
	assert_int_equal(upper_halves(), 0);
	(void)tb_sum_quick(bytes, SIZE);
	assert_int_equal(upper_halves(), 0);
	sum_bytes(&s, bytes, MIB / 2);
	assert_int_equal(upper_halves(), 0);
	tb_sums_free(&s);
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_begin_where_parts_do),
		cmocka_unit_test(windows_do_not_matter),
		cmocka_unit_test(sums_are_of_the_bytes_alone),
		cmocka_unit_test(what_differs_is_found),
		cmocka_unit_test(what_is_kept_comes_back),
		cmocka_unit_test(odd_numbers_are_refused),
		cmocka_unit_test(registers_are_left_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
