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

/* The place of a file alone, whose first bytes tell what it is.  TB_EFORMAT: no model's. */
enum tb_status loc_make_file(struct model_loc *loc, const char *name, const char *path,
			     const char *root, struct tb_err *err) TB_MUST_USE;

/* A walk over a root, as the rows of store_kind.h see it.  A folder that cannot be read is
 * noted, and has nothing then. */
struct tb_names;
/* One more model; store: its store's folder, NULL: the root that is walked. */
enum tb_status walk_add(struct walk *w, enum model_kind kind, const char *name, const char *path,
			const char *store, struct tb_err *err) TB_MUST_USE;
/* All that is not hidden. */
enum tb_status walk_entries(struct walk *w, const char *dir, struct tb_names *out,
			    struct tb_err *err) TB_MUST_USE;
/* What an entry of `dir` is; a link that leads nowhere is no folder.  Where it cannot be
 * said, `dir` is noted, whose other entries will be no different, or the link. */
enum tb_status walk_look(struct walk *w, const char *dir, const char *path, bool *folder,
			 struct tb_err *err) TB_MUST_USE;
/* The models of a folder and below it; name: its path below the root, "" for the root. */
enum tb_status walk_folder(struct walk *w, const char *dir, const char *name, unsigned depth,
			   struct tb_err *err) TB_MUST_USE;

/* Is there anything in the folder that model_open() could show as a directory? */
enum tb_status folder_has_weights(const char *dir, bool *yes, struct tb_err *err) TB_MUST_USE;
#endif
