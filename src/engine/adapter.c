/* adapter.c - what an adapter changes: for a tensor of the model two small ones, A and B, by
 * whose product it grows.  They are called as the model's are in files of the same kind, and
 * find their slots by the same rules. */
#include "config.h"

#include "src/engine/adapter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/lowrank.h"
#include "src/engine/run.h"
#include "src/engine/slots.h"
#include "src/format/json.h"
#include "src/store/model_meta.h"
#include "src/store/tensor_name.h"

#define NAME_MAX_LEN 512
#define CONFIG "adapter_config.json"
#define CONFIG_MAX (4u << 20)
#define PEFT_ALPHA 8			/* PEFT's, where the file is silent */

struct adapter {
	struct engine *e;
	const struct model *m;
	bool gguf;
	double alpha;			/* 0: B A are not multiplied by anything */
	bool root;			/* by alpha / sqrt(rank), not alpha / rank */
	cJSON *config;			/* of PEFT; owned; NULL: none */
	struct tb_err *err;
};

/* A pair, and what it changes. */
struct pair {
	const struct tensor *a, *b;
	char name[NAME_MAX_LEN];	/* of the tensor that it changes */
	float scale;
	float *a_all, *b_all;		/* owned; all experts' */
	uint32_t rank;
};

/* ---- what is said of all of it ---- */

static enum tb_status
read_keys(struct adapter *ad)
{
	static const struct { const char *key, *must; } says[] = {
		{ "general.type", "adapter" }, { "adapter.type", "lora" },
	};
	const char *name = ad->m->loc.name, *arch = ad->e->hp.arch->gguf_name;
	struct model_meta mm;
	enum tb_status status = model_meta_open(&mm, ad->m, ad->err);

	for (size_t i = 0; i < 2 && !status; i++) {
		const struct gguf_kv *kv = gguf_find(&mm.g, says[i].key);
		char *is = NULL;

		if (kv && !(status = gguf_string(kv, &mm.file, 64, &is, ad->err)) &&
		    strcmp(is, says[i].must))
			status = tb_fail(ad->err, TB_EUNSUP, "%s: its %s is %s, not %s", name, says[i].key,
					 is, says[i].must);
		else if (!kv && !i)
			status = tb_fail(ad->err, TB_EUNSUP, "%s: is a model, no adapter", name);
		free(is);
	}
	if (!status && gguf_find(&mm.g, "adapter.alora.invocation_tokens"))
		status = tb_fail(ad->err, TB_EUNSUP, "%s: an adapter that some tokens switch on (aLoRA) "
				 "is not known", name);
	if (!status)
		(void)gguf_f64(gguf_find(&mm.g, "adapter.lora.alpha"), &ad->alpha);
	if (!status && arch && *ad->m->arch && strcmp(arch, ad->m->arch))
		status = tb_fail(ad->err, TB_EUNSUP, "%s: is made for models of %.60s, this is one of %s",
				 name, ad->m->arch, arch);
	model_meta_close(&mm);
	return status;
}

static enum tb_status
read_config(struct adapter *ad)
{
	static const char *const unknown[] = { "use_dora", "alora_invocation_tokens", "use_qalora" };
	const char *name = ad->m->loc.name, *type;
	bool on;
	char *text;
	size_t len;
	enum tb_status status = model_read(ad->m, CONFIG, CONFIG_MAX, &text, &len, ad->err);

	if (status)
		return status != TB_ENOENT ? status
		     : tb_fail(ad->err, TB_EUNSUP, "%s: no adapter: there is no " CONFIG " beside it, "
			       "which says how much it counts", name);
	status = json_parse(&ad->config, text, len, CONFIG, ad->err);
	free(text);
	if (status)
		return tb_wrap(ad->err, status, "%s", name);
	type = json_str(json_get(ad->config, "peft_type"));
	if (!type || strcmp(type, "LORA"))
		return tb_fail(ad->err, TB_EUNSUP, "%s: " CONFIG " says peft_type %.40s; only LORA is "
			       "known", name, type ? type : "nothing");
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		const cJSON *v = json_get(ad->config, unknown[i]);

		if (v && !json_is_null(v) && (!json_bool(v, &on) || on))
			return tb_fail(ad->err, TB_EUNSUP, "%s: " CONFIG ": %s is not known, and without "
				       "it the adapter would not be what it is", name, unknown[i]);
	}
	ad->alpha = PEFT_ALPHA;
	(void)json_f64(json_get(ad->config, "lora_alpha"), &ad->alpha);
	ad->root = json_bool(json_get(ad->config, "use_rslora"), &on) && on;
	return TB_OK;
}

