#include "config.h"

#include "src/ops/demo/demo.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/dir.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/ops/convert/convert.h"
#include "src/store/ollama.h"

#define LONG_AGO 1000000000	/* seconds since 1970 */

/* A Hugging Face directory is written, and this is made of it. */
struct product { unsigned source; const char *name, *quant, *policy; enum plan_experts experts; };
static const struct product sound[] = {
	{ 0, "demo:bf16", "keep", NULL, PLAN_EXPERTS_DEFAULT },
	{ 0, "demo:int4", "int4", NULL, PLAN_EXPERTS_DEFAULT },
	{ 0, "demo:int8", "int8", NULL, PLAN_EXPERTS_DEFAULT },
	{ 0, "demo:mxfp8", "mxfp8", NULL, PLAN_EXPERTS_DEFAULT },
	{ 1, "demo-moe:bf16", "keep", NULL, PLAN_EXPERTS_DEFAULT },
	{ 1, "demo-moe:nvfp4", "nvfp4", NULL, PLAN_EXPERTS_DEFAULT },
	{ 1, "demo-moe:int4", "int4", NULL, PLAN_EXPERTS_EACH },
};
#define NSOUND (sizeof(sound) / sizeof(*sound))

struct set {
	struct demo_model sources[3];
	unsigned nsources;
	struct product damaged;		/* of it a bit is flipped */
};

/* The embedding of the damaged one is int8, too, and so the largest file is its own. */
static const struct set trained = {
	{ { "own", 0, 0, 0 }, { "moe", 1871, 0, 4 } }, 2,
	{ 0, "demo-damaged:int8", "int8", "uniform", PLAN_EXPERTS_DEFAULT },
};
static const struct set random_weights = {
	{ { "dense", 20250921, 4, 0 }, { "moe", 977, 3, 4 }, { "other", 31337, 2, 0 } }, 3,
	{ 2, "demo-damaged:int8", "int8", NULL, PLAN_EXPERTS_DEFAULT },
};

static enum tb_status
make(const struct op_ctx *ctx, const struct product *p, const char *src, const char *store,
     struct tb_job *job, struct tb_err *err)
{
	struct model_loc loc = { MODEL_SAFETENSORS_DIR, (char *)p->name, (char *)src, (char *)"", 0 };
	struct convert_target target = { PLAN_TO_STORE, NULL, (char *)store, (char *)p->name, false };
	struct plan_request req = { .dest = PLAN_TO_STORE, .experts = p->experts };
	struct convert_result result = { 0 };
	struct model *m = NULL;
	struct plan *plan = NULL;
	enum tb_status status = model_open(&m, &loc, err);

	if (!status)
		status = plan_ask(&req, p->quant, p->policy, err);
	req.model = m;
	if (!status)
		status = plan_new(&plan, &req, err);
	if (!status)
		status = op_convert(ctx, &(struct convert_request){ .plan = plan,
				    .target = &target }, job,
				    &result, err);
	convert_result_free(&result);
	plan_free(plan);
	model_free(m);
	return status;
}

static void
remove_source(const char *dir)
{
	struct tb_names names;

	if (tb_names_read(&names, dir, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		char *path = tb_path_join(dir, names.v[i]);

		if (path)
			unlink(path);
		free(path);
	}
	tb_names_free(&names);
	rmdir(dir);
}

/* All products of one source, whose directory is gone afterwards. */
static enum tb_status
make_all(const struct op_ctx *ctx, const struct set *set, unsigned source, const char *store,
	 struct tb_job *job, struct tb_err *err)
{
	const struct demo_model *m = &set->sources[source];
	char *dir = tb_asprintf("%s/.source-%s", store, m->name);
	enum tb_status status = !dir ? tb_nomem(err) : m->layers ? demo_write(m, dir, err)
								 : demo_write_trained(m, dir, err);

	for (size_t i = 0; i < NSOUND && !status; i++)
		if (sound[i].source == source)
			status = make(ctx, &sound[i], dir, store, job, err);
	if (!status && set->damaged.source == source)
		status = make(ctx, &set->damaged, dir, store, job, err);
	if (dir)
		remove_source(dir);
	free(dir);
	return status;
}

/* Flips the bit and puts the time back, as a disk would do it. */
static enum tb_status
flip(const char *path, uint64_t size, struct tb_err *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	uint8_t byte = 0;
	bool ok;

	if (fd < 0)
		return tb_fail_errno(err, "%s", path);
	ok = fstat(fd, &st) == 0 && pread(fd, &byte, 1, (off_t)(size / 2)) == 1;
	byte ^= 4;
	ok = ok && pwrite(fd, &byte, 1, (off_t)(size / 2)) == 1 &&
	     futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }) == 0;
	if (!ok)
		(void)tb_fail_errno(err, "%s", path);
	close(fd);
	return ok ? TB_OK : TB_EIO;
}

