#include "config.h"

#include "src/ops/fetch/fetch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/fetch/fetch_list.h"
#include "src/ops/fetch/fetch_parts.h"

#define HEX "0123456789abcdef"

static void
file_free(struct fetch_file *file)
{
	fetch_file_close(file);
	free((char *)file->it.what);
	free((char *)file->it.begun);
	free(file->path);
	free(file);
}

void
fetch_free(struct fetch *f)
{
	if (!f)
		return;
	fetch_list_end(f, false);
	while (f->n)
		file_free(f->files[--f->n]);
	free(f->files);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	tb_job_free(f->job);
	pthread_cond_destroy(&f->more);
	pthread_cond_destroy(&f->ended);
	pthread_mutex_destroy(&f->lock);
	free(f->slots);
	free(f->workers);
	free(f->order);
	free(f->active);
	free(f->again);
	free(f->dir);
	free(f->note);
	free(f->blobs);
	free(f);
}

static void
conds_init(struct fetch *f)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->more, &attr);
	pthread_cond_init(&f->ended, &attr);
	pthread_condattr_destroy(&attr);
}

enum tb_status
fetch_new(struct fetch **out, const struct fetch_source *s, const struct fetch_opts *o,
	  struct tb_err *err)
{
	struct fetch *f = tb_calloc(1, sizeof(*f));

	*out = f;
	if (!f)
		return tb_nomem(err);
	conds_init(f);
	f->source = *s;
	f->opts = *o;
	f->dir_fd = f->list_fd = -1;
	f->dir = tb_strdup(o->dir);
	f->note = tb_strdup(o->note ? o->note : "");
	f->blobs = o->blobs ? tb_strdup(o->blobs) : NULL;
	f->job = tb_job_new(-1);
	if (!f->opts.streams)
		f->opts.streams = FETCH_STREAMS;
	if (f->opts.streams > FETCH_STREAMS_MAX)
		f->opts.streams = FETCH_STREAMS_MAX;
	if (f->dir && f->note && f->job && (f->blobs || !o->blobs))
		return TB_OK;
	fetch_free(f);
	*out = NULL;
	return tb_nomem(err);
}

/* "sha256:HEX" lies as "HEX", "gitsha1:HEX" as "gitsha1-HEX": what is nowhere said has no name
 * that another could know. */
static enum tb_status
name_file(const struct fetch *f, struct fetch_file *file, struct tb_err *err)
{
	const char *digest = file->it.digest, *colon = strchr(digest, ':');
	size_t digits = !strncmp(digest, "sha256:", 7) ? 64 : !strncmp(digest, "gitsha1:", 8) ? 40
			: 0;
	static atomic_uint nameless;

	if (!*digest)
		snprintf(file->name, sizeof(file->name), "plain-%ld-%u", (long)getpid(),
			 atomic_fetch_add(&nameless, 1));
	else if (!colon || !digits || strlen(colon + 1) != digits ||
		 strspn(colon + 1, HEX) != digits)
		return tb_fail(err, TB_EFORMAT, "%s: \"%.80s\" is no digest that can be checked",
			       f->note, digest);
	else
		snprintf(file->name, sizeof(file->name), "%s%s", digits == 40 ? "gitsha1-" : "",
			 colon + 1);
	return TB_OK;
}

/* Half of the slots stay free. */
static bool
slots_grow(struct fetch *f)
{
	size_t n = f->nslots ? 2 * f->nslots : 64;
	uint32_t *slots;

	if (2 * (f->n + 1) <= f->nslots)
		return true;
	if (f->n >= UINT32_MAX / 4 || !(slots = tb_calloc(n, sizeof(*slots))))
		return false;
	for (size_t k = 0; k < f->n; k++)
		if (f->files[k]->same == k)
			*TB_SLOT(slots, n, tb_hash(f->files[k]->name, strlen(f->files[k]->name)), i,
				 i == k) = (uint32_t)k + 1;
	free(f->slots);
	f->slots = slots;
	f->nslots = n;
	return true;
}

