/* copy.h - an image from one place to another, with all that belongs to it: the images of an index,
 * signatures and attestations (what refers to it, and cosign's tags).  Bytes stay what they are, and so
 * do digests. */
#ifndef TBTUI_OPS_COPY_H
#define TBTUI_OPS_COPY_H

#include "src/ops/carry/carry.h"

struct copy_request {			/* all copied */
	/* docker://HOST/REPO[:TAG][@DIGEST], also http(s)://…; oci:DIR[:NAME][@DIGEST]; a model
	 * of a store, as a source. */
	const char *src, *dst;
	bool insecure, skip_verify, replace, dry_run;
	bool alone;			/* without what refers to it */
	unsigned streams;		/* 0: FETCH_STREAMS */
	uint64_t chunk;			/* as in struct upload */
};

struct copy_result {
	char *from, *to;		/* owned */
	char digest[TB_DIGEST_MAX];	/* of the manifest, or the index */
	bool docker_in_layout;		/* its manifest is of Docker's kind, and goes to a layout */
	size_t manifests;		/* of images, indexes and what refers to them */
	size_t referrers;		/* of them: those that were not asked for by name */
	size_t blobs;
	uint64_t bytes;			/* of them */
	char old[TB_DIGEST_MAX];	/* that was there under that name; "": none, or the same */
	struct carry_sum sum;
};
void copy_result_free(struct copy_result *r);

/* TB_EEXIST: something else has that name, out->old says it; replace was not said. */
struct copy;
enum tb_status copy_new(struct copy **out, struct op_ctx *ctx, const struct copy_request *req,
			struct tb_err *err) TB_MUST_USE;
void copy_free(struct copy *c);			/* NULL is fine */
enum tb_status op_copy(struct copy *c, struct tb_job *job, struct copy_result *out,
		       struct tb_err *err) TB_MUST_USE;
size_t copy_look(struct copy *c, struct fetch_row *rows, size_t max);	/* as fetch_look() */
#endif
