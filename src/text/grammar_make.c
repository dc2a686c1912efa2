/* grammar_make.c - from the parts of rules to states. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/text/grammar_machine.h"

#define WORK_MAX (8u << 20)	/* parts to lay out: repetitions of nothing need no states */
#define SMALL 4		/* states: what is larger and repeated becomes a rule of its own */

struct grammar *
grammar_ref(struct grammar *g)
{
	atomic_fetch_add(&g->refs, 1);
	return g;
}

void
grammar_free(struct grammar *g)
{
	if (!g || atomic_fetch_sub(&g->refs, 1))
		return;
	free(g->states);
	free(g->rules);
	free(g->sets);
	free(g->set_slots);
	free(g->tokens);
	tb_arena_free(&g->arena);
	free(g->source);
	free(g);
}

enum tb_status
grammar_say(struct grammar *g, enum grammar_form form, const char *text, size_t len,
	    struct tb_err *err)
{
	free(g->source);
	g->form = form;
	g->source = tb_strndup(text, len);
	return g->source ? TB_OK : tb_nomem(err);
}

const char *
grammar_source(const struct grammar *g, enum grammar_form *form)
{
	*form = g->form;
	return g->source;
}

bool
grammar_put(struct grammar *g, enum state_kind kind, uint32_t next, uint32_t arg, uint32_t *at)
{
	if (g->n >= GRAMMAR_STATES_MAX ||
	    !tb_grow(&g->states, &g->cap, g->n + 1, sizeof(*g->states)))
		return false;
	g->states[g->n] = (struct grammar_state){ .kind = kind, .next = next, .arg = arg };
	*at = (uint32_t)g->n++;
	return true;
}

static bool
more_slots(struct grammar *g)
{
	size_t n = g->nset_slots ? 2 * g->nset_slots : 64;
	uint32_t *slots = tb_calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < g->nsets; i++) {
		size_t at = tb_hash(g->sets[i], 32) % n;

		while (slots[at])
			at = (at + 1) % n;
		slots[at] = (uint32_t)i + 1;
	}
	free(g->set_slots);
	g->set_slots = slots;
	g->nset_slots = n;
	return true;
}

bool
grammar_put_set(struct grammar *g, const uint8_t set[32], uint32_t *id)
{
	size_t at;

	if (2 * g->nsets >= g->nset_slots && !more_slots(g))
		return false;
	at = tb_hash(set, 32) % g->nset_slots;
	while (g->set_slots[at] && memcmp(g->sets[g->set_slots[at] - 1], set, 32))
		at = (at + 1) % g->nset_slots;
	if (!g->set_slots[at]) {
		if (!tb_grow(&g->sets, &g->sets_cap, g->nsets + 1, sizeof(*g->sets)))
			return false;
		memcpy(g->sets[g->nsets], set, 32);
		g->set_slots[at] = (uint32_t)++g->nsets;
	}
	*id = g->set_slots[at] - 1;
	return true;
}

static bool put_part(struct grammar *g, const struct rule_part *p, uint32_t next, uint32_t *at);

static bool
put_text(struct grammar *g, const struct rule_part *p, uint32_t next, uint32_t *at)
{
	*at = next;
	for (size_t i = p->len; i-- > 0;) {
		uint8_t set[32] = { 0 }, byte = (uint8_t)p->text[i];
		uint32_t id;

		set[byte / 8] = (uint8_t)(1u << byte % 8);
		if (!grammar_put_set(g, set, &id) || !grammar_put(g, STATE_BYTES, *at, id, at))
			return false;
	}
	return true;
}

/* What is put many times: the part, or a call of a rule that is made of it. */
static bool
make_small(struct grammar *g, struct rule_part *p, struct rule_part *call)
{
	size_t before = g->n;
	uint32_t entry;

	if (!put_part(g, p, AT_END, &entry))
		return false;
	if (g->n - before <= SMALL) {
		g->n = before;
		*call = *p;
		return true;
	}
	if (g->nrules >= GRAMMAR_RULES_MAX ||
	    !tb_grow(&g->rules, &g->rules_cap, g->nrules + 1, sizeof(*g->rules)))
		return false;
	*call = (struct rule_part){ .kind = PART_RULE, .rule = (uint32_t)g->nrules };
	g->rules[g->nrules++] = (struct grammar_rule){ .name = "(…)", .entry = entry };
	return true;
}

/* min times, then as often as may be; the last ones are inside one another, so that a
 * machine is in few states at a time. */
static bool
put_many(struct grammar *g, const struct rule_part *p, uint32_t next, uint32_t *at)
{
	struct rule_part one = *p->parts[0];
	uint32_t loop, body;

	*at = next;
	if (!p->max)
		return true;
	if ((p->min > 1 || (p->max > 1 && p->max != UINT32_MAX)) &&
	    !make_small(g, p->parts[0], &one))
		return false;
	if (p->max == UINT32_MAX) {
		if (!grammar_put(g, STATE_SPLIT, next, next, &loop) ||
		    !put_part(g, &one, loop, &body))
			return false;
		g->states[loop].next = body;
		*at = loop;
	}
	for (uint32_t i = p->min; i < p->max && p->max != UINT32_MAX; i++)
		if (!put_part(g, &one, *at, &body) || !grammar_put(g, STATE_SPLIT, body, next, at))
			return false;
	for (uint32_t i = 0; i < p->min; i++)
		if (!put_part(g, &one, *at, at))
			return false;
	return true;
}

static bool
put_part(struct grammar *g, const struct rule_part *p, uint32_t next, uint32_t *at)
{
	uint32_t one;

	if (++g->work > WORK_MAX)
		return false;
	switch (p->kind) {
	case PART_TEXT:
		return put_text(g, p, next, at);
	case PART_CLASS:
		return grammar_put_class(g, p, next, at);
	case PART_RULE:
		return grammar_put(g, STATE_CALL, next, p->rule, at);
	case PART_TOKEN:
		return grammar_put(g, p->not ? STATE_OTHER : STATE_TOKEN, next, p->rule, at);
	case PART_MANY:
		return put_many(g, p, next, at);
	case PART_SEQ:
		*at = next;
		for (size_t i = p->n; i-- > 0;)
			if (!put_part(g, p->parts[i], *at, at))
				return false;
		return true;
	case PART_ALT:
		for (size_t i = p->n; i-- > 0;) {
			if (!put_part(g, p->parts[i], next, &one))
				return false;
			if (i + 1 < p->n && !grammar_put(g, STATE_SPLIT, one, *at, &one))
				return false;
			*at = one;
		}
		return true;
	}
	return false;
}

enum tb_status
grammar_make(struct grammar *g, const char *what, struct tb_err *err)
{
	size_t n = g->nrules;		/* repetitions add rules that are made already */
	bool ok = true;
	uint32_t at;
	enum tb_status status;

	g->n = 0;
	ok = grammar_put(g, STATE_END, 0, 0, &at) && grammar_put(g, STATE_DONE, 0, 0, &at);
	for (size_t i = 0; i < n && ok; i++) {
		ok = put_part(g, g->rules[i].is, AT_END, &at);
		g->rules[i].entry = at;
	}
	if (!ok)
		return tb_fail(err, TB_ELIMIT, "%s: the grammar is too large; repeat less, or shorter "
			       "things", what);
	if ((status = grammar_measure(g, err)) || (status = grammar_rank(g, what, err)))
		return status;
	if (g->rules[0].far == GRAMMAR_FAR)
		return tb_fail(err, TB_EFORMAT, "%s: no text can ever match it: its rules never come "
			       "to an end, or only after a gigabyte", what);
	grammar_classify(g);
	return TB_OK;
}
