/* verify_complete_packed.c - quantized tensors are several in their files: what is left
 * when one of them lacks is found by its name and type alone. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

#define NAME_MAX_LEN 512
#define TOLD_MAX 64u		/* one by one */

/* How companions end, and what their weight is called instead. */
static const struct { const char *ending, *weight; } companions[] = {
	{ ".weight.scale", ".weight" }, { ".weight.bias", ".weight" },
	{ ".weight.global_scale", ".weight" }, { ".scales", ".weight" }, { ".biases", ".weight" },
	{ "_proj_scales", "_proj_blocks" },
};

static bool
there(const struct model *m, const char *name, size_t n, const char *ending)
{
	char full[NAME_MAX_LEN];

	return snprintf(full, sizeof(full), "%.*s%s", (int)n, name, ending) >= (int)sizeof(full) ||
	       model_tensor(m, full);
}

/* The weight whose scales these are, when it is not there and nobody said so yet; else
 * false. */
static bool
lacks_weight(const struct model *m, const struct tensor *t, const struct verify_gaps *g,
	     char weight[NAME_MAX_LEN])
{
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++) {
		size_t n = strlen(t->name);

		if (!tb_ends(t->name, companions[i].ending))
			continue;
		n -= strlen(companions[i].ending);
		snprintf(weight, NAME_MAX_LEN, "%.*s%s", (int)n, t->name, companions[i].weight);
		if (g->holes || there(m, t->name, n, companions[i].weight) ||
		    complete_unread(m, weight) || gaps_about(g, weight))
			return false;
		/* biases alone may be what a model calls so */
		return strcmp(companions[i].ending, ".biases") || there(m, t->name, n, ".scales");
	}
	return false;
}

void
complete_packed(const struct model *m, struct verify_gaps *g)
{
	char weight[NAME_MAX_LEN];
	unsigned told = 0;

	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];
		bool codes;

		if (!scheme_is_plain(&t->scheme))
			continue;
		/* No weight is made of such numbers, but codes are: of MLX, or gpt-oss's blocks. */
		codes = (t->scheme.dtype == DT_U32 && t->ndim >= 2 && !tb_ends(t->name, ".qzeros")) ||
			(t->scheme.dtype == DT_U8 && tb_ends(t->name, "_proj_blocks"));
		codes = codes && !g->holes && !complete_unread(m, t->name);
		if (!codes && !lacks_weight(m, t, g, weight))
			continue;
		if (told++ >= TOLD_MAX)
			continue;
		if (codes)
			gap_add(g, F_INCOMPLETE, t->name, "%s: packed codes without their scales",
				t->name);
		else
			gap_add(g, F_INCOMPLETE, weight, "%s: not there, though %s is", weight, t->name);
	}
	if (told > TOLD_MAX)
		gap_add(g, F_INCOMPLETE, NULL, "%u more packed tensors lack a part", told - TOLD_MAX);
}
