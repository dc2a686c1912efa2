/* registry_error.c - what a registry says when it does not give what was asked for. */
#include "config.h"

#include <string.h>
#include <strings.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/net/registry_parts.h"

#define WORDS_COLUMNS 220		/* of its own words: a sentence, not a page */

static void
add_words(struct tb_buf *out, const char *s)
{
	if (!s || !*s)
		return;
	if (out->len)
		tb_buf_str(out, "; ");
	tb_buf_str(out, s);
}

/* {"errors":[{"code":…,"message":…,"detail":…}]} of registries, {"error":…} of hubs,
 * {"details":…} of token servers. */
static bool
words_of_json(const struct http_answer *a, struct tb_buf *out)
{
	cJSON *doc;

	if (json_parse(&doc, tb_buf_cstr(&a->body), a->body.len, "an error", NULL))
		return false;
	for (const cJSON *e = json_first(json_get(doc, "errors")); e; e = json_next(e)) {
		const char *message = json_str(json_get(e, "message"));

		add_words(out, message && *message ? message : json_str(json_get(e, "code")));
		add_words(out, json_str(json_get(e, "detail")));
	}
	if (!out->len)
		add_words(out, json_str(json_get(doc, "error")));
	if (!out->len)
		add_words(out, json_str(json_get(doc, "message")));
	if (!out->len)
		add_words(out, json_str(json_get(doc, "details")));
	json_free(doc);
	return true;
}

/* What it says, cleaned and short, in quotes; nothing where it says nothing that a person reads. */
static void
server_words(const struct http_answer *a, struct tb_buf *out)
{
	struct tb_buf words = TB_BUF(HTTP_ERROR_MAX);
	const char *text = tb_buf_cstr(&a->body);

	if (!words_of_json(a, &words)) {
		while (*text && strchr(" \t\r\n", *text))
			text++;
		if (*text != '<' && strncasecmp(a->type, "text/html", 9))
			tb_buf_str(&words, text);
	}
	while (words.len && strchr(" \t\r\n", words.p[words.len - 1]))
		words.p[--words.len] = 0;
	if (words.len && !tb_buf_failed(&words)) {
		tb_buf_str(out, ": \"");
		tb_text_clip(out, words.p, WORDS_COLUMNS, false);
		tb_buf_chr(out, '"');
	}
	tb_buf_free(&words);
}

enum tb_status
place_error(const struct registry_at *p, const struct http_answer *a, const char *what,
	    struct tb_err *err)
{
	struct tb_buf words = TB_BUF(4096);
	enum tb_status status;
	const char *said;

	server_words(a, &words);
	said = tb_buf_cstr(&words);
	if (a->status == 401)
		status = tb_fail(err, TB_EUSAGE, "%s: %.150s: it wants to know who asks%s", p->host,
				 what, said);
	else if (a->status == 403)
		status = tb_fail(err, TB_EUSAGE, "%s: %.150s: not for who asks%s", p->host,
				 what, said);
	else if (a->status == 404)
		status = tb_fail(err, TB_ENOENT, "%s: %.150s: not there%s", p->host, what, said);
	else if (a->status == 412)
		status = tb_fail(err, TB_EUNSUP, "%s: %.150s: refused%s", p->host, what, said);
	else if (a->status == 429 && a->retry_after)
		status = tb_fail(err, TB_EIO, "%s: %.150s: asked too often; again in %u second%s%s",
				 p->host, what, a->retry_after, tb_plural(a->retry_after), said);
	else if (a->status == 429)
		status = tb_fail(err, TB_EIO, "%s: %.150s: asked too often; try later%s", p->host,
				 what, said);
	else if (a->status >= 500)
		status = tb_fail(err, TB_EIO, "%s: %.150s: the server failed (%d)%s", p->host, what,
				 a->status, said);
	else
		status = tb_fail(err, TB_EIO, "%s: %.150s: answered with %d%s", p->host, what,
				 a->status, said);
	tb_buf_free(&words);
	return status;
}

enum tb_status
registry_error(const struct registry *r, const struct http_answer *a, const char *what,
	       struct tb_err *err)
{
	return place_error(&r->places[r->nplaces - 1], a, what, err);
}
