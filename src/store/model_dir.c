#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/dir.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/model_build.h"

#define INDEX "model.safetensors.index.json"
#define INDEX_MAX (256u << 20)

/* What a model's folder is made of; the rest (pictures, scripts, other formats of the
 * same weights) is not looked at. */
static const char *const endings[] = { ".json", ".jinja", ".model", ".txt", ".tiktoken" };

static bool
dir_is_weights(const char *name)
{
	const struct format *format = format_of_name(name);

	return format && format->folder;
}

static bool
belongs(const char *name)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (*name != '.' && tb_ends(name, endings[i]))
			return true;
	return *name != '.' && dir_is_weights(name);
}

static int
dir_name_cmp(const void *name, const void *file)
{
	return strcmp(name, ((const struct model_file *)file)->name);
}

/* A folder's files are in order of their names; the index asks for each tensor's. */
static struct model_file *
file_named(struct build *b, const char *name)
{
	const struct model *m = b->m;

	return m->nfiles ? bsearch(name, m->files, m->nfiles, sizeof(*m->files), dir_name_cmp) : NULL;
}

/* Marks the problem that was just noted as one of the index. */
static enum tb_status
differs(struct build *b, enum tb_status status)
{
	if (!status)
		b->m->problems[b->m->nproblems - 1].index = true;
	return status;
}

/* A shard's name as the index has it, looked for among the folder's own entries: it
 * never becomes part of a path. */
static enum tb_status
open_shard(struct build *b, const char *name, bool *opened, struct tb_err *err)
{
	struct model_file *f = file_named(b, name);

	if (!f || !dir_is_weights(name))
		return differs(b, build_problem(b, NULL, err, "%s: shard %.200s, named in " INDEX
						", is missing", b->m->loc.path, name));
	if (opened[f - b->m->files])
		return TB_OK;
	opened[f - b->m->files] = true;
	return build_weights(b, f, err);
}

static int
shard_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The shards that the index names, each once. */
static enum tb_status
open_shards(struct build *b, const cJSON *map, bool *opened, struct tb_err *err)
{
	const char **shards = tb_calloc(json_count(map), sizeof(*shards));
	enum tb_status status = shards ? TB_OK : tb_nomem(err);
	size_t n = 0;

	for (const cJSON *v = json_first(map); v && !status; v = json_next(v)) {
		if (json_str(v))
			shards[n++] = json_str(v);
		else
			status = build_problem(b, NULL, err, "%s: " INDEX ": %.200s: the shard is"
					       " no string", b->m->loc.path, json_key(v));
	}
	if (n > 1)
		qsort(shards, n, sizeof(*shards), shard_cmp);
	for (size_t i = 0; i < n && !status; i++)
		if (i == 0 || strcmp(shards[i - 1], shards[i]) != 0)
			status = open_shard(b, shards[i], opened, err);
	free(shards);
	return status;
}

/* Where the index says of a tensor that is in several shards which of them it means, that
 * one is right.  b->raws are in order. */
static void
prefer(struct build *b, const cJSON *map)
{
	for (const cJSON *v = json_first(map); v; v = json_next(v)) {
		const struct raw *r = build_find(b, json_key(v));
		const struct model_file *shard = json_str(v) ? file_named(b, json_str(v)) : NULL;
		size_t i = r ? (size_t)(r - b->raws) : b->nraws;

		while (r && i > 0 && !strcmp(b->raws[i - 1].name, r->name))
			i--;
		for (; r && shard && i < b->nraws && !strcmp(b->raws[i].name, r->name); i++)
			b->raws[i].named = shard == &b->m->files[b->raws[i].part.file];
	}
}

/* Does what the shards hold agree with what the index says?  b->raws are sorted. */
static enum tb_status
check_index(struct build *b, const cJSON *map, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	const struct model_file *shard;

	for (const cJSON *v = json_first(map); v && !status; v = json_next(v)) {
		const struct raw *r = build_find(b, json_key(v));
		const char *want = json_str(v);

		shard = want ? file_named(b, want) : NULL;
		if (!shard || shard->missing)
			continue;	/* said already */
		if (!r)
			status = differs(b, build_problem(b, NULL, err, "tensor %.200s: " INDEX " has"
							  " it in %.200s, which lacks it",
							  json_key(v), want));
		else if (shard != &b->m->files[r->part.file])
			status = differs(b, build_problem(b, NULL, err, "tensor %.200s: is in %s, "
							  INDEX " has it in %.200s", json_key(v),
							  b->m->files[r->part.file].path, want));
	}
	return status;
}

/* metadata.total_size are the bytes of all tensors.  Nobody needs it, so it is a remark;
 * without all shards it says nothing. */
