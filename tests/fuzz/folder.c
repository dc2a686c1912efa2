#define _GNU_SOURCE
#include "config.h"

#include "tests/fuzz/folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/store/hub.h"
#include "src/store/store.h"

static char root[64];

static int
drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	if (at->level)
		remove(path);
	return 0;
}

void
folder_clear(void)
{
	nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static void
at_end(void)
{
	folder_clear();
	rmdir(root);
}

const char *
folder(void)
{
	if (*root)
		return root;
	snprintf(root, sizeof(root), "%s/tbtui-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(root))
		abort();
	atexit(at_end);
	return root;
}

/* folder()/name, its parents made. */
static char *
place(const char *name)
{
	char *path = tb_path_join(folder(), name);

	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0700);
		*p = '/';
	}
	return path;
}

void
folder_put(const char *name, const void *data, size_t len)
{
	char *path = place(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);

	if (fd >= 0) {
		if (write(fd, data, len) != (ssize_t)len)
			abort();
		close(fd);
	}
	free(path);
}

void
folder_link(const char *name, const char *target)
{
	char *path = place(name);

	(void)!symlink(target, path);
	free(path);
}

void
folder_tensors(const char *name, const struct folder_tensor *t, size_t n)
{
	struct st_tensor tensors[64] = { 0 };
	struct tb_buf b = TB_BUF(1 << 20);
	struct tb_err err;
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		tensors[i] = (struct st_tensor){ .name = (char *)t[i].name, .dtype = t[i].dtype,
						 .ndim = t[i].ndim };
		memcpy(tensors[i].dim, t[i].dim, sizeof(t[i].dim));
	}
	if (st_layout(tensors, n, NULL, 0, &b, &err))
		abort();
	for (size_t i = 0; i < n; i++)
		end = tensors[i].off + tensors[i].len > end ? tensors[i].off + tensors[i].len : end;
	while (b.len < end)
		tb_buf_chr(&b, 0);
	folder_put(name, b.p, b.len);
	tb_buf_free(&b);
}

static void
check(const struct model *m)
{
	uint64_t params = 0;

	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];
		char name[SCHEME_NAME_MAX];
		uint64_t n = 1;

		for (unsigned k = 0; k < t->ndim; k++)
			n *= t->dim[k];
		if (n != t->elems || t->weight.file >= m->nfiles || !*scheme_name(&t->scheme, name) ||
		    model_tensor(m, t->name) == NULL)
			abort();
		params += t->draft ? 0 : t->elems;
	}
	if (params != m->params)
		abort();
	for (size_t i = 0; i < m->nproblems; i++)
		if (!*m->problems[i].message)
			abort();
	for (size_t i = 0; i < m->nfiles; i++)	/* nothing that was read lies elsewhere */
		if (!m->files[i].missing && strncmp(m->files[i].path, root, strlen(root)) != 0)
			abort();
}

static void
open_one(const struct model_loc *loc)
{
	struct tb_err err = { 0 };
	struct model *m;

	if (model_open(&m, loc, &err)) {
		if (!err.code || !*err.msg)
			abort();
		return;
	}
	check(m);
	model_free(m);
}

static enum tb_status
each(void *arg, const struct model_loc *loc, struct tb_err *err)
{
	(void)arg;
	(void)err;
	open_one(loc);
	return TB_OK;
}

static enum tb_status
left(void *arg, const char *path, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];

	(void)arg;
	(void)err;
	(void)hub_digest(path, digest);
	return TB_OK;
}

void
folder_open_all(void)
{
	char *repo = tb_path_join(folder(), "models--o--n");
	struct store_roots roots = { 0 };
	struct unread unread = { 0 };
	struct tb_err err = { 0 };
	struct model_loc loc;

	if (store_walk(folder(), each, NULL, &unread, &err) || hub_left(repo, left, NULL, &err))
		abort();
	unread_free(&unread);
	free(repo);
	if (store_roots_init(&roots, (const char *[]){ folder() }, 1, &err))
		abort();
	if (!store_resolve(&roots, folder(), &loc, &err)) {
		open_one(&loc);
		model_loc_free(&loc);
	}
	store_roots_free(&roots);
}
