/* hf_view.c - a GGUF model as Hugging Face's files have it: its tensors by their names, and
 * the files that go beside them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/translate/hf_parts.h"
#include "src/ops/translate/translate_rows.h"
#include "src/store/tensor_name.h"

/* ---- tensors ---- */

/* What only a GGUF has as a tensor is said in config.json. */
static bool
is_said(enum slot s)
{
	return s == SLOT_ROPE_FREQS || s == SLOT_ROPE_LONG;
}

static enum tb_status
set_change(const struct hf_making *h, const struct slot_rule *r, const struct tensor *t,
	   struct change *c)
{
	const struct arch *a = h->hp.arch;
	uint64_t rows = t->dim[0], cols = t->ndim > 1 ? t->dim[t->ndim - 1] : 1;

	if (slot_norm(r->slot) && a->norm_add != 0) {
		c->what = CHANGE_ADD;
		c->number = -a->norm_add;
	}
	if (!slot_permuted(a, r->slot))
		return TB_OK;
	if (!rows || rows % h->hp.head_dim || t->ndim > 2)
		return tb_fail(h->err, TB_EFORMAT, "%.200s: tensor %.100s: %ju rows are no heads of %u",
			       h->gguf->loc.path, t->name, (uintmax_t)rows, h->hp.head_dim);
	c->moved = true;
	c->walk = walk_to_halves(rows, cols, h->hp.head_dim);
	return TB_OK;
}

enum tb_status
hf_note(struct hf_making *h, char *text)
{
	char *all = !h->v->note ? text : text ? tb_asprintf("%s; %s", h->v->note, text) : NULL;

	if (all != text)
		free(text);
	free(h->v->note);
	h->v->note = all;
	return all ? TB_OK : tb_nomem(h->err);
}

/* *taken: it is a tensor there, too. */
static enum tb_status
take_tensor(struct hf_making *h, const struct tensor *t, bool *taken)
{
	struct model *m = h->v->model;
	uint32_t layer = 0, expert = 0;
	const struct slot_rule *from, *to;
	struct tensor *made = &m->tensors[m->ntensors];
	char name[TNAME_MAX] = "";

	*taken = false;
	if (h->row)
		return t->draft || slot_ignored(t->name) ? TB_OK : hf_take_row(h, t, taken);
	from = hf_gguf_rule(h->hp.arch->ways, t->name, &layer, &expert);
	if (t->draft || (!from && slot_ignored(t->name)) || (from && is_said(from->slot)))
		return TB_OK;
	to = from ? hf_rule(h->hp.arch->names, h->hp.arch->ways, from) : NULL;
	if (!to)
		return tb_fail(h->err, TB_EUNSUP, "%.200s: tensor %.100s has no name in Hugging Face's"
			       " files of %s", h->gguf->loc.path, t->name, h->hp.arch->name);
	if (to->slot != SLOT_OUTPUT)
		memcpy(name, "model.", strlen("model.") + 1);
	if (!tname_fill(to->pattern, layer, expert, name + strlen(name),
			sizeof(name) - strlen(name)))
		return tb_fail(h->err, TB_EFORMAT, "%.100s: its name is too long", t->name);
	*made = *t;
	made->name = tb_arena_str(&m->names, name);
	if (!made->name)
		return tb_nomem(h->err);
	*taken = true;
	return set_change(h, from, t, &h->v->changes[m->ntensors++]);
}

struct pair { struct tensor t; struct change c; size_t was; };

static int
pair_cmp(const void *va, const void *vb)
{
	const struct pair *a = va, *b = vb;

	return tb_natural_cmp(a->t.name, b->t.name);
}

