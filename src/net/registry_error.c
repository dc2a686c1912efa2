/* registry_error.c - what a registry says when it does not give what was asked for. */
#include "config.h"

#include "src/base/text.h"
#include "src/net/registry_parts.h"
#include "src/net/words.h"

#define WORDS_COLUMNS 220		/* of its own words: a sentence, not a page */

static void
quote_words(const struct http_answer *a, struct tb_buf *out)
{
	struct tb_buf words = TB_BUF(4096);

	server_words(a, WORDS_COLUMNS, &words);
	if (words.len)
		tb_buf_printf(out, ": \"%s\"", tb_buf_cstr(&words));
	tb_buf_free(&words);
}

enum tb_status
place_error(const struct registry_at *p, const struct http_answer *a, const char *what,
	    struct tb_err *err)
{
	struct tb_buf words = TB_BUF(4096);
	enum tb_status status;
	const char *said;

	quote_words(a, &words);
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
