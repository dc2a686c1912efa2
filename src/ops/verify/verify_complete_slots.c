/* verify_complete_slots.c - the tensors that a run of this architecture needs, asked
 * for in the engine's own way. */
#include "config.h"

#include "src/ops/verify/verify_complete.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/canon.h"
#include "src/engine/slots.h"
#include "src/store/tensor_name.h"

#define SAID_MAX 8u		/* faults of a kind that are told one by one */
#define BROKEN_MAX 64u		/* each may be a damaged file of its own */

struct look {
	const struct model *m;
	const struct hparams *hp;
	struct verify_gaps *g;
	const char *where;		/* "config.json", "the metadata" */
	uint32_t *fits, *absent;	/* [layers]: slots */
	uint32_t extra;			/* the highest layer that there should not be, + 1 */
	const char *extra_name, *unsup;	/* of a tensor; NULL: none */
	unsigned misshapen, more;	/* told; not told */
	unsigned broken;
};

static enum tb_status
slot_fits(void *arg, const struct slot_at *at, struct tb_err *err)
{
	struct look *l = arg;

	(void)err;
	if (slot_layered(at->slot))
		l->fits[at->layer]++;
	return TB_OK;
}

/* Other classes of a known type have heads and inputs of their own. */
static bool
usual_class(const struct model *m, const struct arch *a)
{
	static const char *const endings[] = {
		"Model", "ForCausalLM", "ForConditionalGeneration", "ForSequenceClassification",
		"ForTokenClassification",
	};

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (tb_ends(m->arch, endings[i]))
			return true;
	return !*m->arch || model_has_keys(m) || !strcmp(m->arch, m->model_type) ||
	       !strcmp(m->arch, a->class_name);
}

/* Is it known already why a tensor is not there? */
static bool
explained(const struct look *l, const struct slot_wrong *w)
{
	const struct model *m = l->m;

	if (l->g->holes || complete_unread(m, w->name) || gaps_about(l->g, w->name))
		return true;
	/* A model that gives no words out has no head: embeddings, classifiers. */
	return w->slot == SLOT_OUTPUT && *m->arch && !model_has_keys(m) &&
	       !tb_ends(m->arch, "ForCausalLM") && !tb_ends(m->arch, "ForConditionalGeneration") &&
	       strcmp(m->arch, m->model_type) != 0;
}

static void
misshapen(struct look *l, const struct slot_wrong *w)
{
	const struct scheme *s = &w->t->scheme;

	/* Other programs pack as they like; then a shape says nothing. */
	if (scheme_is_plain(s) ? !dtype_floating(s->dtype) || dtype_bits(s->dtype) < 16
			       : scheme_foreign(s) || w->t->origin == ORIGIN_UNKNOWN)
		l->unsup = w->t->name;
	else if (l->misshapen++ < SAID_MAX)
		gap_add(l->g, F_CONTRADICTION, w->name, "%s", w->why->msg);
	else
		l->more++;
}

static void
broken(struct look *l, const struct slot_wrong *w)
{
	const struct tensor *t = w->t;

	if (l->broken++ >= BROKEN_MAX)
		return;
	if (!t->has_scale || (scheme_has_bias(&t->scheme) && !t->has_bias))
		gap_add(l->g, F_INCOMPLETE, w->name, "%s: packed codes without their %s", w->name,
			t->has_scale ? "biases" : "scales");
	else
		gap_add(l->g, F_CONTRADICTION, w->name, "%s", w->why->msg);
}

static void
unused(struct look *l, const struct slot_wrong *w)
{
	struct canon_model cm = { .arch = l->hp->arch, .gguf = model_has_keys(l->m) };
	struct tname_layer at;
	struct canon c;

	/* "model.layers.7.…" of a model of 5 layers */
	if (!canon_of(&cm, w->t, &c) || !tname_layer(c.name, &at) || at.stem ||
	    !tb_starts(c.name, "layers.") || at.number > UINT32_MAX - 1 ||
	    at.number < l->hp->layers) {
		l->unsup = w->name;
	} else if (at.number + 1 > l->extra) {
		l->extra = (uint32_t)at.number + 1;
		l->extra_name = w->name;
	}
}

static enum tb_status
slot_faulty(void *arg, const struct slot_wrong *w, struct tb_err *err)
{
	struct look *l = arg;

	(void)err;
	if (w->t && w->slot != SLOT_COUNT && slot_layered(w->slot))
		l->fits[w->layer]++;	/* it is there */
	switch (w->fault) {
	case SLOT_ABSENT:
		if (explained(l, w))
			break;
		if (slot_layered(w->slot))
			l->absent[w->layer]++;
		else
			gap_add(l->g, F_INCOMPLETE, w->name, "%s: not there", w->name);
		break;
	case SLOT_MISSHAPEN:
		misshapen(l, w);
		break;
	case SLOT_BROKEN:
		broken(l, w);
		break;
	case SLOT_UNSUP:
		l->unsup = w->name;
		break;
	case SLOT_UNUSED:
	case SLOT_FAULTS:
		unused(l, w);
		break;
	}
	return TB_OK;
}

/* ---- what the first visit found missing, in words ---- */

struct absentees { struct look *l; unsigned said, more; };

static enum tb_status
name_absent(void *arg, const struct slot_wrong *w, struct tb_err *err)
{
	struct absentees *a = arg;
	struct look *l = a->l;

	(void)err;
	if (w->fault != SLOT_ABSENT || !slot_layered(w->slot) || !l->fits[w->layer] ||
	    explained(l, w))
		return TB_OK;
	if (a->said++ < SAID_MAX)
		gap_add(l->g, F_INCOMPLETE, w->name, "%s: not there", w->name);
	else
		a->more++;
	return TB_OK;
}

