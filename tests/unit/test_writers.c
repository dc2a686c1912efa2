/* Writers of models when the disk fails, is full, or somebody else writes meanwhile: what
 * was published is whole and stays, of what was not nothing is left. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/job.h"
#include "src/base/replace.h"
#include "src/ops/convert/convert.h"
#include "src/ops/import/import.h"
#include "tests/unit/fixture.h"
#include "tests/unit/unit.h"

#define DIMS(...) ((const uint64_t[4]){ __VA_ARGS__ })

/* The n-th sync fails so; before the n-th, something else happens. */
static atomic_int syncs;
static int fail_at, fail_errno, hook_at;
static bool folders_fail;		/* all of them, with fail_errno */
static void (*hook)(void);
static uint64_t bytes_free;		/* 0: as it is */

int
fsync(int fd)
{
	int n = atomic_fetch_add(&syncs, 1) + 1;
	struct stat st;

	if (hook && n == hook_at) {
		void (*now)(void) = hook;

		hook = NULL;
		now();
	}
	if (n == fail_at || (folders_fail && !fstat(fd, &st) && S_ISDIR(st.st_mode))) {
		errno = fail_errno;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int
statvfs(const char *path, struct statvfs *out)
{
	struct stat st;

	if (stat(path, &st))
		return -1;
	*out = (struct statvfs){ .f_bsize = 512, .f_frsize = 512,
				 .f_bavail = (bytes_free ? bytes_free : UINT64_C(1) << 40) / 512 };
	return 0;
}

static void
calm(void)
{
	syncs = 0;
	fail_at = fail_errno = hook_at = 0;
	folders_fail = false;
	hook = NULL;
	bytes_free = 0;
}

/* ---- one model, and the four ways to write it ---- */

static struct op_ctx ctx;
static struct model *source;

static int
setup(void **state)
{
	struct model_loc loc = { MODEL_SAFETENSORS_DIR, (char *)"src", NULL, (char *)"", 0 };
	struct tb_err err = { 0 };
	struct fixture f = { 0 };

	(void)state;
	fixture_dir("src");
	fixture_add(&f, "model.layers.0.mlp.up_proj.weight", DT_BF16, DIMS(64, 64));
	fixture_add(&f, "model.layers.0.mlp.down_proj.weight", DT_BF16, DIMS(64, 64));
	fixture_add(&f, "model.norm.weight", DT_BF16, DIMS(64));
	fixture_file(&f, "src/model.safetensors");
	fixture_text("src/config.json", "{\"architectures\":[\"LlamaForCausalLM\"]}");
	loc.path = strdup(unit_path("src"));
	assert_ok(model_open(&source, &loc, &err), err);
	free(loc.path);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	model_free(source);
	return 0;
}

enum way { TO_STORE, TO_DIR, TO_FILE, IMPORT, WAYS };

/* A fresh place for each attempt. */
static const char *
place(int n, enum way way)
{
	static char name[64];

	snprintf(name, sizeof(name), "p%d-%d", n, (int)way);
	return name;
}

static const char *
target_of(const char *at, enum way way)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", unit_path(at), way == TO_DIR ? "out" : "out.safetensors");
	return way == TO_STORE || way == IMPORT ? "m" : path;
}

static enum tb_status
convert(const char *at, enum way way, bool replace, struct tb_job *job, struct tb_err *err)
{
	struct plan_request req = { .model = source };
	struct convert_target target = { 0 };
	struct convert_result res = { 0 };
	struct plan *plan = NULL;
	enum tb_status status = convert_target(&ctx, target_of(at, way), &target, err);

	req.dest = target.dest;
	if (!status)
		status = plan_target_parse("keep", &req.target, err);
	if (!status)
		status = plan_new(&plan, &req, err);
	if (!status)
		status = op_convert(&ctx, &(struct convert_request){ .plan = plan, .target = &target,
				    .replace = replace }, job, &res, err);
	if (!status || status == TB_ESYNC)
		assert_non_null(res.where);
	convert_result_free(&res);
	plan_free(plan);
	convert_target_free(&target);
	return status;
}

/* Whoever asks for it: a screen may have asked a person long before. */
static void
the_source_is_refused(void **state)
{
	struct plan_request req = { .model = source, .dest = PLAN_TO_DIR, .target = { .keep = true } };
	char path[4096];
	struct convert_target target = { PLAN_TO_DIR, path, NULL, NULL, true };
	struct convert_result res;
	struct tb_err err = { 0 };
	struct plan *plan;

	(void)state;
	snprintf(path, sizeof(path), "%s", unit_path("src"));
	assert_ok(plan_new(&plan, &req, &err), err);
	assert_fails(op_convert(&ctx, &(struct convert_request){ .plan = plan, .target = &target,
				.replace = true }, NULL, &res, &err), err, TB_EUSAGE,
		     "is what is to be converted");
	plan_free(plan);
}

static enum tb_status
make(const char *at, enum way way, bool replace, struct tb_job *job, struct tb_err *err)
{
	struct import_request req = { .path = strdup(unit_path("src")), .name = "m", .replace = replace };
	struct import_result res;
	enum tb_status status;

	if (way == IMPORT) {
		status = op_import(&ctx, &req, job, &res, err);
		import_result_free(&res);
	} else {
		status = convert(at, way, replace, job, err);
	}
	free((char *)req.path);
	return status;
}

static void
begin(const char *at)
{
	struct tb_err err = { 0 };

	fixture_dir(at);
	assert_ok(op_ctx_init(&ctx, unit_path("index.db"), (const char *[]){ unit_path(at) }, 1, 2,
			      &err), err);
}

/* Regular files and folders below, "." and ".." aside. */
static size_t
entries(const char *dir, bool files)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d))) {
		char *path;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		path = tb_path_join(dir, e->d_name);
		if (tb_is_dir(path))
			n += !files + entries(path, files);
		else
			n++;
		free(path);
	}
	if (d)
		closedir(d);
	return n;
}

