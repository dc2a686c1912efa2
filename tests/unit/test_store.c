#include "config.h"

#include "tests/unit/unit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/store/store.h"
#include "tests/unit/fixture.h"

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/store/hub.h"

#define DIMS(...) ((const uint64_t[4]){ __VA_ARGS__ })

static void
weights(const char *rel)
{
	struct fixture f = { 0 };

	fixture_add(&f, "a", DT_F32, DIMS(4));
	fixture_file(&f, rel);
}

static void
put_model(const char *root, const char *name)
{
	struct tb_err err = { 0 };
	struct ollama_writer w;
	struct fixture f = { 0 };
	struct model_name n;

	assert_ok(ollama_writer_init(&w, root, &err), err);
	fixture_add(&f, name, DT_F32, DIMS(4));
	fixture_blob(&f, &w, "a");
	assert_ok(name_parse(name, &n, &err), err);
	assert_ok(ollama_commit(&w, &n, false, &err), err);
	ollama_writer_free(&w);
}

static enum tb_status
collect(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	struct tb_buf *b = arg;

	(void)err;
	tb_buf_printf(b, "%s %s\n", loc->name, kind_name(loc->kind));
	assert_true(loc->mtime_ns > 0);
	return TB_OK;
}

static void
walked(const char *root, const char *want)
{
	struct tb_buf b = TB_BUF(1 << 20);
	struct unread unread = { 0 };
	struct tb_err err = { 0 };

	assert_ok(store_walk(root, collect, &b, &unread, &err), err);
	assert_string_equal(tb_buf_cstr(&b), want);
	assert_int_equal(unread.n, 0);
	tb_buf_free(&b);
}

/* ---- a disk that fails while a folder is read ---- */

static DIR *failing;		/* of whose names only the first `left` can be read */
static const char *fails_in;
static unsigned left;

DIR *
opendir(const char *path)
{
	DIR *(*next)(const char *) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
	DIR *d = next(path);

	if (fails_in && !strcmp(path, fails_in)) {
		failing = d;
		left = 3;
	}
	return d;
}

struct dirent *
readdir(DIR *d)
{
	struct dirent *(*next)(DIR *) = (struct dirent *(*)(DIR *))dlsym(RTLD_NEXT, "readdir");

	if (d != failing || left--)
		return next(d);
	failing = NULL;
	errno = EIO;
	return NULL;
}

static void
test_broken_folder(void **state)
{
	const char *root = fixture_dir("eio");
	struct tb_buf b = TB_BUF(1 << 20);
	struct unread unread = { 0 };
	struct tb_err err = { 0 };
	struct tb_names names;
	struct model_loc loc = { .kind = MODEL_SAFETENSORS_DIR };
	struct model *m;

	(void)state;
	fixture_dir("eio/dir");
	fixture_text("eio/dir/config.json", "{}");
	fixture_text("eio/dir/generation_config.json", "{}");
	weights("eio/dir/model.safetensors");
	fixture_dir("eio/other");
	fixture_text("eio/other/config.json", "{}");
	weights("eio/other/model.safetensors");
	fails_in = unit_path("eio/dir");
	assert_fails(tb_names_read(&names, fails_in, &err), err, TB_EIO, "eio/dir: reading the");
	assert_int_equal(names.n, 0);
	/* the rest goes on, and the place is named */
	assert_ok(store_walk(root, collect, &b, &unread, &err), err);
	assert_string_equal(tb_buf_cstr(&b), "other safetensors-dir\n");
	assert_int_equal(unread.n, 1);
	assert_string_equal(unread.v[0].path, fails_in);
	assert_non_null(strstr(unread.v[0].why, "eio/dir: reading the folder: Input/output"));
	assert_non_null(unread_above(&unread, unit_path("eio/dir/model.safetensors")));
	assert_null(unread_above(&unread, unit_path("eio/dire")));
	/* half a model is none */
	loc = (struct model_loc){ MODEL_SAFETENSORS_DIR, (char *)"dir", (char *)fails_in,
				  (char *)"", 0 };
	assert_fails(model_open(&m, &loc, &err), err, TB_EIO, "eio/dir: reading");
	fails_in = NULL;
	tb_buf_free(&b);
	unread_free(&unread);
}

