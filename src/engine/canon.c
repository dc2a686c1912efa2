#include "config.h"

#include "src/engine/canon.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/store/model_meta.h"

#define STACKED UINT32_MAX	/* as an expert's number: all of them */

/* Digits as a program writes them, without zeros in front. */
static const char *
number(const char *s, uint32_t *out)
{
	size_t n = strspn(s, "0123456789");

	if (n == 0 || n > 9 || (n > 1 && *s == '0'))
		return NULL;
	*out = 0;
	for (size_t i = 0; i < n; i++)
		*out = *out * 10 + (uint32_t)(s[i] - '0');
	return s + n;
}

static bool
matches(const char *pattern, const char *name, uint32_t *layer, uint32_t *expert)
{
	while (*pattern && name) {
		bool n = !strncmp(pattern, "{n}", 3);

		if (n || !strncmp(pattern, "{e}", 3)) {
			name = number(name, n ? layer : expert);
			pattern += 3;
		} else if (*pattern++ != *name++) {
			return false;
		}
	}
	return name && !*name;
}

/* The part of the name behind the i-th prefix, NULL if it does not start so. */
static const char *
behind(const char *name, const char *prefix)
{
	return tb_starts(name, prefix) ? name + strlen(prefix) : NULL;
}

/* Of a tensor that holds several slots only the first one's rule counts. */
static bool
applies(const struct slot_rule *r, const struct canon_model *m)
{
	unsigned ways = m->arch ? m->arch->ways : 0;

	return (!r->only || ways & r->only) && !(ways & r->never) && r->before[0] == DIM_NONE;
}

static const struct slot_rule *
find_rule(const struct canon_model *m, const char *name, uint32_t *layer, uint32_t *expert)
{
	for (const char *const *p = slot_prefixes; *p; p++) {
		const char *rest = behind(name, *p);

		for (const struct slot_rule *r = slot_rules; rest && r->pattern; r++)
			if (applies(r, m) && matches(r->pattern, rest, layer, expert))
				return r;
	}
	return NULL;
}

static bool
write_slot(enum slot s, uint32_t layer, uint32_t expert, char out[CANON_MAX])
{
	const char *name = slot_info(s)->name, *star = strstr(name, "{e}");
	char pattern[CANON_MAX];

	if (!star || expert != STACKED)
		return slot_expand(name, layer, expert, out, CANON_MAX);
	snprintf(pattern, sizeof(pattern), "%.*s*%s", (int)(star - name), name, star + 3);
	return slot_expand(pattern, layer, 0, out, CANON_MAX);
}

/* The longest of the usual prefixes is no part of the name. */
static const char *
without_prefix(const char *name)
{
	const char *best = name;

	for (const char *const *p = slot_prefixes; *p; p++) {
		const char *rest = behind(name, *p);

		if (rest && rest > best && *rest)
			best = rest;
	}
	return best;
}

/* How stacked experts are called that no rule knows. */
static const char *const stacks[] = { ".switch_mlp.", ".experts." };

/* "layers.0.moe.switch_mlp.up.weight" -> "layers.0.moe.experts.*.up.weight" */
static bool
write_plain(const struct tensor *t, struct canon *out)
{
	const char *name = without_prefix(t->name);
	uint32_t expert;
	int n;

	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks) && t->ndim == 3; i++) {
		const char *at = strstr(name, stacks[i]), *rest = at ? at + strlen(stacks[i]) : NULL;

		if (!at || number(rest, &expert))
			continue;
		out->stacked = true;
		n = snprintf(out->name, CANON_MAX, "%.*s.experts.*.%s", (int)(at - name), name, rest);
		return n < CANON_MAX;
	}
	n = snprintf(out->name, CANON_MAX, "%s", name);
	return n < CANON_MAX;
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
		.gguf = model_is_gguf(m),
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

/* "layers.0.attention.q.weight" -> "layers.0.attention.q+.weight" */
static bool
mark_packed(char name[CANON_MAX])
{
	char *end = strrchr(name, '.');
	size_t n = strlen(name);

	if (!end || n + 1 >= CANON_MAX)
		return false;
	memmove(end + 1, end, n - (size_t)(end - name) + 1);
	*end = '+';
	return true;
}

bool
canon_of(const struct canon_model *m, const struct tensor *t, struct canon *out)
{
	uint32_t layer = 0, expert = 0;
	const struct slot_rule *r = find_rule(m, t->name, &layer, &expert);

	*out = (struct canon){ .slot = SLOT_COUNT };
	if (!r || (r->stacked && t->ndim != 3))
		return write_plain(t, out);
	if (!write_slot(r->slot, layer, r->stacked ? STACKED : expert, out->name))
		return false;
	if (r->after[0] != DIM_NONE)
		return mark_packed(out->name);
	out->slot = r->slot;
	out->stacked = r->stacked;
	out->pairs = m->gguf && m->arch && slot_permuted(m->arch, r->slot);
	out->add = !m->gguf && m->arch && slot_norm(r->slot) ? m->arch->norm_add : 0;
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
