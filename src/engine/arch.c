/* arch.c - which architectures there are, and what belongs to which. */
#include "config.h"

#include "src/engine/arch.h"

#include <string.h>

#include "src/base/near.h"

_Static_assert(PART_KINDS <= 64, "a part is a bit of uint64_t");

static const struct arch *const tables[] = {
	arch_rows, arch_rows_delta, arch_rows_gemma4, arch_rows_mamba, arch_rows_mla,
	arch_rows_gpt_oss, arch_rows_laguna, NULL
};

#define X(id, part, name, rows, cols) { part, name, rows, cols },
static const struct slot_info slots[] = { SLOT_LIST(X) };
#undef X

#define X(id, mixer, ffn) { mixer, ffn },
static const struct { enum mixer mixer; enum ffn_kind ffn; } parts[] = { PART_LIST(X) };
#undef X

const struct slot_info *
slot_info(enum slot s)
{
	return &slots[s];
}

bool
slot_layered(enum slot s)
{
	return strstr(slots[s].name, "{n}") != NULL;
}

bool
slot_expert(enum slot s)
{
	return strstr(slots[s].name, "{e}") != NULL;
}

bool
slot_norm(enum slot s)
{
	return strstr(slots[s].name, "norm.weight") != NULL;
}

enum slot
slot_instead(enum slot s)
{
	static const struct { enum slot slot, instead; } pairs[] = {
		{ SLOT_DELTA_QKV, SLOT_DELTA_QKVZ }, { SLOT_DELTA_Z, SLOT_DELTA_QKVZ },
		{ SLOT_DELTA_A, SLOT_DELTA_BA }, { SLOT_DELTA_B, SLOT_DELTA_BA },
		{ SLOT_KV_B, SLOT_K_B }, { SLOT_K_B, SLOT_KV_B }, { SLOT_V_B, SLOT_KV_B },
		{ SLOT_X_GATE, SLOT_X_GATE_UP }, { SLOT_X_UP, SLOT_X_GATE_UP },
		{ SLOT_X_GATE_UP, SLOT_X_UP }, { SLOT_X_GATE_BIAS, SLOT_X_GATE_UP_BIAS },
		{ SLOT_X_UP_BIAS, SLOT_X_GATE_UP_BIAS }, { SLOT_X_GATE_UP_BIAS, SLOT_X_UP_BIAS },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i].slot == s)
			return pairs[i].instead;
	return SLOT_COUNT;
}

bool
slot_kernel(enum slot s)
{
	return slots[s].cols == DIM_KERNEL;
}

bool
slot_rate(enum slot s)
{
	return s == SLOT_DELTA_RATE || s == SLOT_MAMBA_RATE;
}

bool
part_in(enum arch_part p, enum mixer mixer, enum ffn_kind ffn)
{
	bool both = ffn == FFN_BOTH && (parts[p].ffn == FFN_DENSE || parts[p].ffn == FFN_EXPERTS);

	return (parts[p].mixer == MIX_ANY || parts[p].mixer == mixer) &&
	       (parts[p].ffn == FFN_ANY || parts[p].ffn == ffn || both);
}

bool
arch_needs(const struct arch *a, enum arch_part p)
{
	return a->required & PART_BIT(p);
}

bool
arch_has(const struct arch *a, enum arch_part p)
{
	return (a->required | a->optional) & PART_BIT(p);
}

bool
arch_mixes(const struct arch *a, enum mixer mixer)
{
	for (enum arch_part p = 0; p < PART_KINDS; p++)
		if (parts[p].mixer == mixer && arch_has(a, p))
			return true;
	return false;
}

const struct arch *
arch_next(const struct arch *a)
{
	const struct arch *const *t = tables;

	if (!a)
		return *t;
	if (a[1].name)
		return a + 1;
	for (; *t; t++)
		for (const struct arch *row = *t; row->name; row++)
			if (row == a)
				return t[1];
	return NULL;
}

const struct arch *
arch_find(const char *model_type, const char *class_name)
{
	for (const struct arch *a = NULL; (a = arch_next(a));)
		if (model_type && (!strcmp(a->name, model_type) ||
				   (a->text_name && !strcmp(a->text_name, model_type))))
			return a;
	for (const struct arch *a = NULL; !(model_type && *model_type) && (a = arch_next(a));)
		if (class_name && !strcmp(a->class_name, class_name))
			return a;
	return NULL;
}

const struct arch *
arch_find_inner(const char *model_type, const char *inner)
{
	for (const struct arch *a = NULL; model_type && (a = arch_next(a));)
		if (!strcmp(a->outer ? a->outer : a->name, model_type) &&
		    (!strcmp(a->name, inner) || (a->text_name && !strcmp(a->text_name, inner))))
			return a;
	return NULL;
}

const struct arch *
arch_with(const struct arch *a, bool experts)
{
	for (const struct arch *b = NULL; (b = arch_next(b));)
		if (!strcmp(a->name, b->name) && b->experts == experts)
			return b;
	return a;
}

const struct arch *
arch_find_gguf(const char *name, bool experts)
{
	for (const struct arch *a = NULL; (a = arch_next(a));)
		if (a->gguf_name && !strcmp(a->gguf_name, name) && experts == a->experts)
			return a;
	return NULL;
}

bool
slot_permuted(const struct arch *a, enum slot s)
{
	return a->gguf_pairs &&
	       (s == SLOT_Q || s == SLOT_K || s == SLOT_Q_BIAS || s == SLOT_K_BIAS);
}

uint32_t
slot_unpermuted(uint32_t i, uint32_t head_dim)
{
	return i / 2 + i % 2 * (head_dim / 2);
}

/* How much of a name begins another, and how far the rest is from that. */
static unsigned
likeness(const char *a, const char *b)
{
	unsigned same = 0;

	while (a[same] && a[same] == b[same])
		same++;
	return same < 4 ? 0 : 64 * same - tb_distance(a, b, 32);
}

enum tb_status
arch_unknown(const char *name, const char *with, struct tb_err *err)
{
	const struct arch *near = NULL;
	unsigned most = 0;

	for (const struct arch *a = NULL; (a = arch_next(a));) {
		const char *const names[] = { a->name, a->text_name, a->gguf_name };

		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			unsigned like = names[i] ? likeness(name, names[i]) : 0;

			near = like > most ? a : near;
			most = like > most ? like : most;
		}
	}
	return tb_fail(err, TB_EUNSUP, "architecture \"%.80s\"%.80s cannot be run%s%s%s; \"tbtui "
		       "doctor\" lists those that can", name, with, near ? "; the nearest that can is \""
		       : "", near ? near->name : "", near ? "\"" : "");
}

const char *
arch_key(const struct arch *a, const char *key)
{
	for (const char *const *k = a->keys; k && *k; k += 2)
		if (!strcmp(*k, key))
			return k[1];
	return key;
}
