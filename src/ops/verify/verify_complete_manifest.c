/* verify_complete_manifest.c - what an Ollama manifest says beside names and digests: types,
 * how many of a kind, and what the config says of its layers. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/ops/model_text/model_text.h"

#define TEXT_MAX (4u << 20)
#define OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCI_CONFIG "application/vnd.oci.image.config.v1+json"
#define DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"

static bool
is_one(const char *type, const char *a, const char *b)
{
	return !type || !*type || !strcmp(type, a) || !strcmp(type, b);
}

/* Ollama looks at neither, registries and other programs do. */
static void
check_types(const struct manifest *doc, struct verify_gaps *g)
{
	if (!is_one(doc->media_type, DOCKER_MANIFEST, OCI_MANIFEST))
		gap_add(g, F_MEDIA_TYPE, NULL, "the manifest says that it is a %.200s, not a "
			DOCKER_MANIFEST, doc->media_type);
	if (!is_one(doc->config.media_type, media_type(MEDIA_CONFIG), OCI_CONFIG))
		gap_add(g, F_MEDIA_TYPE, NULL, "the manifest's config is called a %.200s, not a %s",
			doc->config.media_type, media_type(MEDIA_CONFIG));
	for (size_t i = 0; i < doc->nlayers; i++)
		if (media_parse(doc->layers[i].media_type) == MEDIA_CONFIG)
			gap_add(g, F_MEDIA_TYPE, NULL, "layer %zu is called a config, which is no layer",
				i);
}

static unsigned
count_of(const struct manifest *doc, enum media media)
{
	unsigned n = 0;

	for (size_t i = 0; i < doc->nlayers; i++)
		n += media_parse(doc->layers[i].media_type) == media;
	return n;
}

static void
check_counts(const struct manifest *doc, struct verify_gaps *g)
{
	static const enum media single[] = { MEDIA_TEMPLATE, MEDIA_SYSTEM, MEDIA_MESSAGES };
	unsigned models = count_of(doc, MEDIA_MODEL);

	if (models > 1)
		gap_add(g, F_CONTRADICTION, NULL, "%u layers are models, where only the last is run: "
			"create it again from the one that is meant", models);
	if (models && count_of(doc, MEDIA_TENSOR))
		gap_add(g, F_CONTRADICTION, NULL, "the manifest has a layer that is a model, and "
			"tensors: only one of both can be meant");
	for (size_t i = 0; i < sizeof(single) / sizeof(*single); i++)
		if (count_of(doc, single[i]) > 1)
			gap_add(g, F_LAYER_TWICE, NULL, "%u layers are a %s: only the last counts",
				count_of(doc, single[i]), media_name(single[i]));
}

