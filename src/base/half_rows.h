/* half_rows.h - the vector part of half.c's rows, for CPUs that have AVX2 and F16C.
 *
 * Each does as many elements as fill its vectors and says how many; the rest, and
 * everything elsewhere, is done one by one. */
#ifndef TBTUI_BASE_HALF_ROWS_H
#define TBTUI_BASE_HALF_ROWS_H

#include <stddef.h>

size_t half_bf16_to_f32(const void *src, size_t n, float *dst);
size_t half_f16_to_f32(const void *src, size_t n, float *dst);
size_t half_f32_to_bf16(const float *src, size_t n, void *dst);
size_t half_f32_to_f16(const float *src, size_t n, void *dst);
#endif
