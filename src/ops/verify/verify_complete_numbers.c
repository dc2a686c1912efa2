/* verify_complete_numbers.c - what GGUF files count and what they hold; config.json of an
 * architecture that is not known: numbers that no model has, and those that mean the same in
 * all. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/engine/canon.h"
#include "src/ops/model_text/model_text.h"
#include "src/store/model_meta.h"
#include "src/store/tensor_name.h"

#define KEY_MAX 320
#define LARGEST (UINT64_C(1) << 31)

/* Bytes that no tensor has are what is left of a header that counts too few. */
static void
check_end(const struct tb_file *f, const struct gguf *h, struct verify_gaps *g)
{
	uint64_t end = h->data_off, rest;

	for (size_t i = 0; i < h->ntensors; i++) {
		uint64_t e = h->tensors[i].off + h->tensors[i].len;

		end = e > end ? e : end;
	}
	rest = f->id.size > end ? f->id.size - end : 0;
	if (rest > (h->alignment - end % h->alignment) % h->alignment)
		gap_add(g, F_STRUCTURE_BAD, NULL, "%s: %" PRIu64 " bytes behind the last tensor: its "
			"header counts too few, or something was added", f->path, rest);
}

static bool
gguf_number(const struct gguf *h, const char *arch, const char *key, uint64_t *out)
{
	char name[KEY_MAX];

	snprintf(name, sizeof(name), "%.200s.%s", arch, key);
	return gguf_u64(gguf_find(h, name), out);
}

/* Converters pad the list of tokens up to the embedding; some leave a few more. */
static void
check_vocab(const struct model *m, const struct gguf *h, const struct tensor *embed,
	    struct verify_gaps *g)
{
	const struct gguf_kv *tokens = gguf_find(h, "tokenizer.ggml.tokens");
	uint64_t rows = embed->dim[0], most = rows + rows / 64 + 1, n;

	if (tokens && (tokens->count < rows || tokens->count > most))
		gap_add(g, F_CONTRADICTION, embed->name, "%" PRIu64 " tokens in the vocabulary, but %s "
			"has %" PRIu64 " rows", tokens->count, embed->name, rows);
	if (gguf_number(h, m->arch, "vocab_size", &n) && (n < rows || n > most))
		gap_add(g, F_CONTRADICTION, embed->name, "%s.vocab_size is %" PRIu64 ", but %s has %"
			PRIu64 " rows", m->arch, n, embed->name, rows);
}

/* Of an architecture that is not known: the numbers that mean the same in all. */
static void
check_numbers(const struct model *m, const struct gguf *h, const struct tensor *embed,
	      struct verify_gaps *g)
{
	uint64_t n, layers = 0, ahead = 0, features;

	if (gguf_number(h, m->arch, "embedding_length", &n) && n != embed->dim[1] &&
	    !gguf_number(h, m->arch, "features_length", &features))
		gap_add(g, F_CONTRADICTION, embed->name, "%s.embedding_length is %" PRIu64 ", but %s "
			"has %" PRIu64 " columns", m->arch, n, embed->name, embed->dim[1]);
	for (size_t i = 0; i < m->ntensors; i++) {
		struct tname_layer l;

		if (tname_layer(m->tensors[i].name, &l) && !l.stem && l.number >= layers)
			layers = l.number + 1;
	}
	/* blocks that guess ahead are counted and may be left out */
	(void)gguf_number(h, m->arch, "nextn_predict_layers", &ahead);
	if (gguf_number(h, m->arch, "block_count", &n) && layers && (n < layers || n > layers + ahead))
		gap_add(g, F_CONTRADICTION, NULL, "%s.block_count is %" PRIu64 ", but the tensors are "
			"those of %" PRIu64 " blocks", m->arch, n, layers);
}

void
complete_gguf(const struct model *m, struct verify_gaps *g)
{
	const struct tensor *embed = model_tensor(m, "token_embd.weight");
	struct model_meta mm;
	struct canon_model cm;
	struct tb_err ignored;
	struct tb_file f;
	struct gguf h;

	for (size_t i = 0; i < m->nfiles; i++) {
		if (!model_meta_speaks(m, &m->files[i]) ||
		    tb_file_open(&f, m->files[i].path, &ignored))
			continue;
		if (!gguf_read(&h, &f, &ignored)) {
			check_end(&f, &h, g);
			gguf_free(&h);
		}
		tb_file_close(&f);
	}
	if (!embed || embed->ndim != 2 || m->nproblems || complete_partial(m) ||
	    model_meta_open(&mm, m, &ignored))
		return;
	canon_model(&cm, m);
	check_vocab(m, &mm.g, embed, g);
	if (!cm.arch)
		check_numbers(m, &mm.g, embed, g);
	model_meta_close(&mm);
}

/* ---- config.json ---- */

static const char *const counts[] = {
	"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
	"num_key_value_heads", "head_dim", "intermediate_size", "moe_intermediate_size",
	"max_position_embeddings",
};

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
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const cJSON *v = json_get(c, counts[i]);

		if (json_is_number(v) && (!json_u64(v, &n) || n > LARGEST))
			gap_add(g, F_FILE_BAD, NULL, "config.json: %s is not a number that a model can "
				"have", counts[i]);
	}
	if (embed && json_u64(json_get(c, "hidden_size"), &n) && n != embed->dim[1])
		gap_add(g, F_CONTRADICTION, embed->name, "config.json: hidden_size is %" PRIu64 ", but "
			"%s has %" PRIu64 " columns", n, embed->name, embed->dim[1]);
	json_free(doc);
}
