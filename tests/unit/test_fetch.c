#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/ops/fetch/fetch_parts.h"

#define PART (64u << 10)
#define MAX 40

enum fault {
	NONE, CUT, SHORT, WRONG, WRONG_ALWAYS, LONGER, BUSY, GONE, WHOLE, STALL, CRAWL, CANCEL, KILL,
};

/* A server: things made of random bytes, and what is wrong with it. */
static struct world {
	struct fetch_item items[MAX];
	uint8_t *data[MAX];
	size_t n;
	enum fault fault;
	int times;			/* that it strikes; -1: always */
	uint64_t after;			/* bytes, of a request or (CANCEL, KILL) of all */
	uint64_t sent;
	unsigned asked;
	struct http *crawled;
	bool other_connection;
	struct tb_job *job;
	uint64_t seed;
	pthread_mutex_t lock;
} world = { .lock = PTHREAD_MUTEX_INITIALIZER };

static char dir[4096];

static void
nap(double s)
{
	const struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	nanosleep(&t, NULL);
}

static bool
strikes(enum fault *fault, struct http *h)
{
	bool yes;

	pthread_mutex_lock(&world.lock);
	world.asked++;
	*fault = world.fault;
	yes = world.fault && world.times;
	if (yes && world.times > 0)
		world.times--;
	if (!yes && world.crawled)
		world.other_connection |= world.crawled != h;
	if (yes && *fault == CRAWL)
		world.crawled = h;
	pthread_mutex_unlock(&world.lock);
	return yes;
}

static enum tb_status
stall(struct tb_job *job, struct tb_err *err)
{
	while (!tb_job_cancelled(job))
		nap(0.005);
	return tb_job_check(job, err);
}

/* What all requests together have sent may be the end of it. */
static enum tb_status
count_sent(size_t n, struct tb_job *job, struct tb_err *err)
{
	bool end;

	pthread_mutex_lock(&world.lock);
	world.sent += n;
	end = world.sent >= world.after;
	pthread_mutex_unlock(&world.lock);
	if (end && world.fault == KILL)
		raise(SIGKILL);
	if (!end || world.fault != CANCEL)
		return TB_OK;
	tb_job_cancel(world.job);
	return stall(job, err);
}

static enum tb_status
send_bytes(const uint8_t *p, uint64_t n, struct fetch_sink *sink, double pause, struct tb_job *job,
	   struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool enough = false;

	for (uint64_t at = 0; !status && !enough && at < n;) {
		size_t piece = n - at < 16384 ? (size_t)(n - at) : 16384;

		if (pause > 0) {
			piece = piece < 64 ? piece : 64;
			nap(pause);
		}
		status = fetch_put(sink, (const char *)p + at, piece, &enough, err);
		if (!status)
			status = count_sent(piece, job, err);
		at += piece;
	}
	return status;
}

static enum tb_status
get(void *arg, struct http *h, const struct fetch_item *it, uint64_t off, uint64_t len,
    struct fetch_sink *sink, struct tb_job *job, struct tb_err *err)
{
	const uint8_t *p = (const uint8_t *)it->ref + off;
	enum fault fault;
	bool yes = strikes(&fault, h);
	enum tb_status status;
	uint8_t *other;

	(void)arg;
	if (!yes || fault == CANCEL || fault == KILL)
		return send_bytes(p, len, sink, 0, job, err);
	switch (fault) {
	case WHOLE:
		fetch_whole(sink);
		return send_bytes(it->ref, it->size, sink, 0, job, err);
	case CUT:
	case SHORT:
		status = send_bytes(p, len < world.after ? len : world.after, sink, 0, job, err);
		if (status || fault == SHORT)
			return status;
		return tb_fail(err, TB_EIO, "broke off");
	case LONGER:
		status = send_bytes(p, len, sink, 0, job, err);
		return status ? status : send_bytes(it->ref, 1, sink, 0, job, err);
	case WRONG:
	case WRONG_ALWAYS:
		other = malloc(len);
		memcpy(other, p, len);
		other[len / 2] ^= 1;
		status = send_bytes(other, len, sink, 0, job, err);
		free(other);
		return status;
	case BUSY:
		fetch_retry(sink, true, 0);
		return tb_fail(err, TB_EUNSUP, "429: come again");
	case GONE:
		return tb_fail(err, TB_ENOENT, "404: no such thing");
	case CRAWL:
		return send_bytes(p, len, sink, 0.01, job, err);
	default:
		return stall(job, err);
	}
}