static enum tb_status
damage(const char *store, const char *text, struct tb_err *err)
{
	struct model_name name;
	struct model_loc loc = { MODEL_OLLAMA_TENSORS, tb_strdup(text), NULL, tb_strdup(store), 0 };
	const struct model_file *largest = NULL;
	struct model *m = NULL;
	enum tb_status status = name_parse(text, &name, err);

	loc.path = status ? NULL : ollama_manifest_path(store, &name);
	if (!status)
		status = loc.path && loc.name && loc.root ? model_open(&m, &loc, err) : tb_nomem(err);
	for (size_t i = 0; m && i < m->nfiles; i++)
		if (m->files[i].media == MEDIA_TENSOR &&
		    (!largest || m->files[i].id.size > largest->id.size))
			largest = &m->files[i];
	if (!status)
		status = largest ? flip(largest->path, largest->id.size, err)
				 : tb_fail(err, TB_ENOENT, "%s: has no tensors", text);
	model_free(m);
	model_loc_free(&loc);
	return status;
}

static enum tb_status
orphan(const char *store, char **digest, struct tb_err *err)
{
	const struct timespec long_ago[2] = { { .tv_sec = LONG_AGO }, { .tv_sec = LONG_AGO } };
	char text[4096], *path;
	enum tb_status status;

	memset(text, 'o', sizeof(text));
	*digest = tb_calloc(1, TB_DIGEST_MAX);
	if (!*digest)
		return tb_nomem(err);
	status = tb_sha256_bytes(text, sizeof(text), *digest, err);
	if (status)
		return status;
	path = ollama_blob_path(store, *digest);
	status = path ? tb_out_file(path, text, sizeof(text), false, err) : tb_nomem(err);
	if (!status)	/* a young one might still be waiting for its model */
		(void)!utimensat(AT_FDCWD, path, long_ago, 0);
	free(path);
	return status;
}

enum tb_status
op_demo(const struct op_ctx *ctx, const char *dir, bool random, struct tb_job *job,
	struct demo_result *out, struct tb_err *err)
{
	const struct set *set = random ? &random_weights : &trained;
	const char *bad = set->damaged.name;
	bool empty;
	enum tb_status status = tb_dir_empty(dir, &empty, err);

	if (!status && !empty)
		status = tb_fail(err, TB_EEXIST, "%s: is not empty", dir);
	*out = (struct demo_result){ .models = NSOUND + 1 };
	for (unsigned i = 0; i < set->nsources && !status; i++) {
		status = tb_job_check(job, err);
		if (!status)
			status = make_all(ctx, set, i, dir, job, err);
	}
	if (!status)
		status = damage(dir, bad, err);
	if (!status)
		status = orphan(dir, &out->orphan, err);
	out->damaged = status ? NULL : tb_strdup(bad);
	if (!status && !out->damaged)
		status = tb_nomem(err);
	if (status)
		demo_result_free(out);
	return status;
}

void
demo_result_free(struct demo_result *r)
{
	free(r->damaged);
	free(r->orphan);
	*r = (struct demo_result){ 0 };
}
