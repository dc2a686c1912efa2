/* manifest_plain.c - manifests as Ollama writes them, in one pass: a model may have tens of
 * thousands of layers.  What is accepted is what manifest.c would accept, with the same
 * result; all else is left to it. */
#include "config.h"

#include "src/format/manifest_plain.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/format/json_plain.h"

static const char *const members[] = { "mediaType", "digest", "size", "from", "name" };
enum { MEDIA_TYPE, DIGEST, SIZE, FROM, NAME, MEMBERS };
#define NEEDED (1u << MEDIA_TYPE | 1u << DIGEST | 1u << SIZE)

static bool
read_member(struct plain *in, struct manifest *m, struct manifest_layer *l, unsigned *seen)
{
	const char **to;
	char text[TB_DIGEST_MAX];
	struct plain_str key, v;
	unsigned i = 0;

	if (!plain_string(in, &key) || !plain_char(in, ':'))
		return false;
	while (i < MEMBERS && !plain_is(&key, members[i]))
		i++;
	if (i == MEMBERS || *seen & 1u << i)
		return false;
	*seen |= 1u << i;
	if (i == SIZE)
		return plain_u64(in, &l->size);
	if (!plain_string(in, &v))
		return false;
	if (i == DIGEST && v.n >= sizeof(text))
		return false;
	if (i == DIGEST) {
		memcpy(text, v.s, v.n);
		text[v.n] = 0;
		return digest_parse(text, l->digest);
	}
	to = i == MEDIA_TYPE ? &l->media_type : i == FROM ? &l->from : &l->name;
	*to = tb_arena_text(&m->texts, v.s, v.n);
	in->nomem |= !*to;
	return *to != NULL;
}

static bool
plain_read_layer(struct plain *in, struct manifest *m, struct manifest_layer *l)
{
	unsigned seen = 0;

	if (!plain_char(in, '{'))
		return false;
	do {
		if (!read_member(in, m, l, &seen))
			return false;
	} while (plain_char(in, ','));
	return (seen & NEEDED) == NEEDED && plain_char(in, '}');
}

static bool
plain_read_layers(struct plain *in, struct manifest *m)
{
	/* room for all at once: a layer takes some 200 bytes of text */
	if (!plain_char(in, '['))
		return false;
	if (!tb_grow(&m->layers, &m->cap, strlen(in->p) / 192 + 1, sizeof(*m->layers))) {
		in->nomem = true;
		return false;
	}
	do {
		if (!tb_grow(&m->layers, &m->cap, m->nlayers + 1, sizeof(*m->layers))) {
			in->nomem = true;
			return false;
		}
		if (!plain_read_layer(in, m, &m->layers[m->nlayers++]))
			return false;
	} while (plain_char(in, ','));
	return plain_char(in, ']');
}

static bool
read_value(struct plain *in, struct manifest *m, const struct plain_str *key, bool *version)
{
	struct plain_str type;
	uint64_t number;

	if (plain_is(key, "schemaVersion") && !*version) {
		*version = true;
		return plain_u64(in, &number) && number == 2;
	}
	if (plain_is(key, "config"))
		return !m->config.media_type && plain_read_layer(in, m, &m->config);
	if (plain_is(key, "layers"))
		return !m->layers && plain_read_layers(in, m);
	if (!plain_is(key, "mediaType") || m->media_type || !plain_string(in, &type))
		return false;
	m->media_type = tb_arena_text(&m->texts, type.s, type.n);
	in->nomem |= !m->media_type;
	return m->media_type != NULL;
}

static bool
plain_read_document(struct plain *in, struct manifest *m)
{
	struct plain_str key;
	bool version = false;

	if (!plain_char(in, '{'))
		return false;
	do {
		if (!plain_string(in, &key) || !plain_char(in, ':') ||
		    !read_value(in, m, &key, &version))
			return false;
	} while (plain_char(in, ','));
	return version && m->layers && plain_char(in, '}');
}

bool
manifest_plain(struct manifest *m, const char *text, size_t len, bool *nomem)
{
	char *copy = tb_strndup(text, len);	/* ends with a NUL */
	struct plain in = { copy, !copy };
	bool ok = copy && plain_read_document(&in, m) && (size_t)(in.p - copy) == len;

	*nomem = in.nomem;
	free(copy);
	return ok;
}
