/* chat_opts.c - parameters of a conversation by name. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/chat/chat.h"

enum opt_kind { OPT_REAL, OPT_WHOLE, OPT_SEED, OPT_KV, OPT_THINK, OPT_STOPS };
#define ROW(name, kind, member) { name, kind, offsetof(struct chat_opts, member) }
static const struct opt_row { const char *name; enum opt_kind kind; size_t at; } opt_rows[] = {
	ROW("temperature", OPT_REAL, sampler.temperature),
	ROW("top_p", OPT_REAL, sampler.top_p),
	ROW("min_p", OPT_REAL, sampler.min_p),
	ROW("top_k", OPT_WHOLE, sampler.top_k),
	ROW("repeat_penalty", OPT_REAL, sampler.repeat_penalty),
	ROW("repeat_last_n", OPT_WHOLE, sampler.repeat_last),
	ROW("num_predict", OPT_WHOLE, max_tokens),
	ROW("num_ctx", OPT_WHOLE, context),
	ROW("seed", OPT_SEED, sampler.seed),
	ROW("kv", OPT_KV, kv),
	ROW("think", OPT_THINK, think),
	ROW("stop", OPT_STOPS, stops),
};
#undef ROW
#define OPT_ROWS (sizeof(opt_rows) / sizeof(*opt_rows))

void
chat_opts_init(struct chat_opts *o, const struct chat_model *m)
{
	*o = (struct chat_opts){ .sampler = m->sampler, .system = m->system,
				 .context = m->context, .max_tokens = m->max_tokens };
}

const char *
chat_opts_name(size_t i)
{
	return i < OPT_ROWS ? opt_rows[i].name : NULL;
}

static const struct opt_row *
opt_find(const char *name)
{
	for (size_t i = 0; i < OPT_ROWS; i++)
		if (!strcmp(opt_rows[i].name, name))
			return &opt_rows[i];
	return NULL;
}

static bool
think_named(const char *value, const char **think)
{
	static const char *const names[] = { "off", "on", "low", "medium", "high", "max" };
	static const char *const also[][2] = { { "false", "off" }, { "true", "on" } };

	for (size_t i = 0; i < 2; i++)
		if (!strcmp(value, also[i][0]))
			value = also[i][1];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(value, names[i])) {
			*think = names[i];
			return true;
		}
	return false;
}

/* ---- texts that end an answer ---- */

size_t
chat_opts_stops(const struct chat_opts *o, const char *stops[CHAT_STOPS])
{
	size_t n = 0;

	for (const char *p = o->stops; *p && n < CHAT_STOPS; p += strlen(p) + 1)
		stops[n++] = p;
	return n;
}

enum tb_status
chat_opts_add_stop(struct chat_opts *o, const char *text, struct tb_err *err)
{
	const char *all[CHAT_STOPS];
	size_t n = chat_opts_stops(o, all), len = strlen(text);
	size_t at = n ? (size_t)(all[n - 1] - o->stops) + strlen(all[n - 1]) + 1 : 0;

	if (!len)
		return tb_fail(err, TB_EUSAGE, "an empty text ends no answer");
	if (n == CHAT_STOPS || len + 2 > CHAT_STOPS_MAX - at)
		return tb_fail(err, TB_EUSAGE, "at most %d texts can end an answer, of %d bytes in all",
			       CHAT_STOPS, CHAT_STOPS_MAX - 2);
	memcpy(o->stops + at, text, len + 1);
	o->stops[at + len + 1] = 0;
	return TB_OK;
}

static const char stop_signs[][2] = {
	{ 'n', '\n' }, { 't', '\t' }, { 'r', '\r' }, { '"', '"' }, { '\\', '\\' },
};
#define STOP_SIGNS (sizeof(stop_signs) / sizeof(*stop_signs))

/* The next of them, and what stands behind it; NULL: it is none. */
static const char *
stop_read(const char *p, char text[CHAT_STOPS_MAX])
{
	bool quoted = *p == '"';
	size_t n = 0, sign;

	for (p += quoted; quoted ? *p != '"' : *p && *p != ' ' && *p != '\n'; p++) {
		if (!*p || n + 1 == CHAT_STOPS_MAX)
			return NULL;
		text[n] = *p;
		if (*p == '\\') {
			for (sign = 0, p++; sign < STOP_SIGNS && stop_signs[sign][0] != *p; sign++)
				;
			if (sign == STOP_SIGNS)
				return NULL;
			text[n] = stop_signs[sign][1];
		}
		n++;
	}
	text[n] = 0;
	return p + quoted;
}

