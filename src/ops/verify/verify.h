/* verify.h - are the bytes on the disk what they should be?
 *
 * Each distinct file is hashed once, on the pool; damage never stops the rest.  A blob is
 * compared with its name; a file of which nobody says what its bytes are, with what it
 * was at the last verify: the first one only records that.
 * Works on the stores themselves: the index need not be there. */
#ifndef TBTUI_OPS_VERIFY_H
#define TBTUI_OPS_VERIFY_H

#include "db/audit.h"
#include "src/base/job.h"
#include "src/ops/home/home.h"

/* id, stable word, severity, what it means */
#define FINDING_LIST(X) \
	X(F_MANIFEST_BAD, "manifest_bad", SEV_ERROR, "the manifest cannot be read or parsed") \
	X(F_BLOB_MISSING, "blob_missing", SEV_ERROR, "a file that the model needs is not there") \
	X(F_BLOB_UNREADABLE, "blob_unreadable", SEV_ERROR, "a file cannot be read") \
	X(F_UNREADABLE, "unreadable", SEV_ERROR, "a folder cannot be read: what is in it is unknown") \
	X(F_SIZE_MISMATCH, "size_mismatch", SEV_ERROR, "its size is not what the manifest says") \
	X(F_DIGEST_MISMATCH, "digest_mismatch", SEV_ERROR, "its SHA-256 is not its name") \
	X(F_CONTENT_CHANGED, "content_changed", SEV_ERROR, \
	  "other bytes than at the last verify, but the same size and time") \
	X(F_LAYOUT_BAD, "layout_bad", SEV_ERROR, "what an image layout says of itself is wrong") \
	X(F_STRUCTURE_BAD, "structure_bad", SEV_ERROR, "header or tensor ranges are wrong") \
	X(F_MODEL_BAD, "model_bad", SEV_ERROR, "parts of the model do not fit together") \
	X(F_INDEX_BAD, "index_bad", SEV_ERROR, "the shard index and the shards differ") \
	X(F_INCOMPLETE, "incomplete", SEV_ERROR, "something that a run needs is not there") \
	X(F_CONTRADICTION, "contradiction", SEV_ERROR, \
	  "the model's description and its tensors differ") \
	X(F_FILE_BAD, "file_bad", SEV_ERROR, "a file that a run reads makes no sense") \
	X(F_TOKENIZER, "tokenizer", SEV_WARNING, \
	  "there is no tokenizer, or it has tokens that the model does not know") \
	X(F_MEDIA_TYPE, "media_type", SEV_WARNING, \
	  "a media type that does not go with what it is said of") \
	X(F_DIFF_IDS, "diff_ids", SEV_WARNING, "the config names other layers than the manifest") \
	X(F_LAYER_TWICE, "layer_twice", SEV_WARNING, "a layer is listed more than once") \
	X(F_NAME_BAD, "name_bad", SEV_WARNING, \
	  "a manifest at a place that names no model: no program lists it") \
	X(F_SUMS_BAD, "sums_bad", SEV_WARNING, \
	  "a list of sums that cannot be read, or two that differ") \
	X(F_REF_BAD, "ref_bad", SEV_WARNING, "a name of a revision that is not there") \
	X(F_UNCHECKED, "unchecked", SEV_WARNING, \
	  "named by a digest that cannot be computed here: not compared with it") \
	X(F_NONFINITE, "nonfinite", SEV_WARNING, "a tensor holds NaN or infinities (--deep)") \
	X(F_OUTLIER, "outlier", SEV_WARNING, \
	  "a value that is far larger than all others of its tensor (--deep)") \
	X(F_SCALES, "scales", SEV_WARNING, \
	  "scales that are zero, over codes that are not all the same (--deep)") \
	X(F_BLANK, "blank", SEV_WARNING, "zeros that look like lost pages (--deep)") \
	X(F_INDEX_SIZE, "index_size", SEV_WARNING, "the shard index states another total size") \
	X(F_STORE_AWAY, "store_away", SEV_WARNING, "a store is not there: an unplugged disk?") \
	X(F_NOT_READ, "not_read", SEV_NOTE, "of a kind whose inside is not looked at") \
	X(F_NOT_RUN, "not_run", SEV_NOTE, \
	  "tbtui cannot run it, so that its structure alone was looked at") \
	X(F_CHANGED_SINCE, "changed_since", SEV_NOTE, "written since the last verify") \
	X(F_SUMS_OTHER, "sums_other", SEV_NOTE, \
	  "a list of sums names files that are not here, or not in its folder") \
	X(F_UNKNOWN_MEDIA, "unknown_media", SEV_NOTE, "a layer of a type nobody knows") \
	X(F_NOT_MODEL, "not_model", SEV_NOTE, "a container image among the models") \
	X(F_BLANK_ROWS, "blank_rows", SEV_NOTE, "rows of a weight that are zero (--deep)") \
	X(F_ORPHAN, "orphan", SEV_NOTE, "a blob that no model uses: space, not damage") \
	X(F_UNCLEAR, "unclear", SEV_NOTE, \
	  "a blob that may belong to a model whose manifest could not be read") \
	X(F_OUTSIDE, "outside", SEV_NOTE, "a link that leads out of the store") \
	X(F_YOUNG, "young", SEV_NOTE, "a blob that no model uses yet, less than an hour old") \
	X(F_PARTIAL, "partial", SEV_NOTE, "a download that did not end") \
	X(F_LEFTOVER, "leftover", SEV_NOTE, \
	  "left by a writer that did not end, or a file that does not belong in blobs/") \
	X(F_KEPT, "kept", SEV_NOTE, "an old model, kept when another took its place")
