/* manifest.h - an Ollama / Docker v2 manifest, and what its media types mean. */
#ifndef TBTUI_FORMAT_MANIFEST_H
#define TBTUI_FORMAT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/base/sha256.h"

#define MANIFEST_MAX (64u << 20)	/* bytes; registries refuse more than 4 MiB, stores do not */

/* id, short name shown to people, media type */
#define MEDIA_LIST(X) \
	X(MEDIA_CONFIG, "config", "application/vnd.docker.container.image.v1+json") \
	X(MEDIA_MODEL, "model", "application/vnd.ollama.image.model") \
	X(MEDIA_PROJECTOR, "projector", "application/vnd.ollama.image.projector") \
	X(MEDIA_ADAPTER, "adapter", "application/vnd.ollama.image.adapter") \
	X(MEDIA_DRAFT, "draft", "application/vnd.ollama.image.draft") \
	X(MEDIA_TENSOR, "tensor", "application/vnd.ollama.image.tensor") \
	X(MEDIA_JSON, "json", "application/vnd.ollama.image.json") \
	X(MEDIA_TEMPLATE, "template", "application/vnd.ollama.image.template") \
	X(MEDIA_PROMPT, "prompt", "application/vnd.ollama.image.prompt") \
	X(MEDIA_SYSTEM, "system", "application/vnd.ollama.image.system") \
	X(MEDIA_PARAMS, "params", "application/vnd.ollama.image.params") \
	X(MEDIA_MESSAGES, "messages", "application/vnd.ollama.image.messages") \
	X(MEDIA_LICENSE, "license", "application/vnd.ollama.image.license") \
	X(MEDIA_EMBED, "embed", "application/vnd.ollama.image.embed") \
	X(MEDIA_UNKNOWN, "unknown", "")

#define X(id, name, type) id,
enum media { MEDIA_LIST(X) MEDIA_COUNT };
#undef X

enum media media_parse(const char *media_type);	/* MEDIA_UNKNOWN for the rest */
const char *media_name(enum media m);		/* "tensor" */
const char *media_type(enum media m);		/* "application/vnd.ollama.image.tensor" */

struct manifest_layer {
	const char *media_type;		/* in `texts`, as are from and name (which may be NULL) */
	char digest[TB_DIGEST_MAX];	/* "sha256:" + 64 lower-case hex, checked */
	uint64_t size;
	const char *from, *name;	/* name: of an image, what annotations call the file */
};

struct manifest {
	const char *media_type;		/* in `texts`; NULL if the document has none */
	struct manifest_layer config;	/* media_type NULL: no config */
	struct manifest_layer *layers;	/* owned */
	size_t nlayers, cap;
	struct tb_arena texts;		/* owned */
};

enum tb_status manifest_parse(struct manifest *m, const char *text, size_t len, const char *what,
			      struct tb_err *err) TB_MUST_USE;
enum tb_status manifest_read(struct manifest *m, const char *path, struct tb_err *err) TB_MUST_USE;
enum tb_status manifest_add(struct manifest *m, enum media kind, const char *digest, uint64_t size,
			    const char *name, struct tb_err *err) TB_MUST_USE;
/* Compact JSON in Ollama's key order and a newline. */
void manifest_print(const struct manifest *m, struct tb_buf *out);
void manifest_free(struct manifest *m);

/* "sha256:…" or "sha256-…", 64 hex digits in any case -> canonical; false if not one. */
bool digest_parse(const char *s, char out[TB_DIGEST_MAX]);
#endif
