#include "config.h"

#include "tests/unit/fetch_world.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "tests/unit/unit.h"

#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/hash.h"

struct world world = { .lock = PTHREAD_MUTEX_INITIALIZER };

void
world_nap(double s)
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
		world_nap(0.005);
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
			world_nap(pause);
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
void
world_new(size_t n, uint64_t size, uint64_t seed)
{
	uint64_t state = seed;
	struct tb_err err;

	for (size_t i = 0; i < world.n; i++)
		free(world.data[i]);
	pthread_mutex_destroy(&world.lock);
	world = (struct world){ .n = n };
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
	snprintf(world.dir, sizeof(world.dir), "%s/pull-%ju", unit_tmp(), (uintmax_t)seed);
	patience_pace = 0.008;
	fetch_pace = (struct fetch_pace){ .slow = 0.3, .busy = 0.02 };
}

struct fetch *
world_fetch(const char *note, unsigned streams)
{
	const struct fetch_opts opts = { .dir = world.dir, .streams = streams, .part = WORLD_PART,
					 .note = note, .blobs = world.blobs };
	const struct fetch_source source = { .get = get };
	struct fetch *f;
	struct tb_err err;

	assert_ok(fetch_new(&f, &source, &opts, &err), err);
	for (size_t i = 0; i < world.n; i++)
		assert_ok(fetch_add(f, &world.items[i], &err), err);
	return f;
}

void
world_is_right(const struct fetch *f)
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

size_t
world_names(const char *part)
{
	struct tb_names names;
	size_t n = 0;

	if (tb_names_read(&names, world.dir, NULL))
		return 0;
	for (size_t i = 0; i < names.n; i++)
		n += strstr(names.v[i], part) != NULL;
	tb_names_free(&names);
	return n;
}

/* Runs to its end, and takes it. */
uint64_t
world_run(unsigned streams)
{
	struct fetch *f = world_fetch("pull x", streams);
	struct fetch_row row;
	struct tb_err err;
	uint64_t moved;

	assert_ok(fetch_run(f, NULL, &err), err);
	world_is_right(f);
	assert_int_equal(fetch_look(f, &row, 1), world.n);
	assert_int_equal(row.state, FETCH_DONE);
	assert_int_equal(row.there + row.got, row.size);
	assert_int_equal(world_names(".parts"), 0);
	moved = fetch_moved(f);
	fetch_clear(f);
	assert_true(tb_absent(world.dir));
	fetch_free(f);
	return moved;
}

uint64_t
world_size(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < world.n; i++)
		sum += world.items[i].size;
	return sum;
}
