/* ggml_books.h - code books: constants of the format.  An entry packs a point's
 * coordinates, the first in the lowest bits.  Private to src/quant/ggml*.c. */
#ifndef TBTUI_QUANT_GGML_BOOKS_H
#define TBTUI_QUANT_GGML_BOOKS_H

#include <stdint.h>

/* Eight coordinates of two bits: 8, 25 or 43. */
extern const uint16_t ggml_iq2_xxs_book[256], ggml_iq2_xs_book[512], ggml_iq2_s_book[1024];
/* Four of three bits: 4, 12, 20, 28, 36, 44, 52 or 62; the odd numbers up to 15. */
extern const uint16_t ggml_iq3_xxs_book[256], ggml_iq3_s_book[512];
/* Eight of two bits: -1, 0 or 1. */
extern const uint16_t ggml_iq1_book[2048];
#endif