static enum tb_status
find_same(struct fetch *f, struct fetch_file *file, struct tb_err *err)
{
	uint32_t *slot;

	if (!slots_grow(f))
		return tb_nomem(err);
	slot = TB_SLOT(f->slots, f->nslots, tb_hash(file->name, strlen(file->name)), i,
		       !strcmp(f->files[i]->name, file->name));
	file->same = *slot ? *slot - 1 : f->n;
	if (file->same == f->n)
		*slot = (uint32_t)f->n + 1;
	else if (f->files[file->same]->it.size != file->it.size)
		return tb_fail(err, TB_EFORMAT, "%s: %s has two sizes, %ju and %ju", f->note,
			       file->it.digest, (uintmax_t)f->files[file->same]->it.size,
			       (uintmax_t)file->it.size);
	return TB_OK;
}

enum tb_status
fetch_add(struct fetch *f, const struct fetch_item *it, struct tb_err *err)
{
	struct fetch_file *file = tb_calloc(1, sizeof(*file));
	enum tb_status status = TB_OK;

	if (!file || !tb_grow(&f->files, &f->cap, f->n + 1, sizeof(*f->files))) {
		free(file);
		return tb_nomem(err);
	}
	file->it = *it;
	file->fd = file->parts_fd = -1;
	file->it.what = tb_strdup(it->what ? it->what : "");
	file->it.begun = it->begun ? tb_strdup(it->begun) : NULL;
	if (!file->it.what || (it->begun && !file->it.begun))
		status = tb_nomem(err);
	if (!status)
		status = name_file(f, file, err);
	if (!status)
		status = find_same(f, file, err);
	if (status) {
		file_free(file);
		return status;
	}
	f->files[f->n++] = file;
	return TB_OK;
}

const char *
fetch_path(const struct fetch *f, size_t i)
{
	struct fetch_file *file = i < f->n ? f->files[f->files[i]->same] : NULL;

	return file ? file->path : NULL;
}

uint64_t
fetch_moved(const struct fetch *f)
{
	return atomic_load(&f->moved);
}

void
fetch_row_name(struct fetch_row *r, const char *what, const char *digest)
{
	size_t n = strlen(what);

	if (n >= sizeof(r->what)) {
		what += n - sizeof(r->what) + 1;
		while (((unsigned char)*what & 0xc0) == 0x80)
			what++;
	}
	snprintf(r->what, sizeof(r->what), "%s", what);
	snprintf(r->digest, sizeof(r->digest), "%s", digest);
}

size_t
fetch_look(struct fetch *f, struct fetch_row *rows, size_t max)
{
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; rows && i < f->n && i < max; i++) {
		const struct fetch_file *file = f->files[f->files[i]->same];

		rows[i] = (struct fetch_row){ .size = file->it.size, .there = file->there,
			.got = atomic_load(&file->got), .state = file->state, .rate = file->rate };
		fetch_row_name(&rows[i], f->files[i]->it.what, file->it.digest);
		memcpy(rows[i].why, file->why, sizeof(rows[i].why));
	}
	pthread_mutex_unlock(&f->lock);
	return f->n;
}

void
fetch_forget(const struct fetch *f, const char *digest)
{
	struct fetch_file file = { .it = { .what = NULL } };
	char done[FETCH_NAME_MAX + sizeof(DONE_SUFFIX)], *others;

	snprintf(file.it.digest, sizeof(file.it.digest), "%s", digest);
	if (f->dir_fd < 0 || !*digest || name_file(f, &file, NULL))
		return;
	snprintf(done, sizeof(done), "%s" DONE_SUFFIX, file.name);
	if (faccessat(f->dir_fd, done, F_OK, AT_SYMLINK_NOFOLLOW) || !(others = fetch_list_others(f)))
		return;
	if (!fetch_list_names(others, file.name))
		unlinkat(f->dir_fd, done, 0);
	free(others);
}

void
fetch_clear(struct fetch *f)
{
	char *others = f->dir_fd < 0 ? NULL : fetch_list_others(f);

	for (size_t i = 0; others && i < f->n; i++) {
		struct fetch_file *file = f->files[i];

		if (file->path && !fetch_list_names(others, file->name))
			unlink(file->path);
	}
	free(others);
	fetch_list_end(f, true);
}
