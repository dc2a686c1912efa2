/* kind.h - what a model is: the kind of store that it lies in, how it is laid out there, and
 * the format of its tensors.
 *
 * Whoever wants to know something asks; that a kind is one of these is for src/store alone,
 * and for who writes one. */
#ifndef TBTUI_STORE_KIND_H
#define TBTUI_STORE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "src/format/format.h"
#include "src/store/store_kind.h"

enum kind_layout {
	LAYOUT_MANIFEST,	/* that lists blobs */
	LAYOUT_FOLDER,		/* with files beside those of tensors */
	LAYOUT_FILE,		/* alone, or several that are called as one */
};

/* id, name in ls --json, store, layout, format of the tensors (NULL: it has none, a
 * program's image among models).  The index keeps their numbers: new ones go to the end. */
#define MODEL_KIND_LIST(X) \
	X(MODEL_OLLAMA_TENSORS, "ollama-tensors", &store_ollama, LAYOUT_MANIFEST, &format_safetensors) \
	X(MODEL_OLLAMA_GGUF, "ollama-gguf", &store_ollama, LAYOUT_MANIFEST, &format_gguf) \
	X(MODEL_SAFETENSORS_DIR, "safetensors-dir", NULL, LAYOUT_FOLDER, &format_safetensors) \
	X(MODEL_SAFETENSORS_FILE, "safetensors-file", NULL, LAYOUT_FILE, &format_safetensors) \
	X(MODEL_GGUF_FILE, "gguf-file", NULL, LAYOUT_FILE, &format_gguf) \
	X(MODEL_OCI_TENSORS, "oci-tensors", &store_oci, LAYOUT_MANIFEST, &format_safetensors) \
	X(MODEL_OCI_GGUF, "oci-gguf", &store_oci, LAYOUT_MANIFEST, &format_gguf) \
	X(MODEL_CONTAINER, "container-image", &store_ollama, LAYOUT_MANIFEST, NULL) \
	X(MODEL_OCI_CONTAINER, "container-image", &store_oci, LAYOUT_MANIFEST, NULL)

#define X(id, name, store, layout, format) id,
enum model_kind { MODEL_KIND_LIST(X) MODEL_KIND_COUNT };
#undef X

enum model_kind kind_of_number(int64_t number);	/* of an index, which may be tampered with */
const char *kind_name(enum model_kind k);
bool kind_is_model(enum model_kind k);		/* else a container's image */
bool kind_has_manifest(enum model_kind k);
bool kind_is_folder(enum model_kind k);
/* Tensors in a file alone, and nothing that says of what model they are. */
bool kind_is_bare(enum model_kind k);
/* Do its tensors' files speak for the model, and call tensors as ggml does?  Else files
 * beside them do. */
bool kind_has_keys(enum model_kind k);
/* Are its files blobs that may be those of other models, in a store that is written to? */
bool kind_shares_blobs(enum model_kind k);
/* Is it there because its manifest, folder or file is, and no list somewhere else? */
bool kind_lists_itself(enum model_kind k);
/* Does its manifest say by types and names what each layer is? */
bool kind_types_layers(enum model_kind k);
const struct format *kind_format(enum model_kind k);	/* of its tensors; NULL: it has none */
const struct store_kind *kind_store(enum model_kind k);	/* NULL: any folder */

/* The kind of a file, a folder or a manifest in that store (NULL: any folder); for a format
 * that has none there, the first of that store and layout. */
enum model_kind kind_for(const struct store_kind *store, enum kind_layout layout,
			const struct format *format);
#endif
