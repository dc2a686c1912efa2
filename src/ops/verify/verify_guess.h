/* verify_guess.h - which tensor of a damaged file looks odd, where nothing was kept that
 * says which one is damaged: a guess, to be called one. */
#ifndef TBTUI_OPS_VERIFY_GUESS_H
#define TBTUI_OPS_VERIFY_GUESS_H

#include "src/base/job.h"
#include "src/store/model.h"

struct verify_guess {
	const struct tensor *t;		/* of the model; NULL: none is odd */
	uint64_t index;			/* of the first odd value in it */
	char why[256];			/* "its largest value is 3e+38, in the layers around it 0.4" */
};

/* Reads all tensors with bytes in that file of the model, and those of the layers around
 * them.  What cannot be read is left out. */
enum tb_status verify_guess(const struct model *m, unsigned file, struct tb_job *job,
			    struct verify_guess *out, struct tb_err *err) TB_MUST_USE;
#endif
