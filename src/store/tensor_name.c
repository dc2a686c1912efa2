#include "config.h"

#include "src/store/tensor_name.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Length of a number at the start of s; 0: there is none that fits. */
static size_t
number(const char *s, uint64_t *out)
{
	size_t n = strspn(s, "0123456789");

	*out = 0;
	if (n > 18)
		return 0;
	for (size_t i = 0; i < n; i++)
		*out = *out * 10 + (uint64_t)(s[i] - '0');
	return n;
}

bool
tname_layer(const char *name, struct tname_layer *out)
{
	static const char *const words[] = { "layers.", "blk." };

	for (const char *p = name; p; p = strchr(p, '.'), p = p ? p + 1 : NULL) {
		for (size_t i = 0; i < COUNT(words); i++) {
			size_t word = strlen(words[i]), n;

			if (strncmp(p, words[i], word) || !(n = number(p + word, &out->number)) ||
			    p[word + n] != '.')
				continue;
			out->stem = (size_t)(p - name);
			out->len = out->stem + word + n;
			return true;
		}
	}
	return false;
}

/* lm_head.weight stands outside the inner "model.": each is tried for every rule. */
const char *const tname_stems[] = {
	"model.", "", "language_model.model.", "language_model.", "model.language_model.", NULL
};
/* Ollama finds experts behind these as well. */
static const char *const more_stems[] = {
	"model.language_model.backbone.", "language_model.backbone.", "backbone.", "mtp.", NULL
};

static bool
is_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(s, word, n);
}

static bool
stem_in(const char *const *stems, const char *name, size_t n)
{
	while (*stems && !is_word(name, n, *stems))
		stems++;
	return *stems;
}

const char *
tname_behind_stem(const char *name)
{
	size_t best = 0;

	for (const char *const *p = tname_stems; *p; p++) {
		size_t n = strlen(*p);

		if (n > best && tb_starts(name, *p) && name[n])
			best = n;
	}
	return name + best;
}

/* What stands for {n} or {e}. */
static bool
match_number(const char **name, uint32_t *out)
{
	uint64_t value;
	size_t n = number(*name, &value);

	if (!n || (n > 1 && **name == '0') || value > UINT32_MAX)
		return false;
	*name += n;
	*out = (uint32_t)value;
	return true;
}

bool
tname_match(const char *pattern, const char *name, uint32_t *layer, uint32_t *expert)
{
	while (*pattern) {
		if (*pattern != '{') {
			if (*pattern++ != *name++)
				return false;
			continue;
		}
		if (!match_number(&name, pattern[1] == 'n' ? layer : expert))
			return false;
		pattern += 3;
	}
	return !*name;
}

bool
tname_fill(const char *pattern, uint32_t layer, uint64_t expert, char *out, size_t len)
{
	size_t at = 0;

	while (*pattern && at < len) {
		uint64_t n = pattern[1] == 'n' ? layer : expert;
		int wrote = 1;

		if (*pattern != '{') {
			out[at++] = *pattern++;
			continue;
		}
		if (n == TNAME_ALL)
			out[at] = '*';
		else
			wrote = snprintf(out + at, len - at, "%ju", (uintmax_t)n);
		at += (size_t)wrote;
		pattern += 3;
	}
	if (at >= len)
		return false;
	out[at] = 0;
	return true;
}

static const struct { const char *key, *words; } roles[] = {
#define X(id, key, words) [id] = { key, words },
	TNAME_ROLE_LIST(X)
#undef X
};

const char *
tname_role_key(enum tname_role r)
{
	return roles[r].key;
}

const char *
tname_role_words(enum tname_role r)
{
	return roles[r].words;
}

/* The first that fits.  Of a model with 100,000 tensors each is asked of each, so these
 * are no globs. */
