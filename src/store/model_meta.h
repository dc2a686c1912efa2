/* model_meta.h - the GGUF whose metadata speak for a model. */
#ifndef TBTUI_STORE_MODEL_META_H
#define TBTUI_STORE_MODEL_META_H

#include "src/base/file.h"
#include "src/format/gguf.h"
#include "src/store/model.h"

struct model_meta {
	struct tb_file file;
	struct gguf g;
};

/* Does what that file says of itself speak for the model? */
bool model_meta_speaks(const struct model *m, const struct model_file *f);
/* The only file, the first that is there of a split, the weights of an Ollama model
 * (not its projector, adapter or draft).  TB_ENOENT: the model is not of GGUF.  Close
 * what was opened; arrays are read with gguf_array.h. */
enum tb_status model_meta_open(struct model_meta *out, const struct model *m, struct tb_err *err)
	TB_MUST_USE;
void model_meta_close(struct model_meta *mm);	/* also fine on a zeroed or closed one */
#endif
