#include "config.h"

#include "src/format/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/format/manifest_plain.h"

#define DOCKER_V2 "application/vnd.docker.distribution.manifest.v2+json"

static const struct row { const char *name, *type; size_t n; } rows[MEDIA_COUNT] = {
#define X(id, name, type) [id] = { name, type, sizeof(type) - 1 },
	MEDIA_LIST(X)
#undef X
};

enum media
media_parse(const char *type)
{
	size_t n = strlen(type);

	for (enum media m = 0; m < MEDIA_UNKNOWN; m++)
		if (n == rows[m].n && !memcmp(type, rows[m].type, n))
			return m;
	return MEDIA_UNKNOWN;
}

const char *
media_name(enum media m)
{
	return m < MEDIA_COUNT ? rows[m].name : "?";
}

const char *
media_type(enum media m)
{
	return m < MEDIA_COUNT ? rows[m].type : "";
}

bool
digest_parse(const char *s, char out[TB_DIGEST_MAX])
{
	unsigned char hex[64], bad = 0;

	if (strnlen(s, TB_DIGEST_MAX) != 71 || memcmp(s, "sha256", 6) || (s[6] != ':' && s[6] != '-'))
		return false;
	/* without branches: each digest of a store comes by here several times */
	for (size_t i = 0; i < sizeof(hex); i++) {
		unsigned char c = (unsigned char)s[7 + i], small = c | 0x20;
		bool digit = c >= '0' && c <= '9', letter = small >= 'a' && small <= 'f';

		bad |= !(digit | letter);
		hex[i] = small;		/* digits have that bit */
	}
	memcpy(out, "sha256:", 7);
	memcpy(out + 7, hex, sizeof(hex));
	out[71] = 0;
	return !bad;
}

/* A string that may be absent. */
static enum tb_status
optional(struct manifest *m, const cJSON *layer, const char *key, const char **out,
	 const char *what, struct tb_err *err)
{
	const cJSON *v = json_get(layer, key);

	if (!v || json_is_null(v))
		return TB_OK;
	if (!json_str(v))
		return tb_fail(err, TB_EFORMAT, "%s: %s is not a string", what, key);
	*out = tb_arena_str(&m->texts, json_str(v));
	return *out ? TB_OK : tb_nomem(err);
}

/* One that registries may use, and that is not SHA-256. */
static bool
other_algorithm(const char *digest)
{
	return (!strncmp(digest, "sha512:", 7) && strlen(digest) == 7 + 128) ||
	       (!strncmp(digest, "blake3:", 7) && strlen(digest) == 7 + 64);
}

static enum tb_status
manifest_read_layer(struct manifest *m, struct manifest_layer *l, const cJSON *v, const char *what,
		    struct tb_err *err)
{
	/* Images of others have no "name": the file that a layer was made of is annotated. */
	static const char *const names[] = { "org.opencontainers.image.title",
		"org.cncf.model.filepath", "org.cnai.model.filepath" };
	const cJSON *annotations = json_get(v, "annotations");
	const char *digest = json_str(json_get(v, "digest"));
	enum tb_status status;

	if (!json_is_object(v))
		return tb_fail(err, TB_EFORMAT, "%s: not an object", what);
	status = optional(m, v, "mediaType", &l->media_type, what, err);
	if (!status)
		status = optional(m, v, "from", &l->from, what, err);
	if (!status)
		status = optional(m, v, "name", &l->name, what, err);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !l->name && !status; i++)
		status = optional(m, annotations, names[i], &l->name, what, err);
	if (status)
		return status;
	if (!l->media_type)
		return tb_fail(err, TB_EFORMAT, "%s: has no mediaType", what);
	if (digest && other_algorithm(digest))
		return tb_fail(err, TB_EUNSUP, "%s: its digest is %.40s…, which cannot be computed here; "
			       "only sha256 can", what, digest);
	if (!digest || !digest_parse(digest, l->digest))
		return tb_fail(err, TB_EFORMAT, "%s: bad digest \"%.80s\"", what,
			       digest ? digest : "");
	if (!json_u64(json_get(v, "size"), &l->size))
		return tb_fail(err, TB_EFORMAT, "%s: size is no exact integer", what);
	return TB_OK;
}

static enum tb_status
manifest_read_layers(struct manifest *m, const cJSON *layers, const char *what, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	char where[300];

	if (!json_is_array(layers) && !json_is_null(layers))
		return tb_fail(err, TB_EFORMAT, "%.200s: not a manifest: has no layers", what);
	if (!tb_grow(&m->layers, &m->cap, json_count(layers), sizeof(*m->layers)))
		return tb_nomem(err);
	for (const cJSON *v = json_first(layers); v && !status; v = json_next(v)) {
		snprintf(where, sizeof(where), "%.200s: layer %zu", what, m->nlayers);
		status = manifest_read_layer(m, &m->layers[m->nlayers++], v, where, err);
	}
	return status;
}

