/* synthetic_ggml.h - random bits made blocks of ggml's, for measuring and for tests. */
#ifndef TBTUI_ENGINE_SYNTHETIC_GGML_H
#define TBTUI_ENGINE_SYNTHETIC_GGML_H

#include <stddef.h>
#include <stdint.h>

/* Gives n blocks of a decodable type scales with which values are within ±1/16, most
 * of them far from zero. */
void synthetic_ggml(unsigned type, uint8_t *blocks, size_t n);
#endif
