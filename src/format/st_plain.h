/* st_plain.h - private to src/format: the quick way through a safetensors header. */
#ifndef TBTUI_FORMAT_ST_PLAIN_H
#define TBTUI_FORMAT_ST_PLAIN_H

#include "src/format/safetensors.h"

/* h has its data_off, and is to be freed in either case.  false: it is not plain, or
 * wrong, or there is no memory (*nomem); whatever is in h then means nothing. */
bool st_plain(struct st_header *h, const char *json, size_t len, uint64_t data_len, bool *nomem);
/* Into the order of the file. */
void st_sort_offsets(struct st_header *h);
/* Tensors and metadata by their names; false when two are the same. */
bool st_sort_names(struct st_header *h);
#endif