static enum tb_status
manifest_read_document(struct manifest *m, const cJSON *doc, const char *what, struct tb_err *err)
{
	const cJSON *config = json_get(doc, "config");
	/* Ollama writes an absent one as a layer whose members are all empty. */
	const char *digest = json_str(json_get(config, "digest"));
	bool none = !config || json_is_null(config) || (digest && !*digest);
	enum tb_status status;
	uint64_t version;
	char where[300];

	if (!json_is_object(doc) || !json_u64(json_get(doc, "schemaVersion"), &version))
		return tb_fail(err, TB_EFORMAT, "%.200s: not a manifest: has no schemaVersion", what);
	if (version != 2)
		return tb_fail(err, TB_EFORMAT, "%.200s: manifest of version %ju, only 2 is known",
			       what, (uintmax_t)version);
	status = optional(m, doc, "mediaType", &m->media_type, what, err);
	if (!status && !none) {
		snprintf(where, sizeof(where), "%.200s: config", what);
		status = manifest_read_layer(m, &m->config, config, where, err);
	}
	return status ? status : manifest_read_layers(m, json_get(doc, "layers"), what, err);
}

enum tb_status
manifest_parse(struct manifest *m, const char *text, size_t len, const char *what,
	       struct tb_err *err)
{
	enum tb_status status;
	cJSON *doc;
	bool nomem;

	*m = (struct manifest){ 0 };
	if (len > MANIFEST_MAX)
		return tb_fail(err, TB_ELIMIT, "%.200s: manifest of %zu bytes, at most %u are read",
			       what, len, MANIFEST_MAX);
	if (manifest_plain(m, text, len, &nomem))
		return TB_OK;
	manifest_free(m);
	if (nomem)
		return tb_nomem(err);
	status = json_parse(&doc, text, len, what, err);
	if (!status)
		status = manifest_read_document(m, doc, what, err);
	json_free(doc);
	if (status)
		manifest_free(m);
	return status;
}

enum tb_status
manifest_read(struct manifest *m, const char *path, struct tb_err *err)
{
	char *text = NULL;
	size_t len;
	enum tb_status status = tb_file_slurp(path, MANIFEST_MAX, &text, &len, err);

	*m = (struct manifest){ 0 };
	if (!status)
		status = manifest_parse(m, text, len, path, err);
	free(text);
	return status;
}

enum tb_status
manifest_add(struct manifest *m, enum media kind, const char *digest, uint64_t size,
	     const char *name, struct tb_err *err)
{
	struct manifest_layer *l = &m->config, fresh = { .size = size };
	bool named = name && *name;

	if (!digest_parse(digest, fresh.digest))
		return tb_fail(err, TB_EFORMAT, "bad digest \"%.80s\"", digest);
	fresh.media_type = media_type(kind);
	fresh.name = named ? tb_arena_str(&m->texts, name) : NULL;
	if ((named && !fresh.name) ||
	    (kind != MEDIA_CONFIG &&
	     !tb_grow(&m->layers, &m->cap, m->nlayers + 1, sizeof(*m->layers))))
		return tb_nomem(err);
	if (kind != MEDIA_CONFIG)
		l = &m->layers[m->nlayers++];
	*l = fresh;
	return TB_OK;
}

static void
print_layer(struct tb_buf *out, const struct manifest_layer *l)
{
	tb_buf_str(out, "{\"mediaType\":");
	json_quote_go(out, l->media_type ? l->media_type : "");
	tb_buf_printf(out, ",\"digest\":\"%s\",\"size\":%ju", l->digest, (uintmax_t)l->size);
	if (l->from && *l->from) {
		tb_buf_str(out, ",\"from\":");
		json_quote_go(out, l->from);
	}
	if (l->name && *l->name) {
		tb_buf_str(out, ",\"name\":");
		json_quote_go(out, l->name);
	}
	tb_buf_chr(out, '}');
}

void
manifest_print(const struct manifest *m, struct tb_buf *out)
{
	tb_buf_str(out, "{\"schemaVersion\":2,\"mediaType\":");
	json_quote_go(out, m->media_type ? m->media_type : DOCKER_V2);
	tb_buf_str(out, ",\"config\":");
	print_layer(out, &m->config);
	tb_buf_str(out, ",\"layers\":[");
	for (size_t i = 0; i < m->nlayers; i++) {
		if (i)
			tb_buf_chr(out, ',');
		print_layer(out, &m->layers[i]);
	}
	tb_buf_str(out, "]}\n");
}

void
manifest_free(struct manifest *m)
{
	free(m->layers);
	tb_arena_free(&m->texts);
	*m = (struct manifest){ 0 };
}
