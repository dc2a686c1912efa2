/* test_base_lanes.c - many files hashed side by side give what libcrypto gives for each. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "src/base/cached.h"
#include "src/base/device.h"
#include "src/base/job.h"
#include "src/base/pool.h"
#include "src/base/sha256_files.h"
#include "src/base/sha256_lanes.h"

#define MB (1u << 20)

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t
chance(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static uint8_t *
noise(size_t n)
{
	uint8_t *p = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(chance(1u << 20) >> 7);
	return p;
}

static void
assert_digest(const uint8_t md[32], const uint8_t *bytes, size_t n)
{
	char want[TB_DIGEST_MAX], have[TB_DIGEST_MAX];
	struct tb_err err;

	assert_ok(tb_sha256_bytes(bytes, n, want, &err), err);
	tb_digest_text("sha256:", md, 32, have);
	assert_string_equal(have, want);
}

/* Every way, with every number of streams, in steps of some blocks, for texts of any
 * length and at any address. */
static void
every_way_is_sha256(void **state)
{
	const struct sha_way *ways;
	size_t n = sha_ways(&ways), bytes = 64u * 1024;
	uint8_t *text = noise(bytes + SHA_STREAMS * 67);
	unsigned tried = 0;

	(void)state;
	for (size_t way = 0; way < n; way++)
		for (unsigned used = 1; ways[way].usable && used <= ways[way].streams; used++) {
			struct sha_stream s[SHA_STREAMS], *list[SHA_STREAMS];
			const uint8_t *data[SHA_STREAMS], *start[SHA_STREAMS];
			size_t left = 1 + chance(600), rest = chance(64);
			uint8_t md[32];

			for (unsigned i = 0; i < used; i++) {
				sha_stream_start(&s[i]);
				list[i] = &s[i];
				start[i] = data[i] = text + i * 67;
			}
			while (left) {
				size_t blocks = 1 + chance(left);

				sha_streams_add(way, list, data, used, blocks);
				for (unsigned i = 0; i < used; i++)
					data[i] += blocks * SHA_BLOCK;
				left -= blocks;
			}
			for (unsigned i = 0; i < used; i++) {
				sha_stream_end(&s[i], data[i], rest, md);
				assert_digest(md, start[i], (size_t)(data[i] - start[i]) + rest);
				tried++;
			}
		}
	assert_true(tried);
	free(text);
}

static void
every_length_ends_well(void **state)
{
	uint8_t *text = noise(300), md[32];

	(void)state;
	for (size_t n = 0; n <= 300; n++) {
		const uint8_t *data = text;
		struct sha_stream s, *list = &s;

		sha_stream_start(&s);
		if (n / SHA_BLOCK)
			sha_streams_add(0, &list, &data, 1, n / SHA_BLOCK);
		sha_stream_end(&s, text + n / SHA_BLOCK * SHA_BLOCK, n % SHA_BLOCK, md);
		assert_digest(md, text, n);
	}
	free(text);
}

/* What is chosen takes no more streams than there are, and no way is faster. */
static void
the_choice_is_the_fastest(void **state)
{
	const struct sha_way *ways;
	size_t n = sha_ways(&ways), way;

	(void)state;
	for (unsigned streams = 1; streams <= SHA_STREAMS; streams++) {
		unsigned takes = sha_best(streams, &way);

		assert_in_range(takes, 1, streams);
		assert_true(way < n && ways[way].usable);
		for (size_t i = 0; i < n; i++)
			if (ways[i].usable && ways[i].streams == streams)
				assert_true(sha_rate(streams) >= ways[i].rate * 0.999);
	}
	assert_true(ways[0].usable && ways[0].rate > 0);
}

/* ---- files ---- */

enum { FILES = 200, TINY = FILES - 20 };

struct set {
	struct tb_hash_file files[FILES];
	uint8_t *bytes[FILES];
	char want[FILES][TB_DIGEST_MAX];
	struct watch { uint64_t at; uint32_t sum; bool torn; } watch[FILES];
	atomic_int begun[FILES], done[FILES];
	enum tb_status status[FILES];
	bool wrong[FILES];
	char why[FILES][200];
	size_t n, touch;		/* touch: the file that something happens to, FILES none */
	atomic_size_t began;
	size_t cancel_at;		/* the file that cancels when it is begun, counted; 0: none */
	struct tb_job *job;
	int cut;			/* bytes that it grows or shrinks by */
	atomic_int ticks;
	unsigned readers;		/* of a device at a time, 0: as it likes */
	atomic_int open, most;		/* files that were begun and are not done; the most ever */
};

