/* registries.c - what the configuration says of registries. */
#include "config.h"

#include "src/ops/home/home.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/mem.h"
#include "src/net/registry.h"
#include "src/net/url.h"

bool
config_is_registry(const struct config_line *l)
{
	return !strcmp(l->word[0], "registry");
}

static bool
is_registry_host(const char *word)
{
	char *text = tb_asprintf("https://%s", word);
	struct url u = { 0 };
	bool ok = text && *word && !strpbrk(word, "/@#?") && !url_parse(&u, text, NULL);

	url_free(&u);
	free(text);
	return ok;
}

/* The next place for a mirror; NULL: there are enough. */
static const char **
free_mirror(struct config_registry *r)
{
	for (size_t i = 0; i < CONFIG_MIRRORS; i++)
		if (!r->mirrors[i])
			return &r->mirrors[i];
	return NULL;
}

/* What stands at word i into *r.  How many words that were; 0: it is nothing that is known, or what
 * it wants is missing. */
static size_t
take_setting(const struct config_line *l, size_t i, struct config_registry *r)
{
	const char *word = l->word[i], *value = i + 1 < l->n ? l->word[i + 1] : "", **to = NULL;
	bool fits = false;

	if (!strcmp(word, "plain") || !strcmp(word, "skip-verify")) {
		r->plain |= *word == 'p';
		r->skip_verify |= *word == 's';
		return 1;
	}
	if (!strcmp(word, "ca")) {
		to = &r->ca_file;
		fits = *value == '/';
	} else if (!strcmp(word, "auth")) {
		to = &r->auth_host;
		fits = is_registry_host(value);
	} else if (!strcmp(word, "mirror")) {
		to = free_mirror(r);
		fits = url_is(value);
	}
	if (!to || !fits)
		return 0;
	*to = value;
	return 2;
}

bool
config_check_registry(struct config *c, const struct config_line *l)
{
	struct config_registry r = { 0 };
	struct url u;

	if (!config_is_registry(l))
		return true;
	if (!is_registry_host(l->word[1])) {
		config_wrong(c, l, "\"%.100s\": the host of a registry is wanted, as ghcr.io or"
			     " localhost:5000", l->word[1]);
		return false;
	}
	for (size_t i = 2, n; i < l->n; i += n)
		if (!(n = take_setting(l, i, &r))) {
			config_wrong(c, l, "\"%.60s\": plain, skip-verify, ca /FILE, auth HOST or at most %u"
				     " times mirror URL are wanted", l->word[i], CONFIG_MIRRORS);
			return false;
		}
	for (size_t i = 0; r.mirrors[i]; i++) {
		struct tb_err err;

		if (url_parse(&u, r.mirrors[i], &err)) {
			config_wrong(c, l, "%s", err.msg);
			return false;
		}
		url_free(&u);
	}
	return true;
}

void
config_registry(const struct config *c, const char *host, struct config_registry *out)
{
	*out = (struct config_registry){ 0 };
	for (size_t k = 0; k < c->n; k++) {
		const struct config_line *l = &c->lines[k];

		if (!config_is_registry(l) || strcasecmp(l->word[1], host))
			continue;
		for (size_t i = 2, n; i < l->n && (n = take_setting(l, i, out)); i += n)
			;
	}
}

void
config_registry_opts(const struct config *c, const struct image_name *n, bool insecure,
		     bool skip_verify, struct config_registry *said, struct registry_opts *out)
{
	config_registry(c, n->host, said);
	*out = (struct registry_opts){
		.mirrors = said->mirrors,
		/* who writes https:// means it, whatever is usual */
		.plain = insecure || (said->plain && strcmp(n->scheme, "https") != 0),
		.skip_verify = skip_verify || said->skip_verify,
		.ca_file = said->ca_file,
		.auth_host = said->auth_host,
	};
}

void
config_print_registries(const struct config *c, struct tb_buf *out)
{
	tb_buf_str(out, "\n# registry HOST [plain] [skip-verify] [ca /FILE] [auth HOST] [mirror URL]...:"
		   " HTTP without\n# TLS; any certificate; certificates of its own; who else gets its"
		   " password, to give\n# tokens; who is asked first.\n");
	for (size_t k = 0; k < c->n; k++) {
		if (!config_is_registry(&c->lines[k]))
			continue;
		for (size_t i = 0; i < c->lines[k].n; i++) {
			tb_buf_str(out, i ? " " : "");
			config_put_word(out, c->lines[k].word[i]);
		}
		tb_buf_chr(out, '\n');
	}
}
