#include "config.h"

#include "src/store/name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_HOST "registry.ollama.ai"
#define DEFAULT_NS "library"
#define DEFAULT_TAG "latest"

/* What a part may consist of; the first byte is a letter, a digit or '_'. */
static const struct part {
	const char *what, *extra;
	size_t max;
} host_part = { "host", "_.:-", 350 }, ns_part = { "namespace", "_-", 80 },
  model_part = { "model", "_.-", 80 }, tag_part = { "tag", "_.-", 80 };

static bool
alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static enum tb_status
name_take(const struct part *p, const char *s, size_t n, char *out, const char *text,
	  struct tb_err *err)
{
	if (n == 0)
		return tb_fail(err, TB_EUSAGE, "\"%.200s\": the %s is empty", text, p->what);
	if (n > p->max)
		return tb_fail(err, TB_EUSAGE, "\"%.200s\": the %s has more than %zu characters",
			       text, p->what, p->max);
	for (size_t i = 0; i < n; i++)
		if (!alnum(s[i]) && !(i ? strchr(p->extra, s[i]) != NULL : s[i] == '_'))
			return tb_fail(err, TB_EUSAGE, "\"%.200s\": not a model name: byte %zu of"
				       " the %s", text, i, p->what);
	memcpy(out, s, n);
	out[n] = 0;
	return TB_OK;
}

/* Cuts what is behind the last '/' off [s, s + *n). */
static const char *
cut(const char *s, size_t *n, size_t *part_len, bool *more)
{
	const char *slash = *n ? memrchr(s, '/', *n) : NULL, *part = slash ? slash + 1 : s;

	*part_len = (size_t)(s + *n - part);
	*more = slash != NULL;
	*n = slash ? (size_t)(slash - s) : 0;
	return part;
}

enum tb_status
name_parse(const char *text, struct model_name *out, struct tb_err *err)
{
	size_t n = strlen(text), len;
	const char *colon = strrchr(text, ':'), *slash = strrchr(text, '/');
	const char *part, *scheme;
	enum tb_status status = TB_OK;
	bool more;

	*out = (struct model_name){ DEFAULT_HOST, DEFAULT_NS, "", DEFAULT_TAG };
	if (colon && (!slash || colon > slash)) {
		status = name_take(&tag_part, colon + 1, strlen(colon + 1), out->tag, text, err);
		n = (size_t)(colon - text);
	}
	part = cut(text, &n, &len, &more);
	if (!status)
		status = name_take(&model_part, part, len, out->model, text, err);
	if (status || !more)
		return status;
	part = cut(text, &n, &len, &more);
	status = name_take(&ns_part, part, len, out->ns, text, err);
	if (status || !more)
		return status;
	scheme = n ? memmem(text, n, "://", 3) : NULL;
	part = scheme ? scheme + 3 : text;
	return name_take(&host_part, part, n - (size_t)(part - text), out->host, text, err);
}

const char *
name_format(const struct model_name *n, char out[640])
{
	if (strcasecmp(n->host, DEFAULT_HOST) != 0)
		snprintf(out, 640, "%s/%s/%s:%s", n->host, n->ns, n->model, n->tag);
	else if (strcasecmp(n->ns, DEFAULT_NS) != 0)
		snprintf(out, 640, "%s/%s:%s", n->ns, n->model, n->tag);
	else
		snprintf(out, 640, "%s:%s", n->model, n->tag);
	return out;
}

const char *
name_path(const struct model_name *n, char out[640])
{
	snprintf(out, 640, "%s/%s/%s/%s", n->host, n->ns, n->model, n->tag);
	return out;
}
