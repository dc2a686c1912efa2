/* heal_run.h - inside op_heal_plan(): what is damaged, and the files that may have its
 * bytes.  Private to src/ops/heal. */
#ifndef TBTUI_OPS_HEAL_RUN_H
#define TBTUI_OPS_HEAL_RUN_H

#include <pthread.h>

#include "src/ops/content/content.h"
#include "src/ops/heal/heal.h"

#define HEAL_LOCKS 64

/* A file that may be a source.  Its digests are made when somebody asks. */
struct heal_file {
	const char *path;		/* of the plan */
	const char *from;		/* the kind of source */
	bool given;			/* by a person */
	struct tb_ident id;
	const char *known;		/* of the plan: its digest as far as one knows, "" */
	/* Under its lock: */
	char sha256[TB_DIGEST_MAX], git[TB_DIGEST_MAX];
	uint64_t size;			/* when it was hashed */
	bool unread;
};

/* A model that was given as a source, or may be one tensor by tensor. */
struct heal_twin { struct model_loc loc; bool given; };

struct heal_run {
	struct op_ctx *ctx;
	const struct heal_request *req;
	struct tb_job *job;
	struct heal_plan *plan;
	struct content content;
	const struct content_file **of;	/* owned: of each item of the plan */
	struct heal_file *files;	/* owned */
	size_t nfiles, cap;
	struct heal_file **by_size, **by_digest;	/* owned; those that are known */
	size_t nknown;
	struct heal_twin *twins;	/* owned, as are their places */
	size_t ntwins, twins_cap;
	pthread_mutex_t lock[HEAL_LOCKS];	/* each guards some files' digests */
	pthread_mutex_t count;			/* the plan's counts */
};

/* A kind of place that has files: who adds one adds its row. */
struct heal_source {
	const char *word;
	enum tb_status (*list)(struct heal_run *r, const struct heal_source *s, struct tb_err *err);
};

/* heal_source.c */
enum tb_status heal_list_sources(struct heal_run *r, struct tb_err *err) TB_MUST_USE;
/* Finds a whole file for each item that one has. */
enum tb_status heal_find_sources(struct heal_run *r, struct tb_err *err) TB_MUST_USE;

/* heal_patch.c: tensors for the items that no source has. */
enum tb_status heal_find_patches(struct heal_run *r, struct tb_err *err) TB_MUST_USE;

/* heal_remote.c: registries for what nothing here has. */
struct tb_out;
bool heal_is_address(const char *from);
enum tb_status heal_find_remote(struct heal_run *r, struct tb_err *err) TB_MUST_USE;
/* Writes the whole file; its digest is for others to look at. */
enum tb_status heal_bring(const struct heal_item *item, struct tb_out *o, struct tb_job *job,
			  struct tb_err *err) TB_MUST_USE;
void heal_remotes_free(struct heal_plan *plan);

/* A file as it would be with its patches; opened for reading. */
struct heal_whole {
	struct tb_file base;
	struct tb_file *files;		/* owned: of each patch, or closed where it is that of
					 * the patch before */
	const struct heal_patch *patches;
	size_t n;
	uint64_t size;
};
enum tb_status heal_whole_open(struct heal_whole *w, const char *path, uint64_t size,
			       const struct heal_patch *patches, size_t n, struct tb_err *err)
	TB_MUST_USE;
enum tb_status heal_whole_read(const struct heal_whole *w, uint64_t off, void *buf, size_t len,
			       struct tb_err *err) TB_MUST_USE;
void heal_whole_close(struct heal_whole *w);

/* Does the model's manifest name the digest? */
bool heal_names(const struct model_loc *loc, const char *digest);

/* Hashes the file as `digest` is made (SHA-256, or git's): is it that? */
enum tb_status heal_has_digest(const struct tb_file *f, const char *digest, struct tb_job *job,
			       bool *yes, struct tb_err *err) TB_MUST_USE;
#endif
