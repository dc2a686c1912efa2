/* same_ids.h - do two tokenizers give the same ids?  Asked of a text of all that tokenizers
 * differ in and of pieces of the vocabulary: ids that are nearly right are worse than none. */
#ifndef TBTUI_OPS_SAME_IDS_H
#define TBTUI_OPS_SAME_IDS_H

#include <stdbool.h>

#include "src/base/err.h"

struct tokenizer;

/* typed: in what people type, too, where markup is text and GGUF takes more for markup than
 * other files. */
enum tb_status same_ids(const struct tokenizer *a, const struct tokenizer *b, bool typed,
			bool *same, struct tb_err *err) TB_MUST_USE;
#endif
