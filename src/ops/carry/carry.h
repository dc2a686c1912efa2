/* carry.h - images go from one site to another: a registry, an image layout, a model of a store.
 *
 * A site has blobs by their digests and manifests that name them.  Blobs go several at a time and
 * straight from where they are to where they go, hashed on the way: what is not as its digest says does
 * not arrive.  What is there already does not go again.  Manifests go last, byte for byte. */
#ifndef TBTUI_OPS_CARRY_H
#define TBTUI_OPS_CARRY_H

#include "src/base/buf.h"
#include "src/base/sha256.h"
#include "src/net/image_name.h"
#include "src/net/registry.h"
#include "src/net/upload.h"
#include "src/ops/fetch/fetch.h"
#include "src/ops/home/home.h"

struct model_loc;
struct tb_job;

struct site_manifest {
	struct tb_buf text;		/* as it came; owned */
	char type[REGISTRY_TYPE_MAX];
	char digest[TB_DIGEST_MAX];
};
void site_manifest_free(struct site_manifest *m);	/* fine on zeros */

struct site_blob {
	const char *what;		/* for people: "model", "config.json" */
	char digest[TB_DIGEST_MAX];
	uint64_t size;
	const char *from;		/* a repository that may have it, says its manifest; NULL */
};

struct site;
/* A repository; the name is copied. */
enum tb_status site_registry(struct site **out, const struct image_name *n,
			      const struct registry_opts *o, struct tb_err *err) TB_MUST_USE;
/* An image layout; `made`: it need not be there yet. */
enum tb_status site_layout(struct site **out, const char *dir, bool made, struct tb_err *err)
	TB_MUST_USE;
/* A model of an Ollama store: nothing can be put there. */
enum tb_status site_model(struct site **out, const struct model_loc *loc, struct tb_err *err)
	TB_MUST_USE;
void site_free(struct site *p);	/* NULL is fine */
const char *site_shown(const struct site *p);		/* for sentences; borrowed */

/* By a tag or a digest, whose bytes are compared.  TB_ENOENT: there is none. */
enum tb_status site_read(struct site *p, struct http *h, const char *reference,
			  struct tb_job *job, struct site_manifest *out, struct tb_err *err)
	TB_MUST_USE;
/* What refers to a manifest: signatures, attestations, whatever has it as its subject. */
struct site_refs { char (*v)[TB_DIGEST_MAX]; size_t n, cap; };	/* owned */
#define SITE_REFS_MAX 1000u
enum tb_status site_referrers(struct site *s, struct http *h, const char *digest,
			      struct tb_job *job, struct site_refs *out, struct tb_err *err)
	TB_MUST_USE;
/* Those that an index lists are added. */
enum tb_status site_refs_read(struct site_refs *r, const char *text, size_t len, const char *what,
			      struct tb_err *err) TB_MUST_USE;
void site_refs_free(struct site_refs *r);
/* tag NULL: it is found by its digest alone.  A layout has it when site_finish() was called. */
enum tb_status site_write(struct site *p, struct http *h, const struct site_manifest *m,
			   const char *tag, struct tb_job *job, struct tb_err *err) TB_MUST_USE;
enum tb_status site_finish(struct site *p, struct tb_err *err) TB_MUST_USE;

struct carry_opts {			/* borrowed */
	unsigned streams;		/* blobs at a time; 0: FETCH_STREAMS */
	uint64_t chunk;			/* as in struct upload */
	const char *keep;		/* a folder for what a later run can go on with; NULL */
	const char *mount;		/* a repository of the registry that may have the same; NULL */
	const char *advice;		/* what to do about bytes that are wrong, for messages */
};
struct carry_sum {
	size_t sent, mounted, there;	/* blobs */
	uint64_t bytes;			/* of those that were sent */
};
struct carry;
/* The sites are borrowed, and have to be there as long. */
enum tb_status carry_new(struct carry **out, struct site *from, struct site *to,
			 const struct carry_opts *o, struct tb_err *err) TB_MUST_USE;
void carry_free(struct carry *c);	/* NULL is fine */
/* Copied; one that was added before is not added again. */
enum tb_status carry_add(struct carry *c, const struct site_blob *b, struct tb_err *err)
	TB_MUST_USE;
/* Config and layers of an image's manifest. */
enum tb_status carry_add_image(struct carry *c, const struct site_manifest *m, struct tb_err *err)
	TB_MUST_USE;
/* Only asks which of them have to go: *out says it in `sent`. */
enum tb_status carry_ask(struct carry *c, struct tb_job *job, struct carry_sum *out,
			 struct tb_err *err) TB_MUST_USE;
/* Sets the job's total and steps it. */
enum tb_status carry_run(struct carry *c, struct tb_job *job, struct carry_sum *out,
			 struct tb_err *err) TB_MUST_USE;
/* As fetch_look(): also while it runs. */
size_t carry_look(struct carry *c, struct fetch_row *rows, size_t max);
#endif