static void
watch_bytes(void *arg, uint64_t off, const uint8_t *p, size_t len)
{
	struct watch *w = arg;

	w->torn |= off != w->at;
	w->at = off + len;
	for (size_t i = 0; i < len; i++)
		w->sum = w->sum * 31 + p[i];
}

static enum tb_status
begun(void *arg, size_t i, const struct tb_file *f, struct tb_seen *seen, struct tb_err *err)
{
	struct set *s = arg;

	int open = atomic_fetch_add(&s->open, 1) + 1, most = atomic_load(&s->most);

	while (open > most && !atomic_compare_exchange_weak(&s->most, &most, open))
		;
	atomic_fetch_add(&s->begun[i], 1);
	if (i == s->touch)
		assert_int_equal(truncate(f->path, (off_t)f->id.size + s->cut), 0);
	if (s->cancel_at && atomic_fetch_add(&s->began, 1) + 1 == s->cancel_at)
		tb_job_cancel(s->job);
	*seen = (struct tb_seen){ watch_bytes, &s->watch[i] };
	if (i == 3 && s->cut == 1)
		return tb_fail(err, TB_ELIMIT, "no room for this one");
	return TB_OK;
}

static void
done(void *arg, size_t i, const struct tb_file *f, enum tb_status status,
     const char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	struct set *s = arg;

	atomic_fetch_sub(&s->open, f != NULL);
	atomic_fetch_add(&s->done[i], 1);
	s->status[i] = status;
	s->wrong[i] = status || strcmp(digest, s->want[i]);
	if (status)
		snprintf(s->why[i], sizeof(s->why[i]), "%s", err->msg);
}

static void
tick(void *arg)
{
	atomic_fetch_add(&((struct set *)arg)->ticks, 1);
}

static int
largest_first(const void *a, const void *b)
{
	uint64_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x < y) - (x > y);
}

/* The lengths 0 to 130, and some of up to 9 MB. */
static struct set *
set_new(void)
{
	struct set *s = calloc(1, sizeof(*s));
	size_t sizes[FILES];
	struct tb_err err;
	struct stat st;

	assert_int_equal(stat(unit_tmp(), &st), 0);
	s->touch = s->n = FILES;
	for (size_t i = 0; i < FILES; i++)
		sizes[i] = i <= 130 ? i : i < 180 ? chance(200000) : i < 195 ? chance(3 * MB)
			 : 4 * MB + chance(5 * MB);
	qsort(sizes, FILES, sizeof(*sizes), largest_first);
	for (size_t i = 0; i < FILES; i++) {
		char name[20];

		snprintf(name, sizeof(name), "set%zu", i);
		s->bytes[i] = noise(sizes[i]);
		s->files[i] = (struct tb_hash_file){ unit_write(name, s->bytes[i], sizes[i]),
						     sizes[i], st.st_dev };
		assert_ok(tb_sha256_bytes(s->bytes[i], sizes[i], s->want[i], &err), err);
	}
	return s;
}

static void
set_free(struct set *s)
{
	for (size_t i = 0; i < FILES; i++)
		free(s->bytes[i]);
	free(s);
}

static enum tb_status
set_hash(struct set *s, struct tb_pool *pool, bool again, struct tb_err *err)
{
	const struct tb_hash_files h = { s->files, s->n, s->readers, again, s, begun, done, tick };

	for (size_t i = 0; i < FILES; i++) {
		atomic_store(&s->begun[i], 0);
		atomic_store(&s->done[i], 0);
		s->watch[i] = (struct watch){ 0 };
	}
	return tb_sha256_files(pool, &h, s->job, err);
}

static void
many_files_are_what_each_is(void **state)
{
	struct set *s = set_new();
	struct tb_progress p;
	struct tb_err err;

	(void)state;
	for (unsigned threads = 0; threads < 4; threads++) {
		struct tb_pool *pool = threads ? tb_pool_new(threads) : NULL;
		uint64_t bytes = 0;

		s->job = tb_job_new(-1);
		tb_job_begin(s->job);
		assert_ok(set_hash(s, pool, threads % 2, &err), err);
		for (size_t i = 0; i < FILES; i++) {
			uint32_t sum = 0;

			assert_int_equal(s->begun[i], 1);
			assert_int_equal(s->done[i], 1);
			assert_false(s->wrong[i]);
			assert_false(s->watch[i].torn);
			assert_int_equal(s->watch[i].at, s->files[i].size);
			for (size_t k = 0; k < s->files[i].size; k++)
				sum = sum * 31 + s->bytes[i][k];
			assert_int_equal(sum, s->watch[i].sum);
			bytes += s->files[i].size;
		}
		tb_job_progress(s->job, &p);
		assert_int_equal(p.done, bytes);
		assert_true(threads > 1 || s->ticks > 0);
		tb_job_free(s->job);
		tb_pool_free(pool);
	}
	set_free(s);
}

