/* verify_complete_layers.c - a manifest that lists all it should, under right names. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/model_text/model_text.h"

static bool
has_media(const struct model *m, uint64_t bits)
{
	for (size_t i = 0; i < m->nfiles; i++)
		if (!m->files[i].is_manifest && bits >> m->files[i].media & 1)
			return true;
	return false;
}

#define BIT(media) ((uint64_t)1 << (media))
#define WEIGHTS (BIT(MEDIA_MODEL) | BIT(MEDIA_TENSOR) | BIT(MEDIA_ADAPTER) | \
	BIT(MEDIA_PROJECTOR) | BIT(MEDIA_DRAFT))

/* Does a layer of this name hold this tensor?  A group has what its names have in common;
 * once it was called after the experts, whatever its tensors were called. */
static bool
fits_name(const char *layer, const char *tensor)
{
	size_t n = strlen(layer), experts = strlen("experts");

	if (complete_covers(layer, tensor))
		return true;
	if (strchr(layer, '/') && tb_ends(layer, tensor))	/* FOLDER/NAME: of several models */
		return true;
	return tb_ends(layer, ".experts") && !strncmp(layer, tensor, n - experts);
}

/* What the tensors of one layer say about its name. */
struct named { const char *other; bool right; };

static void
mark_named(const struct model *m, struct named *of, const struct tensor *t)
{
	const struct tensor_part *const parts[] = {
		t->has_scale ? &t->scale : NULL, t->has_bias ? &t->bias : NULL,
		t->has_global ? &t->global : NULL,
	};
	const char *layer = m->files[t->weight.file].name;
	struct named *w = &of[t->weight.file];

	w->right |= layer && fits_name(layer, t->name);
	w->other = t->name;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i] && parts[i]->file != t->weight.file)
			of[parts[i]->file].right = true;	/* a part's name is its own */
}

static void
check_names(const struct model *m, struct verify_gaps *g)
{
	struct named *of = tb_calloc(m->nfiles, sizeof(*of));

	if (!of) {
		gaps_short(g, NULL);
		return;
	}
	for (size_t i = 0; i < m->ntensors; i++)
		mark_named(m, of, &m->tensors[i]);
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];
		const struct named *n = &of[i];

		if (f->media != MEDIA_TENSOR || !f->name || f->missing || of[i].right)
			continue;
		/* a blob that several layers name is read as the first one's */
		for (size_t j = 0; j < i && n == &of[i] && !n->other; j++)
			if (!strcmp(m->files[j].digest, f->digest))
				n = &of[j];
		if (n->other && !fits_name(f->name, n->other))
			gap_add(g, F_CONTRADICTION, f->name, "layer %.200s: its blob holds %.200s "
				"instead", f->name, n->other);
	}
	free(of);
}

void
complete_layers(const struct model *m, struct verify_gaps *g)
{
	cJSON *doc = NULL;

	if (!kind_types_layers(m->loc.kind))
		return;
	if (!has_media(m, BIT(MEDIA_CONFIG) | BIT(MEDIA_UNKNOWN)))
		gap_add(g, F_INCOMPLETE, NULL, "the manifest names no config");
	/* a model that runs elsewhere has a name here and no weights */
	if (!has_media(m, WEIGHTS) &&
	    (optional_layer(m, MEDIA_CONFIG, &doc, NULL) ||
	     !(json_str(json_get(doc, "remote_host")) || json_str(json_get(doc, "remote_model")))))
		gap_add(g, F_INCOMPLETE, NULL, "the manifest lists no weights: no layer of it is a "
			"model or a tensor");
	json_free(doc);
	if (has_media(m, BIT(MEDIA_TENSOR)))
		check_names(m, g);
}
