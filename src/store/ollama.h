/* ollama.h - an Ollama store: blobs/sha256-<hex>, manifests/host/ns/model/tag. */
#ifndef TBTUI_STORE_OLLAMA_H
#define TBTUI_STORE_OLLAMA_H

#include "src/base/out.h"
#include "src/store/model.h"
#include "src/store/name.h"

/* root/blobs/sha256-<hex>; caller frees. NULL when out of memory or no digest. */
char *ollama_blob_path(const char *root, const char *digest);
char *ollama_manifest_path(const char *root, const struct model_name *name);
/* The manifest of that name, spelled so or else differing in case only, as Ollama
 * has it; caller frees. NULL: there is none. */
char *ollama_find_manifest(const char *root, const struct model_name *name);

/* Writing a model: add blobs, then commit the manifest last, so that a reader
 * sees the whole model or none.  A blob that is there and good is kept (its
 * time is touched until the commit, so that pruning spares it); a damaged one is
 * replaced.  One thread at a
 * time; several writers may fill one store and be merged. */
struct ollama_writer {
	char *root;
	struct manifest manifest;
	struct ollama_made *made;	/* private: blobs that were not there before */
	size_t nmade, made_cap;
};
enum tb_status ollama_writer_init(struct ollama_writer *w, const char *root, struct tb_err *err)
	TB_MUST_USE;
/* Without a commit, the blobs that this writer made go away again (unless somebody
 * else has touched them since). */
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
/* TB_EEXIST if the name is taken and not `replace`. */
enum tb_status ollama_commit(struct ollama_writer *w, const struct model_name *name, bool replace,
			     struct tb_err *err) TB_MUST_USE;
#endif