/* n things, whose sizes follow from `size`. */
static void
world_new(size_t n, uint64_t size, uint64_t seed)
{
	uint64_t state = seed;
	struct tb_err err;

	for (size_t i = 0; i < world.n; i++)
		free(world.data[i]);
	pthread_mutex_destroy(&world.lock);
	world = (struct world){ .n = n, .seed = seed };
	pthread_mutex_init(&world.lock, NULL);
	for (size_t i = 0; i < n; i++) {
		struct fetch_item *it = &world.items[i];

		it->size = i % 3 == 2 ? size / 7 : size + i;
		it->what = "a thing";
		it->ref = world.data[i] = malloc(it->size + 1);
		for (uint64_t k = 0; k <= it->size; k++)
			world.data[i][k] = (uint8_t)(tb_splitmix(&state) >> 56);
		assert_ok(tb_sha256_bytes(world.data[i], it->size, it->digest, &err), err);
	}
	snprintf(dir, sizeof(dir), "%s/pull-%ju", unit_tmp(), (uintmax_t)seed);
	fetch_pace = (struct fetch_pace){ .pause = 0.002, .slow = 0.3, .busy = 0.02 };
}

static struct fetch *
fetch_of_world(const char *note, unsigned streams)
{
	const struct fetch_opts opts = { .dir = dir, .streams = streams, .part = PART,
					 .note = note };
	const struct fetch_source source = { .get = get };
	struct fetch *f;
	struct tb_err err;

	assert_ok(fetch_new(&f, &source, &opts, &err), err);
	for (size_t i = 0; i < world.n; i++)
		assert_ok(fetch_add(f, &world.items[i], &err), err);
	return f;
}

static void
all_are_right(const struct fetch *f)
{
	struct tb_err err;

	for (size_t i = 0; i < world.n; i++) {
		char *bytes;
		size_t len;

		assert_non_null(fetch_path(f, i));
		assert_ok(tb_file_slurp(fetch_path(f, i), SIZE_MAX, &bytes, &len, &err), err);
		assert_int_equal(len, world.items[i].size);
		assert_memory_equal(bytes, world.data[i], len);
		free(bytes);
	}
}

static size_t
count_names(const char *part)
{
	struct tb_names names;
	size_t n = 0;

	if (tb_names_read(&names, dir, NULL))
		return 0;
	for (size_t i = 0; i < names.n; i++)
		n += strstr(names.v[i], part) != NULL;
	tb_names_free(&names);
	return n;
}

/* Runs to its end, and takes it. */
static uint64_t
run_well(unsigned streams)
{
	struct fetch *f = fetch_of_world("pull x", streams);
	struct fetch_row row;
	struct tb_err err;
	uint64_t moved;

	assert_ok(fetch_run(f, NULL, &err), err);
	all_are_right(f);
	assert_int_equal(fetch_look(f, &row, 1), world.n);
	assert_int_equal(row.state, FETCH_DONE);
	assert_int_equal(row.there + row.got, row.size);
	assert_int_equal(count_names(".parts"), 0);
	moved = fetch_moved(f);
	fetch_clear(f);
	assert_true(tb_absent(dir));
	fetch_free(f);
	return moved;
}

static uint64_t
size_of_world(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < world.n; i++)
		sum += world.items[i].size;
	return sum;
}

static void
all_comes_once(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 7, 4096, PART - 1, PART, PART + 1, 10 * PART + 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		world_new(7, sizes[i], 100 + i);
		assert_int_equal(run_well(4), size_of_world());
	}
}

static void
one_digest_is_one_file(void **state)
{
	struct fetch *f;
	struct tb_err err;

	(void)state;
	world_new(3, 5000, 1);
	world.items[1] = world.items[0];
	f = fetch_of_world("pull x", 2);
	assert_ok(fetch_run(f, NULL, &err), err);
	assert_string_equal(fetch_path(f, 0), fetch_path(f, 1));
	assert_int_equal(fetch_moved(f), world.items[0].size + world.items[2].size);
	world.items[1].size++;
	assert_fails(fetch_add(f, &world.items[1], &err), err, TB_EFORMAT, "two sizes");
	snprintf(world.items[1].digest, TB_DIGEST_MAX, "sha256:../../x");
	assert_fails(fetch_add(f, &world.items[1], &err), err, TB_EFORMAT, "no digest");
	fetch_free(f);
}