static const struct { enum { BEGINS, HAS } how; const char *part; enum tname_role role; }
role_rules[] = {
	{ BEGINS, "v.", TNAME_MEDIA }, { BEGINS, "a.", TNAME_MEDIA },
	{ BEGINS, "mm.", TNAME_MEDIA }, { HAS, "vision", TNAME_MEDIA },
	{ HAS, "visual.", TNAME_MEDIA }, { HAS, "audio", TNAME_MEDIA },
	{ HAS, "multi_modal_projector", TNAME_MEDIA },
	{ HAS, "shared_expert", TNAME_SHARED }, { HAS, "_shexp", TNAME_SHARED },
	{ HAS, ".shared_mlp.", TNAME_SHARED },
	{ HAS, "ffn_gate_inp", TNAME_ROUTER }, { HAS, ".router.", TNAME_ROUTER },
	{ HAS, ".mlp.gate.", TNAME_ROUTER }, { HAS, ".mixer.gate.", TNAME_ROUTER },
	{ HAS, "block_sparse_moe.gate.", TNAME_ROUTER },
	{ HAS, ".experts.", TNAME_EXPERTS }, { HAS, "switch_mlp", TNAME_EXPERTS },
	{ HAS, "_exps.", TNAME_EXPERTS }, { HAS, "moe.input_linear", TNAME_EXPERTS },
	{ HAS, "moe.output_linear", TNAME_EXPERTS }, { HAS, "norm", TNAME_NORM },
	{ HAS, ".ln_", TNAME_NORM }, { HAS, "embed", TNAME_EMBED },
	{ BEGINS, "token_embd", TNAME_EMBED }, { BEGINS, "position_embd", TNAME_EMBED },
	{ HAS, ".wte.", TNAME_EMBED }, { BEGINS, "wte.", TNAME_EMBED },
	{ HAS, "lm_head", TNAME_HEAD }, { BEGINS, "output.", TNAME_HEAD },
	{ HAS, "attn", TNAME_ATTENTION }, { HAS, "attention", TNAME_ATTENTION },
	{ HAS, ".mlp.", TNAME_FFN }, { HAS, "ffn_", TNAME_FFN },
	{ HAS, "feed_forward", TNAME_FFN },
};

enum tname_role
tname_role(const char *name)
{
	for (size_t i = 0; i < COUNT(role_rules); i++)
		if (role_rules[i].how == BEGINS ? tb_starts(name, role_rules[i].part)
						: strstr(name, role_rules[i].part) != NULL)
			return role_rules[i].role;
	return TNAME_OTHER;
}

enum { MIXTRAL = 1, SHARED = 2, GROUPED = 4 };

/* marker: behind the layer, before "<index>.<projection>.weight" or
 * "<projection>.weight".  group: what Ollama calls it.  stacked, single: in directories.
 * GROUPED: Ollama's import knows the marker. */
static const struct tname_family {
	const char *marker, *group, *stacked, *single;
	unsigned flags;
} families[] = {
	{ "mlp.experts.", "mlp.experts", "mlp.switch_mlp", "mlp.experts", GROUPED },
	{ "mlp.switch_mlp.", "mlp.experts", "mlp.switch_mlp", "mlp.experts", GROUPED },
	{ "block_sparse_moe.experts.", "mlp.experts", "block_sparse_moe.switch_mlp",
	  "block_sparse_moe.experts", MIXTRAL },
	{ "block_sparse_moe.switch_mlp.", "mlp.experts", "block_sparse_moe.switch_mlp",
	  "block_sparse_moe.experts", MIXTRAL },
	{ "moe.experts.", "moe.experts", "moe.switch_mlp", "moe.experts", GROUPED },
	{ "moe.switch_mlp.", "moe.experts", "moe.switch_mlp", "moe.experts", 0 },
	{ "mixer.experts.", "mixer.experts", "mixer.switch_mlp", "mixer.experts", GROUPED },
	{ "mixer.switch_mlp.", "mixer.experts", "mixer.switch_mlp", "mixer.experts", 0 },
	{ "mlp.shared_experts.", "mlp.shared_experts", "mlp.shared_experts", "mlp.shared_experts",
	  SHARED | GROUPED },
	{ "mixer.shared_experts.", "mixer.shared_experts", "mixer.shared_experts",
	  "mixer.shared_experts", SHARED | GROUPED },
};

static const struct { const char *mixtral, *usual; } projections[] = {
	{ "w1", "gate_proj" }, { "w2", "down_proj" }, { "w3", "up_proj" },
};

static const char usual_router[] = "mlp.gate.weight";
static const char mixtral_router[] = "block_sparse_moe.gate.weight";

/* A layer of the model itself: what is behind it, and the bytes up to its end. */
static const char *
own_layer(const char *name, size_t *len)
{
	struct tname_layer l;

	if (!tname_layer(name, &l) || name[l.stem] != 'l' ||
	    (!stem_in(tname_stems, name, l.stem) && !stem_in(more_stems, name, l.stem)))
		return NULL;
	*len = l.len;
	return name + l.len + 1;
}

static const struct tname_family *
find_family(const char *behind)
{
	for (size_t i = 0; behind && i < COUNT(families); i++)
		if (tb_starts(behind, families[i].marker))
			return &families[i];
	return NULL;
}

