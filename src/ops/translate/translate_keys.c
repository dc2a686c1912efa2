/* translate_keys.c - config.json as keys of a GGUF. */
#include "config.h"

#include "src/ops/translate/translate_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/ops/model_text/model_text.h"
#include "src/ops/translate/translate_config.h"
#include "src/store/model_meta.h"

#define KEY_MAX 160
#define KEYS_MAX 96
#define EXPERTS_MAX 1e6

struct writer {
	const struct translate *t;
	struct hf_json *c;
	struct gguf_keys *keys;
	const char *put[KEYS_MAX];	/* what has been said */
	unsigned n;
	struct tb_err *err;
};

static bool
is_put(const struct writer *w, const char *gguf)
{
	for (unsigned i = 0; i < w->n; i++)
		if (!strcmp(w->put[i], gguf))
			return true;
	return false;
}

static const char *
gguf_key_of(const struct writer *w, const char *gguf, char out[KEY_MAX])
{
	snprintf(out, KEY_MAX, "%s.%s", w->t->gguf, gguf);
	return out;
}

static enum tb_status
bad_value(const struct writer *w, const struct translate_key *r)
{
	return tb_fail(w->err, TB_EFORMAT, "config.json: %s is not what %s.%s can be made of", r->hf,
		       w->t->gguf, r->gguf);
}

/* Without these no file is a model's. */
static const char *const needed[] = { "block_count", "embedding_length" };

static bool
is_needed(const char *gguf)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!strcmp(needed[i], gguf))
			return true;
	return false;
}

static enum tb_status
put_key_number(struct writer *w, const struct translate_key *r, double x)
{
	char key[KEY_MAX];

	gguf_key_of(w, r->gguf, key);
	if (r->type == KEY_F32) {
		if (!isfinite((float)x))
			return bad_value(w, r);
		gguf_put_f32(w->keys, key, (float)x);
	} else if (r->type == KEY_BOOL) {
		gguf_put_bool(w->keys, key, x != 0);
	} else {
		if (!(x >= is_needed(r->gguf) && x <= UINT32_MAX) || x != floor(x))
			return bad_value(w, r);
		gguf_put_u32(w->keys, key, (uint32_t)x);
	}
	return TB_OK;
}

static void
begin_list(struct writer *w, const struct translate_key *r, size_t n)
{
	char key[KEY_MAX];

	gguf_put_array(w->keys, gguf_key_of(w, r->gguf, key),
		       r->type == KEY_BOOL ? GGUF_BOOL : GGUF_I32, n);
}

static enum tb_status
put_item(struct writer *w, const struct translate_key *r, double x)
{
	if (!(fabs(x) <= INT32_MAX))
		return bad_value(w, r);
	if (r->type == KEY_BOOL)
		gguf_item_bool(w->keys, x != 0);
	else
		gguf_item_i32(w->keys, (int32_t)x);
	return TB_OK;
}

/* One a layer. */
static enum tb_status
put_list(struct writer *w, const struct translate_key *r, const cJSON *list)
{
	enum tb_status status = TB_OK;
	double x;
	bool b;

	begin_list(w, r, json_count(list));
	for (const cJSON *v = json_first(list); v && !status; v = json_next(v)) {
		if (json_bool(v, &b))
			x = b;
		else if (!json_f64(v, &x))
			return bad_value(w, r);
		status = put_item(w, r, x);
	}
	return status;
}

static enum tb_status
put_computed(struct writer *w, const struct translate_key *r)
{
	enum tb_status status = TB_OK;
	double x;

	if (!config_computed(w->c, w->t, r->hf + 1, r->usual, &x))
		return TB_OK;
	if (!w->c->n)
		return put_key_number(w, r, x);
	begin_list(w, r, w->c->n);
	for (size_t i = 0; i < w->c->n && !status; i++)
		status = put_item(w, r, w->c->list[i]);
	return status;
}