/* One alone, two, ... seventeen: every number of streams that are left. */
static void
few_files_as_well(void **state)
{
	struct set *s = set_new();
	struct tb_err err;

	(void)state;
	for (s->n = 1; s->n <= 17; s->n++) {
		assert_ok(set_hash(s, NULL, false, &err), err);
		for (size_t i = 0; i < s->n; i++)
			assert_false(s->wrong[i]);
	}
	set_free(s);
}

static void
cancelled_files_are_given_back(void **state)
{
	struct set *s = set_new();
	struct tb_pool *pool = tb_pool_new(2);
	struct tb_err err;

	(void)state;
	for (size_t at = 1; at <= 41; at += 8) {
		size_t cancelled = 0;

		s->job = tb_job_new(-1);
		atomic_store(&s->began, 0);
		s->cancel_at = at;
		assert_fails(set_hash(s, pool, false, &err), err, TB_ECANCEL, "cancelled");
		for (size_t i = 0; i < FILES; i++) {
			assert_int_equal(s->begun[i], s->done[i]);
			cancelled += s->done[i] && s->status[i] == TB_ECANCEL;
		}
		assert_true(cancelled > 0);
		tb_job_free(s->job);
	}
	tb_pool_free(pool);
	set_free(s);
}

/* What happens to one file is told of that one alone. */
static void
files_change_while_they_are_read(void **state)
{
	static const int cuts[] = { -1, -5000, -2 * (int)MB, 4096 };
	struct tb_err err;

	(void)state;
	for (size_t c = 0; c < sizeof(cuts) / sizeof(*cuts); c++) {
		struct set *s = set_new();

		s->touch = 2;
		s->cut = cuts[c];
		assert_true(s->files[2].size > 2 * MB);
		assert_ok(set_hash(s, NULL, false, &err), err);
		for (size_t i = 0; i < FILES; i++)
			assert_int_equal(s->wrong[i], i == 2 && s->cut < 0);
		if (s->cut < 0) {
			assert_int_equal(s->status[2], TB_EIO);
			assert_non_null(strstr(s->why[2], "ends at"));
		}
		set_free(s);
	}
}

static void
what_is_not_there_is_told(void **state)
{
	struct set *s = set_new();
	struct tb_err err;

	(void)state;
	assert_int_equal(unlink(s->files[1].path), 0);
	assert_int_equal(unlink(s->files[TINY].path), 0);
	s->cut = 1;	/* begun() refuses file 3 */
	assert_ok(set_hash(s, NULL, false, &err), err);
	for (size_t i = 0; i < FILES; i++) {
		assert_int_equal(s->done[i], 1);
		assert_int_equal(s->wrong[i], i == 1 || i == 3 || i == TINY);
	}
	assert_int_equal(s->status[1], TB_ENOENT);
	assert_int_equal(s->status[TINY], TB_ENOENT);
	assert_int_equal(s->begun[TINY], 0);
	assert_int_equal(s->status[3], TB_ELIMIT);
	assert_string_equal(s->why[3], "no room for this one");
	set_free(s);
}

/* ---- pages ---- */

static size_t
resident(const char *path, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	size_t pages = (size + 4095) / 4096, n = 0;
	unsigned char *there = calloc(pages, 1);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mincore(p, size, there), 0);
	for (size_t i = 0; i < pages; i++)
		n += there[i] & 1;
	munmap(p, size);
	close(fd);
	free(there);
	return n;
}

/* On the disk and out of memory; false: this file system keeps what it has. */
static bool
make_cold(const char *path, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
	return !resident(path, size);
}

static void
read_page(const char *path, off_t at)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c;

	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	close(fd);
}

static void
pages_that_were_not_there_go_again(void **state)
{
	struct set *s = set_new();
	struct tb_err err;
	const char *path = s->files[0].path;
	size_t size = s->files[0].size, before;

	(void)state;
	assert_true(size > 5 * MB);
	if (!make_cold(path, size)) {
		set_free(s);
		skip();
	}
	s->n = 4;
	for (int again = 0; again < 2; again++) {
		assert_ok(set_hash(s, NULL, again, &err), err);
		assert_false(s->wrong[0]);
		assert_int_equal(resident(path, size), 0);
		assert_true(resident(s->files[1].path, s->files[1].size) > 0);
	}
	read_page(path, 4 * MB);
	read_page(path, 0);
	before = resident(path, size);
	assert_in_range(before, 1, 600);
	assert_ok(set_hash(s, NULL, false, &err), err);
	assert_int_equal(resident(path, size), before);
	set_free(s);
}