/* alpha_pattern: other numbers for modules whose names end so. */
static enum tb_status
own_alpha(const struct adapter *ad, const char *name, double *alpha)
{
	size_t len = strlen(name) - (tb_ends(name, ".weight") ? strlen(".weight") : 0);
	const cJSON *all = json_get(ad->config, "alpha_pattern");

	for (const cJSON *v = json_first(all); v; v = json_next(v)) {
		const char *key = json_key(v);
		size_t n = strlen(key);

		if (strpbrk(key, "^$*+?()[]{}|\\"))
			return tb_fail(ad->err, TB_EUNSUP, "%s: " CONFIG ": the alpha_pattern %.100s is a "
				       "regular expression, which is not read", ad->m->loc.name, key);
		if (n > len || memcmp(name + len - n, key, n) || (n < len && name[len - n - 1] != '.'))
			continue;
		if (!json_f64(v, alpha))
			return tb_fail(ad->err, TB_EFORMAT, "%s: " CONFIG ": alpha_pattern %.100s is no "
				       "number", ad->m->loc.name, key);
		return TB_OK;	/* the first counts */
	}
	return TB_OK;
}

/* ---- pairs ---- */

/* Of "base_model.model.NAME.lora_A.weight" (PEFT may put the adapter's own name before the
 * last word) and "NAME.weight.lora_a" NAME.weight, and what B is called.  false: neither A
 * nor B. */
static bool
names_of(const struct adapter *ad, const char *is, char base[NAME_MAX_LEN],
	 char other[NAME_MAX_LEN], bool *a)
{
	const char *from, *at, *mark[2] = { ad->gguf ? ".lora_a" : ".lora_A", ad->gguf ? ".lora_b" : ".lora_B" };
	size_t n = strlen(is);

	if (n + 16 > NAME_MAX_LEN)
		return false;
	*a = (at = strstr(is, mark[0])) != NULL;
	if (!*a && !(at = strstr(is, mark[1])))
		return false;
	from = at + strlen(mark[0]);
	if (ad->gguf ? *from != 0 : *from && (*from != '.' || !tb_ends(from, ".weight")))
		return false;
	snprintf(other, NAME_MAX_LEN, "%.*s%s%s", (int)(at - is), is, mark[*a], from);
	if (!ad->gguf && tb_starts(is, "base_model.model."))
		is += strlen("base_model.model.");
	snprintf(base, NAME_MAX_LEN, "%.*s%s", (int)(at - is), is, ad->gguf ? "" : ".weight");
	return true;
}

static enum tb_status
read_values(const struct adapter *ad, const struct tensor *t, float **out)
{
	struct values v;
	enum tb_status status;

	*out = t->elems && t->elems < SIZE_MAX / sizeof(**out) ? tb_aligned(t->elems * sizeof(**out))
							       : NULL;
	if (!*out)
		return tb_nomem(ad->err);
	if ((status = values_open(&v, ad->m, t, NULL, ad->err)))
		return status;
	values_any(&v, 0, t->elems, *out);
	status = values_check(&v, ad->err);
	values_close(&v);
	return status;
}

/* ---- where they go ---- */

/* What a rule finds for a pair. */
struct target {
	const struct slot_rule *rule;
	uint32_t layer, expert;		/* of one that is not stacked */
	uint32_t before, rows, all, cols, experts;
};

/* Matrices that a run multiplies with, and by which alone. */
static bool
multiplied(const struct slot_rule *r)
{
	static const enum slot not[] = { SLOT_EMBED, SLOT_PL_EMBED, SLOT_KV_B, SLOT_K_B, SLOT_V_B };

	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++)
		if (r->slot == not[i])
			return false;
	return slot_info(r->slot)->cols != DIM_NONE && !slot_kernel(r->slot) && !r->turned && !r->folded;
}

/* Slots whose rows and columns lie in GGUF files as elsewhere, but for pairs that turn. */
static bool
lies_alike(const struct adapter *ad, enum slot s)
{
	enum arch_part part = slot_info(s)->part;

	return !ad->e->hp.arch->q_gated &&
	       (part == PART_HEAD || part == PART_ATTENTION || part == PART_DENSE || part == PART_GATE ||
		part == PART_EXPERTS || part == PART_EXPERTS_GATE || part == PART_SHARED ||
		part == PART_SHARED_GATE);
}

static uint32_t
sum_dims(const struct hparams *hp, uint32_t layer, const enum dim *d)
{
	uint32_t sum = 0;

	for (; *d != DIM_NONE; d++)
		sum += hparams_dim(hp, layer, *d);
	return sum;
}