static enum tb_status
put_row(struct writer *w, const struct translate_key *r)
{
	const cJSON *v;
	const char *s;
	char key[KEY_MAX];
	double x = r->usual;
	bool b;

	if (*r->hf == '=')
		return put_computed(w, r);
	v = config_find(w->c, r->hf);
	if (json_is_array(v))
		return put_list(w, r, v);
	if (r->type == KEY_STR) {
		s = *r->hf == '\'' ? r->hf + 1 : json_str(v);
		if (s)
			gguf_put_str(w->keys, gguf_key_of(w, r->gguf, key), s);
		return TB_OK;
	}
	if (v && json_bool(v, &b))
		x = b;
	else if (v && !json_f64(v, &x))
		return bad_value(w, r);
	return isnan(x) ? TB_OK : put_key_number(w, r, x);
}

static enum tb_status
put_rows(struct writer *w)
{
	enum tb_status status = TB_OK;

	for (const struct translate_key *r = translate_config_keys; r->gguf && !status; r++) {
		uint64_t before = w->keys->n;

		if (!translate_listed(r->archs, w->t->gguf) || is_put(w, r->gguf))
			continue;
		status = put_row(w, r);
		if (w->keys->n > before && w->n < KEYS_MAX)
			w->put[w->n++] = r->gguf;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed) && !status; i++)
		if (!is_put(w, needed[i]))
			status = tb_fail(w->err, TB_EFORMAT, "config.json: nothing in it says %s.%s",
					 w->t->gguf, needed[i]);
	return status;
}

/* How positions are stretched: llama3 and longrope are tensors. */
static enum tb_status
put_scaling(struct writer *w)
{
	static const struct translate_key yarn[] = {
		{ NULL, "rope.scaling.original_context_length", KEY_U32,
		  "rope.original_max_position_embeddings", NAN },
		{ NULL, "rope.scaling.yarn_ext_factor", KEY_F32, "rope.extrapolation_factor", NAN },
		{ NULL, "rope.scaling.yarn_attn_factor", KEY_F32,
		  "rope.attention_factor|rope.attn_factor", NAN },
		{ NULL, "rope.scaling.yarn_beta_fast", KEY_F32, "rope.beta_fast", NAN },
		{ NULL, "rope.scaling.yarn_beta_slow", KEY_F32, "rope.beta_slow", NAN },
		{ .gguf = NULL }
	};
	const char *type = json_str(config_find(w->c, "rope.rope_type|rope.type"));
	const char *said = NULL;
	enum tb_status status = TB_OK;
	char key[KEY_MAX];
	double factor;
	bool has = json_f64(config_find(w->c, "rope.factor"), &factor);

	if (!type || is_put(w, "rope.scaling.type"))
		return TB_OK;
	if ((!strcmp(type, "linear") || !strcmp(type, "yarn")) && has)
		said = type;
	else if (!strcmp(type, "su") || !strcmp(type, "longrope"))
		said = "longrope";
	if (!said || !strcmp(w->t->gguf, "phi3"))
		return TB_OK;
	gguf_put_str(w->keys, gguf_key_of(w, "rope.scaling.type", key), said);
	if (has && strcmp(said, "longrope") != 0)
		gguf_put_f32(w->keys, gguf_key_of(w, "rope.scaling.factor", key), (float)factor);
	for (const struct translate_key *r = yarn; !strcmp(said, "yarn") && r->gguf && !status; r++)
		status = put_row(w, r);
	return status;
}

/* Of what one expert has and what all share, without what is left out. */
static double
count_params(const struct translate *t, const struct model *m, uint64_t experts)
{
	struct translated out[TRANSLATE_PARTS];
	struct tb_err ignored;
	double all = 0, own = 0;
	unsigned n;

	for (size_t i = 0; i < m->ntensors; i++) {
		if (translate_to_gguf(t, &m->tensors[i], out, &n, &ignored) || !n)
			continue;
		if (tb_ends(out[0].name, "_exps.weight"))
			own += (double)m->tensors[i].elems;
		else
			all += (double)m->tensors[i].elems;
	}
	return all + (experts ? own / (double)experts : own);
}

