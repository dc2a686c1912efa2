/* import_gguf.h - a GGUF file as a model in an Ollama store: one layer, and what is
 * known of it.  The bytes stay as they are. */
#ifndef TBTUI_OPS_IMPORT_GGUF_H
#define TBTUI_OPS_IMPORT_GGUF_H

#include "src/store/model.h"
#include "src/store/ollama.h"

struct tb_job;

/* Adds the layer and the config to w; the commit is the caller's. */
enum tb_status import_gguf(const struct model *m, struct ollama_writer *w, struct tb_job *job,
			   struct tb_err *err) TB_MUST_USE;
#endif
