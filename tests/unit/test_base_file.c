#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/partial.h"
#include "src/base/text.h"

static void
reading_is_exact_or_fails(void **state)
{
	const char *path = unit_write("ten", "0123456789", 10);
	struct tb_file f;
	struct tb_err err;
	char buf[16] = "";

	(void)state;
	assert_ok(tb_file_open(&f, path, &err), err);
	assert_int_equal(f.id.size, 10);
	assert_ok(tb_file_read(&f, 3, buf, 4, &err), err);
	assert_memory_equal(buf, "3456", 4);
	assert_ok(tb_file_read(&f, 10, buf, 0, &err), err);
	assert_fails(tb_file_read(&f, 8, buf, 4, &err), err, TB_EIO, "ends at 10, 2 bytes");
	assert_fails(tb_file_read(&f, UINT64_MAX, buf, 4, &err), err, TB_EIO, "ten");
	tb_file_close(&f);
	tb_file_close(&f);
	assert_int_equal(f.fd, -1);
}

static void
only_regular_files_are_opened(void **state)
{
	const char *fifo = unit_path("fifo");
	struct tb_file f, zero = { 0 };
	struct tb_ident id;
	struct tb_err err;
	char *text;

	(void)state;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_fails(tb_file_open(&f, fifo, &err), err, TB_EFORMAT, "not a regular file");
	assert_fails(tb_file_open(&f, unit_tmp(), &err), err, TB_EFORMAT, "not a regular file");
	assert_fails(tb_file_open(&f, "/dev/zero", &err), err, TB_EFORMAT, "not a regular");
	assert_fails(tb_file_ident(fifo, &id, &err), err, TB_EFORMAT, "not a regular file");
	assert_fails(tb_file_slurp(fifo, 100, &text, NULL, &err), err, TB_EFORMAT, "not a regular");
	assert_fails(tb_file_open(&f, unit_path("none"), &err), err, TB_ENOENT, "No such file");
	assert_int_equal(tb_file_open(&f, unit_path("none"), NULL), TB_ENOENT);
	tb_file_close(&f);
	tb_file_close(&zero);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);	/* a zeroed one has not closed fd 0 */
}

static void
a_file_that_changes_is_another(void **state)
{
	const char *path = unit_write("changes", "abc", 3);
	struct tb_ident a, b;
	struct timespec times[2] = { { 0, UTIME_OMIT }, { 1000000000, 123456789 } };
	struct tb_err err;

	(void)state;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_ok(tb_file_ident(path, &a, &err), err);
	assert_int_equal(a.mtime_ns, INT64_C(1000000000123456789));
	assert_ok(tb_file_ident(path, &b, &err), err);
	assert_true(tb_ident_equal(&a, &b));
	times[1].tv_nsec++;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_ok(tb_file_ident(path, &b, &err), err);
	assert_false(tb_ident_equal(&a, &b));
}

static void
slurp_has_a_limit(void **state)
{
	const char *path = unit_write("text", "line\n", 5);
	const char *nul = unit_write("nul", "a\0b", 3);
	struct tb_err err;
	char *text;
	size_t len;

	(void)state;
	assert_ok(tb_file_slurp(path, 5, &text, NULL, &err), err);
	assert_string_equal(text, "line\n");
	free(text);
	assert_fails(tb_file_slurp(path, 4, &text, NULL, &err), err, TB_ELIMIT, "5 bytes, at most 4");
	assert_null(text);
	assert_fails(tb_file_slurp(nul, 9, &text, NULL, &err), err, TB_EFORMAT, "NUL byte");
	assert_ok(tb_file_slurp(nul, 9, &text, &len, &err), err);
	assert_int_equal(len, 3);
	free(text);
	assert_ok(tb_file_slurp(unit_write("empty", "", 0), 9, &text, NULL, &err), err);
	assert_string_equal(text, "");
	free(text);
}

static void
folders_are_made_on_the_way(void **state)
{
	const char *deep = unit_path("a/b//c/d/");
	struct tb_err err;
	char *s;

	(void)state;
	assert_ok(tb_mkdirs(deep, &err), err);
	assert_ok(tb_mkdirs(deep, &err), err);
	assert_true(tb_is_dir(unit_path("a/b/c/d")));
	assert_ok(tb_mkdirs("/", &err), err);
	assert_ok(tb_mkdirs("", &err), err);
	unit_write("a/file", "x", 1);
	assert_fails(tb_mkdirs(unit_path("a/file/x"), &err), err, TB_EEXIST, "cannot make");
	assert_int_equal(symlink("nowhere", unit_path("dangling")), 0);
	assert_fails(tb_mkdirs(unit_path("dangling"), &err), err, TB_EEXIST, "File exists");
	assert_true(tb_exists(unit_path("dangling")));
	assert_false(tb_is_dir(unit_path("dangling")));
	s = tb_path_join("/x", "y");
	assert_string_equal(s, "/x/y");
	free(s);
	s = tb_path_join("/", "y");
	assert_string_equal(s, "/y");
	free(s);
}