static enum tb_status
no_file(void *arg, const char *path, struct tb_err *err)
{
	(void)arg;
	(void)err;
	fail_msg("%s is left over", path);
	return TB_OK;
}

/* Of a repository whose snapshot cannot be read nobody knows which files are used. */
static void
test_broken_snapshot(void **state)
{
	char *repo = tb_strdup(fixture_dir("hub/models--o--n"));
	struct tb_err err = { 0 };

	(void)state;
	fixture_dir("hub/models--o--n/blobs");
	fixture_dir("hub/models--o--n/snapshots/abc");
	fixture_text("hub/models--o--n/blobs/x", "x");
	assert_int_equal(symlink("../../blobs/x", unit_path("hub/models--o--n/snapshots/abc/m")), 0);
	assert_ok(hub_left(repo, no_file, NULL, &err), err);
	fails_in = unit_path("hub/models--o--n/snapshots");
	assert_fails(hub_left(repo, no_file, NULL, &err), err, TB_EIO, "snapshots: reading");
	fails_in = NULL;
	free(repo);
}

/* Opened again as what it was found to be: the owner of a blob on a screen. */
static void
test_container_again(void **state)
{
	char *root = tb_strdup(fixture_dir("box")), *path;
	struct model_loc loc = { MODEL_OLLAMA_TENSORS, (char *)"tool", NULL, root, 0 };
	struct tb_err err = { 0 };
	struct model *m;

	(void)state;
	fixture_dir("box/blobs");
	fixture_dir("box/manifests/h/n/tool");
	fixture_text("box/manifests/h/n/tool/t", "{\"schemaVersion\":2,\"layers\":[{\"mediaType\":"
		     "\"application/vnd.docker.image.rootfs.diff.tar.gzip\",\"size\":1,\"digest\":"
		     "\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}]}");
	loc.path = path = tb_strdup(unit_path("box/manifests/h/n/tool/t"));
	for (int again = 0; again < 2; again++) {
		assert_ok(model_open(&m, &loc, &err), err);
		assert_int_equal(m->loc.kind, MODEL_CONTAINER);
		assert_int_equal(m->nfiles, 2);
		loc.kind = m->loc.kind;
		model_free(m);
	}
	free(path);
	free(root);
}

/* A name might be taken by a spelling that could not be seen. */
static void
test_broken_names(void **state)
{
	const char *root = fixture_dir("names");
	struct store_roots roots;
	struct model_name name;
	struct tb_err err = { 0 };
	struct model_loc loc;
	char *path;

	(void)state;
	put_model(root, "Taken:1");
	assert_ok(name_parse("taken:1", &name, &err), err);
	assert_ok(ollama_find_manifest(root, &name, &path, &err), err);
	assert_non_null(path);
	free(path);
	fails_in = unit_path("names/manifests/registry.ollama.ai/library");
	assert_fails(ollama_find_manifest(root, &name, &path, &err), err, TB_EIO, "library: reading");
	assert_null(path);
	assert_ok(store_roots_init(&roots, (const char *[]){ root }, 1, &err), err);
	assert_fails(store_resolve(&roots, "taken:1", &loc, &err), err, TB_ENOENT,
		     "it may be in what could not be read: ");
	fails_in = NULL;
	store_roots_free(&roots);
}

static void
test_walk_ollama(void **state)
{
	const char *root = fixture_dir("ol");

	(void)state;
	put_model(root, "zeta");
	put_model(root, "m:2");
	put_model(root, "m:10");
	put_model(root, "h:5000/ns/m:t");
	fixture_text("ol/manifests/registry.ollama.ai/library/m/broken", "{");
	fixture_text("ol/manifests/registry.ollama.ai/library/m/.DS_Store", "x");
	fixture_text("ol/manifests/registry.ollama.ai/library/stray", "x");
	fixture_dir("ol/manifests/registry.ollama.ai/lib.rary/m");
	fixture_text("ol/manifests/registry.ollama.ai/lib.rary/m/t", "{}");
	fixture_dir("ol/manifests/registry.ollama.ai/library/m/folder");
	walked(root, "h:5000/ns/m:t ollama-tensors\nm:2 ollama-tensors\nm:10 ollama-tensors\n"
	       "m:broken ollama-tensors\nm:folder ollama-tensors\nzeta:latest ollama-tensors\n");
}

