#include "config.h"

#include "ui/clip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/chats.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/face/clipboard.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"
#include "ui/view.h"

/* The file. */

struct clip_file {
	char *path, *text;	/* owned */
	size_t len;
};

static enum tb_status
clip_file_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct clip_file *f = arg;
	const char *slash = strrchr(f->path, '/');
	char *dir = slash ? tb_strndup(f->path, (size_t)(slash - f->path)) : tb_strdup(".");
	struct tb_out out;
	enum tb_status status;

	(void)job;
	if (!dir)
		return tb_nomem(err);
	if (!(status = tb_out_open(&out, dir, err))) {
		if (fchmod(out.fd, 0600))
			status = tb_fail_errno(err, "%s", f->path);
		if (!status)
			status = tb_out_write(&out, f->text, f->len, err);
		if (!status)
			status = tb_out_commit(&out, f->path, true, err);
		else
			tb_out_abort(&out);
	}
	free(dir);
	return status;
}

static void
clip_file_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	(void)arg;
	if (status)
		view_complain(v, err);
}

static void
clip_file_free(void *arg)
{
	struct clip_file *f = arg;

	free(f->path);
	free(f->text);
	free(f);
}

static const struct job_ops clip_file_job = {
	.run = clip_file_run, .done = clip_file_done, .free = clip_file_free,
};

/* path is taken. */
static void
to_file(struct view *v, char *path, const char *text, size_t len)
{
	struct clip_file *f = tb_calloc(1, sizeof(*f));

	if (!f || !(f->text = tb_calloc(1, len + 1))) {
		free(f);
		free(path);
		return;
	}
	memcpy(f->text, text, len);
	f->len = len;
	f->path = path;
	(void)view_job(v, &clip_file_job, f, "copy %zu bytes", len);
}

/* The terminal. */

static void
to_terminal(const char *text, size_t len)
{
	struct tb_buf all = TB_BUF(1u << 20);
	size_t done = 0;

	clipboard_put(text, len, &all);
	while (done < all.len && !tb_buf_failed(&all)) {
		ssize_t n = write(STDOUT_FILENO, all.p + done, all.len - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	tb_buf_free(&all);
}

void
clip_copy(struct view *v, const char *what, const char *text, size_t len)
{
	static bool told;	/* by the loop's thread alone */
	char *path = db_chats_beside(view_ctx(v)->db_path, "copied");
	struct tb_buf where = TB_BUF(1u << 16);

	if (path)
		word_path(path, &where);
	if (!path)
		view_say(v, "out of memory");
	else if (!len)
		view_say(v, "There is nothing in %s to copy.", what);
	else if (!clipboard_takes(len))
		view_say(v, "%s: %s is in %s", len > CLIPBOARD_MAX ? "Too long for a clipboard"
			 : "This terminal has no clipboard", what, tb_buf_cstr(&where));
	else if (told)
		view_say(v, "Copied %s: %zu bytes.", what, len);
	else
		view_say(v, "Copied %s: %zu bytes (also in %s).", what, len, tb_buf_cstr(&where));
	if (path && len && clipboard_takes(len)) {
		to_terminal(text, len);
		told = true;
	}
	if (path && len)
		to_file(v, path, text, len);
	else
		free(path);
	tb_buf_free(&where);
}
