/* talk_files.c - a text of the disk in what is said. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/talk_rows.h"

#define READ_MAX (4u << 20)

/* A fence that nothing in the text ends: more of its signs than stand in a row there. */
static size_t
fence_of(const char *text)
{
	size_t most = 2, run;

	for (; (text = strchr(text, '`')); text += run) {
		run = strspn(text, "`");
		if (run > most)
			most = run;
	}
	return most + 1;
}

char *
talk_path(const char *path)
{
	const char *home = getenv("HOME");

	return tb_starts(path, "~/") && home ? tb_path_join(home, path + 2) : tb_strdup(path);
}

static void
put_fence(struct tb_buf *b, size_t n)
{
	while (n--)
		tb_buf_chr(b, '`');
	tb_buf_chr(b, '\n');
}

static enum tb_status
fenced(const char *path, const char *text, size_t len, char **out, struct tb_err *err)
{
	struct tb_buf b = TB_BUF(8u * READ_MAX), clean = TB_BUF(4u * READ_MAX);
	size_t fence;
	enum tb_status status;

	tb_text_clean_lines(&clean, text, len);
	fence = fence_of(tb_buf_cstr(&clean));
	tb_buf_printf(&b, "%s:\n", tb_path_name(path));
	put_fence(&b, fence);
	tb_buf_add(&b, tb_buf_cstr(&clean), clean.len);
	if (!clean.len || clean.p[clean.len - 1] != '\n')
		tb_buf_chr(&b, '\n');
	put_fence(&b, fence);
	status = tb_buf_status(&b, path, err);
	if (!status && !(*out = tb_buf_take(&b)))
		status = tb_nomem(err);
	tb_buf_free(&b);
	tb_buf_free(&clean);
	return status;
}

enum tb_status
talk_run_read(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	size_t len = strlen(c->rest), lines = 0;
	char *path, *text = NULL, bytes[16];
	enum tb_status status;

	(void)job;
	while (len && c->rest[len - 1] == ' ')
		c->rest[--len] = 0;
	if (!len)
		return talk_refuse(c, "/read needs a file.");
	if (!(path = talk_path(c->rest)))
		return tb_nomem(err);
	status = tb_file_slurp(path, READ_MAX, &text, &len, err);
	if (!status && (memchr(text, 0, len) || !tb_utf8_valid(text, len)))
		status = tb_fail(err, TB_EFORMAT, "%s: not a text in UTF-8", path);
	if (!status)
		status = fenced(path, text, len, &c->put, err);
	for (size_t i = 0; !status && i < len; i++)
		lines += text[i] == '\n' || i + 1 == len;
	if (!status)
		tb_buf_printf(&c->say, "%s: %zu line%s, %s, goes with the next message",
			      tb_path_name(path), lines, tb_plural(lines), tb_human_bytes(len, bytes));
	c->put_long = true;
	free(text);
	free(path);
	return status;
}
