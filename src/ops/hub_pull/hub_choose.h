/* hub_choose.h - which files of a repository are wanted.  Private to this family. */
#ifndef TBTUI_OPS_HUB_CHOOSE_H
#define TBTUI_OPS_HUB_CHOOSE_H

#include <stdbool.h>

#include "src/base/err.h"
#include "src/net/hub_files.h"

struct hub_wish {			/* all borrowed */
	const char *what;		/* "hf:org/name", for sentences */
	const char *which;		/* of several GGUF models; "" or NULL: not said */
	/* Globs of whole paths, ended by NULL.  include: those alone, whatever they are; NULL: what a
	 * model needs. */
	const char *const *include, *const *exclude;
};

/* take[i] for each of the files, which are sorted.  What a model needs are its weights as
 * safetensors, else as GGUF, in one form of it, and the small files beside them: configuration,
 * tokenizer, templates, licences.  TB_EUSAGE: there are several models, and which is not said;
 * TB_ENOENT: there is none. */
enum tb_status hub_choose(const struct hub_files *f, const struct hub_wish *w, bool *take,
			  struct tb_err *err) TB_MUST_USE;
#endif
