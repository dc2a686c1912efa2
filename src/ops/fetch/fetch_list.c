/* fetch_list.c - who wants what: each run keeps a list in the folder, locked as long as it is at
 * work.
 *
 * "tbtui-fetch 1 NOTE", and a line "NAME SIZE WHAT" for each file.  Without its list
 * nobody could say what a half file is of. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/ops/fetch/fetch_list.h"
#include "src/ops/fetch/fetch_parts.h"

#define TRIES 20

/* A line's rest: what ends a line, or a terminal would obey, becomes a blank. */
static void
add_rest(struct tb_buf *b, const char *s)
{
	for (; *s; s++)
		tb_buf_chr(b, (unsigned char)*s < ' ' || *s == 127 ? ' ' : *s);
	tb_buf_chr(b, '\n');
}

static enum tb_status
list_write(struct fetch *f, struct tb_err *err)
{
	struct tb_buf b = TB_BUF(FETCH_LIST_MAX);
	enum tb_status status;

	tb_buf_str(&b, FETCH_LIST_MAGIC);
	add_rest(&b, f->note);
	for (size_t i = 0; i < f->n; i++) {
		if (f->files[i]->same != i)
			continue;
		tb_buf_printf(&b, "%s %ju ", f->files[i]->name, (uintmax_t)f->files[i]->it.size);
		add_rest(&b, f->files[i]->it.what);
	}
	status = tb_buf_status(&b, "the list of what is fetched", err);
	if (!status && pwrite(f->list_fd, b.p, b.len, 0) != (ssize_t)b.len)
		status = fetch_write_failed(f, NULL, err);
	tb_buf_free(&b);
	return status;
}

/* Somebody may take the empty folder away between two calls. */
static enum tb_status
folder_open(struct fetch *f, struct tb_err *err)
{
	static atomic_uint runs;
	enum tb_status status = TB_OK;

	for (unsigned try = 0; !status && try < TRIES && f->list_fd < 0; try++) {
		if (f->dir_fd >= 0)
			close(f->dir_fd);
		status = tb_mkdirs(f->dir, err);
		if (status)
			break;
		f->dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (f->dir_fd < 0 && errno == ENOENT)
			continue;
		if (f->dir_fd < 0)
			return tb_fail_errno(err, "%s", f->dir);
		snprintf(f->list, sizeof(f->list), LIST_PREFIX "%ld-%u", (long)getpid(),
			 atomic_fetch_add(&runs, 1));
		f->list_fd = openat(f->dir_fd, f->list, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC, 0666);
		if (f->list_fd >= 0 || errno == EEXIST || errno == ENOENT)
			continue;
		return fetch_write_failed(f, NULL, err);
	}
	if (status || f->list_fd >= 0)
		return status;
	return tb_fail(err, TB_EIO, "%s: no list of what is fetched can be made there", f->dir);
}

bool
fetch_list_busy(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return busy;
}

enum tb_status
fetch_list_read(int dir_fd, const char *name, char **text)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n = -1;

	*text = NULL;
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < FETCH_LIST_MAX &&
	    (*text = malloc((size_t)st.st_size + 1)))
		n = pread(fd, *text, (size_t)st.st_size, 0);
	if (fd >= 0)
		close(fd);
	if (n >= 0) {
		(*text)[n] = 0;
		if (strlen(*text) == (size_t)n && tb_starts(*text, FETCH_LIST_MAGIC) &&
		    strchr(*text, '\n'))
			return TB_OK;
	}
	free(*text);
	*text = NULL;
	return TB_EFORMAT;
}

void
fetch_list_sweep(struct fetch *f)
{
	struct tb_names names;

	if (f->dir_fd < 0)
		f->dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->dir_fd < 0 || tb_names_read(&names, f->dir, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.v[i], *note;
		size_t len = strlen(f->note);
		char *text;

		if (!tb_starts(name, LIST_PREFIX) || !strcmp(name, f->list) ||
		    fetch_list_busy(f->dir_fd, name) || fetch_list_read(f->dir_fd, name, &text))
			continue;
		note = text + strlen(FETCH_LIST_MAGIC);
		if (!strncmp(note, f->note, len) && note[len] == '\n')
			unlinkat(f->dir_fd, name, 0);
		free(text);
	}
	tb_names_free(&names);
	if (f->list_fd < 0)
		rmdir(f->dir);		/* if it was the last one in it */
}

enum tb_status
fetch_list_begin(struct fetch *f, struct tb_err *err)
{
	enum tb_status status = folder_open(f, err);

	if (status)
		return status;
	/* who looks whether it is in use may have it for a moment (see fetch_list_busy()) */
	while (flock(f->list_fd, LOCK_EX) && errno == EINTR)
		;
	status = list_write(f, err);
	if (!status)
		fetch_list_sweep(f);
	return status;
}

void
fetch_list_end(struct fetch *f, bool remove)
{
	if (f->list_fd < 0)
		return;
	if (remove)
		unlinkat(f->dir_fd, f->list, 0);
	close(f->list_fd);
	f->list_fd = -1;
	if (remove)
		rmdir(f->dir);		/* of others it has their lists */
}

char *
fetch_list_others(const struct fetch *f)
{
	struct tb_buf b = TB_BUF(SIZE_MAX);
	struct tb_names names;

	if (tb_names_read(&names, f->dir, NULL))
		return NULL;
	tb_buf_chr(&b, '\n');
	for (size_t i = 0; i < names.n; i++) {
		char *text;

		if (!tb_starts(names.v[i], LIST_PREFIX) || !strcmp(names.v[i], f->list) ||
		    !fetch_list_busy(f->dir_fd, names.v[i]) ||
		    fetch_list_read(f->dir_fd, names.v[i], &text))
			continue;
		tb_buf_str(&b, text);
		free(text);
	}
	tb_names_free(&names);
	return tb_buf_take(&b);
}

bool
fetch_list_names(const char *lists, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = strchr(lists, '\n'); line; line = strchr(line + 1, '\n'))
		if (!strncmp(line + 1, name, len) && line[1 + len] == ' ')
			return true;
	return false;
}