bool
tname_expert(const char *name, struct tname_expert *out)
{
	static const size_t ending = sizeof(".weight") - 1;
	size_t layer = 0, n, digits;
	const char *rest = own_layer(name, &layer);
	const struct tname_family *f = find_family(rest);

	if (!f)
		return false;
	*out = (struct tname_expert){ .family = f, .name = name, .layer = layer };
	rest += strlen(f->marker);
	out->prefix = (size_t)(rest - 1 - name);
	digits = number(rest, &out->index);
	if (digits && rest[digits] != '.')
		return false;
	rest += digits ? digits + 1 : 0;
	n = strlen(rest);
	if (n <= ending || strcmp(rest + n - ending, ".weight"))
		return false;
	out->proj = rest;
	out->proj_len = n - ending;
	if (!digits && memchr(rest, '.', out->proj_len))
		return false;
	out->grouped = digits && f->flags & GROUPED;
	out->shared = !digits && f->flags & SHARED;
	out->stacked = !digits && !(f->flags & SHARED);
	for (size_t i = 0; i < COUNT(projections) && f->flags & MIXTRAL; i++) {
		if (is_word(out->proj, out->proj_len, projections[i].mixtral)) {
			out->proj = projections[i].usual;
			out->proj_len = strlen(out->proj);
		}
	}
	return true;
}

bool
tname_room(const char *name)
{
	return strlen(name) + 64 <= TNAME_MAX;
}

const char *
tname_group(const struct tname_expert *e, char out[TNAME_MAX])
{
	snprintf(out, TNAME_MAX, "%.*s.%s", (int)e->layer, e->name, e->family->group);
	return out;
}

/* The same experts, as Mixtral calls them. */
static const struct tname_family *
as_mixtral(const struct tname_family *f)
{
	for (size_t i = 0; i < COUNT(families); i++)
		if (families[i].flags & MIXTRAL && !strcmp(families[i].group, f->group))
			return &families[i];
	return f;
}

/* The same, as everybody else does. */
static const struct tname_family *
as_usual(const struct tname_family *f)
{
	for (size_t i = 0; i < COUNT(families); i++)
		if (!(families[i].flags & MIXTRAL) && !strcmp(families[i].group, f->group))
			return &families[i];
	return f;
}

const char *
tname_write(const struct tname_expert *e, enum tname_dialect d, uint64_t index, char out[TNAME_MAX])
{
	const struct tname_family *f = d == TNAME_MIXTRAL ? as_mixtral(e->family) : e->family;
	bool all = index == TNAME_ALL;
	bool ollama = d == TNAME_OLLAMA || d == TNAME_SWITCH;
	const char *group = ollama ? f->group : all ? f->stacked : f->single;
	const char *proj = e->proj;
	int n = (int)e->proj_len;
	bool renamed = f->flags & MIXTRAL && !ollama && !all;
	char expert[24] = "";

	for (size_t i = 0; i < COUNT(projections) && renamed; i++) {
		if (is_word(e->proj, e->proj_len, projections[i].usual)) {
			proj = projections[i].mixtral;
			n = (int)strlen(proj);
		}
	}
	if (!all)
		snprintf(expert, sizeof(expert), "%ju.", (uintmax_t)index);
	else if (d == TNAME_SWITCH)
		group = as_usual(f)->stacked;
	snprintf(out, TNAME_MAX, "%.*s.%s.%s%.*s.weight", (int)e->layer, e->name, group, expert, n,
		 proj);
	return out;
}

const char *
tname_in(const char *name, enum tname_dialect d, char out[TNAME_MAX])
{
	const char *from = d == TNAME_MIXTRAL ? usual_router : mixtral_router;
	const char *to = d == TNAME_MIXTRAL ? mixtral_router : usual_router, *rest;
	struct tname_expert e;
	size_t layer;

	if (d == TNAME_DIR || !tname_room(name))
		return name;
	if (tname_expert(name, &e))
		return e.shared ? name : tname_write(&e, d, e.stacked ? TNAME_ALL : e.index, out);
	rest = own_layer(name, &layer);
	if (!rest || strcmp(rest, from))
		return name;
	snprintf(out, TNAME_MAX, "%.*s.%s", (int)layer, name, to);
	return out;
}

bool
tname_stack(const char *name, size_t *head, const char **proj)
{
	static const char *const words[] = { ".switch_mlp.", ".experts." };
	uint64_t index;

	for (size_t i = 0; i < COUNT(words); i++) {
		const char *at = strstr(name, words[i]);

		if (!at || number(at + strlen(words[i]), &index))
			continue;
		*head = (size_t)(at - name);
		*proj = at + strlen(words[i]);
		return true;
	}
	return false;
}