/* There, and all of it. */
static bool
is_whole(const char *at, enum way way)
{
	struct model_loc loc;
	struct tb_err err;
	struct model *m;
	bool whole;

	if (store_resolve(&ctx.roots, target_of(at, way), &loc, &err))
		return false;
	assert_ok(model_open(&m, &loc, &err), err);
	whole = m->nproblems == 0 && m->ntensors == 3;
	for (size_t i = 0; i < m->nfiles; i++) {
		char digest[TB_DIGEST_MAX];
		struct tb_file f;

		if (m->files[i].is_manifest || !*m->files[i].digest)
			continue;
		assert_ok(tb_file_open(&f, m->files[i].path, &err), err);
		assert_ok(tb_sha256_file(&f, NULL, NULL, digest, &err), err);
		tb_file_close(&f);
		whole &= !strcmp(digest, m->files[i].digest);
	}
	model_free(m);
	model_loc_free(&loc);
	return whole;
}

/* ---- */

/* Each sync in turn says EIO. */
static void
each_sync_fails(void **state)
{
	(void)state;
	for (enum way way = 0; way < WAYS; way++) {
		unsigned unsynced = 0, failed = 0;

		for (int n = 1; n < 1000; n++) {
			const char *at = place(n, way);
			struct tb_err err = { 0 };
			enum tb_status status;
			bool reached;

			begin(at);
			calm();
			fail_at = n;
			fail_errno = EIO;
			status = make(at, way, false, NULL, &err);
			reached = syncs >= n;
			calm();
			unsynced += status == TB_ESYNC;
			failed += status == TB_EIO;
			if (!status || status == TB_ESYNC)
				assert_true(is_whole(at, way));
			else
				assert_int_equal(entries(unit_path(at), true), 0);
			assert_int_equal(status != TB_OK, reached);
			if (status == TB_ESYNC)
				assert_non_null(strstr(err.msg, "written, but could not be synced"));
			op_ctx_free(&ctx);
			if (!reached)
				break;
		}
		assert_int_equal(unsynced, 1);		/* the last one, of the folder */
		assert_true(failed > 0);
	}
}

/* FUSE and others have no sync of folders: no failure. */
static void
no_folder_syncs(void **state)
{
	static const int none[] = { ENOSYS, EINVAL, EOPNOTSUPP };
	struct tb_err err = { 0 };

	(void)state;
	for (enum way way = 0; way < WAYS; way++)
		for (int i = 0; i < 3; i++) {
			const char *at = place(2000 + i, way);

			begin(at);
			calm();
			folders_fail = true;
			fail_errno = none[i];
			assert_ok(make(at, way, false, NULL, &err), err);
			assert_true(is_whole(at, way));
			calm();
			op_ctx_free(&ctx);
		}
}

/* Somebody else writes to the same place meanwhile. */

static char other[4096];
static bool other_is_empty;
static struct tb_job *victim_job;

static void
make_folder(void)
{
	char *path = tb_path_join(other, "precious");
	struct tb_err err;

	assert_ok(tb_mkdirs(other, &err), err);
	if (!other_is_empty)
		assert_ok(tb_out_file(path, "x", 1, false, &err), err);
	free(path);
}

