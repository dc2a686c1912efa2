/* convert.h - executing a plan: read, encode, hash and write at the same time.
 *
 * Memory is bounded whatever the model: windows of a few MiB.  Everything written is
 * read again and compared before it becomes visible.  After an error nothing is left; what
 * was stopped or killed leaves its finished files in a hidden folder (work.h), with which
 * the same conversion goes on.  A value that is not finite is
 * an error naming tensor and index, because no scheme can hold it. */
#ifndef TBTUI_OPS_CONVERT_H
#define TBTUI_OPS_CONVERT_H

#include "src/ops/home/home.h"
#include "src/ops/output/output.h"
#include "src/ops/plan/plan.h"

struct ollama_amend;
struct tb_job;
struct tb_pool;

/* DST of the command line: ends in ".safetensors": a file; begins with "." "/" or "~/",
 * ends in "/" or is a folder: a directory; else a name in the first --store root that
 * is an Ollama store. */
struct convert_target {
	enum plan_dest dest;
	char *path;		/* file or directory; NULL for stores; owned */
	char *root;		/* store; NULL for the others; owned */
	char *name;		/* store: canonical short name; owned */
	bool exists;		/* something is there: needs `replace` */
};
enum tb_status convert_target(const struct op_ctx *ctx, const char *dst,
			      struct convert_target *out, struct tb_err *err) TB_MUST_USE;
/* A GGUF that is written in several files is called by the first of them.  None of them may
 * be there: they are not replaced. */
enum tb_status convert_target_split(struct convert_target *t, size_t files, struct tb_err *err)
	TB_MUST_USE;
void convert_target_free(struct convert_target *t);
/* Whatever the options: a destination that is the source, holds it or lies in it, links
 * followed, is refused.  op_convert() asks, too; whoever asks a person does so before. */
enum tb_status convert_target_check(const struct convert_target *t, const struct model *source,
				    struct tb_err *err) TB_MUST_USE;
/* What would be lost if nothing were kept: "BF16, 1.3 MB", for a question.  "" if nothing
 * is there.  Opens it. */
void convert_victim(const struct convert_target *t, char *out, size_t size);

/* In one go, a part of it, or what the parts have written. */
enum convert_how { CONVERT_WHOLE, CONVERT_PART, CONVERT_ASSEMBLE };
#define CONVERT_PARTS_MAX 100000u
/* "3/8": part 3 of 8. */
enum tb_status convert_part_parse(const char *s, size_t *part, size_t *parts, struct tb_err *err)
	TB_MUST_USE;

struct convert_result {
	uint64_t bytes_read;	/* of the source, or for a part those that it stands for */
	uint64_t bytes_made;	/* the whole result */
	uint64_t bytes_written;	/* of it by us: not what was there */
	size_t tensors, changed, blobs;	/* blobs: files of the result */
	size_t resumed, reused;	/* of them: finished before; in the destination already */
	size_t missing;		/* CONVERT_PART: files of others that are not there yet */
	uint64_t missing_bytes;
	double seconds;
	char *where;		/* the name, directory or file; owned */
	struct kept kept;	/* what was replaced; owned */
};

struct convert_request {
	const struct plan *plan;		/* borrowed, as is the target */
	const struct convert_target *target;
	bool replace;				/* something may be there */
	/* Of a store: asked before the manifest is written, and adds the layers of text that the
	 * source has (else those come along); or NULL. */
	const struct ollama_amend *amend;
	enum convert_how how;
	size_t part, parts;			/* CONVERT_PART: 1 to parts */
	const char *pre;			/* to GGUF: what its pre-tokenizer is called; NULL:
						 * found out */
};

/* job counts source bytes and tensors. *out is zeroed on failure, but for TB_ESYNC: then
 * all is written, and only a power cut could take it away. */
enum tb_status op_convert(const struct op_ctx *ctx, const struct convert_request *req,
			  struct tb_job *job, struct convert_result *out, struct tb_err *err)
	TB_MUST_USE;
void convert_result_free(struct convert_result *r);
/* After that: JSON that says of each part of a tensor in the source, and of each expert's, in which
 * file and where it is now; the caller frees *out. */
enum tb_status convert_map(const struct plan *p, const struct convert_target *target, char **out,
			   struct tb_err *err) TB_MUST_USE;

/* Errors of a plan's samples (plan_unpriced(), plan_candidates()), which are set; those of
 * one tensor stand together. */
enum tb_status convert_price(const struct model *m, enum flavour flavour,
			     const struct plan_care *care, struct plan_sample *samples, size_t n,
			     struct tb_pool *pool, struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;
#endif
