/* create_params.c - PARAMETER: which there are, what their values are, and how Ollama writes
 * them. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/near.h"
#include "src/base/text.h"
#include "src/ops/create/create_parts.h"

enum kind { INTEGER, NUMBER, FLAG, TEXTS, IGNORED };

static const struct param { const char *name; enum kind kind; } known[] = {
	{ "draft_num_predict", INTEGER }, { "main_gpu", INTEGER }, { "num_batch", INTEGER },
	{ "num_ctx", INTEGER }, { "num_gpu", INTEGER }, { "num_keep", INTEGER },
	{ "num_predict", INTEGER }, { "num_thread", INTEGER }, { "repeat_last_n", INTEGER },
	{ "seed", INTEGER }, { "top_k", INTEGER },
	{ "frequency_penalty", NUMBER }, { "min_p", NUMBER }, { "presence_penalty", NUMBER },
	{ "repeat_penalty", NUMBER }, { "temperature", NUMBER }, { "top_p", NUMBER },
	{ "typical_p", NUMBER },
	{ "use_mmap", FLAG },
	{ "stop", TEXTS },
	{ "f16_kv", IGNORED }, { "logits_all", IGNORED }, { "low_vram", IGNORED },
	{ "mirostat", IGNORED }, { "mirostat_eta", IGNORED }, { "mirostat_tau", IGNORED },
	{ "penalize_newline", IGNORED }, { "use_mlock", IGNORED }, { "vocab_only", IGNORED },
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct param *
find(const char *name)
{
	for (size_t i = 0; i < COUNT(known); i++)
		if (!strcmp(known[i].name, name))
			return &known[i];
	return NULL;
}

/* Decimal, of 64 bits; what reads it again takes it for a double. */
static bool
integer(const char *s, double *out)
{
	bool minus = *s == '-';
	uint64_t n;

	s += minus || *s == '+';
	if (!tb_parse_u64(s, &n) || n > (uint64_t)INT64_MAX + minus)
		return false;
	*out = minus ? -(double)n : (double)n;
	return true;
}

/* The nearest number of 32 bits, as it is written shortest. */
static bool
fraction(const char *s, double *out)
{
	char *end, text[40];
	float x;

	if (!*s || strspn(s, "0123456789.+-eE") != strlen(s))
		return false;
	x = strtof(s, &end);
	if (*end || !isfinite(x))
		return false;
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)x);
		if (strtof(text, NULL) == x)
			break;
	}
	*out = strtod(text, NULL);
	return true;
}

static bool
flag(const char *s, bool *out)
{
	static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True" };
	static const char *const no[] = { "0", "f", "F", "false", "FALSE", "False" };

	for (size_t i = 0; i < COUNT(yes); i++) {
		*out = !strcmp(s, yes[i]);
		if (*out || !strcmp(s, no[i]))
			return true;
	}
	return false;
}

static enum tb_status
unknown(const char *name, struct tb_err *err)
{
	struct tb_near near = { .word = name };
	char hint[200];

	for (size_t i = 0; i < COUNT(known); i++)
		tb_near_try(&near, known[i].name);
	return tb_fail(err, TB_EFORMAT, "unknown parameter '%.80s'%s", name,
		       tb_near_text(&near, hint, sizeof(hint)));
}

static struct param_value *
value_of(struct param_set *ps, const char *name)
{
	for (size_t i = 0; i < ps->n; i++)
		if (!strcmp(ps->v[i].name, name))
			return &ps->v[i];
	return NULL;
}

/* Takes what is in `json`. */
static enum tb_status
put_value(struct param_set *ps, const char *name, struct tb_buf *json, struct tb_err *err)
{
	struct param_value *v = value_of(ps, name);
	char *text = tb_buf_take(json), *own = v ? NULL : tb_strdup(name);

	if (!text || (!v && (!own || !tb_grow(&ps->v, &ps->cap, ps->n + 1, sizeof(*v))))) {
		free(text);
		free(own);
		return tb_nomem(err);
	}
	if (!v) {
		v = &ps->v[ps->n++];
		v->name = own;
	}
	free(v->json);
	v->json = text;
	return TB_OK;
}

/* One more in the list of those that are given already. */
static void
add_text(struct param_set *ps, const char *name, const char *value, struct tb_buf *json)
{
	const struct param_value *v = value_of(ps, name);

	tb_buf_chr(json, '[');
	if (v) {
		tb_buf_add(json, v->json + 1, strlen(v->json) - 2);
		tb_buf_chr(json, ',');
	}
	json_quote_go(json, value);
	tb_buf_chr(json, ']');
}

enum tb_status
params_set(struct param_set *ps, const char *name, const char *value, struct tb_buf *notes,
	   struct tb_err *err)
{
	static const char *const wants[] = { "a whole number", "a number", "true or false" };
	const struct param *p = find(name);
	struct tb_buf json = TB_BUF(CREATE_TEXT_MAX);
	bool yes, ok = true;
	double x;

	if (!p)
		return unknown(name, err);
	if (p->kind == IGNORED) {
		tb_buf_printf(notes, "PARAMETER %s is not used any more and left out\n", name);
		return TB_OK;
	}
	if (p->kind == TEXTS) {
		add_text(ps, p->name, value, &json);
	} else if (p->kind == FLAG) {
		ok = flag(value, &yes);
		tb_buf_str(&json, ok && yes ? "true" : "false");
	} else {
		ok = p->kind == INTEGER ? integer(value, &x) : fraction(value, &x);
		if (ok)
			json_number_go(&json, x);
	}
	if (ok)
		return put_value(ps, p->name, &json, err);
	tb_buf_free(&json);
	return tb_fail(err, TB_EFORMAT, "PARAMETER %s: \"%.60s\" is not %s", name, value,
		       wants[p->kind]);
}

enum tb_status
params_inherit(struct param_set *ps, const cJSON *from, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (const cJSON *p = json_first(from); p && !status; p = json_next(p)) {
		struct tb_buf json = TB_BUF(CREATE_TEXT_MAX);

		if (value_of(ps, json_key(p)))
			continue;
		json_put_go(&json, p);
		status = put_value(ps, json_key(p), &json, err);
	}
	return status;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct param_value *)a)->name, ((const struct param_value *)b)->name);
}

void
params_print(struct param_set *ps, struct tb_buf *out)
{
	if (ps->n > 1)
		qsort(ps->v, ps->n, sizeof(*ps->v), by_name);
	tb_buf_chr(out, '{');
	for (size_t i = 0; i < ps->n; i++) {
		tb_buf_str(out, i ? "," : "");
		json_quote_go(out, ps->v[i].name);
		tb_buf_printf(out, ":%s", ps->v[i].json);
	}
	tb_buf_str(out, "}\n");
}

void
params_free(struct param_set *ps)
{
	while (ps->n) {
		free(ps->v[--ps->n].name);
		free(ps->v[ps->n].json);
	}
	free(ps->v);
	*ps = (struct param_set){ 0 };
}
