/* arch_rows.h - words that rows of architectures are made of. */
#ifndef TBTUI_ENGINE_ARCH_ROWS_H
#define TBTUI_ENGINE_ARCH_ROWS_H

#include "src/engine/arch.h"

#define GLU (PART_BIT(PART_DENSE) | PART_BIT(PART_GATE))
#define PRE_NORMS (PART_BIT(PART_MIXER_NORM) | PART_BIT(PART_FFN_NORM))
#define POST_NORMS PART_BIT(PART_POST_NORMS)
#define BARE (PART_BIT(PART_MODEL) | PART_BIT(PART_ATTENTION))
#define COMMON (BARE | PRE_NORMS)
#define DENSE GLU
#define EXPERTS (PART_BIT(PART_EXPERTS) | PART_BIT(PART_EXPERTS_GATE))
#define SHARED (PART_BIT(PART_SHARED) | PART_BIT(PART_SHARED_GATE))
#define QKV_BIAS PART_BIT(PART_QKV_BIAS)
#define QK_NORM PART_BIT(PART_QK_NORM)
#define BIASES (QKV_BIAS | PART_BIT(PART_O_BIAS))	/* attention_bias of config.json */
#define HEAD (PART_BIT(PART_HEAD) | PART_BIT(PART_ROPE_FREQS))
#define KEYS(...) (const char *const[]){ __VA_ARGS__, NULL }
#endif
