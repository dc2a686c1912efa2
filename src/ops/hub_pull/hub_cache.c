/* hub_cache.c - which of the stores is a cache that models of a hub go to. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/ops/hub_pull/hub_pull_parts.h"
#include "src/store/store_kind.h"
#include "src/store/walk.h"

/* Where `hf` puts them, without being told; "": nobody knows. */
static char *
usual_place(void)
{
	static const struct { const char *variable, *tail; } places[] = {
		{ "HF_HUB_CACHE", "" }, { "HUGGINGFACE_HUB_CACHE", "" }, { "HF_HOME", "/hub" },
		{ "XDG_CACHE_HOME", "/huggingface/hub" }, { "HOME", "/.cache/huggingface/hub" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *value = getenv(places[i].variable);

		if (value && *value)
			return tb_asprintf("%s%s", value, places[i].tail);
	}
	return tb_strdup("");
}

/* Are there repositories in it? */
static bool
is_cache(const char *dir)
{
	struct tb_names names = { 0 };
	bool yes = false;

	if (tb_names_read(&names, dir, NULL))
		return false;
	for (size_t i = 0; i < names.n && !yes; i++)
		yes = store_hub.is(names.v[i]);
	tb_names_free(&names);
	return yes;
}

/* A folder that may become one: what is hidden in it is ours, or that of `hf`. */
static bool
may_be_cache(const char *dir)
{
	struct tb_names names = { 0 };
	bool yes = true;

	if (tb_absent(dir))
		return true;
	if (tb_names_read(&names, dir, NULL))
		return false;
	for (size_t i = 0; i < names.n; i++)
		yes &= *names.v[i] == '.' || !strcmp(names.v[i], "CACHEDIR.TAG");
	tb_names_free(&names);
	return yes;
}

enum tb_status
hub_cache_find(const struct op_ctx *ctx, const char *store, char **out, struct tb_err *err)
{
	const struct store_roots *r = &ctx->roots;
	size_t at = r->n;

	if (store) {
		*out = store_absolute(store);
		return *out ? TB_OK : tb_nomem(err);
	}
	for (size_t i = 0; i < r->n && at == r->n; i++)
		if (is_cache(r->path[i]))
			at = i;
	for (size_t i = 0; r->given && i < r->n && at == r->n; i++)
		if (may_be_cache(r->path[i]))
			at = i;
	*out = NULL;
	if (at == r->n && r->given)
		return tb_fail(err, TB_EUSAGE, "%s: no cache as hf keeps it, and not empty; name another "
			       "with --store", r->path[0]);
	*out = at < r->n ? tb_strdup(r->path[at]) : usual_place();
	if (!*out)
		return tb_nomem(err);
	if (**out)
		return TB_OK;
	free(*out);
	*out = NULL;
	return tb_fail(err, TB_EUSAGE, "no place for it is known: set HF_HOME, or name one with --store");
}
