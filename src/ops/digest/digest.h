/* digest.h - one digest for a tensor, whatever file it is in.
 *
 * Of a tensor in one part: the SHA-256 of its bytes.  Of one in several: that of all of
 * them in this order, each behind a line of text:
 *
 *	weight int4 4096,11008		the scheme, and the shape it has unpacked
 *	scale BF16 720896		the dtype, and how many
 *	bias BF16 720896
 *	global F32 1			or "global_inverse F32 1"
 *	order I32 4096			of GPTQ: each column's group
 *
 * so that it does not matter whether packed codes are called U8 or U32.  Kept in
 * audits.db as long as the tensor's files are what they were. */
#ifndef TBTUI_OPS_DIGEST_H
#define TBTUI_OPS_DIGEST_H

#include "src/base/err.h"
#include "src/base/job.h"
#include "src/base/sha256.h"
#include "src/ops/home/home.h"
#include "src/store/model.h"

struct digest_item {
	const struct tensor *t;		/* of the request's model; from the caller */
	char digest[TB_DIGEST_MAX];	/* "": it could not be read, and err says why */
	bool kept;			/* from an earlier time, without reading */
	struct tb_err err;
};

struct digest_request {
	const struct model *model;
	struct digest_item *items;
	size_t n;
	bool again;			/* read also what is kept */
};

struct digest_result {
	uint64_t bytes;			/* read */
	double seconds;
	char notice[256];		/* why the digests were not kept, or "" */
};

/* On ctx->pool; progress counts bytes.  TB_OK also when some could not be read. */
enum tb_status op_digest(struct op_ctx *ctx, const struct digest_request *req, struct tb_job *job,
			 struct digest_result *out, struct tb_err *err) TB_MUST_USE;
#endif
