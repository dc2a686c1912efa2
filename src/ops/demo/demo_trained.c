/* demo_trained.c - the model of data/demo as a Hugging Face directory, and one with experts
 * that is made of it: each layer's feed-forward part becomes several experts, which are the
 * same function with its rows in another order, and a router from a seed says which of them
 * work.  Their shares add up to 1, so it answers as the dense one does. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/half.h"
#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/format/json.h"
#include "src/format/safetensors.h"
#include "src/ops/demo/demo.h"
#include "src/store/tensor_name.h"

#define WORKING 2u	/* experts that work on a token */

static const struct demo_file *
own_file(const char *name)
{
	const struct demo_file *f = demo_files;

	while (strcmp(f->name, name))
		f++;
	return f;
}

static enum tb_status
write_into(const char *dir, const char *name, const void *data, size_t len, struct tb_err *err)
{
	char *path = tb_path_join(dir, name);
	enum tb_status status = path ? tb_out_file(path, data, len, false, err) : tb_nomem(err);

	free(path);
	return status;
}

/* A tensor that is written: of the source, its rows (or columns) begun at another one; or
 * a router. */
struct part { const struct st_tensor *of; uint64_t begin; bool columns; };

struct mix {
	const struct demo_model *m;
	struct st_header h;
	const char *bytes;	/* of the source, from its first byte on */
	struct st_tensor *tensors;
	struct part *parts;
	size_t n, cap, parts_cap;
	uint64_t dim, state;
	bool failed;
};

static void
add(struct mix *x, char *name, const struct st_tensor *shape, struct part part)
{
	if (!name || !tb_grow(&x->tensors, &x->cap, x->n + 1, sizeof(*x->tensors)) ||
	    !tb_grow(&x->parts, &x->parts_cap, x->n + 1, sizeof(*x->parts))) {
		free(name);
		x->failed = true;
		return;
	}
	x->tensors[x->n] = *shape;
	x->tensors[x->n].name = name;
	x->parts[x->n++] = part;
}

/* Its layer, and which of a feed-forward part's three matrices it is. */
static bool
is_ffn(const char *name, uint32_t *layer, unsigned *which)
{
	static const char *const own[] = { "model.layers.{n}.mlp.gate_proj.weight",
					   "model.layers.{n}.mlp.down_proj.weight",
					   "model.layers.{n}.mlp.up_proj.weight" };
	uint32_t expert;

	for (*which = 0; *which < 3; ++*which)
		if (tname_match(own[*which], name, layer, &expert))
			return true;
	return false;
}

static void
add_experts(struct mix *x, const struct st_tensor *t, uint32_t layer, unsigned which)
{
	bool columns = which == 1;	/* those of down_proj are the rows of the others */
	uint64_t ffn = t->dim[columns];
	struct st_tensor router = { .dtype = DT_BF16, .ndim = 2, .dim = { x->m->experts, x->dim } };

	for (unsigned e = 0; e < x->m->experts; e++)
		add(x, tb_asprintf("model.layers.%u.block_sparse_moe.experts.%u.w%u.weight", layer, e,
				   which + 1), t, (struct part){ t, ffn / x->m->experts * e, columns });
	if (!which)
		add(x, tb_asprintf("model.layers.%u.block_sparse_moe.gate.weight", layer), &router,
		    (struct part){ NULL, 0, false });
}

static void
add_all(struct mix *x)
{
	for (size_t i = 0; i < x->h.ntensors; i++) {
		const struct st_tensor *t = &x->h.tensors[i];
		uint32_t layer;
		unsigned which;

		if (is_ffn(t->name, &layer, &which))
			add_experts(x, t, layer, which);
		else
			add(x, tb_strdup(t->name), t, (struct part){ t, 0, false });
	}
}

static void
put_router(struct mix *x, const struct st_tensor *t, struct tb_buf *out)
{
	for (uint64_t i = 0; i < t->len / 2; i++) {
		uint16_t h = tb_f32_bf16(demo_normal(&x->state) * 2 / sqrtf((float)x->dim));

		tb_buf_add(out, &h, 2);
	}
}