/* As models have them: in natural order. */
static enum tb_status
order_tensors(struct hf_making *h)
{
	struct model *m = h->v->model;
	struct pair *p = tb_calloc(m->ntensors, sizeof(*p));
	size_t *now = tb_calloc(m->ntensors, sizeof(*now));	/* where each has gone */

	if (!p || !now) {
		free(p);
		free(now);
		return tb_nomem(h->err);
	}
	for (size_t i = 0; i < m->ntensors; i++)
		p[i] = (struct pair){ m->tensors[i], h->v->changes[i], i };
	qsort(p, m->ntensors, sizeof(*p), pair_cmp);
	for (size_t i = 0; i < m->ntensors; i++) {
		m->tensors[i] = p[i].t;
		h->v->changes[i] = p[i].c;
		now[p[i].was] = i;
	}
	for (size_t i = 0; i < h->v->npieces; i++)
		h->v->pieces[i].tensor = now[h->v->pieces[i].tensor];
	free(now);
	free(p);
	for (size_t i = 1; i < m->ntensors; i++)
		if (!strcmp(m->tensors[i - 1].name, m->tensors[i].name))
			return tb_fail(h->err, TB_EFORMAT, "%.200s: two tensors would be called %s",
				       h->gguf->loc.path, m->tensors[i].name);
	return TB_OK;
}

static enum tb_status
take_tensors(struct hf_making *h)
{
	struct model *m = h->v->model;
	const struct tensor *t = h->gguf->tensors;
	enum tb_status status = TB_OK;
	size_t left = 0;
	bool taken;

	m->tensors = tb_calloc(h->gguf->ntensors, sizeof(*m->tensors));
	h->v->changes = tb_calloc(h->gguf->ntensors, sizeof(*h->v->changes));
	if (!m->tensors || !h->v->changes)
		return tb_nomem(h->err);
	for (size_t i = 0; i < h->gguf->ntensors && !status; i++) {
		status = take_tensor(h, &t[i], &taken);
		left += !taken && (t[i].draft || slot_ignored(t[i].name));
	}
	if (!status)
		status = order_tensors(h);
	if (status || !left)
		return status;
	return hf_note(h, tb_asprintf("%zu tensor%s of vision or a draft model stay%s behind", left,
				      tb_plural(left), left == 1 ? "s" : ""));
}

/* ---- files ---- */

static enum tb_status
take_files(struct hf_making *h, size_t more)
{
	struct model *m = h->v->model;

	m->files = tb_calloc(h->gguf->nfiles + more, sizeof(*m->files));
	if (!m->files)
		return tb_nomem(h->err);
	for (size_t i = 0; i < h->gguf->nfiles; i++) {
		const struct model_file *from = &h->gguf->files[i];
		struct model_file *f = &m->files[m->nfiles++];

		*f = *from;
		f->text = NULL;
		f->path = tb_strdup(from->path);
		f->name = from->name ? tb_arena_str(&m->names, from->name) : NULL;
		f->media_type = from->media_type ? tb_arena_str(&m->names, from->media_type) : NULL;
		if (!f->path || (from->name && !f->name) || (from->media_type && !f->media_type))
			return tb_nomem(h->err);
	}
	return TB_OK;
}

/* text: taken over. */
static enum tb_status
add_made_file(struct hf_making *h, const char *name, char *text)
{
	struct model *m = h->v->model;
	struct model_file *f = &m->files[m->nfiles];

	*f = (struct model_file){ .path = tb_strdup(""), .name = name, .text = text,
		.media = kind_has_manifest(m->loc.kind) ? MEDIA_JSON : MEDIA_UNKNOWN };
	if (!f->path) {
		free(text);
		return tb_nomem(h->err);
	}
	if (kind_has_manifest(m->loc.kind))
		f->media_type = media_type(MEDIA_JSON);
	m->nfiles++;
	return TB_OK;
}

/* A model whose tokenizer nobody can write is one without. */
static enum tb_status
add_tokenizer(struct hf_making *h)
{
	struct tb_err why = { 0 };
	char *text;
	enum tb_status status = tokenizer_from_gguf(&h->tokenizer, &h->mm.g, &h->mm.file, &why);

	if (!status)
		status = hf_tokenizer(h->tokenizer, &text, &why);
	if (!status)
		return add_made_file(h, "tokenizer.json", text);
	tokenizer_free(h->tokenizer);
	h->tokenizer = NULL;
	if (status == TB_ENOENT)
		return TB_OK;
	if (status != TB_EUNSUP)
		return tb_fail(h->err, status, "%s", why.msg);
	return hf_note(h, tb_asprintf("no tokenizer.json: %s", why.msg));
}

