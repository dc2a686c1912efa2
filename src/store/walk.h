/* walk.h - paths and places inside stores. Private to src/store. */
#ifndef TBTUI_STORE_WALK_H
#define TBTUI_STORE_WALK_H

#include "src/store/model.h"

/* The path from "/" on, without "//", "/./" and slashes at its end; symlinks and ".."
 * stay.  NULL when out of memory; caller frees. */
char *store_absolute(const char *path);

/* A place from its parts: copies, and looks for the time. */
enum tb_status loc_make(struct model_loc *loc, enum model_kind kind, const char *name,
			const char *path, const char *root, struct tb_err *err) TB_MUST_USE;

/* Is there anything in the folder that model_open() could show as a directory? */
enum tb_status folder_has_weights(const char *dir, bool *yes, struct tb_err *err) TB_MUST_USE;
#endif
