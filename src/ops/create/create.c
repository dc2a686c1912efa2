/* create.c - where the weights of a model come from, and in which way. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/convert/convert.h"
#include "src/ops/create/create_parts.h"
#include "src/ops/home/home.h"
#include "src/ops/import/import.h"
#include "src/ops/translate/translate.h"
#include "src/store/store.h"

#define REQUIRES_TENSORS "0.19.0"	/* of Ollama: the first that reads layers of tensors */

struct creation {
	const struct op_ctx *ctx;
	const struct create_request *req;
	struct tb_job *job;
	struct create_result *res;
	struct modelfile file;
	struct create_spec spec;
	struct model_name name;
	struct model_loc loc;		/* what FROM names */
	struct model *base;
	struct manifest manifest;	/* of that, where it has one in a store */
	bool in_store;
	struct items items;
	char *draft_arch;
	struct tb_arena texts;		/* paths */
};

/* A path as a Modelfile has it. */
static enum tb_status
expand(struct creation *c, const char *value, const char **out, struct tb_err *err)
{
	const char *home = getenv("HOME"), *dir = c->req->dir;
	char *path;

	if (home && (!strcmp(value, "~") || tb_starts(value, "~/")))
		path = value[1] ? tb_path_join(home, value + 2) : tb_strdup(home);
	else
		path = *value == '/' ? tb_strdup(value) : tb_path_join(dir, value);
	*out = path ? tb_arena_str(&c->texts, path) : NULL;
	free(path);
	return *out ? TB_OK : tb_nomem(err);
}

static enum tb_status
add_file(struct creation *c, enum media kind, const char *path, struct tb_err *err)
{
	return items_add(&c->items, (struct item){ .kind = kind, .path = path }, err);
}

static enum tb_status
from_name(struct creation *c, const char *value, struct tb_err *err)
{
	enum tb_status status = store_resolve(&c->ctx->roots, value, &c->loc, err);

	if (!status && !*c->loc.root)	/* found from where we stand, not from where the file is */
		status = tb_fail(err, TB_ENOENT, "%s: no such file or folder in %s, and no model of "
				 "that name", value, c->req->dir);
	return status;
}

/* One FROM: the model, or a projector beside it, which is kept for later. */
static enum tb_status
read_from(struct creation *c, const char *value, struct items *projectors, struct tb_err *err)
{
	static const struct store_roots none;
	enum media kind = MEDIA_MODEL;
	struct model_loc loc = { 0 };
	enum tb_status status;
	const char *path;

	if (!*value)
		return tb_fail(err, TB_EFORMAT, "FROM names nothing");
	status = expand(c, value, &path, err);
	if (status)
		return status;
	if (!tb_exists(path)) {
		if (c->loc.path)
			return tb_fail(err, TB_EUNSUP, "a second FROM, %s: a model is made from one", value);
		return from_name(c, value, err);
	}
	status = store_resolve(&none, path, &loc, err);
	if (status == TB_ENOENT && !strchr("./~", *value) && !strchr(value, '/') && !c->loc.path &&
	    !store_resolve(&c->ctx->roots, value, &c->loc, NULL) && *c->loc.root)
		return TB_OK;	/* a model is called as something beside the Modelfile */
	if (!status && kind_has_keys(loc.kind) && !kind_has_manifest(loc.kind))
		status = create_gguf_kind(loc.path, &kind, NULL, err);
	if (!status && kind == MEDIA_ADAPTER)
		status = tb_fail(err, TB_EFORMAT, "%s: is an adapter: ADAPTER takes it, FROM the model "
				 "that it is for", path);
	if (!status && kind == MEDIA_PROJECTOR) {
		status = items_add(projectors, (struct item){ .kind = kind, .path = path }, err);
	} else if (!status && c->loc.path) {
		status = tb_fail(err, TB_EUNSUP, "a second FROM, %s: a model is made from one", value);
	} else if (!status) {
		c->loc = loc;
		return TB_OK;
	}
	model_loc_free(&loc);
	return status;
}

