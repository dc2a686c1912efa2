/* chat_opts.c - parameters of a conversation by name. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/ops/chat/chat.h"

void
chat_opts_init(struct chat_opts *o, const struct chat_model *m)
{
	*o = (struct chat_opts){ .sampler = m->sampler, .system = m->system,
				 .context = m->context, .max_tokens = m->max_tokens };
}

bool
chat_opts_set(struct chat_opts *o, const char *name, const char *value)
{
	struct sampler_opts *s = &o->sampler;
	const struct { const char *name; float *real; uint32_t *whole; } rows[] = {
		{ "temperature", &s->temperature, NULL }, { "top_p", &s->top_p, NULL },
		{ "min_p", &s->min_p, NULL }, { "repeat_penalty", &s->repeat_penalty, NULL },
		{ "top_k", NULL, &s->top_k }, { "repeat_last_n", NULL, &s->repeat_last },
		{ "num_predict", NULL, &o->max_tokens },
	};

	size_t i = 0;
	uint64_t n;
	double x;
	char *end;

	if (!strcmp(name, "seed"))
		return tb_parse_u64(value, &s->seed);
	if (!strcmp(name, "kv"))
		return kv_type_named(value, &o->kv);
	while (i < sizeof(rows) / sizeof(*rows) && strcmp(name, rows[i].name))
		i++;
	if (i == sizeof(rows) / sizeof(*rows))
		return false;
	if (rows[i].whole) {
		if (!tb_parse_u64(value, &n) || n > INT32_MAX)
			return false;
		*rows[i].whole = (uint32_t)n;
		return true;
	}
	x = strtod(value, &end);
	if (end == value || *end || !(x >= 0 && x <= 100))
		return false;
	*rows[i].real = (float)x;
	return true;
}
