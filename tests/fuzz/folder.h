/* folder.h - a folder of this process in memory, for what is read from folders. */
#ifndef TBTUI_FUZZ_FOLDER_H
#define TBTUI_FUZZ_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "src/format/safetensors.h"

/* Made once, removed at the end; static. */
const char *folder(void);
/* Makes folder()/name, with the folders above it. */
void folder_put(const char *name, const void *data, size_t len);
void folder_link(const char *name, const char *target);
void folder_clear(void);

/* A safetensors file of these tensors, its data zeros. */
struct folder_tensor { const char *name; enum dtype dtype; unsigned ndim; uint64_t dim[3]; };
void folder_tensors(const char *name, const struct folder_tensor *t, size_t n);

/* Opens every model that a walk finds, and folder() itself: what is read must fit
 * together. */
void folder_open_all(void);
#endif