static void
what_is_made_meanwhile_stays(void **state)
{
	(void)state;
	for (int n = 0; n < 4; n++) {
		enum way way = n & 1 ? TO_DIR : TO_FILE;
		const char *at = place(3000 + n, way);
		struct tb_err err = { 0 };

		begin(at);
		calm();
		snprintf(other, sizeof(other), "%s", target_of(at, way));
		other_is_empty = n & 2;
		hook = make_folder;
		hook_at = 1;
		assert_fails(make(at, way, false, NULL, &err), err, TB_EEXIST, "made meanwhile");
		assert_null(hook);
		assert_true(tb_is_dir(other));
		assert_int_equal(entries(unit_path(at), false), other_is_empty ? 1 : 2);
		op_ctx_free(&ctx);
	}
}

static const char *other_at;
static enum way other_way;
static enum tb_status other_status;

static void
make_the_same(void)
{
	struct tb_err err = { 0 };

	other_status = make(other_at, other_way, false, NULL, &err);
	if (victim_job && !other_status)
		tb_job_cancel(victim_job);
}

/* The slower of two that write the same is refused, or cancelled: the other's is whole. */
static void
the_winner_is_whole(void **state)
{
	(void)state;
	for (int n = 0; n < 2; n++) {
		for (enum way way = 0; way < WAYS; way++) {
			for (int when = 1; when < 12; when++) {
				const char *at = place(4000 + 20 * n + when, way);
				struct tb_err err = { 0 };
				enum tb_status status;

				begin(at);
				calm();
				victim_job = n ? tb_job_new(-1) : NULL;
				other_at = at;
				other_way = way;
				hook = make_the_same;
				hook_at = when;
				other_status = TB_OK;
				status = make(at, way, false, victim_job, &err);
				if (hook || other_status) {	/* not so many syncs, or it is there */
					assert_int_equal(status, TB_OK);
					assert_true(hook || other_status == TB_EEXIST);
					hook = NULL;
				} else if (n) {
					assert_true(status == TB_ECANCEL || status == TB_EEXIST);
				} else {
					assert_int_equal(status, TB_EEXIST);
					assert_non_null(strstr(err.msg, "exists already (made meanwhile)"));
				}
				tb_job_free(victim_job);
				victim_job = NULL;
				assert_true(is_whole(at, way));
				op_ctx_free(&ctx);
			}
		}
	}
}

/* Two that replace: both are written, one after the other, and the first is kept. */
static void
replaced_meanwhile(void **state)
{
	(void)state;
	for (enum way way = 0; way < WAYS; way++) {
		const char *at = place(5000, way);
		struct tb_err err = { 0 };
		size_t one;

		begin(at);
		calm();
		other_at = at;
		other_way = way;
		hook = make_the_same;
		hook_at = 1;
		assert_ok(make(at, way, true, NULL, &err), err);
		assert_null(hook);
		assert_int_equal(other_status, TB_OK);
		assert_true(is_whole(at, way));
		one = entries(unit_path(at), true);
		assert_ok(make(at, way, true, NULL, &err), err);
		assert_true(entries(unit_path(at), true) > one);
		assert_true(is_whole(at, way));
		op_ctx_free(&ctx);
	}
}

static void
room_is_looked_for_first(void **state)
{
	(void)state;
	for (enum way way = 0; way < WAYS; way++) {
		const char *at = place(6000, way);
		struct tb_err err = { 0 };

		begin(at);
		calm();
		bytes_free = 16u << 20;
		assert_fails(make(at, way, false, NULL, &err), err, TB_ELIMIT, "the result needs");
		assert_int_equal(entries(unit_path(at), true), 0);
		assert_int_equal(syncs, 0);
		calm();
		op_ctx_free(&ctx);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sync_fails),
		cmocka_unit_test(no_folder_syncs),
		cmocka_unit_test(what_is_made_meanwhile_stays),
		cmocka_unit_test(the_winner_is_whole),
		cmocka_unit_test(replaced_meanwhile),
		cmocka_unit_test(room_is_looked_for_first),
		cmocka_unit_test(the_source_is_refused),
	};

	/* Once on what there is, and in a child as where files cannot be without a name. */
	pid_t child = fork();
	int status = 1, failed;

	tb_out_hidden = child == 0;
	failed = cmocka_run_group_tests(tests, setup, teardown);
	if (child == 0)
		return failed;
	waitpid(child, &status, 0);
	return failed || status;
}
