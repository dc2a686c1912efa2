/* verify_sums.h - the sums of a file's pieces: made in the read that hashes it, recalled when
 * its digest is wrong. */
#ifndef TBTUI_OPS_VERIFY_SUMS_H
#define TBTUI_OPS_VERIFY_SUMS_H

#include "src/base/sums.h"
#include "src/ops/verify/verify_run.h"

struct verify_summing {
	struct tb_sums sums;
	struct tb_summing run;
	struct tb_seen seen;
	bool on;			/* else nothing is summed */
	bool parts;			/* the file has tensors */
};

/* The SHA-256 that the file had when it was good: by its name, or at the last verify; NULL:
 * nobody knows. */
const char *verify_good_digest(const struct verify_target *t);

/* *s stays where it is until the end, or verify_sums_free(). */
enum tb_status verify_sums_begin(struct verify_summing *s, const struct verify_run *r,
				 const struct verify_target *t, const struct tb_file *f,
				 struct tb_err *err) TB_MUST_USE;
/* What tb_sha256_file() shows the bytes to; NULL: nobody asks. */
const struct tb_seen *verify_sums_seen(const struct verify_summing *s);
/* The file was hashed and judged: keeps the sums if it is good.  Frees. */
enum tb_status verify_sums_end(struct verify_summing *s, struct verify_run *r,
			       const struct verify_target *t, const char *digest,
			       struct tb_err *err) TB_MUST_USE;
void verify_sums_free(struct verify_summing *s);	/* without keeping; fine when freed */

/* Those of the file while it was good: n is 0 where none are kept.  Any thread. */
enum tb_status verify_sums_recall(const struct verify_run *r, const struct verify_target *t,
				  struct tb_sums *out, struct tb_err *err) TB_MUST_USE;
#endif