static void
put_part(struct mix *x, const struct part *p, struct tb_buf *out)
{
	const char *from = x->bytes + p->of->off;
	uint64_t rows = p->columns ? p->of->dim[0] : 1, len = p->of->len / rows;
	uint64_t begin = p->begin * (p->columns ? 1 : p->of->ndim > 1 ? p->of->dim[1] : 1) * 2;

	for (uint64_t r = 0; r < rows; r++, from += len) {
		tb_buf_add(out, from + begin, len - begin);
		tb_buf_add(out, from, begin);
	}
}

static enum tb_status
write_experts(struct mix *x, const char *dir, struct tb_err *err)
{
	static const struct st_meta format = { "format", "pt" };
	struct tb_buf out = TB_BUF(1u << 30);
	enum tb_status status;

	add_all(x);
	status = x->failed ? tb_nomem(err) : st_layout(x->tensors, x->n, &format, 1, &out, err);
	for (size_t i = 0; i < x->n && !status; i++)
		if (x->parts[i].of)
			put_part(x, &x->parts[i], &out);
		else
			put_router(x, &x->tensors[i], &out);
	if (!status)
		status = tb_buf_failed(&out) ? tb_nomem(err)
			: write_into(dir, "model.safetensors", out.p, out.len, err);
	for (size_t i = 0; i < x->n; i++)
		free((char *)x->tensors[i].name);
	free(x->tensors);
	free(x->parts);
	tb_buf_free(&out);
	return status;
}

/* The source is within the program: a header that cannot be read is a broken build. */
static enum tb_status
write_mixture(const struct demo_model *m, const char *dir, struct tb_err *err)
{
	const struct demo_file *f = own_file("model.safetensors");
	struct mix x = { .m = m, .bytes = f->data, .state = m->seed };
	const struct st_tensor *norm;
	uint64_t head;
	enum tb_status status;

	memcpy(&head, f->data, sizeof(head));
	status = st_parse(&x.h, f->data + 8, head, (uint64_t)(f->end - f->data) - 8 - head, f->name,
			  err);
	if (status)
		return status;
	norm = st_find(&x.h, "model.norm.weight");
	x.dim = norm ? norm->dim[0] : 0;
	status = norm ? write_experts(&x, dir, err)
		      : tb_fail(err, TB_EFORMAT, "the demo's model has no norm");
	st_free(&x.h);
	return status;
}

/* What config.json of the dense one says, in a Mixtral's words. */
static char *
config_text(const cJSON *own, unsigned experts)
{
	cJSON *doc = json_object(), *classes = json_array();
	char *text;

	json_push_str(classes, "MixtralForCausalLM");
	json_set(doc, "architectures", classes);
	json_set_str(doc, "model_type", "mixtral");
	json_set_u64(doc, "num_local_experts", experts);
	json_set_u64(doc, "num_experts_per_tok", WORKING);
	for (const cJSON *v = json_first(own); v; v = json_next(v))
		if (!json_get(doc, json_key(v)))
			json_set(doc, json_key(v), json_copy(v));
	text = json_print_pretty(doc);
	json_free(doc);
	return text;
}

static enum tb_status
write_config(const struct demo_model *m, const char *dir, struct tb_err *err)
{
	const struct demo_file *f = own_file("config.json");
	char *text;
	cJSON *own;
	enum tb_status status = json_parse(&own, f->data, (size_t)(f->end - f->data), f->name, err);

	if (status)
		return status;
	text = config_text(own, m->experts);
	status = text ? write_into(dir, f->name, text, strlen(text), err) : tb_nomem(err);
	free(text);
	json_free(own);
	return status;
}

enum tb_status
demo_write_trained(const struct demo_model *m, const char *dir, struct tb_err *err)
{
	enum tb_status status = tb_mkdirs(dir, err);

	for (const struct demo_file *f = demo_files; f->name && !status; f++)
		if (m->experts && !strcmp(f->name, "model.safetensors"))
			status = write_mixture(m, dir, err);
		else if (m->experts && !strcmp(f->name, "config.json"))
			status = write_config(m, dir, err);
		else
			status = write_into(dir, f->name, f->data, (size_t)(f->end - f->data), err);
	return status;
}
