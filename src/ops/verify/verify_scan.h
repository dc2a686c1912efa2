/* verify_scan.h - (--deep) the values of a file's tensors, looked at while the file is
 * hashed: which of them are worth being read again, and pages that are zero. */
#ifndef TBTUI_OPS_VERIFY_SCAN_H
#define TBTUI_OPS_VERIFY_SCAN_H

#include "src/ops/verify/verify_run.h"
#include "src/ops/verify/verify_tensors.h"

#define SCAN_BLANKS 64u		/* runs of zeros that are kept of a file */
#define SCAN_CARRY 320u		/* bytes of a number or block: at most */

struct verify_scan {
	const struct tb_seen *also;	/* who sees the bytes, too; or NULL */
	struct tb_seen seen;
	const struct verify_file *file;
	struct verify_tensors list;	/* as the model reads them; owned */
	uint8_t *flags;			/* of each tensor; owned */
	size_t at;			/* the tensor that comes next, or goes on */
	uint8_t carry[SCAN_CARRY];	/* of it: what is no whole unit yet */
	unsigned ncarry, unit;
	bool begun;			/* these are of that tensor */
	struct verify_blank { uint64_t off, len; } blank[SCAN_BLANKS];	/* whole pages of zeros */
	unsigned nblank;
	bool blank_page;		/* the page so far */
};
enum { SCAN_SCALES = 1, SCAN_ODD = 2, SCAN_ZERO = 4 };	/* scales: zeros among them are looked for */

/* *s stays where it is until verify_scan_free().  also: borrowed, may be NULL. */
enum tb_status verify_scan_begin(struct verify_scan *s, const struct verify_target *t,
				 const struct tb_file *f, const struct tb_seen *also,
				 struct tb_err *err) TB_MUST_USE;
void verify_scan_free(struct verify_scan *s);		/* fine when freed */

/* verify_values.c: the bytes were seen to the end: what is odd among them. */
enum tb_status verify_values(struct verify_run *r, const struct verify_target *t,
			     const struct tb_file *f, const struct verify_scan *s,
			     struct tb_err *err) TB_MUST_USE;
/* verify_scales.c: scales that are zero and should not be. */
enum tb_status verify_scales(struct verify_run *r, const struct verify_target *t,
			     const struct tb_file *f, const struct verify_tensor *v,
			     struct tb_err *err) TB_MUST_USE;
/* verify_blank.c: zeros where pages were lost, and rows that are zero. */
enum tb_status verify_blanks(struct verify_run *r, const struct verify_target *t,
			     const struct tb_file *f, const struct verify_scan *s,
			     struct tb_err *err) TB_MUST_USE;
/* What the model knows of the bytes at a tensor's place; NULL: nothing. */
const struct verify_bytes *verify_bytes_at(const struct verify_file *f, uint64_t off, uint64_t len);
#endif