/* ADAPTER or DRAFT. */
static enum tb_status
read_beside(struct creation *c, enum modelfile_word word, const char *value, struct tb_err *err)
{
	enum media want = word == MODELFILE_ADAPTER ? MEDIA_ADAPTER : MEDIA_MODEL, kind;
	const char *path, *as = modelfile_word(word);
	enum tb_status status;

	if (!value)
		return TB_OK;
	status = expand(c, value, &path, err);
	if (status)
		return status;
	if (!tb_exists(path))
		return tb_fail(err, TB_ENOENT, "%s %s: no such file", as, path);
	if (tb_is_dir(path))
		return tb_fail(err, TB_EUNSUP, "%s %s: is a folder; a GGUF file can be taken", as, path);
	if (tb_same_place(path, c->loc.path))
		return tb_fail(err, TB_EFORMAT, "%s %s: is what FROM names", as, path);
	status = create_gguf_kind(path, &kind, want == MEDIA_MODEL ? &c->draft_arch : NULL, err);
	if (status)
		return tb_wrap(err, status, "%s", as);
	if (kind != want)
		return tb_fail(err, TB_EFORMAT, "%s %s: is no %s but a %s", as, path, media_name(want),
			       media_name(kind));
	return add_file(c, want == MEDIA_MODEL ? MEDIA_DRAFT : kind, path, err);
}

/* What lies beside tensors stays as it is where they are made anew. */
static enum tb_status
goes_beside(struct creation *c, const struct item *it, bool *stays, struct tb_err *err)
{
	enum media kind;

	*stays = !model_has_keys(c->base) && (it->kind == MEDIA_PROJECTOR ||
					      it->kind == MEDIA_ADAPTER || it->kind == MEDIA_DRAFT);
	if (!*stays || it->kind != MEDIA_DRAFT || c->draft_arch)
		return TB_OK;
	return create_gguf_kind(it->path, &kind, &c->draft_arch, err);	/* for the config */
}

/* The layers of a model in a store: texts are read, the others named. */
static enum tb_status
read_layers(struct creation *c, struct tb_err *err)
{
	enum tb_status status = manifest_read(&c->manifest, c->loc.path, err);

	for (size_t i = 0; i < c->manifest.nlayers && !status; i++) {
		const struct manifest_layer *l = &c->manifest.layers[i];
		struct item it = { .kind = media_parse(l->media_type), .layer = l };
		const struct model_file *f = c->base->files;
		bool stays = true;

		while (f < c->base->files + c->base->nfiles &&
		       (f->is_manifest || strcmp(f->digest, l->digest)))
			f++;
		if (f == c->base->files + c->base->nfiles || f->missing || f->unread)
			return tb_fail(err, TB_EFORMAT, "%s: its layer %s is missing; \"tbtui heal\" may "
				       "help", c->loc.name, l->digest);
		it.path = f->path;
		if (items_is_text(it.kind)) {
			it.layer = NULL;
			status = tb_file_slurp(f->path, CREATE_TEXT_MAX, &it.text, &it.len, err);
		} else if (c->req->how) {
			status = goes_beside(c, &it, &stays, err);
		}
		if (!status && stays)
			status = items_add(&c->items, it, err);
	}
	return status;
}

static enum tb_status
open_base(struct creation *c, struct tb_err *err)
{
	enum tb_status status = model_open(&c->base, &c->loc, err);

	if (status)
		return status;
	if (c->base->nproblems)
		return tb_fail(err, TB_EFORMAT, "%s: %s", c->loc.name, c->base->problems[0].message);
	c->in_store = kind_store(c->loc.kind) == &store_ollama;
	if (c->spec.requires && kind_format(c->loc.kind) == &format_safetensors &&
	    version_below(c->spec.requires, REQUIRES_TENSORS))
		return tb_fail(err, TB_EFORMAT, "REQUIRES %s: layers of tensors are read by Ollama %s and "
			       "newer", c->spec.requires, REQUIRES_TENSORS);
	return c->in_store ? read_layers(c, err) : TB_OK;
}

