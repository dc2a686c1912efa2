/* verify_complete.c - which of the questions are asked of which model. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/hparams.h"
#include "src/store/model_meta.h"

void
gap_add(struct verify_gaps *g, enum finding_code code, const char *tensor, const char *fmt, ...)
{
	struct verify_gap gap = { code, tensor ? tb_arena_str(&g->mem, tensor) : NULL, NULL };
	char *message;
	va_list ap;

	va_start(ap, fmt);
	message = tb_vasprintf(fmt, ap);
	va_end(ap);
	gap.message = message ? tb_arena_str(&g->mem, message) : NULL;
	free(message);
	if (gap.message && (gap.tensor || !tensor) &&
	    tb_grow(&g->v, &g->cap, g->n + 1, sizeof(*g->v)))
		g->v[g->n++] = gap;
	else
		gaps_short(g, NULL);
}

void
gaps_short(struct verify_gaps *g, const struct tb_err *why)
{
	if (!g->nomem && why)
		g->why = tb_arena_str(&g->mem, why->msg);
	g->nomem = true;
}

enum tb_status
gaps_status(const struct verify_gaps *g, struct tb_err *err)
{
	if (!g->nomem)
		return TB_OK;
	return g->why ? tb_fail(err, TB_ENOMEM, "%s", g->why) : tb_nomem(err);
}

void
gaps_free(struct verify_gaps *g)
{
	free(g->v);
	tb_arena_free(&g->mem);
	*g = (struct verify_gaps){ 0 };
}

bool
gaps_about(const struct verify_gaps *g, const char *tensor)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].tensor && !strcmp(g->v[i].tensor, tensor))
			return true;
	return false;
}

bool
complete_bad_file(const struct model *m, const struct model_file *f)
{
	for (size_t i = 0; i < m->nproblems; i++)
		if (*f->digest && !strcmp(m->problems[i].digest, f->digest))
			return true;
	return f->missing || f->unread || f->outside;
}

const struct model_file *
complete_file(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->nfiles; i++)
		if (m->files[i].name && !strcmp(m->files[i].name, name))
			return &m->files[i];
	return NULL;
}

bool
complete_covers(const char *layer, const char *tensor)
{
	size_t n = strlen(layer);

	return tb_starts(tensor, layer) && (tensor[n] == 0 || tensor[n] == '.');
}

/* Files of a folder do not say what should be in them: one that cannot be read may
 * have held anything. */
bool
complete_unread(const struct model *m, const char *tensor)
{
	bool layers = kind_types_layers(m->loc.kind) && !model_has_keys(m);

	if (!layers)
		return m->nproblems > 0;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct model_file *f = &m->files[i];

		if (f->media == MEDIA_TENSOR && f->name && complete_covers(f->name, tensor) &&
		    complete_bad_file(m, f))
			return true;
	}
	return false;
}

bool
complete_partial(const struct model *m)
{
	struct model_meta mm;
	const struct gguf_kv *kv;
	char *type = NULL;
	bool partial = false;

	if (complete_file(m, "adapter_config.json"))
		return true;
	if (!model_has_keys(m) || model_meta_open(&mm, m, NULL))
		return false;
	/* general.type says what a file is, and is not written for the usual thing. */
	kv = gguf_find(&mm.g, "general.type");
	if (kv && !gguf_string(kv, &mm.file, 64, &type, NULL))
		partial = strcmp(type, "model") != 0;
	if (!m->ntensors && gguf_find(&mm.g, "tokenizer.ggml.model"))
		partial = true;
	free(type);
	model_meta_close(&mm);
	return partial;
}

/* All but what its texts hold; *vocab: rows of the embedding, 0: not known. */
static void
complete_headers(const struct model *m, struct verify_gaps *g, uint32_t *vocab, struct tb_err *err)
{
	struct hparams hp;

	*vocab = 0;
	if (kind_has_manifest(m->loc.kind))
		complete_layers(m, g);
	complete_manifest(m, g);
	if (kind_is_folder(m->loc.kind))
		complete_shards(m, g);
	if (model_has_keys(m))
		complete_gguf(m, g);
	else
		complete_packed(m, g);
	if (!kind_is_bare(m->loc.kind) && !complete_partial(m) && complete_slots(m, &hp, g, err)) {
		*vocab = hp.vocab;
		hparams_free(&hp);
	}
}

enum tb_status
verify_complete(const struct model *m, struct verify_gaps *g, struct tb_err *err)
{
	uint32_t vocab;

	if (!kind_is_model(m->loc.kind))
		return TB_OK;
	complete_headers(m, g, &vocab, err);
	if (!kind_is_bare(m->loc.kind))
		complete_texts(m, vocab, g);
	return gaps_status(g, err);
}

enum tb_status
verify_headers(const struct model *m, struct tb_buf *out, size_t *n, struct tb_err *err)
{
	struct verify_gaps g = { 0 };
	enum tb_status status;
	uint32_t vocab;

	*n = 0;
	if (!kind_is_model(m->loc.kind))
		return TB_OK;
	complete_headers(m, &g, &vocab, err);
	for (size_t i = 0; i < g.n; i++) {
		if (finding_severity(g.v[i].code) < SEV_ERROR && g.v[i].code != F_NOT_RUN)
			continue;
		tb_buf_printf(out, "%s\n", g.v[i].message);
		++*n;
	}
	status = gaps_status(&g, err);
	if (!status)
		status = tb_buf_status(out, m->loc.name, err);
	gaps_free(&g);
	return status;
}