static enum tb_status
add_files(struct hf_making *h)
{
	static const struct {
		const char *name;
		enum tb_status (*make)(const struct hf_making *h, char **out);
	} made[] = {
		{ "config.json", hf_config },
		{ "tokenizer_config.json", hf_tokenizer_config },
		{ "generation_config.json", hf_generation_config },
	};
	enum tb_status status = take_files(h, 1 + sizeof(made) / sizeof(*made));
	char *text;

	if (!status)
		status = add_tokenizer(h);
	for (size_t i = 0; i < sizeof(made) / sizeof(*made) && !status; i++) {
		status = made[i].make(h, &text);
		if (!status && text)
			status = add_made_file(h, made[i].name, text);
	}
	return status;
}

/* ---- the whole ---- */

static enum tb_status
make_view(struct hf_making *h, enum dtype decode)
{
	struct model *m = h->v->model;
	const struct arch *a = h->hp.arch;
	enum tb_status status = model_loc_copy(&m->loc, &h->gguf->loc, h->err);

	if (status)
		return status;
	m->arch = tb_strdup(h->row ? h->row->class_name : a->class_name);
	m->model_type = tb_strdup(h->row ? h->row->type : a->text_name ? a->text_name : a->name);
	memcpy(m->scheme, h->gguf->scheme, sizeof(m->scheme));
	m->params = h->gguf->params;
	m->bytes = h->gguf->bytes;
	if (!m->arch || !m->model_type)
		return tb_nomem(h->err);
	status = take_tensors(h);
	if (!status)
		status = hf_dtypes(h, decode);
	return status ? status : add_files(h);
}

/* What the engine reads of a llama says all of it, unless it is stretched by yarn. */
static enum tb_status
know_llama(struct hf_making *h, bool *known)
{
	enum tb_status status = hparams_gguf(&h->hp, &h->mm, h->err);
	char key[96];
	uint64_t experts;

	snprintf(key, sizeof(key), "%.60s.expert_count", h->gguf->arch);
	*known = status != TB_EUNSUP || (gguf_u64(gguf_find(&h->mm.g, key), &experts) && experts);
	if (!status && h->hp.rope.kind == ROPE_YARN) {
		*known = false;
		hparams_free(&h->hp);
	}
	return *known ? status : TB_OK;
}

/* What the tables say, else the engine's numbers. */
static enum tb_status
know(struct hf_making *h)
{
	bool known = false;
	enum tb_status status = TB_OK;

	if (!strcmp(h->gguf->arch, "llama"))
		status = know_llama(h, &known);
	if (status || known)
		return status;
	h->hp = (struct hparams){ 0 };
	status = hf_back(h, &known);
	return status || known ? status : hparams_gguf(&h->hp, &h->mm, h->err);
}

enum tb_status
hf_view_open(struct hf_view **out, const struct model *gguf, enum dtype decode, struct tb_err *err)
{
	struct hf_making h = { .gguf = gguf, .err = err };
	enum tb_status status;

	*out = NULL;
	if ((status = model_meta_open(&h.mm, gguf, err)))
		return status;
	h.v = tb_calloc(1, sizeof(*h.v));
	if (h.v)
		h.v->model = tb_calloc(1, sizeof(*h.v->model));
	status = h.v && h.v->model ? know(&h) : tb_nomem(err);
	if (!status)
		status = translate_check(gguf, err);
	if (!status)
		status = make_view(&h, decode);
	hparams_free(&h.hp);
	tokenizer_free(h.tokenizer);
	model_meta_close(&h.mm);
	if (status) {
		hf_view_free(h.v);
		return status;
	}
	*out = h.v;
	return TB_OK;
}

void
hf_view_free(struct hf_view *v)
{
	if (!v)
		return;
	model_free(v->model);
	free(v->changes);
	free(v->pieces);
	free(v->note);
	free(v);
}
