#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "tests/unit/fetch_world.h"

/* Stops when about so many bytes have come. */
static void
stop_after(uint64_t bytes, unsigned streams)
{
	struct fetch *f = world_fetch("pull x", streams);
	struct tb_err err;

	world.job = tb_job_new(-1);
	world.fault = CANCEL;
	world.times = -1;
	world.after = bytes;
	world.sent = 0;
	assert_int_equal(fetch_run(f, world.job, &err), TB_ECANCEL);
	world.fault = NONE;
	fetch_free(f);
	tb_job_free(world.job);
}

static void
a_cancel_loses_nothing(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		uint64_t sent;

		world_new(3, 20 * WORLD_PART + 11, 300 + i);
		stop_after((i + 1) * world_size() / 5, 4);
		sent = world.sent;
		assert_int_equal(world_run(4) + sent, world_size());
	}
}

/* The file of the folder whose name ends so; the first of them. */
static const char *
file_in(const char *end)
{
	static char path[8192];
	struct tb_names names;
	struct tb_err err;

	*path = 0;
	assert_ok(tb_names_read(&names, world.dir, &err), err);
	for (size_t i = 0; !*path && i < names.n; i++) {
		size_t len = strlen(names.v[i]);

		if (len >= strlen(end) && !strcmp(names.v[i] + len - strlen(end), end) &&
		    !strchr(names.v[i], '-') && (*end || len == 64))
			snprintf(path, sizeof(path), "%s/%s", world.dir, names.v[i]);
	}
	tb_names_free(&names);
	assert_true(*path);
	return path;
}

static void
scribble(const char *path, off_t at)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0 && pwrite(fd, "scribbled", 9, at) == 9 && !close(fd));
}

/* What lies there may be anything. */
static void
nothing_that_lies_there_is_believed(void **state)
{
	(void)state;
	for (uint64_t seed = 400; seed < 406; seed++) {
		uint64_t first = seed % 2 ? 20 * WORLD_PART : WORLD_PART / 2;

		world_new(1, first, seed);
		stop_after(first - 30000, 2);
		if (seed < 402)
			scribble(file_in(""), 100);
		else if (seed == 403)
			scribble(file_in(".parts"), 10);
		else if (seed == 405)
			scribble(file_in(".parts"), 70);
		else
			assert_int_equal(truncate(file_in(""), (off_t)first + 9), 0);
		world_run(2);
	}
	world_new(1, 3000, 406);
	{
		struct fetch *f = world_fetch("pull x", 2);
		struct tb_err err;

		assert_ok(fetch_run(f, NULL, &err), err);
		fetch_free(f);
		assert_int_equal(world_names(".done"), 1);
		scribble(file_in(".done"), 100);
	}
	assert_int_equal(world_run(2), 3000);
}

static void
write_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_true(f && fwrite(p, 1, n, f) == n && !fclose(f));
}

static void
what_has_other_names_is_not_written(void **state)
{
	const char *other = unit_path("other");
	struct tb_err err;
	struct stat st;

	(void)state;
	world_new(1, 20 * WORLD_PART, 407);
	stop_after(world_size() / 2, 2);
	assert_int_equal(link(file_in(""), other), 0);
	scribble(other, 100);
	assert_int_equal(world_run(2), world_size());
	{
		char text[10] = "";
		FILE *f = fopen(other, "r");

		assert_true(f && !fseek(f, 100, SEEK_SET) && fread(text, 1, 9, f) == 9 && !fclose(f));
		assert_string_equal(text, "scribbled");
	}

	world_new(1, 3000, 408);	/* right, but not in the folder */
	write_file(other, world.data[0], 3000);
	assert_ok(tb_mkdirs(world.dir, &err), err);
	{
		struct fetch *f = world_fetch("pull x", 2);
		char done[8192];

		snprintf(done, sizeof(done), "%s/%s.done", world.dir, world.items[0].digest + 7);
		assert_int_equal(symlink(other, done), 0);
		assert_ok(fetch_run(f, NULL, &err), err);
		world_is_right(f);
		assert_true(!lstat(done, &st) && S_ISREG(st.st_mode));
		fetch_free(f);
	}
}

/* In a child that kills itself while bytes come. */
static void
killed_after(uint64_t bytes, unsigned streams)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct fetch *f = world_fetch("pull x", streams);
		struct tb_err err;

		world.fault = KILL;
		world.times = -1;
		world.after = bytes;
		(void)!fetch_run(f, NULL, &err);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void
a_kill_loses_little(void **state)
{
	uint64_t random = 5;

	(void)state;
	for (uint64_t seed = 500; seed < 512; seed++) {
		uint64_t total, sent = 0, moved;

		world_new(4, 40 * WORLD_PART, seed);
		total = world_size();
		for (int i = 0; i < 3; i++) {
			uint64_t n = total / 5 + tb_splitmix(&random) % (total / 8);

			killed_after(n, 2);
			sent += n;
		}
		moved = world_run(2);
		/* of each part that was on its way at most 64 kB, and what was in the hand */
		assert_true(sent + moved <= total + 3 * 2 * (65536 + 2 * 16384));
		assert_true((double)moved <= 1.1 * (double)(total - sent) + 2 * 3 * 98304);
	}
}

static void
a_list_goes_with_its_run(void **state)
{
	const struct fetch_source source = { 0 };
	const struct fetch_opts opts = { .dir = world.dir, .note = "pull x" };
	struct fetch *f;
	struct tb_err err;

	(void)state;
	world_new(1, 100000, 11);
	stop_after(10000, 1);
	assert_int_equal(world_names("list-"), 1);
	stop_after(20000, 1);
	assert_int_equal(world_names("list-"), 1);
	assert_ok(fetch_new(&f, &source, &opts, &err), err);	/* others brought all of it */
	assert_ok(fetch_run(f, NULL, &err), err);
	assert_int_equal(world_names("list-"), 0);
	fetch_free(f);
}

