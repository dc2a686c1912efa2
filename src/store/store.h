/* store.h - the folders in which models are looked for, and what is in them. */
#ifndef TBTUI_STORE_STORE_H
#define TBTUI_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"
#include "src/store/model.h"
#include "src/store/unread.h"

struct store_roots {
	char **path;		/* owned; made absolute, symlinks kept */
	size_t n, cap;
	bool given;		/* named by a person for this run: must be there */
};

/* The given folders, or with n == 0 the default ones that exist. */
enum tb_status store_roots_init(struct store_roots *r, const char *const *dirs, size_t n,
				struct tb_err *err) TB_MUST_USE;
/* The places where programs keep models, there or not, in the order of looking. */
enum tb_status store_usual(struct store_roots *out, struct tb_err *err) TB_MUST_USE;
/* Those that are there. */
enum tb_status store_roots_add_usual(struct store_roots *r, struct tb_err *err) TB_MUST_USE;
/* The root that is that folder, or n. */
size_t store_roots_find(const struct store_roots *r, const char *dir);
/* The nearest of them that the path is in or is; n: none. */
size_t store_roots_above(const struct store_roots *r, const char *path);
/* One more, if it is none of them already. */
enum tb_status store_roots_add(struct store_roots *r, const char *dir, struct tb_err *err)
	TB_MUST_USE;
void store_roots_free(struct store_roots *r);
/* Is root i not there, as that of a disk that is unplugged?  Of those that were given
 * this is an error for whoever opens them, and false. */
bool store_root_away(const struct store_roots *r, size_t i);

/* Is it a store that conversions and imports can go to? */
bool store_is_writable(const char *root);

/* Where new models go: the first root that is an Ollama store or, if there is none,
 * the first that is empty or (if it was given) missing; caller frees *out. */
enum tb_status store_destination(const struct store_roots *r, char **out, struct tb_err *err)
	TB_MUST_USE;

/* Calls fn for each model below root (or in it, if it is a file), in name order; loc is
 * borrowed for the call.
 * fn returning anything but TB_OK ends the walk with it.  What is no model is
 * skipped silently; a manifest that cannot be read is still yielded; folders that cannot
 * be read are added to `unread`, and the rest goes on.  No file is
 * opened: the kind of an Ollama model is MODEL_OLLAMA_TENSORS until model_open()
 * has seen its layers. */
typedef enum tb_status store_walk_fn(void *arg, const struct model_loc *loc, struct tb_err *err);
enum tb_status store_walk(const char *root, store_walk_fn *fn, void *arg, struct unread *unread,
			  struct tb_err *err) TB_MUST_USE;

/* REF of the command line -> where it is: a path (recognised by content), a name in
 * one of the roots, a digest or prefix of one.  TB_ENOENT names what was tried; TB_EUSAGE:
 * models of two stores are called so, and which they are. */
enum tb_status store_resolve(const struct store_roots *r, const char *ref, struct model_loc *out,
			     struct tb_err *err) TB_MUST_USE;
#endif