static void
maps_start_anywhere(void **state)
{
	size_t size = 3 * 65536 + 5;
	unsigned char *bytes = malloc(size);
	struct tb_file f;
	struct tb_map m;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(i * 31 + (i >> 8));
	assert_ok(tb_file_open(&f, unit_write("map", bytes, size), &err), err);
	for (uint64_t off = 0; off < size; off += 4093) {
		assert_ok(tb_map_open(&m, &f, off, size - off, &err), err);
		assert_memory_equal(m.p, bytes + off, size - off);
		assert_false(tb_map_torn(&m));
		tb_map_forget(&m, m.len / 3, m.len / 2);
		tb_map_forget(&m, 0, m.len);
		tb_map_forget(&m, m.len, 1);
		assert_memory_equal(m.p, bytes + off, m.len);
		tb_map_close(&m);
		tb_map_close(&m);
	}
	assert_ok(tb_map_open(&m, &f, size, 0, &err), err);
	assert_non_null(m.p);
	assert_false(tb_map_torn(&m));
	tb_map_close(&m);
	assert_fails(tb_map_open(&m, &f, 1, size, &err), err, TB_EFORMAT, "outside the file");
	tb_map_close(&m);
	assert_fails(tb_map_open(&m, &f, UINT64_MAX, 2, &err), err, TB_EFORMAT, "outside");
	assert_fails(tb_map_open(&m, &f, 2, SIZE_MAX, &err), err, TB_EFORMAT, "outside");
	m = (struct tb_map){ 0 };
	assert_false(tb_map_torn(&m));
	tb_map_close(&m);

	/* It outlives the descriptor. */
	assert_ok(tb_map_open(&m, &f, 1, 10, &err), err);
	tb_file_close(&f);
	assert_memory_equal(m.p, bytes + 1, 10);
	tb_map_close(&m);
	free(bytes);
}

static uint64_t
sum(const struct tb_map *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->len; i++)
		n += m->p[i];
	return n;
}

static void
a_shrinking_file_tears_its_map_only(void **state)
{
	enum { SIZE = 1 << 20, KEPT = 1 << 16 };
	char *ones = malloc(SIZE);
	const char *path, *other;
	struct tb_file f, g;
	struct tb_map m, n;
	struct tb_err err;

	(void)state;
	memset(ones, 1, SIZE);
	path = unit_write("shrinks", ones, SIZE);
	other = unit_write("stays", ones, SIZE);
	assert_ok(tb_file_open(&f, path, &err), err);
	assert_ok(tb_file_open(&g, other, &err), err);
	assert_ok(tb_map_open(&m, &f, 5, SIZE - 5, &err), err);
	assert_ok(tb_map_open(&n, &g, 0, SIZE, &err), err);
	assert_int_equal(sum(&m), SIZE - 5);
	assert_int_equal(truncate(path, KEPT), 0);
	assert_int_equal(sum(&m), KEPT - 5);
	assert_true(tb_map_torn(&m));
	assert_int_equal(sum(&n), SIZE);
	assert_false(tb_map_torn(&n));
	tb_map_close(&m);

	/* Backwards, down to nothing. */
	assert_ok(tb_map_open(&n, &g, 0, SIZE, &err), err);
	assert_int_equal(truncate(other, 0), 0);
	for (size_t i = SIZE; i-- > 0; )
		assert_int_equal(n.p[i], 0);
	assert_true(tb_map_torn(&n));
	tb_map_close(&n);
	tb_file_close(&f);
	tb_file_close(&g);
	free(ones);
}

struct reader { pthread_t thread; const struct tb_map *m; uint64_t n; };

static void *
read_all(void *arg)
{
	struct reader *r = arg;

	for (int round = 0; round < 50; round++)
		r->n += sum(r->m);
	return NULL;
}

