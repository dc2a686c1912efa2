/* leftover.h - what writers that were killed left in folders and stores, and old models
 * that were replaced and kept. */
#ifndef TBTUI_OPS_LEFTOVER_H
#define TBTUI_OPS_LEFTOVER_H

#include "src/ops/scan/blobdir.h"

/* Adds those below `root`, with the size of what is in them. */
enum tb_status leftover_root(struct blobdir *d, const char *root, struct tb_err *err) TB_MUST_USE;
/* Does somebody still write it? */
bool leftover_in_use(const char *path);
/* What it is, for a person: "is left over from …"; "" if it is none of these.  Caller frees; NULL
 * when out of memory. */
char *leftover_text(const char *path);
#endif