static void
test_walk_folders(void **state)
{
	const char *root = fixture_dir("mix");

	(void)state;
	fixture_dir("mix/pub/mlx");
	fixture_text("mix/pub/mlx/config.json", "{}");
	weights("mix/pub/mlx/weights.safetensors");
	fixture_dir("mix/pub/mlx/original");
	weights("mix/pub/mlx/original/model.safetensors");
	fixture_dir("mix/loose");
	weights("mix/loose/lora.safetensors");
	fixture_text("mix/loose/x.gguf", "GGUF");
	fixture_dir("mix/empty/.hidden");
	weights("mix/empty/.hidden/model.safetensors");
	fixture_dir("mix/store/blobs");
	put_model(unit_path("mix/store"), "inner");
	assert_int_equal(symlink("..", unit_path("mix/empty/loop")), 0);
	assert_int_equal(symlink("pub", unit_path("mix/pub-again")), 0);
	fixture_dir("mix/models--org--name/snapshots/0123456789abcdef");
	fixture_dir("mix/models--org--name/snapshots/fedcba9876543210");
	fixture_dir("mix/models--org--name/refs");
	fixture_text("mix/models--org--name/refs/main", "fedcba9876543210\n");
	weights("mix/models--org--name/snapshots/0123456789abcdef/model.safetensors");
	weights("mix/models--org--name/snapshots/fedcba9876543210/model.safetensors");
	walked(root, "hf:org/name safetensors-dir\nhf:org/name@0123456789ab safetensors-dir\n"
	       "inner:latest ollama-tensors\nloose/lora.safetensors safetensors-file\n"
	       "loose/x.gguf gguf-file\npub/mlx safetensors-dir\n");
	walked(unit_path("mix/pub/mlx"), "mlx safetensors-dir\n");
}

static void
test_walk_ends(void **state)
{
	struct unread unread = { 0 };
	struct tb_err err = { 0 };

	(void)state;
	assert_fails(store_walk(unit_path("nowhere"), collect, NULL, &unread, &err), err, TB_ENOENT, "nowhere");
}

static void
resolves(const struct store_roots *r, const char *ref, enum model_kind kind, const char *name)
{
	struct tb_err err = { 0 };
	struct model_loc loc;

	assert_ok(store_resolve(r, ref, &loc, &err), err);
	assert_string_equal(loc.name, name);
	assert_int_equal(loc.kind, kind);
	model_loc_free(&loc);
}

