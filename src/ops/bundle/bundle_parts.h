/* bundle_parts.h - what the parts of bundles share.  Private to src/ops/bundle. */
#ifndef TBTUI_OPS_BUNDLE_PARTS_H
#define TBTUI_OPS_BUNDLE_PARTS_H

#include "src/base/buf.h"
#include "src/base/sha256.h"
#include "src/format/manifest.h"
#include "src/ops/bundle/bundle.h"

#define BUNDLE_LIST "tbtui-bundle.json"
#define BUNDLE_SUMS "tbtui-bundle.sha256"
#define BUNDLE_BLOBS "blobs/"
#define BUNDLE_FILES "files/"
#define BUNDLE_MANIFESTS "manifests/"
#define BUNDLE_LIST_MAX (256u << 20)
#define BUNDLE_MEMBERS_MAX 1000000u
#define BUNDLE_MODELS_MAX 10000u

/* bundle_list.c: the list as text, and back.  `what` names it in errors. */
enum tb_status bundle_print(const struct bundle *b, struct tb_buf *out, struct tb_err *err)
	TB_MUST_USE;
enum tb_status bundle_parse(struct bundle *b, const char *text, size_t len, const char *what,
			    struct tb_err *err) TB_MUST_USE;
/* The last member: lines as sha256sum writes them. */
void bundle_sums(const struct bundle *b, const char *list_digest, struct tb_buf *out);
/* One of its manifests, of which each layer is a member, too; manifest_free() it. */
enum tb_status bundle_manifest(const struct bundle *b, const char *path, const struct tb_buf *text,
			       struct manifest *out, struct tb_err *err) TB_MUST_USE;
/* NULL: none is called so. */
const struct bundle_member *bundle_find(const struct bundle *b, const char *path);

/* bundle_gather.c: files of models, by what they are called in a bundle; nothing of them is
 * there twice.  b gets models and members. */
struct gather {
	struct tb_job *job;
	struct bundle *b;		/* borrowed */
	struct bundle_file {
		struct bundle_member m;	/* its path is owned here */
		char *file;		/* owned */
	} *sources;			/* owned */
	size_t n, cap;
};
enum tb_status bundle_gather(struct gather *w, const struct op_ctx *ctx, const char *const *refs,
			     size_t n, struct tb_err *err) TB_MUST_USE;
void gather_free(struct gather *w);
/* Its bytes; fails behind the last if they are not those of its digest.  buf: of
 * BUNDLE_CHUNK bytes. */
#define BUNDLE_CHUNK (1u << 20)
enum tb_status bundle_copy(const struct bundle_file *s, char *buf, bundle_put *put, void *arg,
			   struct tb_job *job, struct tb_err *err) TB_MUST_USE;

/* bundle_read.c: calls, for each member of the list in its order, begin, bytes (some times) and
 * end, which is called only if all bytes were there and are right.  What is wrong is told;
 * if that returns TB_OK, reading goes on.  Any of them may be NULL, but for wrong. */
struct bundle_sink {
	enum tb_status (*list)(void *arg, const struct bundle *b, struct tb_err *err);
	enum tb_status (*begin)(void *arg, const struct bundle_member *m, struct tb_err *err);
	enum tb_status (*bytes)(void *arg, const void *data, size_t len, struct tb_err *err);
	enum tb_status (*end)(void *arg, const struct bundle_member *m, struct tb_err *err);
	enum tb_status (*wrong)(void *arg, const char *member, const char *why,
				struct tb_err *err);
	void *arg;
};
/* list_only: nothing behind the list is read. */
enum tb_status bundle_walk(const struct bundle_source *src, const struct bundle_sink *sink,
			   bool list_only, struct tb_job *job, struct bundle *out,
			   struct tb_err *err) TB_MUST_USE;
#endif