static void
other_digests(void **state)
{
	static const char hello[] = "hello\n";
	struct fetch *f;
	struct tb_err err;

	(void)state;
	world_new(2, 5000, 2);
	*world.items[0].digest = 0;
	memcpy(world.data[1], hello, 6);
	world.items[1].size = 6;
	snprintf(world.items[1].digest, TB_DIGEST_MAX,
		 "gitsha1:ce013625030ba8dba906f756967f9e9ca394464a");
	for (int i = 0; i < 2; i++) {
		f = fetch_of_world("pull x", 2);
		assert_ok(fetch_run(f, NULL, &err), err);
		all_are_right(f);
		assert_int_equal(fetch_moved(f), i ? 5000 : 5006);	/* what nothing says, again */
		fetch_free(f);
	}
}

/* What breaks is asked for again, and only what is missing of it. */
static void
faults_are_gone_round(void **state)
{
	static const struct { enum fault fault; uint64_t after; double most; } rows[] = {
		{ CUT, 30000, 1 }, { CUT, 0, 1 }, { CUT, 5000, 1 }, { SHORT, 20000, 1 }, { BUSY, 0, 1 },
		{ WRONG, 0, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		world_new(5, 5 * PART + 77, 200 + i);
		world.fault = rows[i].fault;
		world.after = rows[i].after;
		world.times = rows[i].fault == WRONG ? 2 : rows[i].after >= 4096 ? 60 : 5;
		assert_true((double)run_well(3) <= rows[i].most * (double)size_of_world());
		assert_int_equal(world.times, 0);
	}
}

static void
fails_with(enum fault fault, uint64_t after, enum tb_status code, const char *part)
{
	struct fetch *f = fetch_of_world("pull x", 3);
	struct fetch_row rows[MAX];
	struct tb_err err;
	bool failed = false;

	world.fault = fault;
	world.times = -1;
	world.after = after;
	assert_fails(fetch_run(f, NULL, &err), err, code, part);
	assert_non_null(strstr(err.msg, "a thing: "));
	for (size_t i = 0; i < fetch_look(f, rows, MAX); i++)
		failed |= rows[i].state == FETCH_FAILED && *rows[i].why;
	assert_true(failed);
	fetch_free(f);
}

static void
what_does_not_end_well(void **state)
{
	(void)state;
	world_new(2, 3 * PART, 3);
	fails_with(CUT, 0, TB_EIO, "tried 6 times");
	fails_with(GONE, 0, TB_ENOENT, "404");
	fails_with(LONGER, 0, TB_EFORMAT, "more comes than");
	fails_with(WRONG_ALWAYS, 0, TB_EFORMAT, "not what its digest says");
	assert_int_equal(count_names(".done"), 0);
	world.fault = NONE;
	run_well(3);
}

static void
no_ranges(void **state)
{
	(void)state;
	world_new(3, 6 * PART + 5, 4);
	world.fault = WHOLE;
	world.times = -1;
	run_well(4);
}

/* Stops when about so many bytes have come. */
static void
stop_after(uint64_t bytes, unsigned streams)
{
	struct fetch *f = fetch_of_world("pull x", streams);
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

		world_new(3, 20 * PART + 11, 300 + i);
		stop_after((i + 1) * size_of_world() / 5, 4);
		sent = world.sent;
		assert_int_equal(run_well(4) + sent, size_of_world());
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
	assert_ok(tb_names_read(&names, dir, &err), err);
	for (size_t i = 0; !*path && i < names.n; i++) {
		size_t len = strlen(names.v[i]);

		if (len >= strlen(end) && !strcmp(names.v[i] + len - strlen(end), end) &&
		    !strchr(names.v[i], '-') && (*end || len == 64))
			snprintf(path, sizeof(path), "%s/%s", dir, names.v[i]);
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
		uint64_t first = seed % 2 ? 20 * PART : PART / 2;

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
		run_well(2);
	}
	world_new(1, 3000, 406);
	{
		struct fetch *f = fetch_of_world("pull x", 2);
		struct tb_err err;

		assert_ok(fetch_run(f, NULL, &err), err);
		fetch_free(f);
		assert_int_equal(count_names(".done"), 1);
		scribble(file_in(".done"), 100);
	}
	assert_int_equal(run_well(2), 3000);
}

/* In a child that kills itself while bytes come. */
static void
killed_after(uint64_t bytes, unsigned streams)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		struct fetch *f = fetch_of_world("pull x", streams);
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

		world_new(4, 40 * PART, seed);
		total = size_of_world();
		for (int i = 0; i < 3; i++) {
			uint64_t n = total / 5 + tb_splitmix(&random) % (total / 8);

			killed_after(n, 2);
			sent += n;
		}
		moved = run_well(2);
		/* of each part that was on its way at most 64 kB, and what was in the hand */
		assert_true(sent + moved <= total + 3 * 2 * (65536 + 2 * 16384));
		assert_true((double)moved <= 1.1 * (double)(total - sent) + 2 * 3 * 98304);
	}
}

