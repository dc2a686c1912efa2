/* verify_names.c - whose bytes a file holds: damage is to a tensor, not to a digest. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/mem.h"

bool
verify_name_tensors(struct verify_model *to, const struct model *m)
{
	const struct tensor **first = tb_calloc(m->nfiles + 1, sizeof(*first));
	bool ok = first != NULL;

	for (size_t i = 0; ok && i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];
		const struct tensor **at = &first[t->weight.file];

		to->files[t->weight.file].ntensors++;
		if (!*at || t->weight.off < (*at)->weight.off)
			*at = t;
	}
	for (size_t i = 0; ok && i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];
		/* a blob whose header says nothing is still called by its layer */
		const char *name = first[i] ? first[i]->name
				 : f->media == MEDIA_TENSOR && f->name && *f->name ? f->name : NULL;

		if (!name)
			continue;
		to->files[i].tensor = tb_arena_str(&to->mem, name);
		to->files[i].tensor_off = first[i] ? first[i]->weight.off : 0;
		ok = to->files[i].tensor;
	}
	free(first);
	return ok;
}

const char *
verify_name(const struct verify_file *f, struct verify_where *at, char out[VERIFY_NAME_MAX])
{
	*out = 0;
	if (at->tensor || !f || !f->tensor)
		return out;
	at->tensor = f->tensor;
	if (f->ntensors && !at->offset)
		at->offset = &f->tensor_off;
	if (f->ntensors > 1)
		snprintf(out, VERIFY_NAME_MAX, "; it holds %" PRIu32 " tensors, from %.200s on",
			 f->ntensors, f->tensor);
	else
		snprintf(out, VERIFY_NAME_MAX, "; it holds the tensor %.200s", f->tensor);
	return out;
}