/* "8B", as llama.cpp counts. */
static void
size_label(const struct translate *t, const struct model *m, uint64_t experts, char out[32])
{
	static const struct { double one; char letter; } units[] = {
		{ 1e12, 'T' }, { 1e9, 'B' }, { 1e6, 'M' }, { 1e3, 'K' } };
	double n = count_params(t, m, experts), shown;
	unsigned u = 3, digits = 0;

	for (unsigned i = 0; i < 4; i++)
		if (n > units[i].one) {
			u = i;
			break;
		}
	shown = n / units[u].one;
	for (double x = nearbyint(shown); x >= 1; x /= 10)
		digits++;
	digits = digits < 2 ? 2 - digits : 0;
	if (experts)
		snprintf(out, 32, "%jux%.*f%c", (uintmax_t)experts, (int)digits, shown, units[u].letter);
	else
		snprintf(out, 32, "%.*f%c", (int)digits, shown, units[u].letter);
}

/* The folder's or the model's own name, without what stands before it. */
static void
put_general(struct writer *w, const struct model *m)
{
	const char *path = json_str(config_find(w->c, "_name_or_path"));
	const char *name = path && *path ? path : m->loc.name, *slash;
	char buf[256], label[32];
	double experts = 0;

	snprintf(buf, sizeof(buf), "%s", name);
	for (size_t n = strlen(buf); n > 1 && buf[n - 1] == '/';)
		buf[--n] = 0;
	slash = strrchr(buf, '/');
	if (!json_f64(config_find(w->c, "num_local_experts|num_experts|n_routed_experts|"
				  "moe_num_experts"), &experts))
		experts = 0;
	size_label(w->t, m, experts > 0 && experts < EXPERTS_MAX ? (uint64_t)experts : 0, label);
	gguf_put_str(w->keys, "general.architecture", w->t->gguf);
	gguf_put_str(w->keys, "general.type", "model");
	gguf_put_str(w->keys, "general.name", slash && slash[1] ? slash + 1 : buf);
	gguf_put_str(w->keys, "general.size_label", label);
}

void
translated_keys_free(struct translated_keys *k)
{
	gguf_keys_free(&k->keys);
	for (unsigned i = 0; i < k->nmade; i++)
		free(k->made[i].v);
	k->nmade = 0;
}

/* Those of a GGUF that becomes another one. */
static enum tb_status
copy_keys(struct gguf_keys *out, const struct model *m, uint32_t file_type, struct tb_err *err)
{
	struct model_meta mm;
	enum tb_status status = model_meta_open(&mm, m, err);

	if (status)
		return status;
	for (size_t i = 0; i < mm.g.nkv && !status; i++) {
		const char *key = mm.g.kv[i].key;

		if (!strcmp(key, "general.file_type"))
			gguf_put_u32(out, key, file_type);
		else if (strcmp(key, "general.alignment") != 0 &&
			 strcmp(key, "general.quantization_version") != 0 && !tb_starts(key, "split."))
			status = gguf_put_copy(out, &mm.g.kv[i], &mm.file, err);
	}
	gguf_put_u32(out, "general.quantization_version", 2);
	model_meta_close(&mm);
	return status;
}

enum tb_status
translate_keys(struct translated_keys *out, const struct translate *t, const struct model *m,
	       const struct translate_ask *ask, struct tb_err *err)
{
	struct hf_json c;
	struct writer w = { .t = t, .c = &c, .keys = &out->keys, .err = err };
	enum tb_status status;

	*out = (struct translated_keys){ .keys = GGUF_KEYS() };
	if (!t) {
		status = copy_keys(&out->keys, m, ask->file_type, err);
		if (status)
			translated_keys_free(out);
		return status;
	}
	status = config_open(&c, m, err);
	if (status)
		return status;
	put_general(&w, m);
	status = put_rows(&w);
	if (!status)
		status = put_scaling(&w);
	gguf_put_u32(&out->keys, "general.file_type", ask->file_type);
	gguf_put_u32(&out->keys, "general.quantization_version", 2);
	if (!status)
		status = translate_made(out, t, &c, err);
	if (!status)
		status = translate_vocab(&out->keys, t, &c, m, ask, err);
	config_close(&c);
	if (status)
		translated_keys_free(out);
	return status;
}
