/* blob_cells.h - how a blob's state and file are written, in lists and on its own. */
#ifndef TBTUI_UI_BLOB_CELLS_H
#define TBTUI_UI_BLOB_CELLS_H

#include "db/blob.h"
#include "ui/table.h"

/* The last part of a path. */
const char *blob_file(const char *path);
/* kind: enum db_file_kind. */
void blob_state_cell(enum db_state state, unsigned kind, uint64_t owners, struct cell *out);
#endif
