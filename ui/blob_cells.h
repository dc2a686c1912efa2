/* blob_cells.h - how a blob's state and file, and a model's state, are written. */
#ifndef TBTUI_UI_BLOB_CELLS_H
#define TBTUI_UI_BLOB_CELLS_H

#include "db/blob.h"
#include "ui/table.h"

struct blob_state { enum db_state state; unsigned kind; bool used, young, unclear; };
void blob_state_cell(struct blob_state s, struct cell *out);
void model_state_cell(const struct db_model *m, struct cell *out);
#endif
