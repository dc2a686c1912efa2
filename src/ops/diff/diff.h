/* diff.h - two models tensor by tensor, whatever their formats.
 *
 * Tensors are laid side by side by their canonical names (src/engine/canon.h), experts
 * one by one where only one side has them stacked.  What is known to be the same bytes
 * (one place in one file, files of one digest, kept digests of tensors) is not read.
 * What cannot be read makes a row of its own, and the rest is compared all the same. */
#ifndef TBTUI_OPS_DIFF_H
#define TBTUI_OPS_DIFF_H

#include "db/db.h"
#include "src/base/job.h"
#include "src/ops/home/home.h"
#include "src/quant/compare.h"
#include "src/store/model.h"

/* id, word in --json, on screen; in the order of sorting by it */
#define DIFF_LIST(X) \
	X(DIFF_UNREADABLE, "unreadable", "unreadable")	/* message says why */ \
	X(DIFF_SHAPE, "shape", "other shape")		/* not compared any further */ \
	X(DIFF_VALUES, "differs", "differs")		/* bytes with DIFF_BYTES_ONLY */ \
	X(DIFF_ONLY_A, "only_a", "only in A") \
	X(DIFF_ONLY_B, "only_b", "only in B") \
	X(DIFF_SAME_VALUES, "same_values", "same values")	/* in another encoding */ \
	X(DIFF_SAME, "same", "same")			/* bytes */
#define X(id, word, text) id,
enum diff_verdict { DIFF_LIST(X) DIFF_VERDICTS };
#undef X
const char *diff_word(enum diff_verdict v);
const char *diff_text(enum diff_verdict v);

#define DIFF_WHOLE UINT32_MAX

/* What of a tensor is compared: all of it, or one of its experts. */
struct diff_side {
	const struct tensor *t;		/* of the request's model; NULL: there is none */
	uint32_t expert;		/* DIFF_WHOLE: it is not stacked, or both sides are */
	uint64_t first, elems;		/* elements, in row-major order */
	unsigned ndim;
	uint64_t dim[TB_MAX_DIMS];
	bool pairs;			/* rows as GGUF files have them: see canon.h */
	uint32_t head_dim;		/* with pairs: rows that belong together */
	float add;			/* what its values lack: see canon.h */
};

struct diff_row {
	const char *name;		/* as the first side that has it calls it */
	const char *canon;		/* as both are called */
	struct diff_side a, b;
	enum diff_verdict verdict;
	bool recoded;			/* stored in different schemes or dtypes */
	bool reshaped;			/* as many elements in another shape */
	bool known;			/* without reading */
	struct compare c;		/* DIFF_VALUES and DIFF_SAME_VALUES, else n is 0 */
	const char *message;		/* DIFF_UNREADABLE, else "" */
};

enum diff_mode {
	DIFF_BY_VALUE,			/* other encodings of the same values are the same */
	DIFF_BY_BYTES			/* they are not; no figures, nothing is decoded */
};

struct diff_request {
	const struct model *a, *b;	/* borrowed, as long as the result */
	enum diff_mode mode;
	const char *filter;		/* part of a name or a glob; NULL: all */
	bool reread;			/* believe no digest */
};

struct diff_result {
	struct diff_row *rows;		/* by name */
	size_t n;
	uint64_t count[DIFF_VERDICTS];
	uint64_t read, spared;		/* bytes, of both sides */
	struct compare all;		/* of all that was compared by value */
	double seconds;
	struct tb_arena mem;		/* of the rows and their strings */
};

/* On ctx->pool; progress counts bytes.  TB_OK whatever the verdicts. */
enum tb_status op_diff(struct op_ctx *ctx, const struct diff_request *req, struct tb_job *job,
		       struct diff_result *out, struct tb_err *err) TB_MUST_USE;
void diff_result_free(struct diff_result *r);

/* Are the models the same, by what was asked? */
bool diff_same(const struct diff_result *r);

/* Orders of rows, worst first: "name" "nmse" "max" "cos" "size" "result". */
typedef int diff_cmp_fn(const struct diff_row *a, const struct diff_row *b);
diff_cmp_fn *diff_order(const char *key);	/* NULL: no such */
#endif
