/* test_oom.c - the first allocation fails, then the second, and so on until a call
 * gets through: each time it must say so, and give back what it had.  Not hashing by
 * libcrypto alone, which keeps what it has to say about the failure. */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <stdatomic.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/opt.h"
#include "src/base/out.h"
#include "src/base/pool.h"
#include "src/base/sha256_files.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/format/safetensors.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define NO_INTERPOSING 1	/* the sanitizer has taken malloc for itself */
#else

/* glibc lets a program bring its own malloc, and has its own under these names. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static _Thread_local bool armed;	/* only what the thread under test asks for counts */
static _Thread_local long countdown;	/* allocations until the one that fails */
static _Thread_local long live;

static bool
fails(void)
{
	return armed && --countdown == 0;
}

static void *
count(void *p)
{
	live += armed && p;
	return p;
}

void *
malloc(size_t n)
{
	return fails() ? (errno = ENOMEM, NULL) : count(__libc_malloc(n));
}

void *
calloc(size_t n, size_t size)
{
	return fails() ? (errno = ENOMEM, NULL) : count(__libc_calloc(n, size));
}

void *
realloc(void *p, size_t n)
{
	if (fails())
		return errno = ENOMEM, NULL;
	return p ? __libc_realloc(p, n) : count(__libc_malloc(n));
}

void *
aligned_alloc(size_t align, size_t n)
{
	return fails() ? (errno = ENOMEM, NULL) : count(__libc_memalign(align, n));
}

void
free(void *p)
{
	live -= armed && p;
	__libc_free(p);
}

typedef enum tb_status call_fn(struct tb_err *err);

/* A failing allocation inside a library may have been of no consequence: success is
 * fine too.  Whatever the end, nothing is left over. */
static void
torture(const char *what, call_fn *call)
{
	struct tb_err err;
	long n = 0, left, failures = 0;

	if (call(&err))			/* libraries make what they keep for good */
		fail_msg("%s: %s", what, err.msg);
	for (;;) {
		enum tb_status status;

		countdown = ++n;
		live = 0;
		err.msg[0] = 0;
		armed = true;
		status = call(&err);
		armed = false;
		left = countdown;
		if (live)
			fail_msg("%s, allocation %ld: %ld blocks left over", what, n, live);
		failures += status != TB_OK;
		if (status && status != TB_ENOMEM)
			fail_msg("%s, allocation %ld: %s", what, n, err.msg);
		if (status && !*err.msg)
			fail_msg("%s, allocation %ld: no message", what, n);
		if (left > 0)
			break;
		assert_true(n < 100000);
	}
	assert_int_equal(err.msg[0], 0);
	if (n > 1)
		assert_true(failures > 0);
}

static const char header[] =
	"{\"__metadata__\":{\"format\":\"pt\"},"
	"\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
	"\"b.weight\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[16,24]}}";
/* The same, but not as everybody writes it. */
static const char odd_header[] =
	"{\"\\u0061.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}";
static const char layers[] =
	"{\"schemaVersion\":2,\"mediaType\":\"application/vnd.docker.distribution.manifest.v2+json\","
	"\"config\":{\"mediaType\":\"application/vnd.docker.container.image.v1+json\",\"digest\":"
	"\"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\",\"size\":0},"
	"\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.tensor\",\"digest\":"
	"\"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\",\"size\":3,"
	"\"name\":\"a.weight\"}]}";
static const char *path;

static enum tb_status
slurp(struct tb_err *err)
{
	char *text;
	enum tb_status status = tb_file_slurp(path, 100, &text, NULL, err);

	free(text);
	return status;
}

static enum tb_status
write_file(struct tb_err *err)
{
	return tb_out_file(path, "new", 3, true, err);
}

static enum tb_status
options(struct tb_err *err)
{
	char *argv[] = { (char *)"x", (char *)"-s", (char *)"a", NULL };
	struct tb_strs list = { 0 };
	const struct tb_opt table[] = {
		{ 's', "store", TB_OPT_LIST, &list, "DIR", "" }, { .name = NULL },
	};
	int argc = 3;
	enum tb_status status = tb_opt_parse(table, &argc, argv, false, err);

	tb_strs_free(&list);
	return status;
}

