#include "config.h"

#include "tests/unit/db_fake.h"

#include <stdio.h>

#include "db/audit.h"
#include "src/base/mem.h"
#include "tests/unit/unit.h"

static struct tensor
tensor(const char *name, enum dtype d, uint64_t rows, uint64_t cols)
{
	return (struct tensor){
		.name = name, .scheme = scheme_plain(d), .ndim = 2, .dim = { rows, cols },
		.elems = rows * cols, .bytes = rows * cols * dtype_bits(d) / 8,
		.weight = { .file = 1, .dtype = d, .off = 64 },
	};
}

void
fake_model(struct fake *f, const char *name, uint64_t inode)
{
	*f = (struct fake){ 0 };
	snprintf(f->manifest, sizeof(f->manifest), "/store/manifests/%s", name);
	snprintf(f->blob, sizeof(f->blob), "/store/blobs/own-%s", name);
	f->files[0] = (struct model_file){ .path = f->manifest, .is_manifest = true,
		.media = MEDIA_UNKNOWN, .id = { 1, inode, 300, 7 } };
	f->files[1] = (struct model_file){ .path = (char *)"/store/blobs/shared",
		.media = MEDIA_TENSOR, .digest = SHARED, .id = { 1, 50, 1000, 7 } };
	f->files[2] = (struct model_file){ .path = f->blob, .media = MEDIA_TENSOR,
		.name = (char *)"layer", .digest = OWN, .id = { 1, inode + 1, 20, 7 } };
	f->tensors[0] = tensor("lm_head.weight", DT_BF16, 2, 8);
	f->tensors[1] = tensor("model.layers.2.up_proj.weight", DT_F32, 4, 4);
	f->tensors[2] = tensor("model.layers.10.up_proj.weight", DT_F32, 4, 4);
	f->tensors[3] = tensor("model.norm.weight\x1b[31m'", DT_F32, 1, 4);
	f->m = (struct model){
		.loc = { .kind = MODEL_OLLAMA_TENSORS, .name = (char *)name, .path = f->manifest,
			 .root = (char *)"/store", .mtime_ns = 7 },
		.arch = (char *)"llama", .files = f->files, .nfiles = 3, .tensors = f->tensors,
		.ntensors = 4, .params = 52, .bytes = 1320, .scheme = "F32",
	};
}

char *
fake_path(const char *name)
{
	char *dir = tb_strdup(unit_path(name)), *path = tb_asprintf("%s/index.db", dir);

	free(dir);
	assert_non_null(path);
	return path;
}

void
fake_put(struct db *db, struct fake *f, uint64_t stamp)
{
	struct tb_err err = { 0 };
	struct db_put p = { .model = &f->m, .stamp = stamp };

	assert_ok(db_root(db, "/store", &p.root, &err), err);
	assert_ok(db_begin(db, &err), err);
	assert_ok(db_put_model(db, &p, &err), err);
	assert_ok(db_end(db, TB_OK, &err), err);
}

void
fake_finish(struct db *db)
{
	struct tb_err err = { 0 };
	int64_t root;

	assert_ok(db_root(db, "/store", &root, &err), err);
	assert_ok(db_begin(db, &err), err);
	assert_ok(db_finish_root(db, root, true, 99, &(struct unread){ 0 }, &err), err);
	assert_ok(db_end(db, TB_OK, &err), err);
}

void
fake_index(const char *path)
{
	struct tb_err err = { 0 };
	struct db_run run = { .scope = "everything", .started_ns = 1 };
	struct fake f;
	struct db *db;
	int64_t id;

	assert_ok(db_open_write(&db, path, &err), err);
	fake_model(&f, "m", 100);
	fake_put(db, &f, 1);
	assert_ok(db_run_start(db, &run, &id, &err), err);
	db_settle(db);
	db_close(db);
}