/* Several threads fault on the same pages while the file goes away. */
static void
threads_survive_a_shrinking_file(void **state)
{
	enum { SIZE = 1 << 18, THREADS = 4 };
	struct reader r[THREADS] = { 0 };
	char *ones = malloc(SIZE);
	struct tb_file f;
	struct tb_map m;
	struct tb_err err;
	const char *path;

	(void)state;
	memset(ones, 1, SIZE);
	path = unit_write("shrinks too", ones, SIZE);
	assert_ok(tb_file_open(&f, path, &err), err);
	assert_ok(tb_map_open(&m, &f, 0, SIZE, &err), err);
	for (int i = 0; i < THREADS; i++) {
		r[i].m = &m;
		assert_int_equal(pthread_create(&r[i].thread, NULL, read_all, &r[i]), 0);
	}
	assert_int_equal(truncate(path, 100), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(r[i].thread, NULL);
	assert_int_equal(sum(&m), 100);
	assert_true(tb_map_torn(&m));
	tb_map_close(&m);
	tb_file_close(&f);
	free(ones);
}

/* A large model has thousands of blobs, and each of them is mapped. */
static void
thousands_of_maps_are_quick(void **state)
{
	enum { N = 20000 };
	struct tb_map *m = tb_calloc(N, sizeof(*m));
	struct tb_file f;
	struct tb_err err;
	double began = tb_monotonic();

	(void)state;
	assert_ok(tb_file_open(&f, unit_write("many", "x", 1), &err), err);
	for (int i = 0; i < N; i++)
		assert_ok(tb_map_open(&m[i], &f, 0, 1, &err), err);
	for (int i = 0; i < N; i++) {
		assert_int_equal(*m[i].p, 'x');
		tb_map_close(&m[i]);
	}
	assert_true(tb_monotonic() - began < 5);	/* quadratic: far more */
	tb_file_close(&f);
	free(m);
}

/* Of "0123456789" what is below `there`; others are fetched up to `may`. */
struct holes { uint64_t there, may; unsigned asked; };

static enum tb_status
holes_need(void *arg, uint64_t off, uint64_t len, struct tb_err *err)
{
	struct holes *h = arg;

	h->asked++;
	if (off + len > h->may)
		return tb_fail(err, TB_EUSAGE, "byte %ju is far away", (uintmax_t)(off + len));
	if (h->there < off + len)
		h->there = off + len;
	return TB_OK;
}

static uint64_t
holes_there(void *arg, uint64_t off, uint64_t len)
{
	const struct holes *h = arg;

	return off >= h->there ? 0 : len < h->there - off ? len : h->there - off;
}

static void
holes_are_filled_before_they_are_read(void **state)
{
	const char *path = unit_write("holes", "0123456789", 10);
	struct holes h = { .there = 3, .may = 8 };
	struct tb_partial p = { .need = holes_need, .there = holes_there, .arg = &h };
	struct tb_file f;
	struct tb_map map;
	struct tb_ident id;
	struct tb_err err;
	char buf[16] = "", *text;
	size_t n = 10;

	(void)state;
	assert_ok(tb_file_ident(path, &p.id, &err), err);
	p.id.mtime_ns = 42;
	tb_partial_add(&p);
	assert_ok(tb_file_open(&f, path, &err), err);
	assert_int_equal(f.id.mtime_ns, 42);	/* whatever is written to it */
	assert_ok(tb_file_now(&f, &id, &err), err);
	assert_true(tb_ident_equal(&id, &f.id));
	assert_ok(tb_file_afford(&f, 0, 2, &n, &err), err);
	assert_int_equal(n, 3);			/* and not the 10 that were wanted */
	assert_ok(tb_file_read(&f, 0, buf, 5, &err), err);
	assert_int_equal(h.there, 5);
	assert_fails(tb_file_read(&f, 0, buf, 9, &err), err, TB_EUSAGE, "byte 9 is far away");
	assert_fails(tb_file_read_random(&f, 7, buf, 2, &err), err, TB_EUSAGE, "byte 9 is far away");
	assert_fails(tb_file_read(&f, 10, buf, 1, &err), err, TB_EIO, "ends at 10");
	assert_fails(tb_map_open(&map, &f, 2, 8, &err), err, TB_EUSAGE, "byte 10 is far away");
	assert_ok(tb_map_open(&map, &f, 2, 6, &err), err);
	assert_memory_equal(map.p, "234567", 6);
	tb_map_close(&map);
	assert_fails(tb_file_slurp(path, 100, &text, NULL, &err), err, TB_EUSAGE, "byte 10 is far");
	tb_file_close(&f);
	tb_partial_drop(&p);
	h.asked = 0;
	assert_ok(tb_file_slurp(path, 100, &text, NULL, &err), err);
	assert_string_equal(text, "0123456789");
	assert_int_equal(h.asked, 0);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_is_exact_or_fails),
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(a_file_that_changes_is_another),
		cmocka_unit_test(slurp_has_a_limit),
		cmocka_unit_test(folders_are_made_on_the_way),
		cmocka_unit_test(maps_start_anywhere),
		cmocka_unit_test(a_shrinking_file_tears_its_map_only),
		cmocka_unit_test(threads_survive_a_shrinking_file),
		cmocka_unit_test(thousands_of_maps_are_quick),
		cmocka_unit_test(holes_are_filled_before_they_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
