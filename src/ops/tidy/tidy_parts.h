/* tidy_parts.h - what the parts of tidy.h share. Private to them. */
#ifndef TBTUI_OPS_TIDY_PARTS_H
#define TBTUI_OPS_TIDY_PARTS_H

#include "src/ops/tidy/tidy.h"
#include "src/store/model.h"

#define TIDY_HOUR (INT64_C(3600) * 1000000000)
#define TIDY_DAY (24 * TIDY_HOUR)

/* ---- tidy.c ---- */

/* The number of the store in t->roots, which gets it. */
enum tb_status tidy_root(struct tidy *t, const char *root, size_t *i, struct tb_err *err)
	TB_MUST_USE;
/* One more; all are copied.  What cannot be moved from where it is, behind a link or on
 * another file system, is among those that stay instead. */
struct tidy_new {
	enum tidy_do what;
	const char *model, *path, *to, *digest, *text;
	size_t root;
};
enum tb_status tidy_add(struct tidy *t, const struct tidy_new *a, struct tb_err *err) TB_MUST_USE;
void tidy_action_free(struct tidy_action *a);
void tidy_stays(struct tidy *t, enum tidy_why why, uint64_t bytes);
/* Last change of name, bytes or time; 0: nobody can say. */
int64_t tidy_stamp(const char *path);
uint64_t tidy_size(const char *path);
bool tidy_is_young(int64_t stamp, int64_t age);

/* ---- tidy_ollama.c ---- */

/* Adds what goes of an Ollama store, without these manifests of it. */
enum tb_status tidy_ollama_rm(struct tidy *t, const char *root, const struct model_loc *locs,
			      size_t n, struct tb_err *err) TB_MUST_USE;
enum tb_status tidy_ollama_prune(struct tidy *t, const char *root, struct tb_err *err) TB_MUST_USE;
/* What was taken and is named by a manifest now goes back: *n of them. */
enum tb_status tidy_ollama_again(struct journal *j, const struct store_lock *lock, uint64_t *n,
				 struct tb_err *err) TB_MUST_USE;
bool tidy_is_ollama(const char *root);

/* ---- tidy_oci.c ---- */

enum tb_status tidy_oci_rm(struct tidy *t, const struct model_loc *loc, struct tb_err *err)
	TB_MUST_USE;

/* ---- tidy_pulls.c ---- */

/* Adds what runs that were stopped left in the store of that number, at `dir` itself or below. */
enum tb_status tidy_pulls_prune(struct tidy *t, size_t root, const char *dir, struct tb_err *err)
	TB_MUST_USE;
/* Is it one of their files? */
bool tidy_is_pull(const char *path);
/* Does a run load into the store right now?  It may need blobs that no manifest names yet. */
bool tidy_pulls_run(const char *root);

/* ---- tidy_rm.c, tidy_prune.c, tidy_name.c ---- */

enum tb_status tidy_rm(struct tidy *t, struct op_ctx *ctx, struct tb_err *err) TB_MUST_USE;
/* The store of a folder or file in no store: the folder that is looked into, in which it lies,
 * else the one that it is in.  Caller frees; NULL: out of memory. */
char *tidy_store_of(const struct op_ctx *ctx, const char *path);
enum tb_status tidy_prune(struct tidy *t, struct op_ctx *ctx, struct tb_err *err) TB_MUST_USE;
enum tb_status tidy_name(struct tidy *t, struct op_ctx *ctx, struct tb_err *err) TB_MUST_USE;

/* ---- tidy_needs.c ---- */

/* Is all there that the operation's things need when they are back?  TB_EUSAGE: a later one took
 * it. */
enum tb_status tidy_needs(const struct journal *j, struct tb_err *err) TB_MUST_USE;
#endif