static enum tb_status
job(struct tb_err *err)
{
	struct tb_job *j = tb_job_new(-1);

	tb_job_post(j, 1, "x", 1);
	tb_job_free(j);
	return j ? TB_OK : tb_nomem(err);
}

static enum tb_status
read_json(struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status = json_parse(&doc, header, sizeof(header) - 1, "header", err);

	if (!status)
		json_free(doc);
	return status;
}

static enum tb_status
write_json(struct tb_err *err)
{
	cJSON *doc = json_object(), *list = json_array();
	char *text;

	json_push_str(list, "x");
	json_push_f64(list, 0.1);
	json_set(doc, "list", list);
	json_set_u64(doc, "n", UINT64_MAX);
	text = json_print(doc);
	json_free(doc);
	free(text);
	return text ? TB_OK : tb_nomem(err);
}

static enum tb_status
read_header(struct tb_err *err)
{
	struct st_header h;
	enum tb_status status = st_parse(&h, header, sizeof(header) - 1, 24, "header", err);

	if (!status)
		st_free(&h);
	return status;
}

static enum tb_status
read_odd_header(struct tb_err *err)
{
	struct st_header h;
	enum tb_status status = st_parse(&h, odd_header, sizeof(odd_header) - 1, 16, "header", err);

	if (!status)
		st_free(&h);
	return status;
}

static enum tb_status
write_header(struct tb_err *err)
{
	struct st_tensor t[] = {
		{ .name = "b", .dtype = DT_F32, .ndim = 1, .dim = { 3 } },
		{ .name = "a", .dtype = DT_U8, .ndim = 0 },
	};
	struct tb_buf out = TB_BUF(1000);
	enum tb_status status = st_layout(t, 2, NULL, 0, &out, err);

	if (!status && tb_buf_failed(&out))
		status = tb_nomem(err);
	tb_buf_free(&out);
	return status;
}

static enum tb_status
manifest(struct tb_err *err)
{
	struct tb_buf out = TB_BUF(4096);
	struct manifest m;
	enum tb_status status = manifest_parse(&m, layers, sizeof(layers) - 1, "manifest", err);

	if (!status) {
		manifest_print(&m, &out);
		if (tb_buf_failed(&out))
			status = tb_nomem(err);
		manifest_free(&m);
	}
	tb_buf_free(&out);
	return status;
}

struct hashed { enum tb_status status; unsigned n; };

static void
file_hashed(void *arg, size_t i, const struct tb_file *f, enum tb_status status,
	    const char digest[TB_DIGEST_MAX], struct tb_err *err)
{
	struct hashed *h = arg;

	(void)i;
	(void)f;
	(void)digest;
	(void)err;
	h->n++;
	h->status = status ? status : h->status;
}

/* Each file is told of, or the whole fails. */
static enum tb_status
hash_files(struct tb_err *err)
{
	const struct tb_hash_file files[] = { { path, 100, 1 }, { path, 100, 1 }, { path, 100, 2 } };
	struct hashed h = { TB_OK, 0 };
	const struct tb_hash_files all = { .files = files, .n = 3, .arg = &h,
					   .done = file_hashed };
	enum tb_status status = tb_sha256_files(NULL, &all, NULL, err);

	if (status)
		return status;
	if (h.n != 3)
		return tb_fail(err, TB_EIO, "%u of 3 files were told of", h.n);
	return h.status ? tb_fail(err, h.status, "a file was not hashed") : TB_OK;
}
#endif

static void
every_allocation_may_fail(void **state)
{
	(void)state;
#ifdef NO_INTERPOSING
	skip();
#else
	path = unit_write("file", "text", 4);
	torture("reading a file", slurp);
	torture("hashing files", hash_files);
	torture("writing a file", write_file);
	torture("options", options);
	torture("a job", job);
	torture("reading JSON", read_json);
	torture("writing JSON", write_json);
	torture("a safetensors header", read_header);
	torture("one with an escape", read_odd_header);
	torture("writing a safetensors header", write_header);
	torture("a manifest", manifest);
#endif
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_may_fail) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
