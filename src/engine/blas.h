/* blas.h - OpenBLAS with the kernels that fit the CPU. */
#ifndef TBTUI_ENGINE_BLAS_H
#define TBTUI_ENGINE_BLAS_H

#include <stddef.h>

/* Which kernels OpenBLAS runs: "SkylakeX", "Haswell", "Zen" ... */
const char *blas_core(void);

/* The lower half of g [n][width] += x' x: of each row of x [m][stride] the first n. */
void blas_products(float *g, size_t width, const float *x, size_t stride, size_t m, size_t n);

/* A sentence when the environment holds OpenBLAS down, else NULL. */
const char *blas_held_down(void);
#endif