static bool
stops_named(struct chat_opts *o, const char *value)
{
	struct chat_opts all = { .stops = "" };
	char text[CHAT_STOPS_MAX];

	while (*(value += strspn(value, " \n")))
		if (!(value = stop_read(value, text)) ||
		    (*text && chat_opts_add_stop(&all, text, NULL)))
			return false;
	memcpy(o->stops, all.stops, sizeof(o->stops));
	return true;
}

static void
stops_print(const struct chat_opts *o, char value[CHAT_OPT_MAX])
{
	for (const char *p = o->stops; *p; p++) {	/* a NUL follows each */
		*value++ = '"';
		for (; *p; p++) {
			size_t sign = 0;

			while (sign < STOP_SIGNS && stop_signs[sign][1] != *p)
				sign++;
			if (sign < STOP_SIGNS)
				*value++ = '\\';
			*value++ = sign < STOP_SIGNS ? stop_signs[sign][0] : *p;
		}
		*value++ = '"';
		if (p[1])
			*value++ = ' ';
	}
	*value = 0;
}

/* ---- all ---- */

bool
chat_opts_set(struct chat_opts *o, const char *name, const char *value)
{
	const struct opt_row *row = opt_find(name);
	char *at = (char *)o + (row ? row->at : 0), *end;
	uint64_t n;
	double x;

	if (!row)
		return false;
	switch (row->kind) {
	case OPT_SEED:
		return tb_parse_u64(value, (uint64_t *)at);
	case OPT_KV:
		return kv_type_named(value, (enum kv_type *)at);
	case OPT_THINK:
		return think_named(value, (const char **)at);
	case OPT_STOPS:
		return stops_named(o, value);
	case OPT_WHOLE:
		if (!tb_parse_u64(value, &n) || n > INT32_MAX)
			return false;
		*(uint32_t *)at = (uint32_t)n;
		return true;
	default:
		x = strtod(value, &end);
		if (end == value || *end || !(x >= 0 && x <= 100))
			return false;
		*(float *)at = (float)x;
		return true;
	}
}

/* Nobody chose it: the server does, for a model that is elsewhere. */
static bool
opt_unset(const struct opt_row *row, const char *at)
{
	switch (row->kind) {
	case OPT_SEED:
		return *(const uint64_t *)at == UINT64_MAX;
	case OPT_KV:
		return *(const enum kv_type *)at == KV_USUAL;
	case OPT_THINK:
		return !*(const char *const *)at;
	case OPT_STOPS:
		return !*at;
	case OPT_WHOLE:
		return *(const uint32_t *)at == UINT32_MAX;
	default:
		return isnan(*(const float *)at);
	}
}

bool
chat_opts_get(const struct chat_opts *o, const char *name, char value[CHAT_OPT_MAX])
{
	const struct opt_row *row = opt_find(name);
	const char *at = (const char *)o + (row ? row->at : 0);
	int digits = 0;

	*value = 0;
	if (!row)
		return false;
	if (opt_unset(row, at))
		return true;
	switch (row->kind) {
	case OPT_SEED:
		snprintf(value, CHAT_OPT_MAX, "%" PRIu64, *(const uint64_t *)at);
		break;
	case OPT_KV:
		snprintf(value, CHAT_OPT_MAX, "%s", kv_type_name(o->kv));
		break;
	case OPT_THINK:
		snprintf(value, CHAT_OPT_MAX, "%s", o->think);
		break;
	case OPT_STOPS:
		stops_print(o, value);
		break;
	case OPT_WHOLE:
		snprintf(value, CHAT_OPT_MAX, "%" PRIu32, *(const uint32_t *)at);
		break;
	default:	/* as few digits as say which number it is */
		do
			snprintf(value, CHAT_OPT_MAX, "%.*g", ++digits, (double)*(const float *)at);
		while (digits < 9 && strtof(value, NULL) != *(const float *)at);
	}
	return true;
}

void
chat_opts_put(const struct chat_opts *o, cJSON *object)
{
	char value[CHAT_OPT_MAX];

	for (size_t i = 0; i < OPT_ROWS; i++)
		if (chat_opts_get(o, opt_rows[i].name, value) && *value)
			json_set_str(object, opt_rows[i].name, value);
}

void
chat_opts_take(struct chat_opts *o, const cJSON *object)
{
	for (const cJSON *v = json_first(object); v; v = json_next(v))
		if (json_str(v))
			(void)chat_opts_set(o, json_key(v), json_str(v));
}