/* A: [rank][cols], B: [all rows][rank]; of each expert one behind the other. */
static enum tb_status
check_pair(const struct adapter *ad, struct pair *p, const struct target *t)
{
	const struct tensor *a = p->a, *b = p->b;
	uint64_t rank = a->elems / ((uint64_t)t->experts * t->cols);
	const uint64_t want_a[] = { t->experts, rank, t->cols }, want_b[] = { t->experts, t->all, rank };

	if (!rank || rank > UINT16_MAX || !slot_shape(a, want_a, 3) || !slot_shape(b, want_b, 3))
		return tb_fail(ad->err, TB_EFORMAT, "%s: %s: does not fit %s, which has %s%" PRIu32 " rows of %"
			       PRIu32 "; is the adapter one of this model?", ad->m->loc.name, a->name,
			       p->name, t->rule->stacked ? "experts of " : "", t->all, t->cols);
	p->rank = (uint32_t)rank;
	return TB_OK;
}

/* B's rows of q and k lie as the files of the model have them, not as those of the adapter. */
static void
turn_rows(const struct adapter *ad, const struct target *t, float *b, uint32_t rank, float *room)
{
	uint32_t hd = ad->e->hp.layer[t->layer].head_dim;

	for (uint32_t h = 0; h < t->rows; h += hd) {
		for (uint32_t i = 0; i < hd; i++) {
			uint32_t theirs = slot_unpermuted(i, hd);
			uint32_t to = ad->gguf ? theirs : i, from = ad->gguf ? i : theirs;

			memcpy(room + (size_t)to * rank, b + (size_t)(h + from) * rank, rank * sizeof(*b));
		}
		memcpy(b + (size_t)h * rank, room, (size_t)hd * rank * sizeof(*b));
	}
}

static enum tb_status
grow_matrix(const struct adapter *ad, struct pair *p, const struct target *t, struct matrix *to,
	    uint32_t nth)
{
	struct weights *w = &ad->e->weights;
	const float *a = p->a_all + (size_t)nth * p->rank * t->cols;
	size_t n = (size_t)t->rows * p->rank;
	struct lowrank *low = NULL;
	float *b = tb_aligned(2 * n * sizeof(*b));
	enum tb_status status;
	size_t at = 0;

	if (!b)
		return tb_nomem(ad->err);
	memcpy(b, p->b_all + ((size_t)nth * t->all + t->before) * p->rank, n * sizeof(*b));
	if (ad->gguf != ad->e->gguf && slot_permuted(ad->e->hp.arch, t->rule->slot))
		turn_rows(ad, t, b, p->rank, b + n);
	while (at < w->nlow && w->low[at] != to->low)
		at++;
	if (at == w->nlow && !tb_grow(&w->low, &w->low_cap, at + 1, sizeof(*w->low))) {
		free(b);
		return tb_nomem(ad->err);
	}
	low = at < w->nlow ? w->low[at] : NULL;
	if (!(status = lowrank_add(&low, to, a, b, p->rank, p->scale, ad->err))) {
		w->nlow += at == w->nlow;
		to->low = w->low[at] = low;
	}
	free(b);
	return status;
}

/* All matrices that a rule means. */
static enum tb_status
grow_slot(const struct adapter *ad, struct pair *p, const struct target *t)
{
	enum slot s = t->rule->slot;
	struct layer *l = weights_at(&ad->e->weights, s, t->layer);
	enum tb_status status = TB_OK;

	if (!slot_expert(s))
		return grow_matrix(ad, p, t, &l->m[s], 0);
	for (uint32_t i = 0; i < t->experts && !status; i++)
		status = grow_matrix(ad, p, t, &l->x[s][t->rule->stacked ? i : t->expert], i);
	return status;
}

/* Is there such a matrix in the model? */
static bool
find_target(const struct adapter *ad, const struct slot_rule *r, const char *name,
	    struct target *t)
{
	const struct hparams *hp = &ad->e->hp;
	const struct layer *l;
	enum slot s = r->slot;

	*t = (struct target){ .rule = r, .experts = 1 };
	if (!tname_match(r->pattern, name, &t->layer, &t->expert))
		return false;
	if (!slot_layered(s))
		t->layer = 0;
	if (t->layer >= hp->layers || !hparams_has(hp, t->layer, s))
		return false;
	l = weights_at(&ad->e->weights, s, t->layer);
	if (slot_expert(s) ? !l->x[s] || t->expert >= hp->experts : !l->m[s].codes && !l->v[s])
		return false;
	t->rows = hparams_dim(hp, t->layer, slot_info(s)->rows);
	t->cols = slot_info(s)->cols == DIM_NONE ? 1 : hparams_dim(hp, t->layer, slot_info(s)->cols);
	t->before = sum_dims(hp, t->layer, r->before);
	t->all = t->before + t->rows + sum_dims(hp, t->layer, r->after);
	t->experts = r->stacked ? hp->experts : 1;
	return true;
}

/* A tensor may fill several slots with its rows: those of q, k and v.  A slot's first rule that
 * knows the name counts. */
