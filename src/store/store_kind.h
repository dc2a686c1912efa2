/* store_kind.h - the kinds of stores in which programs keep models: one row each, beside what
 * knows its names and files.  Whatever is in none of them is a folder like any other.
 *
 * A new one is a file with its row, and its name in STORE_KIND_LIST; where it has manifests
 * of its own, its models are rows of MODEL_KIND_LIST (kind.h), too. */
#ifndef TBTUI_STORE_STORE_KIND_H
#define TBTUI_STORE_STORE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"
#include "src/base/sha256.h"

struct manifest;
struct model_loc;
struct walk;

/* What a file among a store's blobs is by its name. */
enum store_file { STORE_BLOB, STORE_PARTIAL, STORE_TEMP, STORE_FOREIGN };
typedef enum tb_status store_file_fn(void *arg, const char *path, struct tb_err *err);

/* What may be odd in a store: */
enum store_odd {
	ODD_NAMELESS,	/* a file among its manifests that no walk yields: no model can be called so */
	ODD_REF,	/* a name that leads to nothing */
	ODD_SIZE,	/* a file that is not as long as what names it says */
	ODD_DIGEST,	/* a small file that does not have the bytes that its name says */
	ODD_DESCRIPTION,	/* what the store says of itself */
	ODD_UNCHECKED,	/* what it names in a way that cannot be checked */
};
/* why: a sentence behind the path. */
typedef enum tb_status store_odd_fn(void *arg, enum store_odd what, const char *path, const char *why,
				    struct tb_err *err);

/* A folder where programs look without being told: what $env holds (or, if it is not set,
 * what is below the home directory), with `tail` behind it. */
struct store_usual { const char *env, *home, *tail; };

struct store_kind {
	const struct store_usual *usual;	/* ended by one of three NULL; NULL: none */
	bool (*is)(const char *dir);
	/* Stores of it lie side by side in any folder, told by their names alone. */
	bool beside;
	/* Adds the models of the store (see walk.h) that is called so below the root. */
	enum tb_status (*walk)(struct walk *w, const char *dir, const char *name,
			       struct tb_err *err);
	/* A folder or a manifest of it, as a person names it by its path; NULL: it is asked for
	 * by names alone.  TB_ENOENT: no model. */
	enum tb_status (*locate)(const char *path, struct model_loc *out, struct tb_err *err);
	/* One of its models as a person spells it with its folder; TB_ENOENT: that is none.
	 * NULL: nothing is spelled so. */
	enum tb_status (*spelled)(const char *ref, struct model_loc *out, struct tb_err *err);
	/* Does `ref` mean that model, which is not called exactly so?  NULL: no. */
	bool (*means)(const char *ref, const struct model_loc *loc);
	/* Bytes of a model's path that are its store's folder; 0: it is in none. */
	size_t (*root_of)(const char *path);
	/* The same of a path that may be a folder on the way to its models; NULL: root_of. */
	size_t (*above)(const char *path);

	/* The folders that are the store's, ended by NULL; NULL: all is.  Killed writers leave
	 * files in `written` of them (NULL: in none). */
	const char *const *parts;
	const char *written;
	/* Files that may belong to no model: all of that folder, or those that are told; NULL
	 * both: nobody asks. */
	const char *blobs;
	enum tb_status (*left)(const char *store, store_file_fn *fn, void *arg, struct tb_err *err);
	enum store_file (*file)(const char *path, char digest[TB_DIGEST_MAX]);	/* a regular one */

	/* Tells what of the store's own order is wrong, and is no model's; NULL: nothing is. */
	enum tb_status (*odd)(const char *store, store_odd_fn *fn, void *arg, struct tb_err *err);

	/* Where its models have manifests: */
	bool writable;			/* conversions and imports go there */
	bool typed;			/* they say by types and names what each layer is */
	bool manifests_are_blobs;
	bool (*is_model)(const struct manifest *m);	/* else a program's image */
	char *(*blob_path)(const char *root, const char *digest);	/* caller frees; NULL: out of
									 * memory, or no digest */
};

/* What says most is asked first. */
#define STORE_KIND_LIST(X) X(store_oci) X(store_ollama) X(store_hub)
#define X(row) extern const struct store_kind row;
STORE_KIND_LIST(X)
#undef X
extern const struct store_kind *const store_kinds[];	/* ended by NULL */

/* The kind of store that a folder is; NULL: it is none of those that lie `beside` others, or
 * by themselves. */
const struct store_kind *store_kind_of(const char *dir, bool beside);
/* The store that a model lies in: its kind, and the first *n bytes of *path; NULL: it is
 * in none. */
const struct store_kind *store_of_model(const struct model_loc *loc, const char **path, size_t *n);
/* Is it a name that programs give to a download that did not end? */
bool store_is_partial(const char *name);
#endif