/* Whole layers that lack: behind the last one the model says another number than it has,
 * between others they are lost. */
static void
tell_layers(struct look *l)
{
	uint32_t n = l->hp->layers, last = n;

	while (last && !l->fits[last - 1])
		last--;
	if (last && last < n && l->absent[n - 1])
		gap_add(l->g, F_CONTRADICTION, NULL, "%s says %u layers, but the last with tensors is "
			"layer %u (they count from 0)", l->where, n, last - 1);
	else if (!last && l->absent[0])
		gap_add(l->g, F_INCOMPLETE, NULL, "none of its %u layers has a tensor", n);
	for (uint32_t i = 0; i < last; i++)
		if (!l->fits[i] && l->absent[i])
			gap_add(l->g, F_INCOMPLETE, NULL, "layer %u: none of its tensors is there", i);
	if (l->extra)
		gap_add(l->g, F_CONTRADICTION, l->extra_name, "%s says %u layers, but there is %s",
			l->where, n, l->extra_name);
}

static void
tell_slots(struct look *l, struct tb_err *err)
{
	struct absentees a = { l, 0, 0 };
	const struct slot_visitor v = { NULL, name_absent, &a };
	bool some = false;

	if (l->more)
		gap_add(l->g, F_CONTRADICTION, NULL, "%u more tensors have other shapes than the "
			"model's description makes them", l->more);
	if (l->broken > BROKEN_MAX)
		gap_add(l->g, F_INCOMPLETE, NULL, "%u more packed tensors have parts that lack or do "
			"not fit", l->broken - BROKEN_MAX);
	tell_layers(l);
	for (uint32_t i = 0; i < l->hp->layers; i++)	/* of which the rest is there */
		some |= l->fits[i] && l->absent[i];
	if (some && slots_visit(l->hp, l->m, &v, err))
		gaps_short(l->g, err);
	if (a.more)
		gap_add(l->g, F_INCOMPLETE, NULL, "%u more tensors are not there", a.more);
	if (l->unsup && !l->m->nproblems && !l->g->n)
		gap_add(l->g, F_NOT_RUN, l->unsup, "%s: tbtui cannot run models with it; its structure "
			"alone was looked at", l->unsup);
}

/* ---- what is asked before ---- */

static bool
config_told(const struct model *m)
{
	const struct model_file *f = complete_file(m, "config.json");

	for (size_t i = 0; i < m->nproblems; i++)
		if (tb_contains(m->problems[i].message, "config.json"))
			return true;
	return f && complete_bad_file(m, f);
}

static void
without_numbers(const struct model *m, enum tb_status why_code, const struct tb_err *why,
		struct verify_gaps *g)
{
	const struct canon_model none = { .arch = NULL };
	struct canon_model cm;
	struct canon c;
	bool speech = false;	/* tensors as a language model's, which cannot do without it */

	canon_model(&cm, m);
	for (size_t i = 0; why_code == TB_ENOENT && i < m->ntensors && !speech; i++)
		speech = canon_of(&none, &m->tensors[i], &c) && c.slot != SLOT_COUNT;
	if (why_code == TB_ENOENT && speech && !config_told(m) && !model_has_keys(m))
		gap_add(g, F_INCOMPLETE, NULL, "config.json: not there");
	else if (why_code == TB_EFORMAT && !config_told(m))
		gap_add(g, F_FILE_BAD, NULL, "%s", why->msg);
	else if (why_code == TB_EUNSUP && !cm.arch)
		gap_add(g, F_NOT_RUN, NULL, "architecture \"%.80s\": what it needs is not known; its "
			"structure alone was looked at", *m->model_type ? m->model_type
			: *m->arch ? m->arch : "(none given)");
	else if (why_code == TB_EUNSUP)
		gap_add(g, F_NOT_RUN, NULL, "%s; its structure alone was looked at", why->msg);
	if (why_code == TB_EUNSUP && !model_has_keys(m))
		complete_config(m, g);
}

bool
complete_slots(const struct model *m, struct hparams *hp, struct verify_gaps *g,
	       struct tb_err *err)
{
	struct look l = { .m = m, .hp = hp, .g = g,
			  .where = model_has_keys(m) ? "the GGUF's block_count" : "config.json" };
	const struct slot_visitor v = { slot_fits, slot_faulty, &l };
	struct tb_err why;
	enum tb_status status = hparams_model(hp, m, &why);

	if (status == TB_ENOMEM)
		gaps_short(g, &why);
	if (status) {
		without_numbers(m, status, &why, g);
		return false;
	}
	if (!m->ntensors)
		return true;	/* why is told elsewhere */
	if (!usual_class(m, hp->arch)) {
		gap_add(g, F_NOT_RUN, NULL, "a model of class \"%.80s\": what it needs is not known; "
			"its structure alone was looked at", m->arch);
		return true;
	}
	l.fits = tb_calloc(hp->layers, sizeof(*l.fits));
	l.absent = tb_calloc(hp->layers, sizeof(*l.absent));
	if (!l.fits || !l.absent)
		gaps_short(g, NULL);
	else if (slots_visit(hp, m, &v, err))
		gaps_short(g, err);
	else
		tell_slots(&l, err);
	free(l.fits);
	free(l.absent);
	return true;
}