static enum tb_status
check_total(struct build *b, const cJSON *doc, const bool *opened, struct tb_err *err)
{
	uint64_t want, have = 0;

	if (!json_u64(json_path(doc, "metadata.total_size"), &want))
		return TB_OK;
	for (size_t i = 0; i < b->m->nfiles; i++)
		if (opened[i] && b->m->files[i].missing)
			return TB_OK;
	for (size_t i = 0; i < b->nraws; i++)
		have += b->raws[i].part.len;
	if (have == want || b->m->nproblems)
		return TB_OK;
	free(b->m->remark);
	b->m->remark = tb_asprintf(INDEX " says that the tensors have %ju bytes, they have %ju",
				   (uintmax_t)want, (uintmax_t)have);
	return b->m->remark ? TB_OK : tb_nomem(err);
}

/* Model files that no index entry leads to; "consolidated.safetensors" and the like
 * are other copies and fine. */
static enum tb_status
check_extra(struct build *b, const bool *opened, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < b->m->nfiles && !status; i++) {
		struct model_file *f = &b->m->files[i];

		if (opened[i] || !dir_is_weights(f->name))
			continue;
		status = build_stat(b, f, err);
		if (!status && tb_starts(f->name, "model"))
			status = differs(b, build_problem(b, NULL, err, "%s: not named in " INDEX,
							  f->path));
	}
	return status;
}

static enum tb_status
read_indexed(struct build *b, const struct model_file *index, bool *opened, struct tb_err *err)
{
	struct tb_err why = { 0 };
	enum tb_status status;
	const cJSON *map;
	cJSON *doc;

	(void)!json_read(&doc, index->path, INDEX_MAX, &why);
	map = json_get(doc, "weight_map");
	if (!why.code && !json_is_object(map))
		tb_fail(&why, TB_EFORMAT, "%s: has no weight_map", index->path);
	if (why.code)
		status = build_small_bad(b, index->path, NULL, &why, err);
	else
		status = open_shards(b, map, opened, err);
	if (!status && !why.code) {
		build_order(b);
		prefer(b, map);
	}
	if (!status)
		status = build_sort(b, err);
	if (!status)
		status = check_index(b, map, err);
	if (!status && !why.code)
		status = check_extra(b, opened, err);
	if (!status && !why.code)
		status = check_total(b, doc, opened, err);
	json_free(doc);
	return status;
}

/* Without an index: model*.safetensors, or, if there is none, every .safetensors. */
static enum tb_status
dir_read_all(struct build *b, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool model = false;

	for (size_t i = 0; i < b->m->nfiles; i++)
		model |= tb_starts(b->m->files[i].name, "model") &&
			 dir_is_weights(b->m->files[i].name);
	for (size_t i = 0; i < b->m->nfiles && !status; i++) {
		struct model_file *f = &b->m->files[i];

		if (!dir_is_weights(f->name))
			continue;
		if (!model || tb_starts(f->name, "model"))
			status = build_weights(b, f, err);
		else
			status = build_stat(b, f, err);
	}
	return status ? status : build_sort(b, err);
}

static enum tb_status
read_weights(struct build *b, struct tb_err *err)
{
	const struct model_file *index = file_named(b, INDEX);
	enum tb_status status;
	bool *opened;

	if (!index || index->missing)
		return dir_read_all(b, err);
	opened = tb_calloc(b->m->nfiles, sizeof(*opened));
	if (!opened)
		return tb_nomem(err);
	status = read_indexed(b, index, opened, err);
	free(opened);
	/* an index that cannot be read does not hide the shards beside it */
	return status || b->nraws ? status : dir_read_all(b, err);
}

enum tb_status
build_dir(struct build *b, struct tb_err *err)
{
	const char *dir = b->m->loc.path;
	enum tb_status status;
	struct model_file *f;
	struct tb_names names;
	size_t weights = 0;

	status = tb_names_read(&names, dir, err);
	for (size_t i = 0; i < names.n && !status; i++) {
		const char *name = names.v[i];
		bool tensors = dir_is_weights(name);

		if (!belongs(name))
			continue;
		weights += tensors;
		status = build_file(b, tb_path_join(dir, name), name, &f, err);
		if (!status && !tensors)
			status = build_stat(b, f, err);
		if (!status && strcmp(name, "config.json") == 0 && !f->missing)
			status = build_config(b, f->path, err);
	}
	tb_names_free(&names);
	if (status)
		return status;
	if (!weights && !file_named(b, INDEX) && !file_named(b, "config.json"))
		return tb_fail(err, TB_EFORMAT, "%s: no model: neither config.json nor a"
			       " .safetensors file", dir);
	return read_weights(b, err);
}
