#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/audit.h"
#include "db/blob.h"
#include "db/db.h"
#include "db/write.h"
#include "src/base/file.h"
#include "src/base/mem.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SHARED "sha256:" HEX64
#define OWN "sha256:ff" "23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A model that is made up here: a manifest, a blob that others share, one of its own. */
struct fake {
	struct model m;
	struct model_file files[3];
	struct tensor tensors[4];
	struct model_problem problem;
	char path[64], manifest[80], blob[64];
};

static struct tensor
tensor(const char *name, enum dtype d, uint64_t rows, uint64_t cols)
{
	return (struct tensor){
		.name = name, .scheme = scheme_plain(d), .ndim = 2, .dim = { rows, cols },
		.elems = rows * cols, .bytes = rows * cols * dtype_bits(d) / 8,
		.weight = { .file = 1, .dtype = d, .off = 64 },
	};
}

static void
fake(struct fake *f, const char *name, uint64_t inode)
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

static char *
fresh(const char *name)
{
	char *dir = tb_strdup(unit_path(name)), *path = tb_asprintf("%s/index.db", dir);

	free(dir);
	assert_non_null(path);
	return path;
}

static void
put(struct db *db, struct fake *f, uint64_t stamp)
{
	struct tb_err err = { 0 };
	struct db_put p = { .model = &f->m, .stamp = stamp };

	assert_ok(db_root(db, "/store", &p.root, &err), err);
	assert_ok(db_begin(db, &err), err);
	assert_ok(db_put_model(db, &p, &err), err);
	assert_ok(db_commit(db, &err), err);
}

static void
finish(struct db *db)
{
	struct tb_err err = { 0 };
	int64_t root;

	assert_ok(db_root(db, "/store", &root, &err), err);
	assert_ok(db_begin(db, &err), err);
	assert_ok(db_finish_root(db, root, true, 99, &err), err);
	assert_ok(db_commit(db, &err), err);
}

static void
test_absent(void **state)
{
	char *path = fresh("absent");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_runs runs;
	struct db *db;

	(void)state;
	assert_ok(db_open_read(&db, path, &err), err);
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.n, 0);
	assert_ok(db_runs(db, NULL, &runs, &err), err);
	assert_int_equal(runs.total, 0);
	assert_string_equal(db_notice(db), "");
	assert_false(tb_exists(path));
	assert_false(db_changed(db));
	db_close(db);
	free(path);
}

static void
test_rows(void **state)
{
	char *path = fresh("rows");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_blobs blobs;
	struct db_totals totals;
	struct fake a, b;
	struct db *w, *r;

	(void)state;
	assert_ok(db_open_read(&r, path, &err), err);
	assert_ok(db_open_write(&w, path, &err), err);
	fake(&a, "a10", 100);
	fake(&b, "a9", 200);
	put(w, &a, 1);
	put(w, &b, 2);
	finish(w);
	assert_true(db_changed(r));		/* the file has appeared */
	assert_ok(db_models(r, NULL, &models, &err), err);
	assert_int_equal(models.n, 2);
	assert_string_equal(models.rows[0].name, "a9");	/* natural order */
	assert_int_equal(models.rows[0].bytes, 1320);
	assert_int_equal(models.rows[0].exclusive, 320);
	assert_int_equal(models.rows[0].state, DB_NEVER);
	db_free(&models.mem);
	assert_ok(db_blobs(r, DB_BLOBS_SHARED, NULL, &blobs, &err), err);
	assert_int_equal(blobs.n, 1);
	assert_string_equal(blobs.rows[0].digest, SHARED);
	assert_int_equal(blobs.rows[0].owners, 2);
	assert_string_equal(blobs.rows[0].media, "tensor");
	assert_ok(db_blob_owners(r, blobs.rows[0].id, &models, &err), err);
	assert_int_equal(models.n, 2);
	db_free(&models.mem);
	db_free(&blobs.mem);
	assert_ok(db_blob_find(r, "ff23", NULL, &blobs, &err), err);
	assert_int_equal(blobs.n, 2);
	db_free(&blobs.mem);
	assert_ok(db_totals(r, NULL, &totals, &err), err);
	assert_int_equal(totals.bytes, 1040);
	assert_int_equal(totals.shared_bytes, 1000);
	assert_int_equal(totals.tensors, 8);
	assert_int_equal(totals.scanned_ns, 99);
	db_close(r);
	db_close(w);
	free(path);
}

