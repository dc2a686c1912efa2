/* store_kind.h - the kinds of stores in which programs keep models: one row each. */
#ifndef TBTUI_STORE_STORE_KIND_H
#define TBTUI_STORE_STORE_KIND_H

#include <stdbool.h>
#include <stddef.h>

struct manifest;

struct store_kind {
	bool writable;		/* conversions and imports go there */
	bool typed;		/* its manifests say by types and names what each layer is */
	bool manifests_are_blobs;
	/* Is what the manifest lists a model, and no program's image? */
	bool (*is_model)(const struct manifest *m);
	/* Bytes of a manifest's path that are its store's folder; 0: it is in none. */
	size_t (*root_of)(const char *path);
	/* The path of a blob; caller frees.  NULL: out of memory, or no digest. */
	char *(*blob_path)(const char *root, const char *digest);
};

extern const struct store_kind store_ollama, store_oci;
#endif
