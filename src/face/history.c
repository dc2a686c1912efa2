#include "config.h"

#include "src/face/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"

#define KEPT 1000			/* lines that are called back */
#define LINE_MAX_BYTES (64u << 10)
#define FILE_MAX_BYTES (64u << 20)
#define LONG_FILE (2u << 20)		/* is made shorter */

/* As with the audits: two indexes in one folder do not share it. */
char *
history_beside(const char *index_path)
{
	const char *name = tb_path_name(index_path);

	if (strcmp(name, "index.db"))
		return tb_asprintf("%s.history", index_path);
	return tb_asprintf("%.*schat_history", (int)(name - index_path), index_path);
}

void
history_line(const char *text, struct tb_buf *out)
{
	size_t len = strlen(text);

	if (!len || len > LINE_MAX_BYTES)
		return;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n')
			tb_buf_str(out, "\\n");
		else if (text[i] == '\\')
			tb_buf_str(out, "\\\\");
		else
			tb_buf_chr(out, text[i]);
	tb_buf_chr(out, '\n');
}

/* A line of the file as it was typed, and clean. */
static enum tb_status
take_line(const char *s, size_t len, struct tb_names *out, struct tb_err *err)
{
	struct tb_buf text = TB_BUF(LINE_MAX_BYTES), clean = TB_BUF(4 * LINE_MAX_BYTES);
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < len; i++)
		if (s[i] == '\\' && i + 1 < len)
			tb_buf_chr(&text, s[++i] == 'n' ? '\n' : s[i]);
		else
			tb_buf_chr(&text, s[i]);
	tb_text_clean_lines(&clean, tb_buf_cstr(&text), text.len);
	if (text.len && !tb_buf_failed(&text) && !tb_buf_failed(&clean))
		status = tb_names_add(out, clean.p, err);
	tb_buf_free(&text);
	tb_buf_free(&clean);
	return status;
}

/* The beginning of the last KEPT lines. */
static const char *
last_lines(const char *text, size_t len)
{
	const char *s = text + len;
	size_t n = 0;

	while (s > text)
		if (*--s == '\n' && n++ == KEPT)
			return s + 1;
	return text;
}

static enum tb_status
shorten(const char *path, const char *text, size_t len, struct tb_err *err)
{
	char *dir = tb_path_parent(path);
	struct tb_out out;
	enum tb_status status = dir ? tb_out_open(&out, dir, err) : tb_nomem(err);

	free(dir);
	if (status)
		return status;
	if (fchmod(out.fd, 0600))
		status = tb_fail_errno(err, "%s", path);
	if (!status)
		status = tb_out_write(&out, text, len, err);
	if (!status)
		return tb_out_commit(&out, path, true, err);
	tb_out_abort(&out);
	return status;
}

enum tb_status
history_read(const char *path, struct tb_names *out, struct tb_err *err)
{
	const char *s, *end;
	size_t len = 0;
	char *text;
	enum tb_status status;

	*out = (struct tb_names){ 0 };
	if (!path || tb_absent(path))
		return TB_OK;
	if ((status = tb_file_slurp(path, FILE_MAX_BYTES, &text, &len, err)))
		return status;
	s = last_lines(text, len);
	if (len > LONG_FILE && s > text)
		(void)!shorten(path, s, (size_t)(text + len - s), NULL);
	for (; *s && !status; s = end + (*end == '\n')) {
		end = s + strcspn(s, "\n");
		status = take_line(s, (size_t)(end - s), out, err);
	}
	if (status)
		tb_names_free(out);
	free(text);
	return status;
}

enum tb_status
history_add(const char *path, struct tb_buf *lines, struct tb_err *err)
{
	char *dir = path && lines->len ? tb_path_parent(path) : NULL;
	enum tb_status status = TB_OK;
	ssize_t n;
	int fd;

	if (!dir)
		return TB_OK;
	status = tb_mkdirs(dir, err);
	free(dir);
	if (status)
		return status;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
		  O_NONBLOCK, 0600);
	if (fd < 0)
		return tb_fail_errno(err, "%s", path);
	/* in one piece: others write there, too */
	n = fchmod(fd, 0600) ? -1 : write(fd, lines->p, lines->len);
	if (n != (ssize_t)lines->len)
		status = tb_fail_errno(err, "%s", path);
	close(fd);
	tb_buf_clear(lines);
	return status;
}
