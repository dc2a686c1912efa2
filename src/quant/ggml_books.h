/* ggml_books.h - code books: constants of the format.  An entry packs a point's
 * coordinates, the first in the lowest bits.  For src/quant/ggml*.c and the engine's
 * kernels. */
#ifndef TBTUI_QUANT_GGML_BOOKS_H
#define TBTUI_QUANT_GGML_BOOKS_H

#include <stdint.h>

/* They are read in lines of a cache. */
#define GGML_BOOK extern __attribute__((aligned(64))) const uint16_t

/* Eight coordinates of two bits: 8, 25 or 43. */
GGML_BOOK ggml_iq2_xxs_book[256], ggml_iq2_xs_book[512], ggml_iq2_s_book[1024];
/* Four of three bits: 4, 12, 20, 28, 36, 44, 52 or 62; the odd numbers up to 15. */
GGML_BOOK ggml_iq3_xxs_book[256], ggml_iq3_s_book[512];
/* Eight of two bits: -1, 0 or 1. */
GGML_BOOK ggml_iq1_book[2048];
#endif
