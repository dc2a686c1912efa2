/* verify_complete_config.c - config.json of an architecture that is not known: numbers
 * that no model has, and those that mean the same in all. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <inttypes.h>
#include <string.h>

#include "src/base/text.h"
#include "src/ops/model_text/model_text.h"

#define LARGEST (UINT64_C(1) << 31)

static const char *const counts[] = {
	"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
	"num_key_value_heads", "head_dim", "intermediate_size", "moe_intermediate_size",
	"max_position_embeddings",
};

static void
check_counts(const cJSON *c, struct verify_gaps *g)
{
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const cJSON *v = json_get(c, counts[i]);
		uint64_t n;

		if (json_is_number(v) && (!json_u64(v, &n) || n > LARGEST))
			gap_add(g, F_FILE_BAD, NULL, "config.json: %s is not a number that a model can "
				"have", counts[i]);
	}
}

/* The only embedding of a language model, where it is stored as it is. */
static const struct tensor *
embedding(const struct model *m)
{
	const struct tensor *found = NULL;

	for (size_t i = 0; i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];

		if (!tb_ends(t->name, "embed_tokens.weight") || t->draft)
			continue;
		if (found)
			return NULL;
		found = t;
	}
	return found && found->ndim == 2 && dtype_floating(found->weight.dtype) ? found : NULL;
}

void
complete_config(const struct model *m, struct verify_gaps *g)
{
	const struct tensor *embed = embedding(m);
	cJSON *doc;
	const cJSON *c;
	uint64_t n;

	if (optional_json(m, "config.json", &doc, NULL) || !doc)
		return;
	c = json_is_object(json_get(doc, "text_config")) ? json_get(doc, "text_config") : doc;
	check_counts(c, g);
	if (embed && json_u64(json_get(c, "hidden_size"), &n) && n != embed->dim[1])
		gap_add(g, F_CONTRADICTION, embed->name, "config.json: hidden_size is %" PRIu64 ", but "
			"%s has %" PRIu64 " columns", n, embed->name, embed->dim[1]);
	json_free(doc);
}
