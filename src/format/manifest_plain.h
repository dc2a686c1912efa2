/* manifest_plain.h - private to src/format: the quick way through a manifest. */
#ifndef TBTUI_FORMAT_MANIFEST_PLAIN_H
#define TBTUI_FORMAT_MANIFEST_PLAIN_H

#include "src/format/manifest.h"

/* false: it is not as Ollama writes them, or wrong, or there is no memory (*nomem); *m then
 * is to be freed. */
bool manifest_plain(struct manifest *m, const char *text, size_t len, bool *nomem);
#endif
