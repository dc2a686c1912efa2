/* ollama.h - an Ollama store: blobs/sha256-<hex>, manifests/host/ns/model/tag. */
#ifndef TBTUI_STORE_OLLAMA_H
#define TBTUI_STORE_OLLAMA_H

#include "src/base/out.h"
#include "src/store/lock.h"
#include "src/store/model.h"
#include "src/store/name.h"

/* root/blobs/sha256-<hex>; caller frees. NULL when out of memory or no digest. */
char *ollama_blob_path(const char *root, const char *digest);
char *ollama_manifest_path(const char *root, const struct model_name *name);
/* The manifest of that name, spelled so or else differing in case only, as Ollama
 * has it; caller frees *out. NULL: there is none. */
enum tb_status ollama_find_manifest(const char *root, const struct model_name *name, char **out,
				    struct tb_err *err) TB_MUST_USE;

/* Calls fn for each digest that a manifest of the store names, often more than once.
 * Fails when any manifest, or a folder of them, cannot be read: then what is named is
 * not known, and nothing may be said to be named by nobody. */
typedef void ollama_named_fn(void *arg, const char *digest);
enum tb_status ollama_named(const char *root, ollama_named_fn *fn, void *arg, struct tb_err *err)
	TB_MUST_USE;
/* The same for each manifest; it is borrowed for the call.  Also those behind one that cannot be
 * read. */
typedef enum tb_status ollama_manifest_fn(void *arg, const char *path, const struct manifest *m,
					  struct tb_err *err);
enum tb_status ollama_manifests(const char *root, ollama_manifest_fn *fn, void *arg,
				struct tb_err *err) TB_MUST_USE;
void ollama_each_digest(const struct manifest *m, ollama_named_fn *fn, void *arg);
/* Is blobs/ no folder of this store?  Its blobs may be those of another one then, whose
 * manifests are elsewhere. */
bool ollama_blobs_shared(const char *root);

/* Writing a model: add blobs, then commit the manifest last, so that a reader
 * sees the whole model or none.  A blob that is there and good is kept (and touched
 * meanwhile, so that pruning spares it); a damaged one is replaced.  Whoever writes holds a shared
 * lock on blobs/.  One thread at a time; parts may be filled by others and be merged. */
struct ollama_writer {
	char *root;
	struct store_lock lock;		/* none: a part, or no locks there */
	struct manifest manifest;
	const struct tb_buf *text;	/* the manifest's bytes, where they are to stay as they
					 * were; borrowed; NULL: they are made of its layers */
	struct ollama_made *made;	/* private: blobs that were made or touched */
	size_t nmade, made_cap;
	/* After a commit that replaced: the old one's, under another tag. */
	char *path, *kept_path;		/* of the manifests; owned; kept_path NULL: none was there */
	char kept[640];			/* its name */
};
/* Makes blobs/ if it is missing, and takes away what killed writers left there. */
enum tb_status ollama_writer_init(struct ollama_writer *w, const char *root, struct tb_err *err)
	TB_MUST_USE;
/* For a thread: to be merged into a writer of the same store, which is there as long. */
enum tb_status ollama_part_init(struct ollama_writer *part, const char *root, struct tb_err *err)
	TB_MUST_USE;
/* Without a commit, the blobs that this writer made go away again: but only if nobody
 * else writes to the store, all of its manifests can be read and none names them.  They
 * stay otherwise, and belong to no model. */
void ollama_writer_free(struct ollama_writer *w);
/* Appends what `from` has to `w`; `from` is empty then, also on failure. */
enum tb_status ollama_merge(struct ollama_writer *w, struct ollama_writer *from,
			    struct tb_err *err) TB_MUST_USE;

/* A blob from memory; appended to the manifest as `kind` (MEDIA_CONFIG: as config). */
enum tb_status ollama_add_bytes(struct ollama_writer *w, enum media kind, const char *name,
				const void *data, size_t len, struct tb_err *err) TB_MUST_USE;
/* A blob that was streamed: open *o with ollama_blob_open(), write, hash it, and
 * hand it over with its digest and size.  *o is done with in every case. */
enum tb_status ollama_blob_open(struct ollama_writer *w, struct tb_out *o, struct tb_err *err)
	TB_MUST_USE;
enum tb_status ollama_add_blob(struct ollama_writer *w, enum media kind, const char *name,
			       struct tb_out *o, const char *digest, uint64_t size,
			       struct tb_err *err) TB_MUST_USE;
/* A blob that the store has, by its name and size: its bytes are not looked at.  TB_ENOENT:
 * it has none. */
enum tb_status ollama_add_there(struct ollama_writer *w, enum media kind, const char *name,
				const char *digest, uint64_t size, struct tb_err *err) TB_MUST_USE;
/* What somebody else says of a model before its manifest is written: adds layers, and may
 * replace *config, the text of the config blob, by another that free() takes. */
struct ollama_amend {
	enum tb_status (*fn)(void *arg, struct ollama_writer *w, char **config, struct tb_err *err);
	void *arg;
};
/* A blob that lies finished in a file of the same file system, and may stay there: it gets
 * its name as a blob as well.  ollama_sync_blobs() after
 * the last of them: before, a power cut may take such names away again. */
enum tb_status ollama_add_file(struct ollama_writer *w, enum media kind, const char *name,
			       const char *file, const char *digest, uint64_t size,
			       struct tb_err *err) TB_MUST_USE;
enum tb_status ollama_sync_blobs(struct ollama_writer *w, struct tb_err *err) TB_MUST_USE;
/* Does the file have the bytes that its name says?  Ollama looks at the size alone and so
 * keeps a damaged blob for ever. */
bool ollama_blob_good(const char *path, const char *digest, uint64_t size);
/* TB_EEXIST if the name is taken and not `replace`; else the old manifest is kept, which
 * keeps its blobs.  TB_ESYNC: it is there nevertheless. */
enum tb_status ollama_commit(struct ollama_writer *w, const struct model_name *name, bool replace,
			     struct tb_err *err) TB_MUST_USE;
#endif