static void
test_windows(void **state)
{
	char *path = fresh("windows"), name[16];
	struct tb_err err = { 0 };
	struct db_query q = { .filter = "M", .sort = "size", .reverse = true, .offset = 3, .limit = 4 };
	struct db_models models;
	struct fake f;
	struct db *db;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		fake(&f, name, 1000 + 10 * (uint64_t)i);
		f.m.bytes = 100 + (uint64_t)i;
		put(db, &f, 1);
	}
	assert_ok(db_models(db, &q, &models, &err), err);
	assert_int_equal(models.total, 12);
	assert_int_equal(models.n, 4);
	assert_string_equal(models.rows[0].name, "m3");
	db_free(&models.mem);
	q = (struct db_query){ .filter = "m1?" };
	assert_ok(db_models(db, &q, &models, &err), err);
	assert_int_equal(models.total, 2);
	db_free(&models.mem);
	q = (struct db_query){ .sort = "weight; DROP TABLE models" };
	assert_fails(db_models(db, &q, &models, &err), err, TB_EUSAGE, "one of: name kind");
	q = (struct db_query){ .filter = "' OR 1 --" };
	assert_ok(db_models(db, &q, &models, &err), err);
	assert_int_equal(models.total, 0);
	db_free(&models.mem);
	db_close(db);
	free(path);
}

static void
test_tensors(void **state)
{
	char *path = fresh("tensors");
	struct tb_err err = { 0 };
	struct db_query q = { .filter = "proj" };
	struct db_tensors t;
	struct db_branches b, c;
	struct fake f;
	struct db *db;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	fake(&f, "m", 100);
	put(db, &f, 1);
	assert_ok(db_tensors(db, 1, NULL, &t, &err), err);
	assert_int_equal(t.n, 4);
	assert_string_equal(t.rows[1].name, f.tensors[1].name);
	assert_string_equal(t.rows[3].name, f.tensors[3].name);
	assert_string_equal(t.rows[0].scheme, "BF16");
	assert_string_equal(t.rows[0].file, "/store/blobs/shared");
	assert_int_equal(t.rows[0].ndim, 2);
	assert_int_equal(t.rows[0].dim[1], 8);
	db_free(&t.mem);
	assert_ok(db_tensors(db, 1, &q, &t, &err), err);
	assert_int_equal(t.total, 2);
	db_free(&t.mem);
	q.filter = "p_proj layers.10";		/* _ is no wildcard; words may stand anywhere */
	assert_ok(db_search(db, &q, &t, &err), err);
	assert_int_equal(t.total, 1);
	assert_string_equal(t.rows[0].name, f.tensors[2].name);
	assert_string_equal(t.rows[0].model_name, "m");
	db_free(&t.mem);
	q.filter = "p.proj";
	assert_ok(db_search(db, &q, &t, &err), err);
	assert_int_equal(t.total, 0);
	db_free(&t.mem);
	q.filter = "it's %' \"";
	assert_ok(db_search(db, &q, &t, &err), err);
	assert_int_equal(t.total, 0);
	db_free(&t.mem);
	assert_ok(db_children(db, 1, NULL, &b, &err), err);
	assert_int_equal(b.n, 2);
	assert_true(b.rows[0].leaf == false && !strcmp(b.rows[0].label, "lm_head"));
	assert_string_equal(b.rows[1].path, "model");
	assert_int_equal(b.rows[1].count, 3);
	assert_int_equal(b.rows[1].elems, 36);
	assert_string_equal(b.rows[1].scheme, "F32");
	assert_ok(db_children(db, 1, &b.rows[1], &c, &err), err);
	assert_int_equal(c.n, 2);
	assert_string_equal(c.rows[0].label, "layers");
	db_free(&b.mem);
	assert_ok(db_children(db, 1, &c.rows[0], &b, &err), err);
	assert_int_equal(b.n, 2);
	assert_string_equal(b.rows[1].path, "model.layers.10");
	db_free(&b.mem);
	db_free(&c.mem);
	db_close(db);
	free(path);
}