static void *
take_away(void *arg)
{
	struct tb_names names;

	(void)arg;
	for (uint64_t sent = 0; !sent; world_nap(0.001)) {
		pthread_mutex_lock(&world.lock);
		sent = world.sent;
		pthread_mutex_unlock(&world.lock);
	}
	assert_int_equal(tb_names_read(&names, world.dir, NULL), TB_OK);
	for (size_t i = 0; i < names.n; i++) {
		char path[8192];

		snprintf(path, sizeof(path), "%s/%s", world.dir, names.v[i]);
		if (strlen(names.v[i]) == 64)
			unlink(path);
	}
	tb_names_free(&names);
	return NULL;
}

static void
what_is_taken_away_comes_again(void **state)
{
	pthread_t id;

	(void)state;
	world_new(1, 6000, 12);
	world.fault = CRAWL;
	world.times = 1;
	assert_int_equal(pthread_create(&id, NULL, take_away, NULL), 0);
	assert_int_equal(world_run(1), 12000);
	assert_int_equal(pthread_join(id, NULL), 0);
}

/* Of thing i, in parts of 100,000 bytes, of which every other one is there. */
static uint64_t
ollama_left(size_t i, bool wrong)
{
	const struct fetch_item *it = &world.items[i];
	uint64_t sum = 0, n = 0;
	uint8_t *half = calloc(1, it->size);
	char path[8192], text[200];

	for (uint64_t off = 0; off < it->size; off += 100000, n++) {
		uint64_t size = it->size - off < 100000 ? it->size - off : 100000;
		uint64_t have = n % 2 ? size : n % 4 ? 1234 : 0;

		memcpy(half + off, world.data[i] + off, have);
		half[off] ^= wrong;
		sum += have;
		snprintf(text, sizeof(text), "{\"N\":%ju,\"Offset\":%ju,\"Size\":%ju,"
			 "\"Completed\":%ju}\n", (uintmax_t)n, (uintmax_t)off, (uintmax_t)size,
			 (uintmax_t)have);
		snprintf(path, sizeof(path), "%s/sha256-%s-partial-%ju", world.blobs, it->digest + 7,
			 (uintmax_t)n);
		write_file(path, text, strlen(text));
	}
	snprintf(path, sizeof(path), "%s/sha256-%s-partial", world.blobs, it->digest + 7);
	write_file(path, half, it->size);
	free(half);
	return sum;
}

static void
what_others_began_is_used(void **state)
{
	struct tb_err err;
	uint64_t left;
	char path[8192];

	(void)state;
	world_new(2, 20 * WORLD_PART + 3, 9);
	world.blobs = unit_path("blobs");
	assert_ok(tb_mkdirs(world.blobs, &err), err);
	left = ollama_left(0, false) + ollama_left(1, false);
	assert_true(left > world_size() / 3);
	assert_int_equal(world_run(3), world_size() - left);
	snprintf(path, sizeof(path), "%s/sha256-%s-partial", world.blobs, world.items[0].digest + 7);
	assert_true(tb_exists(path));
	ollama_left(1, true);			/* other bytes: once more, without them */
	world_run(3);

	world_new(2, 20 * WORLD_PART + 3, 10);
	world.blobs = unit_path("blobs");
	snprintf(path, sizeof(path), "%s/sha256-%s.tmp", world.blobs, world.items[0].digest + 7);
	write_file(path, world.data[0], 70000);
	snprintf(path, sizeof(path), "%s/other.incomplete", world.blobs);
	write_file(path, world.data[1], 80000);
	world.items[1].begun = path;
	assert_int_equal(world_run(3), world_size() - 150000);
}

/* One byte, and then all the rest: no parts of one size. */
static void
what_others_say_of_parts_may_be_wrong(void **state)
{
	const struct fetch_item *it = &world.items[0];
	struct tb_err err;
	char path[8192], text[200];

	(void)state;
	world_new(1, 20 * WORLD_PART, 600);
	world.blobs = unit_path("blobs");
	assert_ok(tb_mkdirs(world.blobs, &err), err);
	for (uint64_t n = 0; n < 2; n++) {
		uint64_t size = n ? it->size - 30000 : 30000;

		snprintf(text, sizeof(text), "{\"N\":%ju,\"Offset\":%ju,\"Size\":%ju,"
			 "\"Completed\":%ju}\n", (uintmax_t)n, (uintmax_t)(n ? 30000 : 0),
			 (uintmax_t)size, (uintmax_t)(size - 10));
		snprintf(path, sizeof(path), "%s/sha256-%s-partial-%ju", world.blobs, it->digest + 7,
			 (uintmax_t)n);
		write_file(path, text, strlen(text));
	}
	snprintf(path, sizeof(path), "%s/sha256-%s-partial", world.blobs, it->digest + 7);
	write_file(path, world.data[0], it->size);
	assert_int_equal(world_run(2), world_size());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cancel_loses_nothing),
		cmocka_unit_test(nothing_that_lies_there_is_believed),
		cmocka_unit_test(what_has_other_names_is_not_written),
		cmocka_unit_test(a_kill_loses_little),
		cmocka_unit_test(a_list_goes_with_its_run),
		cmocka_unit_test(what_is_taken_away_comes_again),
		cmocka_unit_test(what_others_began_is_used),
		cmocka_unit_test(what_others_say_of_parts_may_be_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