static int
by_layer(const void *a, const void *b)
{
	const struct manifest_layer *x = *(const struct manifest_layer *const *)a;
	const struct manifest_layer *y = *(const struct manifest_layer *const *)b;
	int d = strcmp(x->digest, y->digest);

	if (!d)
		d = strcmp(x->media_type, y->media_type);
	return d ? d : strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

/* The same blob as the same thing, but for licences, of which there are many; returns the layers in order, for the caller to free. */
static const struct manifest_layer **
check_doubles(const struct manifest *doc, struct verify_gaps *g)
{
	const struct manifest_layer **v = malloc((doc->nlayers + 1) * sizeof(*v));

	if (!v)
		gaps_short(g, NULL);
	for (size_t i = 0; v && i < doc->nlayers; i++)
		v[i] = &doc->layers[i];
	if (v && doc->nlayers > 1)
		qsort(v, doc->nlayers, sizeof(*v), by_layer);
	for (size_t i = 1; v && i < doc->nlayers; i++)
		if (!by_layer(&v[i - 1], &v[i]) && (i < 2 || by_layer(&v[i - 2], &v[i])) &&
		    media_parse(v[i]->media_type) != MEDIA_LICENSE)
			gap_add(g, F_LAYER_TWICE, v[i]->name, "the manifest lists %s%s%.200s more than "
				"once", v[i]->digest, v[i]->name ? ", " : "",
				v[i]->name ? v[i]->name : "");
	return v;
}

static bool
has_layer(const struct manifest_layer *const *v, size_t n, const char *digest)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		int d = strcmp(v[mid]->digest, digest);

		if (!d)
			return true;
		if (d < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return false;
}

/* Until 2026 Ollama wrote the layers' digests into the config as well. */
static void
check_diff_ids(const struct manifest *doc, const struct manifest_layer *const *sorted,
	       const cJSON *config, struct verify_gaps *g)
{
	const cJSON *ids = json_path(config, "rootfs.diff_ids");
	unsigned other = 0, bad = 0;
	char digest[TB_DIGEST_MAX], first[TB_DIGEST_MAX] = "";

	for (const cJSON *id = json_first(ids); id; id = json_next(id)) {
		if (!json_str(id) || !digest_parse(json_str(id), digest))
			bad++;
		else if (!has_layer(sorted, doc->nlayers, digest) && !other++)
			memcpy(first, digest, sizeof(first));
	}
	if (bad)
		gap_add(g, F_DIFF_IDS, NULL, "the config's rootfs has %u entr%s that %s no digest",
			bad, bad == 1 ? "y" : "ies", bad == 1 ? "is" : "are");
	if (other)
		gap_add(g, F_DIFF_IDS, NULL, "the config's rootfs names %u layer%s that the manifest does"
			" not have, first %s: one of both is not this model's", other,
			tb_plural(other), first);
}

/* What runs a model is chosen by this word. */
static void
check_format(const struct manifest *doc, const cJSON *config, struct verify_gaps *g)
{
	const char *format = json_str(json_get(config, "model_format"));
	unsigned models = count_of(doc, MEDIA_MODEL), tensors = count_of(doc, MEDIA_TENSOR);

	if (!format || (models && tensors))
		return;
	if ((models && !strcmp(format, "safetensors")) || (tensors && !strcmp(format, "gguf")))
		gap_add(g, F_CONTRADICTION, NULL, "the config says that the model's format is %s, the "
			"manifest's layers are %s", format, models ? "a GGUF model" : "tensors");
}

/* Texts that are read when a model is run; a binary file among them is another layer's. */
static void
check_texts(const struct model *m, struct verify_gaps *g)
{
	static const enum media texts[] = { MEDIA_TEMPLATE, MEDIA_PROMPT, MEDIA_SYSTEM,
					    MEDIA_LICENSE, MEDIA_MESSAGES };

	for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
		for (unsigned i = 0; i < m->nfiles; i++) {
			struct tb_err why;
			cJSON *doc = NULL;
			char *text;
			size_t len;

			if (model_read_layer(m, texts[k], i, TEXT_MAX, &text, &len, &why))
				break;
			if (memchr(text, 0, len))
				gap_add(g, F_FILE_BAD, NULL, "the %s layer: is no text, it has bytes of "
					"value 0", media_name(texts[k]));
			else if (texts[k] == MEDIA_MESSAGES &&
				 json_parse(&doc, text, len, "the messages layer", &why) == TB_EFORMAT)
				gap_add(g, F_FILE_BAD, NULL, "%s", why.msg);
			else if (doc && !json_is_array(doc) && !json_is_null(doc))
				gap_add(g, F_FILE_BAD, NULL, "the messages layer: is no list");
			json_free(doc);
			free(text);
		}
	}
}

void
complete_manifest(const struct model *m, struct verify_gaps *g)
{
	const struct manifest_layer **sorted;
	cJSON *config = NULL;
	struct manifest doc;

	if (!kind_types_layers(m->loc.kind) || manifest_read(&doc, m->loc.path, NULL))
		return;		/* written meanwhile: the next run tells */
	check_types(&doc, g);
	check_counts(&doc, g);
	sorted = check_doubles(&doc, g);
	if (!optional_layer(m, MEDIA_CONFIG, &config, NULL)) {
		if (sorted)
			check_diff_ids(&doc, sorted, config, g);
		check_format(&doc, config, g);
	}
	check_texts(m, g);
	json_free(config);
	free(sorted);
	manifest_free(&doc);
}
