#include "config.h"

#include "src/base/opt.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"

#define TEXT_AT 31		/* where the texts of --help begin */
#define LINE_WIDTH 80

static enum tb_status
store_value(const struct tb_opt *o, const char *value, struct tb_err *err)
{
	struct tb_strs *list = o->to;
	char *end;

	switch (o->type) {
	case TB_OPT_FLAG:
		*(bool *)o->to = true;
		return TB_OK;
	case TB_OPT_STR:
		*(const char **)o->to = value;
		return TB_OK;
	case TB_OPT_LIST:
		if (!tb_grow(&list->v, &list->cap, list->n + 1, sizeof(*list->v)))
			return tb_nomem(err);
		list->v[list->n++] = value;
		return TB_OK;
	case TB_OPT_U64:
		if (tb_parse_u64(value, o->to))
			return TB_OK;
		return tb_fail(err, TB_EUSAGE, "--%s: \"%s\" is no whole number", o->name, value);
	case TB_OPT_F64:
		errno = 0;
		*(double *)o->to = strtod(value, &end);
		if (*value && !*end && !errno && isfinite(*(double *)o->to))
			return TB_OK;
		return tb_fail(err, TB_EUSAGE, "--%s: \"%s\" is no number", o->name, value);
	}
	return TB_OK;
}

static enum tb_status
no_option(const struct tb_opt *opts, const char *word, size_t n, struct tb_err *err)
{
	char typed[64], hint[128];
	struct tb_near near = { .word = typed };

	snprintf(typed, sizeof(typed), "--%.*s", (int)(n < 56 ? n : 56), word);
	for (; opts->name; opts++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", opts->name);
		tb_near_try(&near, name);
	}
	tb_near_text(&near, hint, sizeof(hint));
	return tb_fail(err, TB_EUSAGE, "no option \"%s\"%s", typed,
		       *hint ? hint : "; try --help");
}

/* argv[i] starts with "--"; *i moves on when the value is the next word. */
static enum tb_status
parse_long(const struct tb_opt *opts, int argc, char **argv, int *i, struct tb_err *err)
{
	const char *word = argv[*i] + 2, *eq = strchr(word, '=');
	size_t n = eq ? (size_t)(eq - word) : strlen(word);
	const struct tb_opt *o = opts;

	while (o->name && (strlen(o->name) != n || strncmp(o->name, word, n)))
		o++;
	if (!o->name)
		return no_option(opts, word, n, err);
	if (o->type == TB_OPT_FLAG && eq)
		return tb_fail(err, TB_EUSAGE, "--%s takes no value", o->name);
	if (o->type != TB_OPT_FLAG && !eq && *i + 1 >= argc)
		return tb_fail(err, TB_EUSAGE, "--%s needs a value (%s)", o->name, o->arg);
	if (o->type == TB_OPT_FLAG)
		return store_value(o, NULL, err);
	return store_value(o, eq ? eq + 1 : argv[++*i], err);
}

static enum tb_status
parse_letters(const struct tb_opt *opts, int argc, char **argv, int *i, struct tb_err *err)
{
	for (const char *p = argv[*i] + 1; *p; p++) {
		const struct tb_opt *o = opts;
		enum tb_status status;

		while (o->name && o->letter != *p)
			o++;
		if (!o->name)
			return tb_fail(err, TB_EUSAGE, "no option \"-%c\"; try --help", *p);
		if (o->type != TB_OPT_FLAG) {
			if (p[1])
				return store_value(o, p + 1, err);
			if (*i + 1 >= argc)
				return tb_fail(err, TB_EUSAGE, "-%c needs a value (%s)", *p, o->arg);
			return store_value(o, argv[++*i], err);
		}
		status = store_value(o, NULL, err);
		if (status)
			return status;
	}
	return TB_OK;
}

enum tb_status
tb_opt_parse(const struct tb_opt *opts, int *argc, char **argv, bool stop_at_operand,
	     struct tb_err *err)
{
	int kept = 1, i = 1;
	enum tb_status status = TB_OK;

	for (; i < *argc && !status; i++) {
		const char *word = argv[i];

		if (!strcmp(word, "--")) {
			i++;
			break;
		}
		if (word[0] == '-' && word[1] == '-')
			status = parse_long(opts, *argc, argv, &i, err);
		else if (word[0] == '-' && word[1])
			status = parse_letters(opts, *argc, argv, &i, err);
		else if (stop_at_operand)
			break;
		else
			argv[kept++] = argv[i];
	}
	while (i < *argc && !status)
		argv[kept++] = argv[i++];
	if (!status) {
		*argc = kept;
		argv[kept] = NULL;
	}
	return status;
}

/* What is explained, and the text, wrapped at 80 columns. */
static void
opt_row(const char *head, const char *text, FILE *out)
{
	int at = fprintf(out, "  %-*s", TEXT_AT - 3, head);

	if (at < TEXT_AT)
		at += fprintf(out, " ");
	else
		at = fprintf(out, "\n%*s", TEXT_AT, "") - 1;
	while (*text) {
		int word = (int)strcspn(text, " ");

		if (at > TEXT_AT && at + 1 + word > LINE_WIDTH)
			at = fprintf(out, "\n%*s", TEXT_AT, "") - 1;
		else if (at > TEXT_AT)
			at += fprintf(out, " ");
		at += fprintf(out, "%.*s", word, text);
		text += word + strspn(text + word, " ");
	}
	fputc('\n', out);
}

void
tb_opt_help(const struct tb_opt *opts, FILE *out)
{
	for (; opts->name; opts++) {
		char head[64];

		snprintf(head, sizeof(head), "%c%c%c --%s%s%s", opts->letter ? '-' : ' ',
			 opts->letter ? opts->letter : ' ', opts->letter ? ',' : ' ', opts->name,
			 opts->arg ? " " : "", opts->arg ? opts->arg : "");
		opt_row(head, opts->help, out);
	}
}

void
tb_strs_free(struct tb_strs *l)
{
	free(l->v);
	*l = (struct tb_strs){ 0 };
}
