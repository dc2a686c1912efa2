#include "config.h"

#include "src/net/hub_token.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/net/key.h"
#include "src/net/url.h"

#define TOKEN_MAX 4096u

void
hub_token_free(char *auth)
{
	api_key_free(auth);
}

static const char *
set_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Is it the hub that the token was made for? */
static bool
is_its_hub(const struct url *u)
{
	const char *endpoint = set_variable("HF_ENDPOINT");
	struct url own = { 0 };
	bool same = !url_parse(&own, endpoint ? endpoint : "https://huggingface.co", NULL) &&
		    url_same_origin(&own, u);

	url_free(&own);
	return same && (!strcmp(u->scheme, "https") || url_is_loopback(u));
}

/* In fresh memory; "": there is no place for one. */
static char *
token_path(void)
{
	static const struct { const char *variable, *tail; } places[] = {
		{ "HF_TOKEN_PATH", "" }, { "HF_HOME", "/token" },
		{ "XDG_CACHE_HOME", "/huggingface/token" }, { "HOME", "/.cache/huggingface/token" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (set_variable(places[i].variable))
			return tb_asprintf("%s%s", set_variable(places[i].variable), places[i].tail);
	return tb_strdup("");
}

/* The header's value of what was found, whose ends may be blank. */
static enum tb_status
take_token(const char *text, const char *where, char **out, struct tb_err *err)
{
	size_t from = strspn(text, " \t\r\n"), n = strcspn(text + from, " \t\r\n");

	if (!n)
		return TB_OK;
	if (n > TOKEN_MAX || text[from + n + strspn(text + from + n, " \t\r\n")])
		return tb_fail(err, TB_EUSAGE, "%s: what it holds is no token", where);
	for (size_t i = 0; i < n; i++)
		if (text[from + i] <= ' ' || text[from + i] > '~')
			return tb_fail(err, TB_EUSAGE, "%s: what it holds is no token", where);
	*out = tb_asprintf("Bearer %.*s", (int)n, text + from);
	return *out ? TB_OK : tb_nomem(err);
}

static enum tb_status
from_file(char **out, struct tb_err *err)
{
	char *path = token_path(), *text = NULL;
	enum tb_status status = path ? TB_OK : tb_nomem(err);

	if (!status && *path && !tb_absent(path)) {
		status = api_key_private(path, err);
		if (!status)
			status = tb_file_slurp(path, TOKEN_MAX + 16, &text, NULL, err);
		if (!status) {
			status = take_token(text, path, out, err);
			explicit_bzero(text, strlen(text));
		}
	}
	free(text);
	free(path);
	return status;
}

enum tb_status
hub_token_find(const struct url *u, char **out, struct tb_err *err)
{
	static const char *const variables[] = { "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN" };
	enum tb_status status = TB_OK;

	*out = NULL;
	if (!is_its_hub(u))
		return TB_OK;
	for (size_t i = 0; i < 2 && !status && !*out; i++)
		if (set_variable(variables[i]))
			status = take_token(getenv(variables[i]), variables[i], out, err);
	return status || *out ? status : from_file(out, err);
}
