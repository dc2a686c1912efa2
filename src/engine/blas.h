/* blas.h - OpenBLAS with the kernels that fit the CPU. */
#ifndef TBTUI_ENGINE_BLAS_H
#define TBTUI_ENGINE_BLAS_H

/* Which kernels OpenBLAS runs: "SkylakeX", "Haswell", "Zen" ... */
const char *blas_core(void);

/* A sentence when the environment holds OpenBLAS down, else NULL. */
const char *blas_held_down(void);
#endif
