#include "config.h"

#include "src/net/words.h"

#include <string.h>
#include <strings.h>

#include "src/base/text.h"
#include "src/format/json.h"

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
	static const char *const places[] = { "error", "message", "details" };
	cJSON *doc;

	if (json_parse(&doc, tb_buf_cstr(&a->body), a->body.len, "an error", NULL))
		return false;
	for (const cJSON *e = json_first(json_get(doc, "errors")); e; e = json_next(e)) {
		const char *message = json_str(json_get(e, "message"));

		add_words(out, message && *message ? message : json_str(json_get(e, "code")));
		add_words(out, json_str(json_get(e, "detail")));
	}
	for (size_t i = 0; !out->len && i < sizeof(places) / sizeof(*places); i++)
		add_words(out, json_str(json_get(doc, places[i])));
	json_free(doc);
	return true;
}

/* A document that is none of JSON's. */
static void
words_of_text(const struct http_answer *a, struct tb_buf *out)
{
	const char *text = tb_buf_cstr(&a->body);

	text += strspn(text, " \t\r\n");
	if (*text != '<' && strncasecmp(a->type, "text/html", 9))
		tb_buf_str(out, text);
}

void
server_words(const struct http_answer *a, unsigned columns, struct tb_buf *out)
{
	struct tb_buf words = TB_BUF(HTTP_ERROR_MAX);
	const char *header = http_header(a, "X-Error-Message");	/* of hubs */

	add_words(&words, header);
	if (!words.len && !words_of_json(a, &words))
		words_of_text(a, &words);
	while (words.len && strchr(" \t\r\n", words.p[words.len - 1]))
		words.p[--words.len] = 0;
	if (words.len && !tb_buf_failed(&words))
		tb_text_clip(out, words.p, columns, false);
	tb_buf_free(&words);
}