static enum tb_status
apply_pair(const struct adapter *ad, struct pair *p)
{
	const struct arch *arch = ad->e->hp.arch;
	bool found = false, slots[SLOT_COUNT] = { false };
	struct target t;
	enum tb_status status = TB_OK;

	for (const char *const *stem = tname_stems; *stem; stem++)
		for (const struct slot_rule *r = NULL;
		     !status && (r = slot_rule_next(arch->names, arch->ways, r));) {
			if (slots[r->slot] || !tb_starts(p->name, *stem) ||
			    !find_target(ad, r, p->name + strlen(*stem), &t))
				continue;
			if (!multiplied(r) || (ad->gguf != ad->e->gguf && !lies_alike(ad, r->slot)))
				return tb_fail(ad->err, TB_EUNSUP, "%s: %s: adapters that change %s%s are "
					       "not known", ad->m->loc.name, p->a->name, p->name,
					       multiplied(r) ? " of a model in files of another kind" : "");
			if (!(status = check_pair(ad, p, &t)))
				status = grow_slot(ad, p, &t);
			found = slots[r->slot] = true;
		}
	if (!found && !status)
		status = tb_fail(ad->err, TB_EFORMAT, "%s: %s: the model has no tensor %s; is the adapter "
				 "one of this model?", ad->m->loc.name, p->a->name, p->name);
	return status;
}

static enum tb_status
take_pair(const struct adapter *ad, struct pair *p)
{
	double alpha = ad->alpha;
	uint64_t rank = p->a->ndim > 1 ? p->a->dim[p->a->ndim - 2] : 1;
	enum tb_status status = own_alpha(ad, p->name, &alpha);

	p->scale = !alpha && ad->gguf ? 1 : (float)(alpha / (ad->root ? sqrt((double)rank) : (double)rank));
	if (!status && !(status = read_values(ad, p->a, &p->a_all)) &&
	    !(status = read_values(ad, p->b, &p->b_all)))
		status = apply_pair(ad, p);
	free(p->a_all);
	free(p->b_all);
	return status;
}

static enum tb_status
take_pairs(const struct adapter *ad)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < ad->m->ntensors && !status; i++) {
		const struct tensor *t = &ad->m->tensors[i], *other;
		char want[NAME_MAX_LEN];
		struct pair p = { .a = t };
		bool a;

		if (!names_of(ad, t->name, p.name, want, &a))
			return tb_fail(ad->err, TB_EUNSUP, "%s: %s: is no part of a LoRA, and no other "
				       "adapter is known", ad->m->loc.name, t->name);
		if (!(other = model_tensor(ad->m, want)))
			return tb_fail(ad->err, TB_EFORMAT, "%s: %s: there is no %s", ad->m->loc.name,
				       t->name, want);
		p.b = other;
		if (a)
			status = take_pair(ad, &p);
	}
	return status;
}

enum tb_status
engine_adapt(struct engine *e, const struct model *a, struct tb_err *err)
{
	struct adapter ad = { .e = e, .m = a, .gguf = model_has_keys(a), .err = err };
	enum tb_status status;

	if (a->nproblems)
		return tb_fail(err, TB_EFORMAT, "%s: %s", a->loc.name, a->problems[0].message);
	status = ad.gguf ? read_keys(&ad) : read_config(&ad);
	if (!status && !a->ntensors)
		status = tb_fail(err, TB_EFORMAT, "%s: an adapter without tensors", a->loc.name);
	if (!status)
		status = take_pairs(&ad);
	json_free(ad.config);
	return status;
}

/* ---- adapters that are layers ---- */

enum tb_status
adapters_own(struct engine *e, const struct model *m, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < m->nfiles && !status; i++) {
		struct model_loc loc = m->loc;
		struct model *a;

		if (m->files[i].media != MEDIA_ADAPTER)
			continue;
		loc.kind = MODEL_GGUF_FILE;
		loc.path = m->files[i].path;
		if ((status = model_open(&a, &loc, err)))
			return tb_wrap(err, status, "its adapter");
		status = engine_adapt(e, a, err);
		model_free(a);
	}
	return status;
}

static bool
is_pair(const char *name)
{
	return strstr(name, ".lora_a") || strstr(name, ".lora_b") || strstr(name, ".lora_A") ||
	       strstr(name, ".lora_B");
}

enum tb_status
adapter_alone(const struct model *m, struct tb_err *err)
{
	bool layer = false;

	for (size_t i = 0; i < m->ntensors; i++) {
		if (m->files[m->tensors[i].weight.file].media == MEDIA_ADAPTER)
			layer = true;
		else if (!is_pair(m->tensors[i].name))
			return TB_OK;
	}
	if (layer)
		return tb_fail(err, TB_EUNSUP, "there is an adapter, but not the weights that it changes; "
			       "create the model again FROM one that has them");
	return !m->ntensors ? TB_OK
	     : tb_fail(err, TB_EUNSUP, "is an adapter, not a model: open the model that it "
		       "changes, and give this with --adapter");
}
