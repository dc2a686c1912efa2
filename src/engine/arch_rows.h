/* arch_rows.h - words that rows of architectures, and rules for names, are made of. */
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

/* struct slot_rule */
#define RULE(s, name) { .slot = s, .pattern = name }
#define STACK(s, name) { .slot = s, .pattern = name, .stacked = true }
#define EXPERTS_AT(rule, at, gate, up, down) rule(SLOT_X_GATE, at gate ".weight"), \
	rule(SLOT_X_UP, at up ".weight"), rule(SLOT_X_DOWN, at down ".weight")
#define FOLD(s, name) { .slot = s, .pattern = name, .folded = DIM_HEADS }
#define EACH(s, name) { .slot = s, .pattern = name, .folded = DIM_EXPERTS }
/* Rows of gate, then rows of up. */
#define GATE_UP(gate, up, name, width, ...) \
	{ gate, name, .after = { width }, __VA_ARGS__ }, \
	{ up, name, .before = { width }, __VA_ARGS__ }
#define SHARED_AT(at, gate, up, down) RULE(SLOT_S_GATE, at gate ".weight"), \
	RULE(SLOT_S_UP, at up ".weight"), RULE(SLOT_S_DOWN, at down ".weight")
#endif