/* All that the Modelfile names, before anything is written. */
static enum tb_status
read_sources(struct creation *c, struct tb_err *err)
{
	struct items projectors = { 0 };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < c->file.n && !status; i++) {
		const struct modelfile_command *f = &c->file.commands[i];

		if (f->word != MODELFILE_FROM)
			continue;
		status = read_from(c, f->value, &projectors, err);
		if (status)
			(void)!tb_wrap(err, status, "%s: line %u", c->req->what, f->line);
	}
	if (!status && !c->loc.path)
		status = tb_fail(err, TB_EFORMAT, "%s: FROM names a projector, and no model that it is "
				 "for", c->req->what);
	if (!status)
		status = open_base(c, err);
	for (size_t i = 0; i < projectors.n && !status; i++)
		status = items_add(&c->items, projectors.v[i], err);
	items_free(&projectors);
	if (!status)
		status = read_beside(c, MODELFILE_ADAPTER, c->spec.adapter, err);
	if (!status)
		status = read_beside(c, MODELFILE_DRAFT, c->spec.draft, err);
	return status ? status : items_say(&c->items, &c->spec, err);
}

/* The layers behind those of the weights, and the config. */
static enum tb_status
finish(void *arg, struct ollama_writer *w, char **config, struct tb_err *err)
{
	struct creation *c = arg;
	enum tb_status status = items_write(&c->items, w, c->job, err);

	if (!status)
		status = config_say(config, &c->spec, c->draft_arch, err);
	c->res->layers = w->manifest.nlayers;
	c->res->bytes = 0;
	for (size_t i = 0; i < w->manifest.nlayers; i++)
		c->res->bytes += w->manifest.layers[i].size;
	return status;
}

/* Bytes of the layers that the store has not. */
static uint64_t
bytes_to_copy(const struct creation *c, uint64_t *all)
{
	uint64_t bytes = 0;

	*all = 0;
	for (size_t i = 0; i < c->items.n; i++) {
		const struct item *it = &c->items.v[i];
		char *path = it->layer ? ollama_blob_path(c->res->root, it->layer->digest) : NULL;
		struct tb_ident id;
		uint64_t size = it->text ? it->len : tb_file_ident(it->path, &id, NULL) ? 0 : id.size;

		if (!path || !tb_exists(path))
			bytes += size;
		*all += it->text ? 0 : size;
		free(path);
	}
	return bytes;
}

/* From a model of a store: its blobs, named once more. */
static enum tb_status
from_store(struct creation *c, struct tb_err *err)
{
	struct ollama_writer w = { 0 };
	uint64_t all, bytes = bytes_to_copy(c, &all);
	char *config = NULL;
	size_t len;
	enum tb_status status = space_check(c->res->root, bytes, err);

	tb_job_total(c->job, bytes, c->items.n);
	if (!status)
		status = model_read_layer(c->base, MEDIA_CONFIG, 0, CREATE_TEXT_MAX, &config, &len, err);
	if (!status)
		status = ollama_writer_init(&w, c->res->root, err);
	if (!status)
		status = finish(c, &w, &config, err);
	if (!status)
		status = ollama_add_bytes(&w, MEDIA_CONFIG, NULL, config, strlen(config), err);
	if (!status)
		status = tb_job_check(c->job, err);
	if (!status)
		status = ollama_commit(&w, &c->name, c->req->replace, err);
	if (tb_written(status))
		keep_manifest(&c->res->kept, &w);
	ollama_writer_free(&w);
	free(config);
	return status;
}

static enum tb_status
by_import(struct creation *c, const struct ollama_amend *amend, struct tb_err *err)
{
	struct import_request req = { .path = c->loc.path, .name = c->res->name,
				      .replace = c->req->replace, .amend = amend };
	struct import_result res;
	enum tb_status status = op_import(c->ctx, &req, c->job, &res, err);

	if (tb_written(status)) {
		c->res->kept = res.kept;
		res.kept = (struct kept){ 0 };
	}
	import_result_free(&res);
	return status;
}