static void
test_resolve(void **state)
{
	const char *dirs[] = { unit_path("ol"), unit_path("mix") };
	char digest[TB_DIGEST_MAX] = "", prefix[24];
	struct store_roots r;
	struct tb_err err = { 0 };
	struct model_loc loc;
	DIR *d;

	(void)state;
	assert_ok(store_roots_init(&r, dirs, 2, &err), err);
	resolves(&r, "zeta", MODEL_OLLAMA_TENSORS, "zeta:latest");
	resolves(&r, "Zeta:LATEST", MODEL_OLLAMA_TENSORS, "zeta:latest");
	put_model(dirs[0], "Twin");
	fixture_dir("ol/manifests/registry.ollama.ai/library/twin");
	fixture_text("ol/manifests/registry.ollama.ai/library/twin/latest", "{}");
	resolves(&r, "twin", MODEL_OLLAMA_TENSORS, "twin:latest");
	resolves(&r, "Twin", MODEL_OLLAMA_TENSORS, "Twin:latest");
	resolves(&r, "h:5000/ns/m:t", MODEL_OLLAMA_TENSORS, "h:5000/ns/m:t");
	resolves(&r, "pub/mlx", MODEL_SAFETENSORS_DIR, "pub/mlx");
	resolves(&r, "MLX", MODEL_SAFETENSORS_DIR, "pub/mlx");
	resolves(&r, "hf:org/name", MODEL_SAFETENSORS_DIR, "hf:org/name");
	resolves(&r, "hf:org/name@0123456789ab", MODEL_SAFETENSORS_DIR, "hf:org/name@0123456789ab");
	resolves(&r, "hf:org/name@0123456789abcdef", MODEL_SAFETENSORS_DIR, "hf:org/name@0123456789ab");
	resolves(&r, "hf:org/name@main", MODEL_SAFETENSORS_DIR, "hf:org/name");
	resolves(&r, "hf:org/name@fedcba", MODEL_SAFETENSORS_DIR, "hf:org/name");
	assert_fails(store_resolve(&r, "hf:org/name@77", &loc, &err), err, TB_ENOENT, "hf:org");
	resolves(&r, "inner:latest", MODEL_OLLAMA_TENSORS, "inner:latest");
	resolves(&r, unit_path("mix/pub/mlx/"), MODEL_SAFETENSORS_DIR, "mlx");
	resolves(&r, unit_path("ol/manifests/h:5000/ns/m/t"), MODEL_OLLAMA_TENSORS, "h:5000/ns/m:t");
	d = opendir(unit_path("ol/blobs"));
	for (struct dirent *e; (e = readdir(d)) && !digest_parse(e->d_name, digest); )
		;
	closedir(d);
	resolves(&r, digest, MODEL_SAFETENSORS_FILE, digest);
	snprintf(prefix, sizeof(prefix), "%.12s", digest + 7);
	resolves(&r, prefix, MODEL_SAFETENSORS_FILE, digest);
	prefix[7] = 0;
	assert_fails(store_resolve(&r, prefix, &loc, &err), err, TB_ENOENT, prefix);
	assert_fails(store_resolve(&r, "none:such", &loc, &err), err, TB_ENOENT, dirs[1]);
	assert_fails(store_resolve(&r, "", &loc, &err), err, TB_EUSAGE, "empty");
	assert_fails(store_resolve(&r, "../../etc/passwd", &loc, &err), err, TB_ENOENT, "passwd");
	store_roots_free(&r);
}

