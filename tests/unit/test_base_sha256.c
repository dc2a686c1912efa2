#include "config.h"

#include "tests/unit/unit.h"

#include <unistd.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/sha256.h"

/* FIPS 180-4 and the NIST example vectors. */
static const struct { const char *text, *digest; } vectors[] = {
	{ "", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};
static const char million_a[] =
	"sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void
known_vectors(void **state)
{
	char digest[TB_DIGEST_MAX];
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		assert_ok(tb_sha256_bytes(vectors[i].text, strlen(vectors[i].text), digest, &err), err);
		assert_string_equal(digest, vectors[i].digest);
	}
}

static void
pieces_make_the_whole(void **state)
{
	struct tb_sha256 s;
	char digest[TB_DIGEST_MAX], a[1000];
	struct tb_err err;

	(void)state;
	memset(a, 'a', sizeof(a));
	assert_ok(tb_sha256_init(&s, &err), err);
	for (size_t left = 1000000, n = 1; left; left -= n, n = n % 977 + 1) {
		if (n > left)
			n = left;
		tb_sha256_add(&s, a, n);
	}
	tb_sha256_done(&s, digest);
	assert_string_equal(digest, million_a);
	tb_sha256_free(&s);
	assert_ok(tb_sha256_init(&s, &err), err);
	tb_sha256_free(&s);
	tb_sha256_free(&s);
}

static void
files_are_hashed_with_progress(void **state)
{
	size_t size = 3000001;
	char *bytes = malloc(size), digest[TB_DIGEST_MAX], want[TB_DIGEST_MAX];
	struct tb_job *job = tb_job_new(-1);
	struct tb_progress p;
	struct tb_file f;
	struct tb_err err;
	const char *path;

	(void)state;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	assert_ok(tb_sha256_bytes(bytes, size, want, &err), err);
	path = unit_write("big", bytes, size);
	assert_ok(tb_file_open(&f, path, &err), err);
	tb_job_begin(job);
	assert_ok(tb_sha256_file(&f, job, NULL, digest, &err), err);
	assert_string_equal(digest, want);
	tb_job_progress(job, &p);
	assert_int_equal(p.done, size);
	assert_ok(tb_sha256_file(&f, NULL, NULL, digest, &err), err);

	tb_job_cancel(job);
	assert_fails(tb_sha256_file(&f, job, NULL, digest, &err), err, TB_ECANCEL, "cancelled");
	assert_int_equal(truncate(path, (off_t)size - 1), 0);	/* within its last page */
	assert_fails(tb_sha256_file(&f, NULL, NULL, digest, &err), err, TB_EIO, "ends at 3000000");
	assert_int_equal(truncate(path, 2000000), 0);
	assert_fails(tb_sha256_file(&f, NULL, NULL, digest, &err), err, TB_EIO, "ends at 2000000");
	tb_file_close(&f);
	assert_ok(tb_file_open(&f, unit_write("nothing", "", 0), &err), err);
	assert_ok(tb_sha256_file(&f, NULL, NULL, digest, &err), err);
	assert_string_equal(digest, vectors[0].digest);
	tb_file_close(&f);
	tb_job_free(job);
	free(bytes);
}

struct watch { char *copy; uint64_t at; bool torn; };

static void
watch_bytes(void *arg, uint64_t off, const uint8_t *p, size_t len)
{
	struct watch *w = arg;

	w->torn |= off != w->at;
	memcpy(w->copy + off, p, len);
	w->at = off + len;
}

static void
others_see_what_is_hashed(void **state)
{
	size_t size = 9u << 20 | 77;	/* more than a window that is mapped */
	char *bytes = malloc(size), digest[TB_DIGEST_MAX], want[TB_DIGEST_MAX];
	struct watch w = { .copy = calloc(size, 1) };
	const struct tb_seen seen = { watch_bytes, &w };
	struct tb_file f;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 13 + i / 4099);
	assert_ok(tb_sha256_bytes(bytes, size, want, &err), err);
	assert_ok(tb_file_open(&f, unit_write("seen", bytes, size), &err), err);
	assert_ok(tb_sha256_file(&f, NULL, &seen, digest, &err), err);
	tb_file_close(&f);
	assert_string_equal(digest, want);
	assert_false(w.torn);
	assert_int_equal(w.at, size);
	assert_memory_equal(w.copy, bytes, size);
	free(w.copy);
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_vectors),
		cmocka_unit_test(pieces_make_the_whole),
		cmocka_unit_test(files_are_hashed_with_progress),
		cmocka_unit_test(others_see_what_is_hashed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