static enum tb_status
note_view(struct creation *c, const struct hf_view *v, struct tb_err *err)
{
	char *before = c->res->notes;

	if (!v->note)
		return TB_OK;
	c->res->notes = tb_asprintf("%s%s\n", before ? before : "", v->note);
	free(before);
	return c->res->notes ? TB_OK : tb_nomem(err);
}

static enum tb_status
by_convert(struct creation *c, const struct ollama_amend *amend, struct tb_err *err)
{
	struct plan_request how = *c->req->how;
	struct convert_target target = { .dest = PLAN_TO_STORE, .root = c->res->root,
					 .name = c->res->name, .exists = c->req->replace };
	struct convert_request req = { .target = &target, .replace = c->req->replace,
				       .amend = amend };
	struct convert_result res = { 0 };
	struct hf_view *view = NULL;
	struct plan *plan = NULL;
	enum tb_status status = TB_OK;

	if (model_has_keys(c->base))	/* a GGUF becomes layers of tensors */
		status = hf_view_open(&view, c->base, DT_COUNT, err);
	if (view)
		status = note_view(c, view, err);
	how.model = view ? view->model : c->base;
	how.view = view;
	how.dest = PLAN_TO_STORE;
	if (!status)
		status = plan_new(&plan, &how, err);
	req.plan = plan;
	if (!status)
		status = op_convert(c->ctx, &req, c->job, &res, err);
	if (tb_written(status)) {
		c->res->kept = res.kept;
		res.kept = (struct kept){ 0 };
	}
	convert_result_free(&res);
	plan_free(plan);
	hf_view_free(view);
	return status;
}

static enum tb_status
create_run(struct creation *c, struct tb_err *err)
{
	const struct ollama_amend amend = { finish, c };
	char *taken = NULL, shown[640];
	enum tb_status status = TB_OK;

	if (!c->req->replace)
		status = ollama_find_manifest(c->res->root, &c->name, &taken, err);
	if (taken)	/* known before a byte is copied; the commit looks again */
		status = tb_fail(err, TB_EEXIST, "%s: exists already; name another, or give --replace",
				 name_format(&c->name, shown));
	free(taken);
	if (status)
		return status;
	return c->req->how ? by_convert(c, &amend, err)
	     : c->in_store ? from_store(c, err) : by_import(c, &amend, err);
}

enum tb_status
op_create(const struct op_ctx *ctx, const struct create_request *req, struct tb_job *job,
	  struct create_result *out, struct tb_err *err)
{
	struct creation c = { .ctx = ctx, .req = req, .job = job, .res = out };
	double start = tb_monotonic();
	char shown[640];
	enum tb_status status;

	*out = (struct create_result){ 0 };
	status = name_parse(req->name, &c.name, err);
	if (!status)
		status = store_destination(&ctx->roots, &out->root, err);
	if (!status && !(out->name = tb_strdup(name_format(&c.name, shown))))
		status = tb_nomem(err);
	if (!status)
		status = modelfile_parse(&c.file, req->text, req->len, req->what, err);
	if (!status)
		status = spec_read(&c.spec, &c.file, req->what, err);
	if (!status)
		status = read_sources(&c, err);
	if (!status && c.spec.notes.len && !(out->notes = tb_buf_take(&c.spec.notes)))
		status = tb_nomem(err);
	if (!status)
		status = create_run(&c, err);
	out->seconds = tb_monotonic() - start;
	if (!tb_written(status))
		create_result_free(out);
	items_free(&c.items);
	manifest_free(&c.manifest);
	model_free(c.base);
	model_loc_free(&c.loc);
	spec_free(&c.spec);
	modelfile_free(&c.file);
	free(c.draft_arch);
	tb_arena_free(&c.texts);
	return status;
}

void
create_result_free(struct create_result *r)
{
	free(r->name);
	free(r->root);
	free(r->notes);
	kept_free(&r->kept);
	*r = (struct create_result){ 0 };
}