struct second { struct fetch *f; enum tb_status status; struct tb_err err; };

static void *
run_second(void *arg)
{
	struct second *s = arg;

	s->status = fetch_run(s->f, NULL, &s->err);
	return NULL;
}

static void
two_of_the_same_at_once(void **state)
{
	(void)state;
	for (uint64_t seed = 600; seed < 606; seed++) {
		struct second s[2];
		pthread_t id[2];

		world_new(6, 4 * PART, seed);
		for (int i = 0; i < 2; i++) {
			s[i].f = fetch_of_world(i ? "pull y" : "pull x", 2);
			assert_int_equal(pthread_create(&id[i], NULL, run_second, &s[i]), 0);
		}
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_join(id[i], NULL), 0);
		for (int i = 0; i < 2; i++) {
			assert_ok(s[i].status, s[i].err);
			all_are_right(s[i].f);
		}
		assert_int_equal(fetch_moved(s[0].f) + fetch_moved(s[1].f), size_of_world());
		fetch_clear(s[0].f);
		all_are_right(s[1].f);		/* the other may want them still */
		fetch_free(s[0].f);
		fetch_clear(s[1].f);
		assert_true(tb_absent(dir));
		fetch_free(s[1].f);
	}
}

static void
what_crawls_is_begun_anew(void **state)
{
	(void)state;
	world_new(12, 300000, 7);
	world.fault = CRAWL;
	world.times = 1;
	fetch_pace.slow = 0.1;
	assert_true(run_well(4) < size_of_world() + 100000);
	assert_true(world.other_connection);
}

static void *
cancel_soon(void *arg)
{
	double *when = arg;

	nap(0.2);
	*when = tb_monotonic();
	tb_job_cancel(world.job);
	return NULL;
}

static void
a_cancel_is_heard_at_once(void **state)
{
	static const enum fault faults[] = { STALL, BUSY, CRAWL };

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct fetch *f;
		pthread_t id;
		struct tb_err err;
		double when;

		world_new(2, 100000, 700 + i);
		world.fault = faults[i];
		world.times = -1;
		world.job = tb_job_new(-1);
		fetch_pace.pause = 3;
		f = fetch_of_world("pull x", 2);
		assert_int_equal(pthread_create(&id, NULL, cancel_soon, &when), 0);
		assert_int_equal(fetch_run(f, world.job, &err), TB_ECANCEL);
		assert_int_equal(pthread_join(id, NULL), 0);
		assert_true(tb_monotonic() - when < 0.5);	/* 0.05 where nobody else runs */
		fetch_free(f);
		tb_job_free(world.job);
	}
}

static void
room_is_looked_for_first(void **state)
{
	struct fetch *f;
	struct tb_err err;

	(void)state;
	world_new(1, 1000, 8);
	world.items[0].size = UINT64_C(1) << 61;
	f = fetch_of_world("pull x", 2);
	assert_fails(fetch_run(f, NULL, &err), err, TB_ELIMIT, "free are");
	assert_int_equal(world.asked, 0);
	fetch_free(f);
	world.items[0].size = UINT64_MAX;
	f = fetch_of_world("pull x", 2);
	assert_fails(fetch_run(f, NULL, &err), err, TB_ELIMIT, "more than any disk has");
	fetch_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_comes_once),
		cmocka_unit_test(one_digest_is_one_file),
		cmocka_unit_test(other_digests),
		cmocka_unit_test(faults_are_gone_round),
		cmocka_unit_test(what_does_not_end_well),
		cmocka_unit_test(no_ranges),
		cmocka_unit_test(a_cancel_loses_nothing),
		cmocka_unit_test(nothing_that_lies_there_is_believed),
		cmocka_unit_test(a_kill_loses_little),
		cmocka_unit_test(two_of_the_same_at_once),
		cmocka_unit_test(what_crawls_is_begun_anew),
		cmocka_unit_test(a_cancel_is_heard_at_once),
		cmocka_unit_test(room_is_looked_for_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
