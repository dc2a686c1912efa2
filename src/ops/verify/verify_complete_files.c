/* verify_complete_files.c - the files beside the tensors, read as a run reads them. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/model_text/model_text.h"
#include "src/store/split.h"
#include "src/text/chat_template.h"
#include "src/text/tokenizer.h"

#define JSON_MAX (4u << 20)
#define INDEX "model.safetensors.index.json"

/* ---- shards ---- */

static bool
shard_there(const struct model *m, const struct split *s, const char *name, unsigned no)
{
	for (size_t i = 0; i < m->nfiles; i++) {
		const char *other = m->files[i].name;
		struct split o;

		if (other && split_parse_as(other, ".safetensors", &o) && o.no == no &&
		    o.count == s->count && o.base == s->base && !strncmp(other, name, s->base))
			return true;
	}
	return false;
}

/* Shards that no index names say themselves how many they should be. */
void
complete_shards(const struct model *m, struct verify_gaps *g)
{
	const char *first = NULL;
	struct split s, seen = { 0 };
	unsigned lacks = 0;

	if (complete_file(m, INDEX))
		return;
	for (size_t i = 0; i < m->nfiles && !first; i++)
		if (m->files[i].name && tb_starts(m->files[i].name, "model-") &&
		    split_parse_as(m->files[i].name, ".safetensors", &s) && s.count > 1) {
			first = m->files[i].name;
			seen = s;
		}
	if (!first)
		return;
	for (unsigned no = 1; no <= seen.count; no++)
		if (!shard_there(m, &seen, first, no) && !lacks++)
			gap_add(g, F_INCOMPLETE, NULL, "shard %.*s-%05u-of-%05u.safetensors: not there",
				(int)seen.base, first, no, seen.count);
	g->holes = lacks > 0;
	if (lacks > 1)
		gap_add(g, F_INCOMPLETE, NULL, "%u more shards are not there", lacks - 1);
	gap_add(g, F_INCOMPLETE, NULL, INDEX ": not there, though the weights are in %u shards",
		seen.count);
}

/* ---- small files ---- */

static const char *const objects[] = {
	"generation_config.json", "tokenizer_config.json", "special_tokens_map.json",
	"added_tokens.json", "preprocessor_config.json", "processor_config.json",
	"adapter_config.json",
};

/* Each of them may be absent, but not be anything else than an object. */
static void
check_objects(const struct model *m, struct verify_gaps *g)
{
	for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++) {
		struct tb_err why;
		cJSON *doc = NULL;
		char *text;
		size_t len;

		if (model_read(m, objects[i], JSON_MAX, &text, &len, &why))
			continue;
		if (!len)
			gap_add(g, F_FILE_BAD, NULL, "%s: is empty", objects[i]);
		else if (json_parse_python(&doc, text, len, objects[i], &why) == TB_EFORMAT)
			gap_add(g, F_FILE_BAD, NULL, "%s", why.msg);
		else if (doc && !json_is_object(doc))
			gap_add(g, F_FILE_BAD, NULL, "%s: not an object", objects[i]);
		json_free(doc);
		free(text);
	}
}

static void
check_params(const struct model *m, struct verify_gaps *g)
{
	struct tb_err why;
	cJSON *doc = NULL;
	char *text;
	size_t len;

	if (model_read_layer(m, MEDIA_PARAMS, 0, JSON_MAX, &text, &len, &why))
		return;
	if (json_parse(&doc, text, len, "params", &why) == TB_EFORMAT)
		gap_add(g, F_FILE_BAD, NULL, "the params layer: %s", why.msg);
	json_free(doc);
	free(text);
}

/* ---- tokenizer and template ---- */

/* Files that go with a tokenizer, or parts of one: they name it. */
static const char *const kin[] = {
	"tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json",
	"vocab.json", "merges.txt", "added_tokens.json",
};

/* Weights alone can be run on ids; a store's model cannot be asked anything then. */
static void
no_tokenizer(const struct model *m, uint32_t vocab, struct verify_gaps *g)
{
	static const char what[] = "tokenizer: no tokenizer.json, tokenizer.model, vocab.json or "
				   "GGUF vocabulary";
	bool missing = false, expected = kind_types_layers(m->loc.kind) || model_has_keys(m);

	for (size_t i = 0; i < sizeof(kin) / sizeof(*kin); i++) {
		const struct model_file *f = complete_file(m, kin[i]);

		expected |= f != NULL;
		missing |= f && complete_bad_file(m, f);
	}
	if (missing || !vocab || !m->ntensors)
		return;		/* told as a file that lacks; or needs perhaps none */
	if (complete_file(m, "tekken.json"))
		gap_add(g, F_NOT_RUN, NULL, "tokenizer: tekken.json, which tbtui does not read");
	else if (expected)
		gap_add(g, F_INCOMPLETE, NULL, "%s", what);
	else
		gap_add(g, F_TOKENIZER, NULL, "%s: can be run on ids alone", what);
}

static void
check_tokenizer(const struct model *m, uint32_t vocab, struct verify_gaps *g)
{
	struct tokenizer *t = NULL;
	struct tb_err why = { 0 };
	const char *source = "";
	enum tb_status status = model_tokenizer_of(m, &t, &source, &why);
	size_t size = t ? tokenizer_size(t) : 0;

	if (status == TB_ENOENT)
		no_tokenizer(m, vocab, g);
	else if (status == TB_EFORMAT || status == TB_ELIMIT)
		gap_add(g, F_FILE_BAD, NULL, "tokenizer (%s): %s", source, why.msg);
	else if (status == TB_EUNSUP)
		gap_add(g, F_NOT_RUN, NULL, "tokenizer (%s): %s", source, why.msg);
	else if (status == TB_ENOMEM)
		gaps_short(g, &why);
	else if (vocab && size > vocab && !model_has_keys(m))
		gap_add(g, F_TOKENIZER, NULL, "tokenizer (%s): %zu tokens, the model knows %u", source,
			size, vocab);
	tokenizer_free(t);
}

static void
check_template(const struct model *m, struct verify_gaps *g)
{
	struct chat_template *t = NULL;
	struct template_used used;
	char *bos = NULL, *eos = NULL;
	struct tb_err why = { 0 };
	enum tb_status status = model_template(m, NULL, &t, &bos, &eos, &used, &why);

	if (status == TB_EFORMAT && !tb_contains(why.msg, "tokenizer_config.json"))
		gap_add(g, F_FILE_BAD, NULL, "chat template: %s", why.msg);
	else if (status == TB_EUNSUP)
		gap_add(g, F_NOT_RUN, NULL, "chat template: %s", why.msg);
	else if (status == TB_ENOMEM)
		gaps_short(g, &why);
	chat_template_free(t);
	free(bos);
	free(eos);
}

void
complete_texts(const struct model *m, uint32_t vocab, struct verify_gaps *g)
{
	check_objects(m, g);
	check_params(m, g);
	for (size_t i = 0; i < g->n; i++)
		if (tb_contains(g->v[i].message, "tokenizer_config.json"))
			return;		/* both of what follows would only say it again */
	check_tokenizer(m, vocab, g);
	check_template(m, g);
}
