/* blas.c - OpenBLAS chooses its kernels when it is loaded.  Before 0.3.25 it took
 * those of a CPU of 2004, "Prescott", for every Intel model that it did not know
 * (its issue 4267): Debian bookworm's 0.3.21 then runs at a tenth of the speed on
 * CPUs that are newer than it is.  Here it is made to choose again. */
#include "config.h"

#include "src/engine/blas.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

const char *
blas_core(void)
{
	return openblas_get_corename();
}

void
blas_products(float *g, size_t width, const float *x, size_t stride, size_t m, size_t n)
{
	cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)n, (blasint)m, 1, x,
		    (blasint)stride, 1, g, (blasint)width);
}

const char *
blas_held_down(void)
{
	if (getenv("OPENBLAS_CORETYPE"))
		return "OPENBLAS_CORETYPE is set: OpenBLAS may run below what this CPU can do";
	if (getenv("OPENBLAS_L2_SIZE"))
		return "OPENBLAS_L2_SIZE is set: OpenBLAS may run below what this CPU can do";
	return NULL;
}

#if defined(HAVE_X86)
/* Not in cblas.h, and only in a library that has several CPUs' kernels. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

/* Before main(): the choice is handed over in the environment, which may be changed
 * only while there is one thread, and before OpenBLAS has computed anything. */
__attribute__((constructor)) static void
choose_again(void)
{
	const char *core = NULL;

	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
		core = "SkylakeX";
	else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		core = "Haswell";
	if (getenv("OPENBLAS_CORETYPE") || !core || !gotoblas_dynamic_init ||
	    !gotoblas_dynamic_quit || strcmp(openblas_get_corename(), "Prescott"))
		return;
	if (setenv("OPENBLAS_CORETYPE", core, 1))
		return;
	gotoblas_dynamic_quit();
	gotoblas_dynamic_init();
	unsetenv("OPENBLAS_CORETYPE");
}
#endif
