/* oci.h - OCI image layouts: oci-layout, index.json, blobs/sha256/<hex>.  An image is a
 * model when one of its layers is, by its media type or its name: Ollama's, a GGUF or
 * a safetensors file. */
#ifndef TBTUI_STORE_OCI_H
#define TBTUI_STORE_OCI_H

#include <stdbool.h>

#include "src/base/err.h"
#include "src/base/sha256.h"
#include "src/format/manifest.h"

/* Calls fn for each image that is a model, and `other` (NULL: nobody asks) for each that
 * is none: the path of its manifest, what the index calls it ("" if it does not).  An
 * index or manifest that cannot be read is skipped: `broken`, which may be NULL, is called
 * with its path and why. */
typedef enum tb_status oci_image_fn(void *arg, const char *manifest, const char *ref,
				    struct tb_err *err);
enum tb_status oci_images(const char *layout, oci_image_fn *fn, oci_image_fn *other,
			  oci_image_fn *broken, void *arg,
			  struct tb_err *err) TB_MUST_USE;
#endif
