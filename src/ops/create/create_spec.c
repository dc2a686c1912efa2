/* create_spec.c - the commands of a Modelfile, put together. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/ops/create/create_parts.h"

/* Digits without zeros before them; what is behind. */
static const char *
part(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n && (n == 1 || *s != '0') ? s + n : NULL;
}

/* "0.19.0", "1.2", "1.0.0-rc1". */
static bool
is_version(const char *s)
{
	static const char word[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.+";
	int parts = 0;

	while (parts < 3 && (!parts || *s++ == '.')) {
		s = part(s);
		if (!s)
			return false;
		parts++;
		if (!*s)
			return true;
		if (*s != '.')
			break;
	}
	return parts == 3 && (*s == '-' || *s == '+') && s[1] && strspn(s, word) == strlen(s);
}

bool
version_below(const char *a, const char *b)
{
	for (int i = 0; i < 3; i++) {
		char *end_a, *end_b;
		unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);

		if (x != y)
			return x < y;
		a = end_a + (*end_a == '.');
		b = end_b + (*end_b == '.');
	}
	return false;
}

static enum tb_status
read_requires(struct create_spec *s, const char *value, struct tb_err *err)
{
	value += *value == 'v';
	if (!is_version(value))
		return tb_fail(err, TB_EFORMAT, "REQUIRES \"%.60s\" is no version (0.14.0 is one)", value);
	s->requires = value;
	return TB_OK;
}

static enum tb_status
spec_take(struct create_spec *s, const struct modelfile_command *c, struct tb_err *err)
{
	const char **where = NULL;

	switch (c->word) {
	case MODELFILE_TEMPLATE:
		where = &s->template;
		break;
	case MODELFILE_SYSTEM:
		where = &s->system;
		break;
	case MODELFILE_RENDERER:
		where = &s->renderer;
		break;
	case MODELFILE_PARSER:
		where = &s->parser;
		break;
	case MODELFILE_ADAPTER:
		where = &s->adapter;
		break;
	case MODELFILE_DRAFT:
		where = &s->draft;
		break;
	case MODELFILE_REQUIRES:
		return read_requires(s, c->value, err);
	case MODELFILE_PARAMETER:
		return params_set(&s->params, c->name, c->value, &s->notes, err);
	default:
		break;	/* those of which all count are taken from the list */
	}
	if (where)
		*where = *c->value ? c->value : NULL;
	return TB_OK;
}

enum tb_status
spec_read(struct create_spec *s, const struct modelfile *m, const char *what, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*s = (struct create_spec){ .m = m, .notes = TB_BUF(65536) };
	for (size_t i = 0; i < m->n && !status; i++) {
		status = spec_take(s, &m->commands[i], err);
		if (status)
			return tb_wrap(err, status, "%s: line %u", what, m->commands[i].line);
	}
	return status;
}

void
spec_free(struct create_spec *s)
{
	params_free(&s->params);
	tb_buf_free(&s->notes);
}
