/* site.h - inside src/ops/carry: what each kind of site can do. */
#ifndef TBTUI_OPS_CARRY_SITE_H
#define TBTUI_OPS_CARRY_SITE_H

#include "src/format/json.h"
#include "src/ops/carry/carry.h"

/* A blob as it is read: by one thread, in order but for what has to be read again. */
struct site_stream {
	enum tb_status (*read)(struct site_stream *s, uint64_t off, char *p, size_t n,
			       struct tb_err *err);
	void (*close)(struct site_stream *s);
};

/* A blob that is to be put. */
struct site_put {			/* all borrowed */
	const struct site_blob *blob;
	struct http *http;
	upload_read_fn *read;
	void *arg;
	struct upload_told told;
	const char *what, *advice;	/* as in struct upload */
	const char *session, *mount;	/* that an earlier run kept: an upload, a repository that has it */
	struct site *from;		/* where it is */
	uint64_t chunk;
	struct tb_job *job;
};

struct site_row {
	enum tb_status (*manifest)(struct site *s, struct http *h, const char *reference,
				   struct tb_job *job, struct site_manifest *out,
				   struct tb_err *err);
	enum tb_status (*open)(struct site *s, const struct site_blob *b, struct tb_job *job,
			       struct site_stream **out, struct tb_err *err);
	/* Where it is, for messages; in fresh memory. */
	char *(*where)(const struct site *s, const struct site_blob *b);
	/* NULL these, and write: nothing can be put there. */
	enum tb_status (*has)(struct site *s, struct http *h, const struct site_blob *b, bool *has,
			      struct tb_job *job, struct tb_err *err);
	enum tb_status (*put)(struct site *s, const struct site_put *p, enum upload_how *how,
			      struct tb_err *err);
	enum tb_status (*write)(struct site *s, struct http *h, const struct site_manifest *m,
				const char *tag, struct tb_job *job, struct tb_err *err);
	/* NULL: nothing does. */
	enum tb_status (*referrers)(struct site *s, struct http *h, const char *digest,
				    struct tb_job *job, struct site_refs *out, struct tb_err *err);
	enum tb_status (*finish)(struct site *s, struct tb_err *err);	/* NULL: there is nothing to do */
	void (*free)(struct site *s);
};

struct site {
	const struct site_row *row;
	char *shown;			/* owned */
};

/* The repository of `from` from which `to` can take a blob without its bytes; NULL: none. */
const char *site_mount(const struct site *to, const struct site *from);

/* referrers.c */
#define OCI_INDEX_TYPE "application/vnd.oci.image.index.v1+json"
enum tb_status site_refs_add(struct site_refs *r, const char *digest, struct tb_err *err)
	TB_MUST_USE;
/* The digest of the subject of a manifest; false: it has none. */
bool site_subject(const struct site_manifest *m, char digest[TB_DIGEST_MAX]);
/* The manifest as an index lists it; ref NULL: without a name.  NULL: no memory. */
cJSON *site_descriptor(const struct site_manifest *m, const char *ref);
/* The tag under which registries without a list of referrers have one. */
void site_fallback(const char *digest, char tag[TB_DIGEST_MAX]);

/* Of a file, which has to have that size. */
enum tb_status site_file_stream(struct site_stream **out, char *path, uint64_t size,
				struct tb_err *err) TB_MUST_USE;
/* Of a registry: a thread asks for what comes next while the last is used. */
enum tb_status site_pipe(struct site_stream **out, struct registry *r, const struct site_blob *b,
			 struct tb_job *job, struct tb_err *err) TB_MUST_USE;

/* carry_kept.c: where an upload can be gone on with, in a file a blob; and what was brought
 * to which repository. */
char *kept_session(const char *dir, const char *to, const char *digest);	/* NULL: none */
void keep_session(const char *dir, const char *to, const char *digest, const char *session);
struct kept_repos {
	struct kept_repo { char *repo, *digests; } *v;	/* owned */
	size_t n, cap;
};
/* Other repositories of the host of `to`, "HOST/REPO". */
void kept_repos(struct kept_repos *out, const char *dir, const char *to);
void kept_repos_free(struct kept_repos *k);
/* Which of them got that blob; NULL: none. */
const char *kept_repo_of(const struct kept_repos *k, const char *digest);
void keep_repo(const char *dir, const char *to, const struct tb_buf *digests);	/* a line each */
#endif
