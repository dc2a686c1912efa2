/* blob.h - one file of a conversion while it is written: a header, then tasks that
 * any threads run in any order, then a look at what is on the disk. */
#ifndef TBTUI_OPS_BLOB_H
#define TBTUI_OPS_BLOB_H

#include <stdatomic.h>

#include "src/base/buf.h"
#include "src/base/out.h"
#include "src/format/safetensors.h"
#include "src/ops/plan/plan.h"
#include "src/ops/convert/window.h"

struct gguf_head;
struct tb_job;

/* Bytes that were written, and their check sum for the second look: for disks and memory that
 * lose bits, and for our own mistakes with offsets.  The digest comes from the file itself. */
struct chunk { uint64_t off, len, sum; };

/* What a task does. */
enum blob_do {
	BLOB_ENCODE,		/* n elements from another scheme */
	BLOB_PACKED,		/* n elements as they are */
	BLOB_REPACK,		/* n elements of blocks, their codes as they are */
	BLOB_COPY,		/* n bytes of a part as they are */
	BLOB_GLOBAL,		/* a global scale */
	BLOB_ZEROS,		/* n bytes between two tensors */
};

struct blob_task {
	enum blob_do what;
	size_t row;			/* source */
	const struct tensor_part *part;	/* BLOB_COPY */
	size_t change;			/* of the piece */
	uint64_t cols;			/* of a row that is written */
	uint64_t first, n;		/* of the source's elements or the part's bytes */
	struct chunk chunk[3];		/* codes, scales, biases; len 0: none */
	bool last;			/* of its tensor, for progress */
};

struct blob {
	const struct plan *plan;
	size_t index;			/* of plan.blobs */
	struct values_files *files;	/* of the source; borrowed */
	struct tb_out out;
	uint64_t size;
	bool writing;			/* somebody does; see deliver.h */
	struct made *waiting;		/* for that one, in any order */
	struct chunk header;
	struct blob_task *tasks;	/* owned */
	size_t ntasks, cap;
	const struct chunk **order;	/* all chunks as they lie in the file; owned */
	size_t norder;
	size_t *pieces;			/* the first chunk of each; owned */
	size_t npieces;
	atomic_size_t left;		/* pieces that nobody has verified */
	char digest[TB_DIGEST_MAX];	/* after blob_verify() with `hash` */
};

/* A temporary file in `dir` with its header written; blob_free() removes it unless
 * b->out has been committed or taken.  gguf: NULL for safetensors. */
enum tb_status blob_open(struct blob *b, const struct plan *p, struct values_files *source,
			 size_t index, const char *dir, const struct gguf_head *gguf,
			 struct tb_err *err) TB_MUST_USE;
void blob_free(struct blob *b);

/* What a task made, in the buffers of a window. */
struct made {
	struct blob *blob;
	struct blob_task *task;
	struct window *window;
	const void *data[3];		/* of the chunks */
	struct made *next;
};
enum tb_status blob_make(struct blob *b, struct blob_task *t, struct window *w, struct made *out,
			 struct tb_err *err) TB_MUST_USE;
enum tb_status blob_write(const struct made *m, struct tb_err *err) TB_MUST_USE;
/* Source bytes that a task stands for, for progress. */
uint64_t blob_task_bytes(const struct blob *b, const struct blob_task *t);

/* What the pieces with that change go through; NULL: nothing. */
const struct change *blob_change(const struct plan *p, size_t change);

/* blob_layout.c: the parts of one plan_out in the file, by enum values_part. */
#define BLOB_PARTS (PART_GLOBAL + 1)
struct placed {
	uint64_t off[BLOB_PARTS];
	bool has[BLOB_PARTS];
	uint64_t bytes, pad;	/* GGUF: of its one part, and zeros behind it */
};
/* Appends the header to `out`; *placed (owned by the caller) has an entry for each out
 * of the blob, in order; *size is the file's. */
enum tb_status blob_layout(const struct plan *p, size_t blob, struct tb_buf *out,
			   struct placed **placed, size_t *n, uint64_t *size, struct tb_err *err)
	TB_MUST_USE;
/* gguf_head.c: the same for a GGUF.  What its keys say, and tensors that the source has not. */
enum tb_status gguf_head_new(struct gguf_head **out, const struct plan *p, const char *pre,
			     struct tb_err *err) TB_MUST_USE;
void gguf_head_free(struct gguf_head *h);
enum tb_status gguf_head_layout(const struct gguf_head *h, const struct plan *p, size_t blob,
				struct tb_buf *out, struct placed **placed, size_t *n,
				uint64_t *size, struct tb_err *err) TB_MUST_USE;
/* gpt-oss has a way of its own to store MXFP4, in directories. */
bool out_is_gpt_oss(const struct plan *p, const struct plan_out *o);
/* The first out of a blob. */
const struct plan_out *blob_outs(const struct plan *p, size_t blob, size_t *n);

/* blob_verify.c.  After all tasks: cuts the file in b->npieces that are read again; one if
 * it is to be hashed, too. */
enum tb_status blob_seal(struct blob *b, bool hash, struct tb_err *err) TB_MUST_USE;
/* Reads a piece again and compares every chunk, hashes; several at once, in any order.  buf:
 * 1 MiB at least of scratch (len).  *last: all of the file is as it was written. */
enum tb_status blob_verify(struct blob *b, size_t piece, bool hash, uint8_t *buf, size_t len,
			   struct tb_job *job, bool *last, struct tb_err *err) TB_MUST_USE;
/* Does a file that is there start with the header that blob_layout() made? */
enum tb_status blob_starts(const char *path, const struct tb_buf *head, bool *same,
			   struct tb_err *err) TB_MUST_USE;
#endif
