#include "config.h"

#include "src/ops/about/about.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/mem.h"
#include "src/engine/engine.h"
#include "src/engine/need.h"
#include "src/engine/probe.h"
#include "src/engine/team.h"

#define READ_BYTES ((size_t)256 << 20)	/* more than caches hold */
#define READS 5

/* ---- this machine ---- */

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* The beginning of a file of the kernel's; "" where there is none.  Without stdio, whose
 * buffers may not be had just when it is asked how much memory is left. */
static const char *
read_kernel(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return text;
}

/* "max" and what is no number count as none. */
static uint64_t
read_number(const char *path)
{
	char line[64];
	uint64_t n = strtoull(read_kernel(path, line, sizeof(line)), NULL, 10);

	return n < INT64_MAX ? n : 0;
}

/* Bytes behind a word of /proc/meminfo, or 0. */
static uint64_t
meminfo(const char *text, const char *word)
{
	const char *p = strstr(text, word);

	return p ? strtoull(p + strlen(word), NULL, 10) * 1024 : 0;
}

void
memory_machine(uint64_t *total, uint64_t *available)
{
	uint64_t limit = read_number("/sys/fs/cgroup/memory.max");
	uint64_t used = read_number("/sys/fs/cgroup/memory.current");
	char text[1024];	/* both words are in its first lines */

	read_kernel("/proc/meminfo", text, sizeof(text));
	*total = smaller(meminfo(text, "MemTotal:"), limit);
	*available = meminfo(text, "MemAvailable:");
	if (limit)
		*available = smaller(*available, limit > used ? limit - used : 1);
}

enum tb_status
memory_speed(unsigned threads, double *out, struct tb_err *err)
{
	uint64_t total, available;
	struct team *team;
	char *data;

	*out = 0;
	memory_machine(&total, &available);
	if (available && available < 2 * READ_BYTES)
		return TB_OK;		/* measuring would take what is left */
	team = team_new(threads);
	data = team ? tb_aligned(READ_BYTES) : NULL;
	if (!data) {
		team_free(team);
		return tb_nomem(err);
	}
	memset(data, 1, READ_BYTES);
	for (unsigned i = 0; i < READS; i++) {
		double rate = (double)READ_BYTES / probe_read(team, data, READ_BYTES);

		*out = rate > *out ? rate : *out;
	}
	free(data);
	team_free(team);
	return TB_OK;
}

/* ---- what a model takes ---- */

static void
memory_add(struct memory *m, const struct model_shape *s, uint64_t context, unsigned threads)
{
	struct memory_row *r = &m->row[m->n++];
	uint64_t numbers = s->kv_width * context;

	*r = (struct memory_row){ .context = context };
	r->kv[KV_F32] = 4 * numbers;
	r->kv[KV_F16] = 2 * numbers;
	r->kv[KV_INT8] = numbers + numbers / 8;		/* a scale of 4 bytes for 32 */
	for (unsigned t = KV_USUAL + 1; s->hp && t < KV_TYPES; t++) {
		const struct engine_opts opts = { .threads = threads, .kv = (enum kv_type)t };
		struct engine_need need;

		engine_need(s->hp, &opts, (uint32_t)context, &need);
		r->kv[t] = need.kv;
		m->work = need.work;
	}
	r->total = m->weights + r->kv[KV_F16] + m->work;
}

void
memory_needed(const struct model_shape *s, const struct params *p, unsigned threads,
	      struct memory *out)
{
	static const uint64_t contexts[] = { 4096, 8192, 32768 };

	*out = (struct memory){ .weights = p->total.bytes, .token = p->total.read, .why = "",
				.runs = s->hp != NULL };
	memory_machine(&out->machine, &out->available);
	if ((!s->hp && !s->kv_width) || s->kv_width > (uint64_t)1 << 32) {
		out->why = "What it keeps of each token is not known for this architecture.";
		return;
	}
	for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++)
		if (!s->context || contexts[i] < s->context)
			memory_add(out, s, contexts[i], threads);
	if (s->context && s->context < UINT32_MAX)
		memory_add(out, s, s->context, threads);
}
