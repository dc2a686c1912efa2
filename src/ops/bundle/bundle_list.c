/* bundle_list.c - the list of a bundle: what is in it, and which paths may be. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/format/manifest.h"
#include "src/format/tar.h"
#include "src/ops/bundle/bundle_parts.h"

void
bundle_free(struct bundle *b)
{
	for (size_t i = 0; i < b->nmodels; i++) {
		free(b->models[i].name);
		free(b->models[i].kind);
		free(b->models[i].path);
	}
	for (size_t i = 0; i < b->nmembers; i++)
		free(b->members[i].path);
	free(b->models);
	free(b->members);
	free(b->made_by);
	free(b->made);
	*b = (struct bundle){ 0 };
}

/* ---- written ---- */

cJSON *
bundle_models_json(const struct bundle *b)
{
	cJSON *models = json_array(), *o;

	for (size_t i = 0; i < b->nmodels; i++) {
		o = json_object();
		json_set_str(o, "name", b->models[i].name);
		json_set_str(o, "kind", b->models[i].kind);
		json_set_str(o, "path", b->models[i].path);
		json_set_u64(o, "bytes", b->models[i].bytes);
		json_push(models, o);
	}
	return models;
}

enum tb_status
bundle_print(const struct bundle *b, struct tb_buf *out, struct tb_err *err)
{
	cJSON *doc = json_object(), *members = json_array(), *o;
	char *text;

	json_set_u64(doc, "bundle", 1);
	json_set_str(doc, "made_by", b->made_by);
	json_set_str(doc, "made", b->made);
	for (size_t i = 0; i < b->nmembers; i++) {
		o = json_object();
		json_set_str(o, "path", b->members[i].path);
		json_set_u64(o, "size", b->members[i].size);
		json_set_str(o, "sha256", b->members[i].digest + strlen("sha256:"));
		json_push(members, o);
	}
	json_set(doc, "models", bundle_models_json(b));
	json_set(doc, "members", members);
	text = json_print_pretty(doc);
	json_free(doc);
	if (!text)
		return tb_nomem(err);
	tb_buf_str(out, text);
	tb_buf_chr(out, '\n');
	free(text);
	return tb_buf_status(out, "the list of the bundle", err);
}

void
bundle_sums(const struct bundle *b, const char *list_digest, struct tb_buf *out)
{
	tb_buf_printf(out, "%s  " BUNDLE_LIST "\n", list_digest + strlen("sha256:"));
	for (size_t i = 0; i < b->nmembers; i++)
		tb_buf_printf(out, "%s  %s\n", b->members[i].digest + strlen("sha256:"),
			      b->members[i].path);
}

/* ---- read ---- */

static int
member_by_path(const void *path, const void *member)
{
	return strcmp(path, ((const struct bundle_member *)member)->path);
}

const struct bundle_member *
bundle_find(const struct bundle *b, const char *path)
{
	return b->nmembers ? bsearch(path, b->members, b->nmembers, sizeof(*b->members), member_by_path)
			   : NULL;
}

/* Names of files and folders, nothing hidden, nothing that leads anywhere; *n of them. */
static bool
plain_path(const char *path, unsigned *n)
{
	size_t len = strlen(path);

	*n = 1;
	if (!len || len >= TAR_PATH_MAX || !tb_utf8_valid(path, len))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)path[i];

		if (c < ' ' || c == 0x7f || c == '\\')
			return false;
		if ((!i || path[i - 1] == '/') && (c == '.' || c == '/'))
			return false;
		*n += c == '/';
	}
	return path[len - 1] != '/';
}

/* One of those that a bundle has: see bundle.h. */
static bool
member_path(const struct bundle_member *m)
{
	char digest[TB_DIGEST_MAX];
	unsigned n;

	if (!plain_path(m->path, &n))
		return false;
	if (tb_starts(m->path, BUNDLE_BLOBS))
		return n == 2 && tb_starts(m->path, BUNDLE_BLOBS "sha256-") &&
		       digest_parse(m->path + strlen(BUNDLE_BLOBS), digest) &&
		       !strcmp(digest, m->digest) &&
		       !strcmp(digest + strlen("sha256:"), m->path + strlen(BUNDLE_BLOBS "sha256-"));
	if (tb_starts(m->path, BUNDLE_FILES))
		return n == 3;
	return tb_starts(m->path, BUNDLE_MANIFESTS) && n == 5;
}

static enum tb_status
read_member(struct bundle *b, const cJSON *v, const char *what, struct tb_err *err)
{
	const char *path = json_str(json_get(v, "path")), *hex = json_str(json_get(v, "sha256"));
	const struct bundle_member *last = b->nmembers ? &b->members[b->nmembers - 1] : NULL;
	struct bundle_member m = { 0 };
	uint8_t bytes[TB_SHA256_LEN];

	if (!path || !hex || strlen(hex) != 2 * TB_SHA256_LEN ||
	    !json_u64(json_get(v, "size"), &m.size))
		return tb_fail(err, TB_EFORMAT, "%s: member %zu lacks a path, a size or a sha256",
			       what, b->nmembers + 1);
	memcpy(m.digest, "sha256:", 7);
	memcpy(m.digest + 7, hex, 2 * TB_SHA256_LEN + 1);
	m.path = tb_strdup(path);
	if (!m.path || !tb_grow(&b->members, &b->members_cap, b->nmembers + 1, sizeof(m))) {
		free(m.path);
		return tb_nomem(err);
	}
	b->members[b->nmembers++] = m;
	last = b->nmembers > 1 ? &b->members[b->nmembers - 2] : NULL;
	if (!tb_digest_bytes(m.digest, bytes))
		return tb_fail(err, TB_EFORMAT, "%s: %.200s: \"%.80s\" is no SHA-256", what, path, hex);
	if (!member_path(&m))
		return tb_fail(err, TB_EFORMAT, "%s: a bundle has no member \"%.200s\"", what, path);
	if (last && strcmp(last->path, path) >= 0)
		return tb_fail(err, TB_EFORMAT, "%s: %.200s is listed %s", what, path,
			       strcmp(last->path, path) ? "out of order" : "twice");
	if (b->bytes + m.size < b->bytes)
		return tb_fail(err, TB_EFORMAT, "%s: sizes that cannot be", what);
	b->bytes += m.size;
	return TB_OK;
}

