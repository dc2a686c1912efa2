/* convert_map.c - where each byte of a source went, for whoever has to follow it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/format/json.h"
#include "src/model/values.h"
#include "src/ops/convert/convert.h"
#include "src/store/ollama.h"

static enum tb_status
open_made(const struct convert_target *t, struct model **out, struct tb_err *err)
{
	static const struct store_roots none;
	struct model_loc loc = { 0 };
	struct model_name name;
	char *path = NULL;
	enum tb_status status = TB_OK;

	if (t->name) {
		status = name_parse(t->name, &name, err);
		if (!status)
			status = ollama_find_manifest(t->root, &name, &path, err);
		if (!status && !path)
			status = tb_fail(err, TB_ENOENT, "%s: is gone again", t->name);
	}
	if (!status)
		status = store_resolve(&none, path ? path : t->path, &loc, err);
	if (!status)
		status = model_open(out, &loc, err);
	model_loc_free(&loc);
	free(path);
	return status;
}

static cJSON *
place(const struct model *m, const struct tensor *t, const char *part, const struct tensor_part *p,
      uint64_t off, uint64_t len)
{
	const struct model_file *f = &m->files[p->file];
	cJSON *o = json_object();

	json_set_str(o, "tensor", t->name);
	json_set_str(o, "part", part);
	json_set_str(o, "file", *f->digest ? f->digest : tb_path_name(f->path));
	json_set_u64(o, "offset", p->off + off);
	json_set_u64(o, "bytes", len);
	return o;
}

/* One part of a tensor that was made, piece by piece. */
static void
map_part(const struct plan *p, const struct plan_out *o, const struct model *made,
	 const struct tensor *t, enum values_part which, cJSON *list)
{
	static const char *const names[PART_COUNT] = { "weight", "scale", "bias", "global_scale", "order" };
	const struct tensor_part *to = values_part_of(t, which);
	uint64_t at = 0;

	for (size_t i = 0; i < o->npieces && to; i++) {
		const struct plan_piece *piece = &p->parts->pieces[o->piece + i];
		const struct plan_row *r = &p->rows[piece->row];
		const struct tensor_part *from = values_part_of(r->src, which);
		bool copied = scheme_equal(&r->target, &r->src->scheme) && !r->repack && !piece->change;
		/* a slice of experts has as much of every part */
		uint64_t pieces = piece->elems ? r->src->elems / piece->elems : 1;
		uint64_t len = from ? from->len / pieces : 0, step = to->len / o->npieces;
		cJSON *row = json_object();

		if (from)
			json_set(row, "from", place(p->model, r->src, names[which], from,
						    piece->elems ? piece->first / piece->elems * len : 0, len));
		else
			json_set(row, "from", place(p->model, r->src, names[PART_WEIGHT],
						    &r->src->weight, 0, r->src->weight.len));
		json_set(row, "to", place(made, t, names[which], to, at, step));
		json_set_bool(row, "same_bytes", copied && len == step);
		json_push(list, row);
		at += step;
	}
}

enum tb_status
convert_map(const struct plan *p, const struct convert_target *target, char **out,
	    struct tb_err *err)
{
	struct model *made = NULL;
	cJSON *doc, *list;
	enum tb_status status = open_made(target, &made, err);

	*out = NULL;
	if (status)
		return status;
	doc = json_object();
	list = json_array();
	json_set_str(doc, "source", p->model->loc.path);
	json_set_str(doc, "made", target->name ? target->name : target->path);
	for (size_t i = 0; i < p->parts->nouts && !status; i++) {
		const struct plan_out *o = &p->parts->outs[i];
		const struct tensor *t = model_tensor(made, o->name);

		if (!t)
			status = tb_fail(err, TB_EFORMAT, "%s: is not in what was made", o->name);
		for (enum values_part k = 0; k < PART_COUNT && !status; k++)
			map_part(p, o, made, t, k, list);
	}
	json_set(doc, "parts", list);
	if (!status && !(*out = json_print_pretty(doc)))
		status = tb_nomem(err);
	json_free(doc);
	model_free(made);
	return status;
}