/* Windows of a search fit together, in every order, and agree with what SQL says. */
static void
check_search(struct db *db, const char *words, const char *sort, bool reverse, size_t want)
{
	struct db_query q = { .filter = words, .sort = sort, .reverse = reverse };
	struct tb_err err = { 0 };
	struct db_tensors all, part;
	uint64_t at;
	bool found;

	assert_ok(db_search(db, &q, &all, &err), err);
	assert_int_equal(all.total, want);
	assert_int_equal(all.n, want);
	for (size_t i = 0; i < all.n; i++) {
		q.offset = i;
		q.limit = i % 3 + 1;
		assert_ok(db_search(db, &q, &part, &err), err);
		assert_int_equal(part.total, want);
		assert_int_equal(part.n, i + q.limit <= want ? q.limit : want - i);
		assert_string_equal(part.rows[0].name, all.rows[i].name);
		assert_string_equal(part.rows[0].model_name, all.rows[i].model_name);
		assert_ok(db_search_find(db, &q, all.rows[i].model, all.rows[i].ord, &at, &found,
					 &err), err);
		assert_true(found && at == i);
		db_free(&part.mem);
	}
	q.offset = want + 5;
	assert_ok(db_search(db, &q, &part, &err), err);
	assert_int_equal(part.n, 0);
	assert_int_equal(part.total, want);
	db_free(&part.mem);
	db_free(&all.mem);
}

static void
test_search(void **state)
{
	char *path = fresh("search"), name[16];
	struct tb_err err = { 0 };
	struct db_query q = { .filter = "p_proj", .sort = "name", .limit = 3 };
	struct db_tensors t;
	struct fake f;
	struct db *w, *r;

	(void)state;
	assert_ok(db_open_write(&w, path, &err), err);
	for (int i = 12; i-- > 0; ) {
		snprintf(name, sizeof(name), "m%d", i);
		fake(&f, name, 1000 + 10 * (uint64_t)i);
		put(w, &f, 1);
	}
	assert_ok(db_open_read(&r, path, &err), err);
	for (int reverse = 0; reverse < 2; reverse++)
		for (int i = 0; i < 4; i++) {
			static const char *const sorts[] = { NULL, "model", "name", "size" };

			check_search(r, "", sorts[i], reverse, 48);
			check_search(r, "layers", sorts[i], reverse, 24);
			check_search(r, "LAYERS.10 proj", sorts[i], reverse, 12);
			check_search(r, "*.layers.10.*", sorts[i], reverse, 12);
			check_search(w, "proj", sorts[i], reverse, 24);
		}
	check_search(r, "layers nowhere", NULL, false, 0);
	assert_ok(db_search(r, &q, &t, &err), err);
	assert_string_equal(t.rows[0].name, t.rows[1].name);	/* models in natural order */
	assert_string_equal(t.rows[0].model_name, "m0");
	assert_string_equal(t.rows[2].model_name, "m2");
	db_free(&t.mem);
	q.sort = NULL;
	q.offset = 22;		/* the last two are m11's, not m9's */
	assert_ok(db_search(r, &q, &t, &err), err);
	assert_int_equal(t.n, 2);
	assert_string_equal(t.rows[0].model_name, "m11");
	db_free(&t.mem);
	fake(&f, "m5", 2000);		/* a reader sees what a writer puts */
	f.tensors[0].name = "new.name.p_proj";
	put(w, &f, 2);
	check_search(r, "new.name", NULL, false, 1);
	q.sort = "weight";
	assert_fails(db_search(r, &q, &t, &err), err, TB_EUSAGE, "one of: model name size");
	db_close(r);
	db_close(w);
	free(path);
}

static void
test_states(void **state)
{
	char *path = fresh("states");
	struct tb_err err = { 0 };
	struct db_verified v = { .run = 1, .stamp = 1, .when_ns = 5 };
	struct db_hash h = { .id = { 1, 2, 3, 4 }, .digest = OWN, .ok = true, .when_ns = 6 }, got;
	struct db_models models;
	struct fake f;
	struct db *db;
	bool found;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	fake(&f, "m", 100);
	for (int i = 0; i < 4; i++) {
		static const enum db_state want[] = { DB_OK, DB_CHANGED, DB_DAMAGED, DB_MISSING };

		f.files[2].missing = i == 3;
		v.errors = i == 2 ? 3 : 0;
		put(db, &f, i == 1 ? 2 : 1);
		assert_ok(db_verified_model(db, f.manifest, &v, &err), err);
		assert_ok(db_models(db, NULL, &models, &err), err);
		assert_int_equal(models.n, 1);
		assert_int_equal(models.rows[0].state, want[i]);
		assert_int_equal(models.rows[0].verified_ns, 5);
		db_free(&models.mem);
	}
	assert_ok(db_hash_get(db, "/x", &got, &found, &err), err);
	assert_false(found);
	assert_ok(db_hash_put(db, "/x", &h, &err), err);
	assert_ok(db_hash_get(db, "/x", &got, &found, &err), err);
	assert_true(found && tb_ident_equal(&got.id, &h.id) && got.ok);
	assert_string_equal(got.digest, OWN);
	db_close(db);
	free(path);
}

