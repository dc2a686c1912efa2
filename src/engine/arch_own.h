/* arch_own.h - what config.json and metadata of single architectures say that no others'
 * do; see hparams_read.h.  Private to the engine. */
#ifndef TBTUI_ENGINE_ARCH_OWN_H
#define TBTUI_ENGINE_ARCH_OWN_H

#include "src/engine/hparams_read.h"

typedef enum tb_status config_fn(const struct config_reader *r);
typedef enum tb_status meta_fn(struct meta_reader *r);

config_fn config_ministral3, config_smollm3, config_ernie4_5_moe, config_olmo3, config_exaone4,
	config_cohere2, config_cohere2_moe;
meta_fn meta_smollm3, meta_olmo3, meta_exaone4, meta_cohere2, meta_cohere2_moe;
#endif
