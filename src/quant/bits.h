/* bits.h - codes as a little-endian bit stream, element 0 in the lowest bits: one
 * rule for every width. */
#ifndef TBTUI_QUANT_BITS_H
#define TBTUI_QUANT_BITS_H

#include <stddef.h>
#include <stdint.h>

/* n codes of `bits` <= 8 bits each, n * bits a multiple of 8. */
void bits_pack(const uint8_t *codes, size_t n, unsigned bits, uint8_t *out);
void bits_unpack(const uint8_t *in, size_t n, unsigned bits, uint8_t *codes);
#endif