/* Dropping a model takes what was its own, and nothing of the others. */
static void
test_drop(void **state)
{
	char *path = fresh("drop");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_totals totals;
	struct db_tensors t;
	struct fake a, b;
	struct db *db;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	fake(&a, "a", 100);
	fake(&b, "b", 200);
	a.tensors[0].name = "only.in.a";
	put(db, &a, 1);
	put(db, &b, 1);
	finish(db);
	assert_ok(db_model_by_path(db, a.manifest, &models, &err), err);
	assert_int_equal(models.n, 1);
	assert_ok(db_drop_model(db, models.rows[0].id, &err), err);
	db_free(&models.mem);
	finish(db);
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.n, 1);
	assert_int_equal(models.rows[0].exclusive, 1320);
	db_free(&models.mem);
	assert_ok(db_totals(db, NULL, &totals, &err), err);
	assert_int_equal(totals.tensors, 4);
	assert_int_equal(totals.orphans, 1);
	assert_ok(db_search(db, &(struct db_query){ .filter = "only.in" }, &t, &err), err);
	assert_int_equal(t.total, 0);
	db_free(&t.mem);
	db_close(db);
	free(path);
}

/* ---- files that cannot be trusted ---- */

static unsigned
set_aside(const char *path)
{
	char *pattern = tb_asprintf("%s.damaged-*", path);
	glob_t g;
	unsigned n = 0;

	if (glob(pattern, 0, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			n += !strstr(g.gl_pathv[i], "-wal") && !strstr(g.gl_pathv[i], "-shm");
		globfree(&g);
	}
	free(pattern);
	return n;
}

static void
fill(const char *path)
{
	struct tb_err err = { 0 };
	struct db_run run = { .scope = "everything", .started_ns = 1 };
	struct fake f;
	struct db *db;
	int64_t id;

	assert_ok(db_open_write(&db, path, &err), err);
	fake(&f, "m", 100);
	put(db, &f, 1);
	assert_ok(db_run_start(db, &run, &id, &err), err);
	db_settle(db);
	db_close(db);
}

static void
scribble(const char *path, off_t at, off_t cut)
{
	char noise[512];
	int fd = open(path, O_WRONLY);

	memset(noise, 0xa5, sizeof(noise));
	assert_true(fd >= 0);
	if (at >= 0)
		assert_int_equal(pwrite(fd, noise, sizeof(noise), at), sizeof(noise));
	if (cut >= 0)
		assert_int_equal(ftruncate(fd, cut), 0);
	close(fd);
}

/* The index is gone then, the audits are not. */
static void
check_renewed(const char *path, unsigned aside)
{
	struct tb_err err = { 0 };
	struct db_models models;
	struct db_runs runs;
	struct db *db;

	assert_ok(db_open_read(&db, path, &err), err);
	db_close(db);
	assert_ok(db_open_write(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "set aside"));
	assert_int_equal(set_aside(path), aside);
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.total, 0);
	assert_ok(db_runs(db, NULL, &runs, &err), err);
	assert_int_equal(runs.total, 1);
	db_free(&runs.mem);
	db_close(db);
}

static void
test_damaged(void **state)
{
	static const struct { off_t at, cut; } how[] = {
		{ 0, -1 },		/* the header */
		{ 4096, -1 },		/* a page of the tables */
		{ -1, 6000 },		/* cut */
		{ -1, 50 },
	};
	char *path = fresh("damaged");

	(void)state;
	for (unsigned i = 0; i < sizeof(how) / sizeof(*how); i++) {
		unlink(unit_path("damaged/audits.db"));
		fill(path);
		scribble(path, how[i].at, how[i].cut);
		check_renewed(path, i + 1);
	}
	free(path);
}