/* Its manifest or file is a member, or its folder has some. */
static bool
has_model(const struct bundle *b, const char *path)
{
	unsigned n;

	if (!plain_path(path, &n))
		return false;
	if (bundle_find(b, path))
		return !tb_starts(path, BUNDLE_BLOBS);
	for (size_t i = 0; i < b->nmembers && n == 2; i++)
		if (tb_starts(path, BUNDLE_FILES) && tb_path_inside(b->members[i].path, path,
								     strlen(path)))
			return true;
	return false;
}

static enum tb_status
list_model(struct bundle *b, const cJSON *v, const char *what, struct tb_err *err)
{
	const char *name = json_str(json_get(v, "name")), *kind = json_str(json_get(v, "kind"));
	const char *path = json_str(json_get(v, "path"));
	struct bundle_model *m;

	if (!name || !*name || !kind || !path)
		return tb_fail(err, TB_EFORMAT, "%s: model %zu lacks a name, a kind or a path", what,
			       b->nmodels + 1);
	if (!has_model(b, path))
		return tb_fail(err, TB_EFORMAT, "%s: %.100s: \"%.200s\" is no member", what, name, path);
	if (!tb_grow(&b->models, &b->models_cap, b->nmodels + 1, sizeof(*b->models)))
		return tb_nomem(err);
	m = &b->models[b->nmodels++];
	*m = (struct bundle_model){ tb_strdup(name), tb_strdup(kind), tb_strdup(path), 0 };
	(void)json_u64(json_get(v, "bytes"), &m->bytes);
	return m->name && m->kind && m->path ? TB_OK : tb_nomem(err);
}

static enum tb_status
read_list(struct bundle *b, const cJSON *doc, const char *what, struct tb_err *err)
{
	const cJSON *members = json_get(doc, "members"), *models = json_get(doc, "models");
	const char *by = json_str(json_get(doc, "made_by")), *made = json_str(json_get(doc, "made"));
	enum tb_status status = TB_OK;
	uint64_t version;

	if (!json_u64(json_get(doc, "bundle"), &version) || !json_is_array(members) ||
	    !json_is_array(models))
		return tb_fail(err, TB_EFORMAT, "%s: is not the list of a bundle", what);
	if (version != 1)
		return tb_fail(err, TB_EUNSUP, "%s: bundles of version %ju are not known yet; a newer "
			       "tbtui reads it", what, (uintmax_t)version);
	if (json_count(members) > BUNDLE_MEMBERS_MAX || json_count(models) > BUNDLE_MODELS_MAX)
		return tb_fail(err, TB_ELIMIT, "%s: more than %u members or %u models", what,
			       BUNDLE_MEMBERS_MAX, BUNDLE_MODELS_MAX);
	b->made_by = tb_strdup(by ? by : "");
	b->made = tb_strdup(made ? made : "");
	if (!b->made_by || !b->made)
		return tb_nomem(err);
	for (const cJSON *v = json_first(members); v && !status; v = json_next(v))
		status = read_member(b, v, what, err);
	for (const cJSON *v = json_first(models); v && !status; v = json_next(v))
		status = list_model(b, v, what, err);
	if (!status && !b->nmodels)
		status = tb_fail(err, TB_EFORMAT, "%s: lists no model", what);
	return status;
}

enum tb_status
bundle_parse(struct bundle *b, const char *text, size_t len, const char *what, struct tb_err *err)
{
	cJSON *doc;
	enum tb_status status;

	*b = (struct bundle){ 0 };
	status = json_parse(&doc, text, len, what, err);
	if (!status) {
		status = read_list(b, doc, what, err);
		json_free(doc);
	}
	if (status)
		bundle_free(b);
	return status;
}

/* ---- manifests ---- */

static enum tb_status
check_layer(const struct bundle *b, const char *what, const struct manifest_layer *l,
	    struct tb_err *err)
{
	char *path = tb_asprintf(BUNDLE_BLOBS "sha256-%s", l->digest + strlen("sha256:"));
	const struct bundle_member *blob = path ? bundle_find(b, path) : NULL;
	enum tb_status status = TB_OK;

	if (!path)
		status = tb_nomem(err);
	else if (!blob)
		status = tb_fail(err, TB_EFORMAT, "%s: names %s, which is not in the bundle", what,
				 l->digest);
	else if (blob->size != l->size)
		status = tb_fail(err, TB_EFORMAT, "%s: %s has %ju bytes, not %ju", what, l->digest,
				 (uintmax_t)blob->size, (uintmax_t)l->size);
	free(path);
	return status;
}

enum tb_status
bundle_manifest(const struct bundle *b, const char *path, const struct tb_buf *text,
		struct manifest *out, struct tb_err *err)
{
	enum tb_status status = tb_buf_status(text, path, err);

	if (!status)
		status = manifest_parse(out, tb_buf_cstr(text), text->len, path, err);
	if (status)
		return status;
	if (out->config.media_type)
		status = check_layer(b, path, &out->config, err);
	for (size_t i = 0; !status && i < out->nlayers; i++)
		status = check_layer(b, path, &out->layers[i], err);
	if (status)
		manifest_free(out);
	return status;
}
