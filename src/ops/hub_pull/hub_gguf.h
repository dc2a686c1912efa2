/* hub_gguf.h - one of the GGUF models of a repository, by its quantization.  Private to this
 * family. */
#ifndef TBTUI_OPS_HUB_GGUF_H
#define TBTUI_OPS_HUB_GGUF_H

#include "src/ops/hub_pull/hub_choose.h"

/* *any: it has some.  Takes the files of the only one, or of the one that w->which names. */
enum tb_status hub_choose_gguf(const struct hub_files *f, const struct hub_wish *w, bool *take,
			       bool *any, struct tb_err *err) TB_MUST_USE;
#endif
