/* report_seal.c - reports as they leave: in pieces, and with a last line that says what all
 * bytes before it hash to. */
#include "config.h"

#include "src/ops/report/report_out.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/out.h"

#define PIECE (64u << 10)	/* comes together before it is written */
#define ITEM_MAX (64u << 20)	/* what a format adds between two calls of report_more() */
#define CHUNK (1u << 20)

/* The last line, around the digest. */
static const struct sealed { report_format_fn *body; const char *before, *after; } sealed[] = {
	[REPORT_TEXT] = { report_text, "seal ", "\n" },
	[REPORT_JSON] = { report_json, "\"seal\":\"", "\"}\n" },
	[REPORT_CSV] = { report_csv, "\"seal\",\"", "\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"\r\n" },
	[REPORT_MD] = { report_md, "<!-- seal ", " -->\n" },
	[REPORT_HTML] = { report_html, "<!-- seal ", " -->\n" },
};
#define DIGEST_LEN (sizeof("sha256:") - 1 + 2 * TB_SHA256_LEN)
#define LINE_MAX_LEN 128

static bool
flush(struct report_out *o)
{
	if (!o->status)
		o->status = tb_buf_status(&o->text, "an item of the report", o->err);
	if (!o->status && o->text.len) {
		tb_sha256_add(&o->seal, o->text.p, o->text.len);
		o->status = o->put(o->arg, o->text.p, o->text.len, o->err);
	}
	tb_buf_clear(&o->text);
	return !o->status;
}

bool
report_more(struct report_out *o)
{
	return o->text.len < PIECE && !tb_buf_failed(&o->text) ? !o->status : flush(o);
}

enum tb_status
report_print(const struct report *r, enum report_format f, report_put_fn *put, void *arg,
	     char seal[TB_DIGEST_MAX], struct tb_err *err)
{
	struct report_out o = { .r = r, .text = TB_BUF(ITEM_MAX), .put = put, .arg = arg, .err = err };
	char digest[TB_DIGEST_MAX];

	o.status = tb_sha256_init(&o.seal, err);
	if (o.status)
		return o.status;
	sealed[f].body(&o);
	if (flush(&o)) {
		tb_sha256_done(&o.seal, digest);
		tb_buf_printf(&o.text, "%s%s%s", sealed[f].before, digest, sealed[f].after);
		o.status = tb_buf_status(&o.text, "the report's seal", err);
	}
	if (!o.status)
		o.status = put(arg, o.text.p, o.text.len, err);
	if (!o.status && seal)
		memcpy(seal, digest, sizeof(digest));
	tb_sha256_free(&o.seal);
	tb_buf_free(&o.text);
	return o.status;
}

static enum tb_status
put_file(void *arg, const char *text, size_t len, struct tb_err *err)
{
	return tb_out_write(arg, text, len, err);
}

enum tb_status
report_write(const struct report *r, enum report_format f, const char *path, bool replace,
	     char seal[TB_DIGEST_MAX], struct tb_err *err)
{
	enum tb_status status = report_place(path, replace, err);
	char *dir = status ? NULL : tb_path_parent(path);
	struct tb_out out;

	if (status)
		return status;
	if (!dir)
		return tb_nomem(err);
	status = tb_out_open(&out, dir, err);
	free(dir);
	if (status)
		return status;
	status = report_print(r, f, put_file, &out, seal, err);
	if (status) {
		tb_out_abort(&out);
		return tb_wrap(err, status, "%.400s: the report is not written", path);
	}
	return tb_out_commit(&out, path, replace, err);
}

/* ---- checking ---- */

/* The format whose seal that line is, with its digest; REPORT_COUNT: of none. */
static enum report_format
seal_of(const char *line, size_t len, char digest[TB_DIGEST_MAX])
{
	uint8_t bytes[TB_SHA256_LEN];

	for (int f = 0; f < REPORT_COUNT; f++) {
		size_t before = strlen(sealed[f].before), after = strlen(sealed[f].after);

		if (len != before + DIGEST_LEN + after || memcmp(line, sealed[f].before, before) ||
		    memcmp(line + before + DIGEST_LEN, sealed[f].after, after))
			continue;
		memcpy(digest, line + before, DIGEST_LEN);
		digest[DIGEST_LEN] = 0;
		if (tb_digest_bytes(digest, bytes))
			return (enum report_format)f;
	}
	return REPORT_COUNT;
}

/* Hashes the first n bytes; *html: they begin as a page does. */
static enum tb_status
hash_begin(const struct tb_file *file, uint64_t n, char digest[TB_DIGEST_MAX], bool *html,
	   struct tb_err *err)
{
	char *chunk = malloc(CHUNK);
	struct tb_sha256 s;
	enum tb_status status = chunk ? tb_sha256_init(&s, err) : tb_nomem(err);

	*html = false;
	if (status) {
		free(chunk);
		return status;
	}
	for (uint64_t at = 0; !status && at < n; at += CHUNK) {
		size_t len = n - at < CHUNK ? (size_t)(n - at) : CHUNK;

		status = tb_file_read(file, at, chunk, len, err);
		if (!status)
			tb_sha256_add(&s, chunk, len);
		if (!status && !at)
			*html = len > 9 && !memcmp(chunk, "<!DOCTYPE", 9);
	}
	if (status)
		tb_sha256_free(&s);
	else
		tb_sha256_done(&s, digest);
	free(chunk);
	return status;
}

enum tb_status
report_seal_check(const char *path, enum report_format *f, char seal[TB_DIGEST_MAX],
		  struct tb_err *err)
{
	char tail[LINE_MAX_LEN + 1], now[TB_DIGEST_MAX] = "";
	struct tb_file file;
	size_t len = 0, line;
	bool html = false;
	enum tb_status status = tb_file_open(&file, path, err);

	*f = REPORT_COUNT;
	if (status)
		return status;
	len = file.id.size < LINE_MAX_LEN ? (size_t)file.id.size : LINE_MAX_LEN;
	status = tb_file_read(&file, file.id.size - len, tail, len, err);
	for (line = len ? len - 1 : 0; line && tail[line - 1] != '\n'; line--)
		;
	if (!status)
		*f = seal_of(tail + line, len - line, seal);
	if (*f != REPORT_COUNT)
		status = hash_begin(&file, file.id.size - len + line, now, &html, err);
	else if (!status)
		status = tb_fail(err, TB_ENOENT, "%.300s: the seal is missing from its end: it was cut "
				 "or changed after it was written, or is none of our reports; one of an "
				 "older version has none, --unsealed takes it as it is", path);
	tb_file_close(&file);
	if (status)
		return status;
	if (*f == REPORT_MD && html)
		*f = REPORT_HTML;
	return !strcmp(now, seal) ? TB_OK : tb_fail(err, TB_EFORMAT, "%.300s: was changed after it was "
		"written: its bytes no longer are what the seal in its last line says; only the "
		"original is a report", path);
}