static void
test_foreign(void **state)
{
	char *path = fresh("foreign");
	struct tb_err err = { 0 };
	struct db_models models;
	struct db *db;
	char *audits = tb_strdup(unit_path("foreign/audits.db"));

	(void)state;
	fill(path);
	assert_int_equal(rename(audits, path), 0);	/* SQLite, but not an index */
	assert_ok(db_open_read(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "not a file of this program"));
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_int_equal(models.total, 0);
	db_close(db);
	assert_ok(db_open_write(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "not a file of this program"));
	assert_int_equal(set_aside(path), 1);
	db_close(db);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_fails(db_open_write(&db, path, &err), err, TB_EUSAGE, "not a file");
	assert_fails(db_open_read(&db, path, &err), err, TB_EUSAGE, "not a file");
	free(audits);
	free(path);
}

/* Bytes 60 to 63 of a SQLite file are its user_version. */
static void
test_versions(void **state)
{
	char *path = fresh("versions");
	struct tb_err err = { 0 };
	static const unsigned char newer[4] = { 0, 0, 0, 99 };
	unsigned char was[4];
	struct db_models models;
	struct db *db, *writer;
	int fd;

	(void)state;
	fill(path);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, was, 4, 60), 4);
	assert_int_equal(pwrite(fd, newer, 4, 60), 4);
	close(fd);
	assert_ok(db_open_read(&db, path, &err), err);
	assert_non_null(strstr(db_notice(db), "newer version"));
	assert_fails(db_open_write(&writer, path, &err), err, TB_EUNSUP, "newer version");
	assert_int_equal(set_aside(path), 0);

	/* When it is one of ours in its place, whoever reads sees what is in it. */
	assert_false(db_changed(db));
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, was, 4, 60), 4);
	close(fd);
	assert_true(db_changed(db));
	assert_string_equal(db_notice(db), "");
	assert_ok(db_models(db, NULL, &models, &err), err);
	assert_true(models.n > 0);
	db_free(&models.mem);
	db_close(db);
	free(path);
}

/* ---- a reader beside a writer ---- */

struct reading {
	const char *path;
	bool stop, bad;
};

static void *
read_on(void *arg)
{
	struct reading *r = arg;
	struct tb_err err = { 0 };
	struct db *db;

	if (db_open_read(&db, r->path, &err)) {
		r->bad = true;
		return NULL;
	}
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		struct db_models models;
		struct db_tensors t;

		r->bad |= db_models(db, NULL, &models, &err) != TB_OK;
		for (size_t i = 0; !r->bad && i < models.n; i++) {
			r->bad |= db_tensors(db, models.rows[i].id, NULL, &t, &err) != TB_OK;
			r->bad |= !r->bad && t.n != 4;	/* whole models or none */
			db_free(&t.mem);
		}
		db_free(&models.mem);
		(void)db_changed(db);
	}
	db_close(db);
	return NULL;
}

static void
test_concurrent(void **state)
{
	char *path = fresh("concurrent"), name[16];
	struct tb_err err = { 0 };
	struct reading r = { .path = path };
	struct fake f;
	struct db *db;
	pthread_t thread;

	(void)state;
	assert_ok(db_open_write(&db, path, &err), err);
	assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "m%d", i % 20);
		fake(&f, name, 1000 + 10 * (uint64_t)i);
		put(db, &f, (uint64_t)i);
	}
	__atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_false(r.bad);
	db_close(db);
	free(path);
}

static enum tb_status
count_row(void *arg, int n, const char *const *names, const char *const *values,
	  struct tb_err *err)
{
	(void)err;
	assert_int_equal(n, 1);
	assert_string_equal(names[0], "name");
	assert_string_equal(values[0], "m");
	++*(int *)arg;
	return TB_OK;
}

static void
test_sql(void **state)
{
	static const char *const refused[] = {
		"DELETE FROM models", "SELECT 1; SELECT 2", "", "ATTACH 'x.db' AS x", "SELEC",
		"PRAGMA main.user_version = 7", "CREATE TABLE t(a)",
	};
	char *path = fresh("sql");
	struct tb_err err = { 0 };
	struct db *db;
	int rows = 0;

	(void)state;
	fill(path);
	assert_ok(db_open_read(&db, path, &err), err);
	assert_ok(db_sql(db, "SELECT name FROM models;", count_row, &rows, &err), err);
	assert_int_equal(rows, 1);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		assert_fails(db_sql(db, refused[i], count_row, &rows, &err), err, TB_EUSAGE, "sql");
	assert_int_equal(rows, 1);
	db_close(db);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_tensors),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_concurrent),
		cmocka_unit_test(test_sql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
