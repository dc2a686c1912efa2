/* remotes.c - servers that the configuration gives names. */
#include "config.h"

#include "src/ops/home/home.h"

#include <string.h>

#include "src/base/mem.h"
#include "src/net/url.h"

bool
config_is_remote(const struct config_line *l)
{
	return !strcmp(l->word[0], "remote");
}

bool
config_check_remote(struct config *c, const struct config_line *l)
{
	struct tb_err err;
	struct url u;

	if (!config_is_remote(l))
		return true;
	if (!*l->word[1] || strpbrk(l->word[1], ":/#@")) {
		config_wrong(c, l, "\"%.60s\": the name of a server has no : / # or @", l->word[1]);
		return false;
	}
	if (url_parse(&u, l->word[2], &err)) {
		config_wrong(c, l, "%s", err.msg);
		return false;
	}
	url_free(&u);
	return true;
}

enum tb_status
config_address(const struct config *c, const char *ref, char **url, struct tb_err *err)
{
	size_t name = strcspn(ref, ":#");

	*url = NULL;
	if (url_is(ref))
		return (*url = tb_strdup(ref)) ? TB_OK : tb_nomem(err);
	for (size_t i = 0; i < c->n; i++) {
		const struct config_line *l = &c->lines[i];

		if (!config_is_remote(l) || strlen(l->word[1]) != name ||
		    strncmp(l->word[1], ref, name))
			continue;
		*url = ref[name] ? tb_asprintf("%.*s#%s", (int)strcspn(l->word[2], "#"), l->word[2],
					       ref + name + 1)
				 : tb_strdup(l->word[2]);
		return *url ? TB_OK : tb_nomem(err);
	}
	return TB_OK;
}
