/* fuzz_gbnf.c - a hostile grammar, and texts that it is matched with. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "src/text/grammar.h"
#include "src/text/matcher.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rest of the input chooses among the bytes that may come. */
static void
walk(const struct grammar *g, const uint8_t *data, size_t size)
{
	struct matcher *m;
	struct tb_err err;
	uint32_t at;

	if (matcher_new(&m, g, &err))
		return;
	at = matcher_start(m);
	for (size_t i = 0; i < size && i < 200 && at != READ_DEAD && !m->status; i++) {
		uint32_t to = READ_DEAD;

		for (unsigned k = 0; k < g->nclasses && to == READ_DEAD; k++)
			to = matcher_step(m, at, (data[i] + k) % g->nclasses);
		/* where no end is near, there has to be a way to one */
		if (to == READ_DEAD && !m->status && !m->readings[at].ends && !m->readings[at].tokens &&
		    m->sets[m->pool[m->readings[at].first].up].depth < 500)
			abort();
		at = to;
	}
	matcher_free(m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct grammar *g;
	struct tb_err err;

	if (grammar_gbnf(&g, (const char *)data, size, "fuzz", &err)) {
		if (g || err.code == TB_OK)
			abort();
		return 0;
	}
	walk(g, data, size);
	grammar_free(g);
	return 0;
}