static size_t
entries(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

/* A writer that is not committed leaves the store as it was; a damaged blob of the
 * same digest is mended; a name that differs in case only is taken. */
static void
test_writer(void **state)
{
	const char *root = fixture_dir("wr");
	struct ollama_writer w, part;
	struct tb_err err = { 0 };
	struct model_name n;
	char *blob;

	(void)state;
	assert_ok(ollama_writer_init(&w, root, &err), err);
	assert_ok(ollama_writer_init(&part, root, &err), err);
	assert_ok(ollama_add_bytes(&part, MEDIA_JSON, "b", "two", 3, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_JSON, "a", "one", 3, &err), err);
	assert_ok(ollama_merge(&w, &part, &err), err);
	assert_int_equal(w.manifest.nlayers, 2);
	assert_string_equal(w.manifest.layers[1].name, "b");
	assert_int_equal(entries(unit_path("wr/blobs")), 2);
	blob = ollama_blob_path(root, w.manifest.layers[0].digest);
	ollama_writer_free(&w);
	assert_int_equal(entries(unit_path("wr/blobs")), 0);
	assert_false(store_is_writable(root) && entries(root) > 1);

	assert_ok(tb_out_file(blob, "x", 1, false, &err), err);
	assert_ok(ollama_writer_init(&w, root, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_JSON, "a", "one", 3, &err), err);
	assert_ok(name_parse("Name", &n, &err), err);
	assert_ok(ollama_commit(&w, &n, false, &err), err);
	assert_ok(name_parse("name", &n, &err), err);
	assert_fails(ollama_commit(&w, &n, false, &err), err, TB_EEXIST, "Name/latest");
	assert_ok(ollama_commit(&w, &n, true, &err), err);
	assert_int_equal(entries(unit_path("wr/manifests/registry.ollama.ai/library")), 1);
	ollama_writer_free(&w);
	assert_int_equal(entries(unit_path("wr/blobs")), 1);
	free(blob);
	assert_null(ollama_blob_path(root, "sha256:../../x"));
}

/* Two writers of one model: what the first made and the second published is nobody's to
 * take back, whether the first fails before that or after. */
static void
test_two_writers(void **state)
{
	const char *root = fixture_dir("two");
	struct ollama_writer a, b;
	struct tb_err err = { 0 };
	struct model_name n;

	(void)state;
	assert_ok(name_parse("m", &n, &err), err);
	assert_ok(ollama_writer_init(&a, root, &err), err);
	assert_ok(ollama_writer_init(&b, root, &err), err);
	assert_ok(ollama_add_bytes(&a, MEDIA_JSON, "x", "one", 3, &err), err);
	assert_ok(ollama_add_bytes(&a, MEDIA_JSON, "y", "of a", 4, &err), err);
	assert_ok(ollama_add_bytes(&b, MEDIA_JSON, "x", "one", 3, &err), err);
	ollama_writer_free(&a);			/* b still writes: all stays */
	assert_int_equal(entries(unit_path("two/blobs")), 2);
	assert_ok(ollama_writer_init(&a, root, &err), err);
	assert_ok(ollama_add_bytes(&a, MEDIA_JSON, "z", "two", 3, &err), err);
	assert_ok(ollama_add_bytes(&b, MEDIA_JSON, "z", "two", 3, &err), err);
	assert_ok(ollama_commit(&b, &n, false, &err), err);
	ollama_writer_free(&b);
	assert_fails(ollama_commit(&a, &n, false, &err), err, TB_EEXIST, "exists already");
	ollama_writer_free(&a);			/* alone, but the manifest names it */
	assert_int_equal(entries(unit_path("two/blobs")), 3);
}

/* With a manifest that cannot be read it is not known what is needed. */
static void
test_unread_manifest(void **state)
{
	const char *root = fixture_dir("unread");
	struct ollama_writer w;
	struct tb_err err = { 0 };

	(void)state;
	fixture_dir("unread/manifests/h/n/m");
	unit_write("unread/manifests/h/n/m/tag", "{\"layers\":", 10);
	assert_ok(ollama_writer_init(&w, root, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_JSON, "x", "one", 3, &err), err);
	ollama_writer_free(&w);
	assert_int_equal(entries(unit_path("unread/blobs")), 1);
	assert_int_equal(unlink(unit_path("unread/manifests/h/n/m/tag")), 0);
	assert_ok(ollama_writer_init(&w, root, &err), err);
	assert_ok(ollama_add_bytes(&w, MEDIA_JSON, "y", "two", 3, &err), err);
	ollama_writer_free(&w);
	assert_int_equal(entries(unit_path("unread/blobs")), 1);
}

/* The old manifest is kept under another tag, and with it its blobs. */
static void
test_replace_keeps(void **state)
{
	char tag[81] = "", name[96];
	const char *root = fixture_dir("rk");
	struct ollama_writer w;
	struct tb_err err = { 0 };
	struct model_name n;
	struct model_loc loc;
	struct store_roots r;

	(void)state;
	setenv("TBTUI_NOW", "1795312121", 1);
	for (size_t i = 0; i < 80; i++)
		tag[i] = (char)('a' + i % 26);
	for (int k = 0; k < 2; k++) {
		snprintf(name, sizeof(name), "Name:%s", k ? tag : "t");
		put_model(root, name);
		assert_ok(name_parse(k ? name : "name:T", &n, &err), err);
		assert_ok(ollama_writer_init(&w, root, &err), err);
		assert_ok(ollama_add_bytes(&w, MEDIA_JSON, "a", "new", 3, &err), err);
		assert_ok(ollama_commit(&w, &n, true, &err), err);
		if (!k)
			assert_string_equal(w.kept, "name:t.replaced-20261122T014841Z");
		assert_int_equal(store_roots_init(&r, &root, 1, &err), TB_OK);
		assert_ok(store_resolve(&r, w.kept, &loc, &err), err);
		assert_string_equal(loc.path, w.kept_path);
		model_loc_free(&loc);
		store_roots_free(&r);
		ollama_writer_free(&w);
	}
	unsetenv("TBTUI_NOW");
	assert_int_equal(entries(unit_path("rk/manifests/registry.ollama.ai/library/Name")), 4);
	assert_int_equal(entries(unit_path("rk/blobs")), 3);
}

/* The second time a digest comes it is there: it is ours nevertheless. */
static void
test_taken_back_once(void **state)
{
	struct tb_err err = { 0 };
	struct ollama_writer w, part;

	(void)state;
	assert_ok(ollama_writer_init(&w, fixture_dir("once"), &err), err);
	for (int i = 0; i < 3; i++) {
		assert_ok(ollama_part_init(&part, w.root, &err), err);
		assert_ok(ollama_add_bytes(&part, MEDIA_JSON, "x", "one", 3, &err), err);
		assert_ok(ollama_merge(&w, &part, &err), err);
	}
	ollama_writer_free(&w);
	assert_int_equal(entries(unit_path("once/blobs")), 0);
}

static void
test_destination(void **state)
{
	struct store_roots r;
	struct tb_err err = { 0 };
	char *root;

	(void)state;
	fixture_dir("dst/empty");
	fixture_dir("dst/full/x");
	assert_ok(store_roots_init(&r, (const char *[]){ unit_path("dst/full"),
		unit_path("dst/empty"), unit_path("wr") }, 3, &err), err);
	assert_ok(store_destination(&r, &root, &err), err);
	assert_string_equal(root, r.path[2]);
	free(root);
	r.n--;
	assert_ok(store_destination(&r, &root, &err), err);
	assert_string_equal(root, r.path[1]);
	free(root);
	r.n--;
	assert_fails(store_destination(&r, &root, &err), err, TB_ENOENT, "full");
	r.n = 3;
	store_roots_free(&r);
}

static void
test_roots(void **state)
{
	struct store_roots r;
	struct tb_err err = { 0 };
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	char *quoted;

	(void)state;
	setenv("HOME", fixture_dir("home"), 1);
	unsetenv("HF_HOME");
	unsetenv("XDG_CACHE_HOME");
	fixture_dir("home/.ollama/models");
	fixture_dir("home/.cache/huggingface/hub");
	assert_true(asprintf(&quoted, " \"%s\" ", fixture_dir("elsewhere")) > 0);
	setenv("OLLAMA_MODELS", quoted, 1);
	assert_ok(store_roots_init(&r, NULL, 0, &err), err);
	assert_true(r.n >= 3);
	assert_string_equal(r.path[0], unit_path("elsewhere"));
	assert_string_equal(r.path[1], unit_path("home/.ollama/models"));
	store_roots_free(&r);
	unsetenv("OLLAMA_MODELS");
	assert_ok(store_roots_init(&r, (const char *[]){ "a//b/./", "a/b", "/" }, 3, &err), err);
	assert_int_equal(r.n, 2);
	assert_int_equal(*r.path[0], '/');
	assert_non_null(strstr(r.path[0], "/a/b"));
	assert_string_equal(r.path[1], "/");
	store_roots_free(&r);
	if (home)
		setenv("HOME", home, 1);
	free(home);
	free(quoted);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk_ollama),
		cmocka_unit_test(test_walk_folders),
		cmocka_unit_test(test_walk_ends),
		cmocka_unit_test(test_broken_folder),
		cmocka_unit_test(test_broken_snapshot),
		cmocka_unit_test(test_broken_names),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_writer),
		cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_unread_manifest),
		cmocka_unit_test(test_container_again),
		cmocka_unit_test(test_replace_keeps),
		cmocka_unit_test(test_taken_back_once),
		cmocka_unit_test(test_destination),
		cmocka_unit_test(test_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
