#include "config.h"

#include "src/ops/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/need.h"
#include "src/ops/params.h"
#include "src/ops/shape.h"

/* ---- this machine ---- */

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* "max" and what is no number count as none. */
static uint64_t
read_number(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[64] = "";
	uint64_t n;

	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		*line = 0;
	fclose(f);
	n = strtoull(line, NULL, 10);
	return n < INT64_MAX ? n : 0;
}

void
memory_machine(uint64_t *total, uint64_t *available)
{
	FILE *f = fopen("/proc/meminfo", "r");
	uint64_t limit = read_number("/sys/fs/cgroup/memory.max");
	uint64_t used = read_number("/sys/fs/cgroup/memory.current");
	char line[128];

	*total = *available = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "MemTotal:", 9))
			*total = strtoull(line + 9, NULL, 10) * 1024;
		else if (!strncmp(line, "MemAvailable:", 13))
			*available = strtoull(line + 13, NULL, 10) * 1024;
	}
	if (f)
		fclose(f);
	*total = smaller(*total, limit);
	if (limit)
		*available = smaller(*available, limit > used ? limit - used : 1);
}

/* ---- what a model takes ---- */

static void
add_row(struct memory *m, const struct model_shape *s, uint64_t context, unsigned threads)
{
	struct memory_row *r = &m->row[m->n++];
	struct engine_need need;

	*r = (struct memory_row){ .context = context, .kv = 4 * s->kv_width * context,
				  .kv_f16 = 2 * s->kv_width * context };
	if (s->hp) {
		engine_need(s->hp, (uint32_t)context, threads, &need);
		r->kv = need.kv;
		m->work = need.work;
	}
	r->total = m->weights + r->kv + m->work;
}

void
memory_needed(const struct model_shape *s, const struct params *p, unsigned threads,
	      struct memory *out)
{
	static const uint64_t contexts[] = { 4096, 8192, 32768 };

	*out = (struct memory){ .weights = p->total.bytes, .token = p->total.read, .why = "",
				.runs = s->hp != NULL };
	memory_machine(&out->machine, &out->available);
	if (!s->kv_width || s->kv_width > (uint64_t)1 << 32) {
		out->why = "What it keeps of each token is not known for this architecture.";
		return;
	}
	for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++)
		if (!s->context || contexts[i] < s->context)
			add_row(out, s, contexts[i], threads);
	if (s->context && s->context < UINT32_MAX)
		add_row(out, s, s->context, threads);
}
