#include "config.h"

#include "src/net/credentials.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/net/docker_config.h"
#include "src/net/key.h"
#include "src/net/url.h"

#define CONFIG_MAX (4u << 20)

bool
credentials_some(const struct credentials *c)
{
	return c->user || c->token || c->refresh;
}

void
credentials_free(struct credentials *c)
{
	api_key_free(c->password);
	api_key_free(c->token);
	api_key_free(c->refresh);
	free(c->user);
	free(c->from);
	*c = (struct credentials){ 0 };
}

static enum tb_status
from_keys(const struct url *u, struct credentials *out, struct tb_err *err)
{
	struct api_login l;
	enum tb_status status = api_login_find(u, &l, err);

	if (status || !l.secret)
		return status;
	out->from = tb_config_path("keys");
	out->user = l.user;
	out->plain = l.plain;
	if (l.user)
		out->password = l.secret;
	else
		out->token = l.secret;
	return out->from ? TB_OK : tb_nomem(err);
}

/* It says which program is run: nobody else may write there. */
static enum tb_status
may_name_programs(const char *path, struct tb_err *err)
{
	struct stat st;

	if (stat(path, &st))
		return tb_fail_errno(err, "%s", path);
	if ((st.st_uid != geteuid() && st.st_uid) || (st.st_mode & 022))
		return tb_fail(err, TB_EUSAGE, "%s: others may write it, and it names a program to run;"
			       " chmod go-w %s", path, path);
	return TB_OK;
}

/* asking: a program, if it has to be. */
static enum tb_status
from_entry(const char *path, struct docker_entry *e, bool asking, struct tb_job *job,
	   struct credentials *out, struct tb_err *err)
{
	bool plain = e->cred.plain;
	enum tb_status status;

	if (credentials_some(&e->cred)) {
		if ((status = api_key_private(path, err)))
			return status;
		*out = e->cred;
		e->cred = (struct credentials){ 0 };
		return (out->from = tb_strdup(path)) ? TB_OK : tb_nomem(err);
	}
	if (!e->helper)
		return TB_OK;
	status = may_name_programs(path, err);
	if (!status && asking)
		status = docker_helper_ask(e->helper, e->server, job, out, err);
	if (status || (asking && !credentials_some(out)))
		return status;
	out->plain = plain;
	out->from = tb_asprintf("docker-credential-%s", e->helper);
	return out->from ? TB_OK : tb_nomem(err);
}

static enum tb_status
from_docker(const char *path, const struct url *u, bool asking, struct tb_job *job,
	    struct credentials *out, struct tb_err *err)
{
	struct docker_entry e = { 0 };
	enum tb_status status;
	char *text = NULL;
	size_t len = 0;

	if (tb_absent(path))
		return TB_OK;
	if ((status = tb_file_slurp(path, CONFIG_MAX, &text, &len, err)))
		return status;
	if (len)
		status = docker_config_find(text, len, path, u, &e, err);
	explicit_bzero(text, len);
	free(text);
	if (!status)
		status = from_entry(path, &e, asking, job, out, err);
	docker_entry_free(&e);
	return status;
}

/* The n-th file that registries' users keep such things in; NULL: no memory, "": no such
 * place here. */
static char *
docker_path(unsigned n)
{
	static const struct { const char *variable, *rest, *below_home; } places[] = {
		{ "DOCKER_CONFIG", "config.json", ".docker/config.json" },
		{ "REGISTRY_AUTH_FILE", NULL, NULL },
		{ "XDG_RUNTIME_DIR", "containers/auth.json", NULL },
		{ "XDG_CONFIG_HOME", "containers/auth.json", ".config/containers/auth.json" },
	};
	const char *value, *home = getenv("HOME");

	if (n >= sizeof(places) / sizeof(*places))
		return NULL;
	value = getenv(places[n].variable);
	if (value && *value)
		return places[n].rest ? tb_path_join(value, places[n].rest) : tb_strdup(value);
	if (places[n].below_home && home && *home == '/')
		return tb_path_join(home, places[n].below_home);
	return tb_strdup("");
}
#define DOCKER_PATHS 4u

/* Not where all can read it, unless the entry says so. */
static enum tb_status
may_go(const struct url *u, const struct credentials *c, struct tb_err *err)
{
	char *host;

	if (!credentials_some(c) || c->plain || strcmp(u->scheme, "http") || url_is_loopback(u))
		return TB_OK;
	host = url_host(u);
	tb_fail(err, TB_EUSAGE, "http://%s: what %s has for it would cross the network for all to read;"
		" use https://, or write a line \"http://%s USER PASSWORD\" into"
		" ~/.config/tbtui/keys", host ? host : "?", c->from, host ? host : "?");
	free(host);
	return TB_EUSAGE;
}

static enum tb_status
find_somewhere(const struct url *u, bool asking, struct tb_job *job, struct credentials *out,
	       struct tb_err *err)
{
	enum tb_status status;

	*out = (struct credentials){ 0 };
	status = from_keys(u, out, err);
	for (unsigned i = 0; i < DOCKER_PATHS && !status && !out->from; i++) {
		char *path = docker_path(i);

		if (!path)
			status = tb_nomem(err);
		else if (*path)
			status = from_docker(path, u, asking, job, out, err);
		free(path);
	}
	if (!status)
		status = may_go(u, out, err);
	if (status)
		credentials_free(out);
	return status;
}

enum tb_status
credentials_find(const struct url *u, struct tb_job *job, struct credentials *out,
		 struct tb_err *err)
{
	return find_somewhere(u, true, job, out, err);
}

enum tb_status
credentials_where(const struct url *u, char **from, struct tb_err *err)
{
	struct credentials c;
	enum tb_status status = find_somewhere(u, false, NULL, &c, err);

	*from = c.from;
	c.from = NULL;
	credentials_free(&c);
	return status;
}

void
credentials_places(const struct url *u, struct tb_buf *out)
{
	char *path = tb_config_path("keys"), *host = url_host(u);

	tb_buf_printf(out, "a line \"%s USER PASSWORD\" into %s (chmod 600), or use docker login %s",
		      host ? host : "HOST", path && *path ? path : "~/.config/tbtui/keys",
		      host ? host : "HOST");
	free(path);
	free(host);
}