#define X(id, word, severity, meaning) id,
enum finding_code { FINDING_LIST(X) FINDING_COUNT };
#undef X
const char *finding_word(enum finding_code c);
enum severity finding_severity(enum finding_code c);
const char *finding_meaning(enum finding_code c);

struct verify_request {
	const char *const *refs;	/* as store_resolve() takes them; borrowed */
	size_t nrefs;			/* 0: everything in ctx->roots */
	bool deep;			/* also look at values, and hash what no model uses */
	int64_t since_ns;		/* > 0: skip files found good since then and not touched */
	bool all;			/* read also what an interrupted run had found good */
};

struct verify_result {
	int64_t run;			/* in audits.db */
	enum run_state state;
	uint64_t models, manifests, blobs, bytes;	/* checked */
	uint64_t compared, recorded, skipped;	/* files: see struct db_run */
	/* The interrupted run that this one went on with (0: none), and what that had found
	 * good; compared: the files that had a digest. */
	int64_t resumes;
	uint64_t resumed, resumed_bytes, resumed_compared;
	uint64_t errors, warnings, notes;
	double seconds;
	char notice[512];		/* a database that was set aside, or "" */
	/* Where the run is kept instead when audits.db cannot be written, or NULL; the
	 * caller's to db_close(), after a failure, too. */
	struct db *unkept;
};

/* What tb_job_post() carries as VERIFY_MSG_FINDING; the whole row is in audits.db
 * when the run ends, and in portions before. */
struct verify_event {
	enum severity severity;
	enum finding_code code;
	char model[128], message[384];	/* unclean text, cut */
};
enum { VERIFY_MSG_FINDING = 1, VERIFY_MSG_RUN = 2 /* int64_t: the run's id, first of all */ };

/* TB_OK also when damage was found.  TB_ENOENT: a reference names nothing.
 * Cancelled: TB_ECANCEL, and the run stands as cancelled with what was found. */
enum tb_status op_verify(struct op_ctx *ctx, const struct verify_request *req, struct tb_job *job,
			 struct verify_result *out, struct tb_err *err) TB_MUST_USE;

/* What a run of the model would lack, and where it contradicts itself, as far as headers and
 * descriptions say; its tokenizer is not read.  A line each, appended; *n: how many. */
enum tb_status verify_headers(const struct model *m, struct tb_buf *out, size_t *n,
			      struct tb_err *err) TB_MUST_USE;
#endif
