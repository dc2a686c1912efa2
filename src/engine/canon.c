#include "config.h"

#include "src/engine/canon.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/engine/hparams.h"
#include "src/store/model_meta.h"
#include "src/store/tensor_name.h"

/* Of a tensor that holds several slots only the first one's rule counts. */
static const struct slot_rule *
find_rule(const struct canon_model *m, const char *name, uint32_t *layer, uint32_t *expert)
{
	const struct slot_rule *own = m->arch ? m->arch->names : NULL, *r;
	unsigned ways = m->arch ? m->arch->ways : 0;

	for (const char *const *p = tname_stems; *p; p++)
		for (r = NULL; tb_starts(name, *p) && (r = slot_rule_next(own, ways, r));)
			if (r->before[0] == DIM_NONE && !r->turned &&
			    tname_match(r->pattern, name + strlen(*p), layer, expert))
				return r;
	return NULL;
}

static uint64_t
key_u64(const struct model_meta *mm, const char *arch, const char *key)
{
	char name[CANON_MAX];
	const struct gguf_kv *kv;
	uint64_t n;

	snprintf(name, sizeof(name), "%s.%s", arch, key);
	kv = gguf_find(&mm->g, name);
	return kv && gguf_u64(kv, &n) ? n : 0;
}

static uint32_t
head_dim(const struct model *m)
{
	struct model_meta mm;
	uint64_t dim, heads;

	if (model_meta_open(&mm, m, NULL))
		return 0;
	dim = key_u64(&mm, m->arch, "attention.key_length");
	heads = key_u64(&mm, m->arch, "attention.head_count");
	if (!dim && heads)
		dim = key_u64(&mm, m->arch, "embedding_length") / heads;
	model_meta_close(&mm);
	return dim <= UINT32_MAX && dim % 2 == 0 ? (uint32_t)dim : 0;
}

void
canon_model(struct canon_model *out, const struct model *m)
{
	*out = (struct canon_model){
		.gguf = model_has_keys(m), .norms_whole = hparams_norms_whole(m),
	};
	if (!out->gguf) {
		out->arch = arch_find(m->model_type, m->arch);
		return;
	}
	out->arch = arch_find_gguf(m->arch, false);
	if (!out->arch)
		out->arch = arch_find_gguf(m->arch, true);
	if (out->arch && out->arch->gguf_pairs)
		out->head_dim = head_dim(m);
}

static bool
lies_otherwise(const struct arch *a, enum slot s)
{
	enum arch_part part = slot_info(s)->part;

	return slot_rate(s) || (a && a->gguf_tiled && s != SLOT_DELTA_NORM &&
				(part == PART_DELTA || part == PART_DELTA_SPLIT));
}

bool
canon_of(const struct canon_model *m, const struct tensor *t, struct canon *out)
{
	uint32_t layer = 0, expert = 0;
	const struct slot_rule *r = find_rule(m, t->name, &layer, &expert);
	int n;

	*out = (struct canon){ .slot = SLOT_COUNT };
	if (r)
		out->otherwise = m->gguf && lies_otherwise(m->arch, r->slot);
	/* An order of columns is one of what they are multiplied with. */
	if (!r || (r->stacked && t->ndim != 3) || (out->otherwise && r->slot == SLOT_DELTA_OUT)) {
		const char *name = tname_behind_stem(t->name), *proj;
		size_t head;

		/* "layers.0.moe.switch_mlp.up.weight" -> "layers.0.moe.experts.*.up.weight" */
		out->stacked = t->ndim == 3 && tname_stack(name, &head, &proj);
		n = out->stacked
		    ? snprintf(out->name, CANON_MAX, "%.*s.experts.*.%s", (int)head, name, proj)
		    : snprintf(out->name, CANON_MAX, "%s", name);
		return n < CANON_MAX;
	}
	if (!tname_fill(slot_info(r->slot)->name, layer, r->stacked ? TNAME_ALL : expert, out->name,
			CANON_MAX))
		return false;
	if (r->after[0] != DIM_NONE) {
		/* "layers.0.attention.q.weight" -> "layers.0.attention.q+.weight" */
		char *end = strrchr(out->name, '.');

		n = (int)strlen(out->name) + 1;
		if (n == CANON_MAX)
			return false;
		memmove(end + 1, end, (size_t)(out->name + n - end));
		*end = '+';
		return true;
	}
	out->slot = r->slot;
	out->stacked = r->stacked;
	out->pairs = m->gguf && m->arch && slot_permuted(m->arch, r->slot);
	out->add = !m->gguf && !m->norms_whole && m->arch && slot_norm(r->slot) ? m->arch->norm_add
										 : 0;
	return true;
}

bool
canon_expert(const struct canon *c, uint32_t expert, char out[CANON_MAX])
{
	const char *star = strchr(c->name, '*');
	int n;

	if (!c->stacked || !star)
		return false;
	n = snprintf(out, CANON_MAX, "%.*s%u%s", (int)(star - c->name), c->name, expert, star + 1);
	return n < CANON_MAX;
}
