#include "config.h"

#include <string.h>

#include "src/base/text.h"
#include "src/net/hub_api.h"
#include "src/net/words.h"

#define WORDS_MAX 160		/* columns */
#define REVISION_SHOWN 60

/* What a refusal is about, which says what to do. */
enum about { ABOUT_FILE, ABOUT_REVISION, ABOUT_TOKEN, ABOUT_HUB };

/* code: what the hub calls it ("X-Error-Code"); NULL: by its status. */
static const struct refusal {
	const char *code;
	int http;
	enum tb_status status;
	enum about about;
	const char *text;
} refusals[] = {
	{ "GatedRepo", 0, TB_EUSAGE, ABOUT_TOKEN, "it is given only to who has accepted its terms, on "
	  "its page there; when you have, " },
	{ "RepoNotFound", 0, TB_ENOENT, ABOUT_TOKEN, "no such repository, or a private one; if the name "
	  "is right, " },
	{ "RevisionNotFound", 0, TB_ENOENT, ABOUT_REVISION, "no such branch, tag or commit: " },
	{ "EntryNotFound", 0, TB_ENOENT, ABOUT_FILE, "no such file" },
	{ NULL, 401, TB_EUSAGE, ABOUT_TOKEN, "no such repository, or a private one; if the name is "
	  "right, " },
	{ NULL, 403, TB_EUSAGE, ABOUT_TOKEN, "it may not be read; " },
	{ NULL, 404, TB_ENOENT, ABOUT_FILE, "there is nothing of that name" },
	{ NULL, 416, TB_EIO, ABOUT_FILE, "a file is shorter there than its list says" },
	{ NULL, 429, TB_EIO, ABOUT_HUB, "too many requests" },
};

static const struct refusal *
refusal_of(const struct http_answer *a)
{
	static const struct refusal any = { NULL, 0, TB_EIO, ABOUT_HUB, "it refuses" };
	const char *code = http_header(a, "X-Error-Code");

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (refusals[i].code ? code && !strcmp(code, refusals[i].code)
				     : a->status == refusals[i].http)
			return &refusals[i];
	return &any;
}

enum tb_status
hub_refusal(const struct http_answer *a, const char *what, const char *revision, bool token,
	    struct tb_err *err)
{
	const struct refusal *r = refusal_of(a);
	struct tb_buf text = TB_BUF(2048), words = TB_BUF(1024);
	enum tb_status status;

	tb_buf_str(&text, r->text);
	if (r->about == ABOUT_REVISION)
		tb_text_clip(&text, revision, REVISION_SHOWN, false);
	if (r->about == ABOUT_TOKEN)
		tb_buf_str(&text, token ? "use a token that may read it (the one shown may not)"
					: "log in (hf auth login), or set HF_TOKEN");
	if (a->retry_after)
		tb_buf_printf(&text, "; try again in %u s", a->retry_after);
	server_words(a, WORDS_MAX, &words);
	if (words.len)
		tb_buf_printf(&text, " (HTTP %d, \"%s\")", a->status, words.p);
	else
		tb_buf_printf(&text, " (HTTP %d)", a->status);
	status = tb_buf_status(&text, what, err);
	if (!status)
		status = tb_fail(err, r->status, "%s: %s", what, text.p);
	tb_buf_free(&words);
	tb_buf_free(&text);
	return status;
}
