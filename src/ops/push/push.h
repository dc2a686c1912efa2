/* push.h - a model of a store goes to a registry: its blobs, then its manifest, byte for byte.
 *
 * What the registry has already is not sent again, what another repository of it has is taken from
 * there.  A blob that is not as its name says is not sent, and then neither is the manifest. */
#ifndef TBTUI_OPS_PUSH_H
#define TBTUI_OPS_PUSH_H

#include "src/ops/carry/carry.h"

#define PUSH_DIR ".tbtui/push"		/* of a store: what a later run goes on with */

struct push_request {			/* all copied */
	const char *ref;		/* a model, see store_resolve() */
	const char *as;			/* a name in a registry; NULL: what it is called here */
	bool insecure, skip_verify;	/* plain HTTP; anybody's certificate */
	bool replace;			/* another manifest may be there under that tag */
	bool dry_run;			/* only asks what would be sent */
	unsigned streams;		/* 0: FETCH_STREAMS */
	uint64_t chunk;			/* longer blobs go in pieces of that; 0: UPLOAD_CHUNK */
};

struct push_result {
	char *name;			/* where it is now, as others pull it; owned */
	char digest[TB_DIGEST_MAX];	/* of its manifest */
	size_t blobs;
	uint64_t bytes;			/* of them */
	bool same;			/* that manifest was there already: nothing was sent */
	/* The manifest that was there under that tag; "": none was. */
	char old[TB_DIGEST_MAX];
	uint64_t old_bytes;		/* of its model; 0: nobody knows */
	struct carry_sum sum;
};
void push_result_free(struct push_result *r);

/* Made where it is looked at, run on a worker. */
struct push;
enum tb_status push_new(struct push **out, struct op_ctx *ctx, const struct push_request *req,
			struct tb_err *err) TB_MUST_USE;
void push_free(struct push *p);			/* NULL is fine */
/* Once.  TB_EEXIST: another manifest is there, which out->old names; replace was not said. */
enum tb_status op_push(struct push *p, struct tb_job *job, struct push_result *out,
		       struct tb_err *err) TB_MUST_USE;
/* As fetch_look(): also while it runs, and before. */
size_t push_look(struct push *p, struct fetch_row *rows, size_t max);
#endif
