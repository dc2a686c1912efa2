/* verify_complete_gguf.c - what GGUF files count and what they hold. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/engine/canon.h"
#include "src/store/model_meta.h"
#include "src/store/tensor_name.h"

#define KEY_MAX 320

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

static void
check_file(const char *path, struct verify_gaps *g)
{
	struct tb_file f;
	struct gguf h;
	struct tb_err ignored;

	if (tb_file_open(&f, path, &ignored))
		return;
	if (!gguf_read(&h, &f, &ignored)) {
		check_end(&f, &h, g);
		gguf_free(&h);
	}
	tb_file_close(&f);
}

static bool
number(const struct gguf *h, const char *arch, const char *key, uint64_t *out)
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
	if (number(h, m->arch, "vocab_size", &n) && (n < rows || n > most))
		gap_add(g, F_CONTRADICTION, embed->name, "%s.vocab_size is %" PRIu64 ", but %s has %"
			PRIu64 " rows", m->arch, n, embed->name, rows);
}

/* Of an architecture that is not known: the numbers that mean the same in all. */
static void
check_numbers(const struct model *m, const struct gguf *h, const struct tensor *embed,
	      struct verify_gaps *g)
{
	uint64_t n, layers = 0, ahead = 0, features;

	if (number(h, m->arch, "embedding_length", &n) && n != embed->dim[1] &&
	    !number(h, m->arch, "features_length", &features))
		gap_add(g, F_CONTRADICTION, embed->name, "%s.embedding_length is %" PRIu64 ", but %s "
			"has %" PRIu64 " columns", m->arch, n, embed->name, embed->dim[1]);
	for (size_t i = 0; i < m->ntensors; i++) {
		struct tname_layer l;

		if (tname_layer(m->tensors[i].name, &l) && !l.stem && l.number >= layers)
			layers = l.number + 1;
	}
	/* blocks that guess ahead are counted and may be left out */
	(void)number(h, m->arch, "nextn_predict_layers", &ahead);
	if (number(h, m->arch, "block_count", &n) && layers && (n < layers || n > layers + ahead))
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

	for (size_t i = 0; i < m->nfiles; i++)
		if (model_meta_speaks(m, &m->files[i]))
			check_file(m->files[i].path, g);
	if (!embed || embed->ndim != 2 || m->nproblems || complete_partial(m) ||
	    model_meta_open(&mm, m, &ignored))
		return;
	canon_model(&cm, m);
	check_vocab(m, &mm.g, embed, g);
	if (!cm.arch)
		check_numbers(m, &mm.g, embed, g);
	model_meta_close(&mm);
}