/* ---- devices ---- */

/* Files that are not in memory are read as many at a time as their device likes; the others
 * side by side. */
static void
a_device_has_so_many_readers(void **state)
{
	struct set *s = set_new();
	struct tb_pool *pool = tb_pool_new(3);
	struct tb_err err;

	(void)state;
	s->n = 30;
	for (s->readers = 1; s->readers <= 2; s->readers++) {
		for (size_t i = 0; i < s->n; i++)
			if (!make_cold(s->files[i].path, s->files[i].size)) {
				tb_pool_free(pool);
				set_free(s);
				skip();
			}
		atomic_store(&s->most, 0);
		assert_ok(set_hash(s, pool, false, &err), err);
		for (size_t i = 0; i < s->n; i++)
			assert_false(s->wrong[i]);
		assert_int_equal(s->most, s->readers);
	}
	s->readers = 1;
	for (size_t i = 0; i < 20; i++)
		for (uint64_t at = 0; at < s->files[i].size; at += 4096)
			read_page(s->files[i].path, (off_t)at);
	s->n = 20;
	atomic_store(&s->most, 0);
	assert_ok(set_hash(s, pool, false, &err), err);
	assert_in_range(s->most, 8, 48);
	tb_pool_free(pool);
	set_free(s);
}

static void
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* Disk 8:0 that turns with a partition 8:1, 259:0 that does not, 254:0 behind virtio. */
static void
disks_say_how_many_may_read(void **state)
{
	static const struct { const char *folder, *turns, *number; } disks[] = {
		{ "sys/devices/pci0/ata1/sda", "1\n", "8:0" },
		{ "sys/devices/pci0/nvme0n1", "0\n", "259:0" },
		{ "sys/devices/pci0/virtio1/vda", "1\n", "254:0" },
	};
	char link[200];

	(void)state;
	assert_int_equal(mkdir(unit_path("sys"), 0777), 0);
	for (const char *const *d = (const char *const[]){ "sys/devices", "sys/devices/pci0",
	     "sys/devices/pci0/ata1", "sys/devices/pci0/virtio1", "sys/dev", "sys/dev/block",
	     NULL }; *d; d++)
		assert_int_equal(mkdir(unit_path(*d), 0777), 0);
	for (size_t i = 0; i < 3; i++) {
		char path[200];

		assert_int_equal(mkdir(unit_path(disks[i].folder), 0777), 0);
		snprintf(path, sizeof(path), "%s/queue", disks[i].folder);
		assert_int_equal(mkdir(unit_path(path), 0777), 0);
		snprintf(path, sizeof(path), "%s/queue/rotational", disks[i].folder);
		put(unit_path(path), disks[i].turns);
		snprintf(link, sizeof(link), "sys/dev/block/%s", disks[i].number);
		assert_int_equal(symlink(unit_path(disks[i].folder), unit_path(link)), 0);
	}
	assert_int_equal(mkdir(unit_path("sys/devices/pci0/ata1/sda/sda1"), 0777), 0);
	assert_int_equal(symlink(unit_path("sys/devices/pci0/ata1/sda/sda1"),
				 unit_path("sys/dev/block/8:1")), 0);
	assert_int_equal(tb_device_readers_in(unit_path("sys"), makedev(8, 0)), 1);
	assert_int_equal(tb_device_readers_in(unit_path("sys"), makedev(8, 1)), 1);
	assert_int_equal(tb_device_readers_in(unit_path("sys"), makedev(259, 0)), TB_READERS_ANY);
	assert_int_equal(tb_device_readers_in(unit_path("sys"), makedev(254, 0)), TB_READERS_ANY);
	assert_int_equal(tb_device_readers_in(unit_path("sys"), makedev(9, 9)), TB_READERS_ANY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_is_sha256),
		cmocka_unit_test(every_length_ends_well),
		cmocka_unit_test(the_choice_is_the_fastest),
		cmocka_unit_test(many_files_are_what_each_is),
		cmocka_unit_test(few_files_as_well),
		cmocka_unit_test(cancelled_files_are_given_back),
		cmocka_unit_test(files_change_while_they_are_read),
		cmocka_unit_test(what_is_not_there_is_told),
		cmocka_unit_test(pages_that_were_not_there_go_again),
		cmocka_unit_test(a_device_has_so_many_readers),
		cmocka_unit_test(disks_say_how_many_may_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
