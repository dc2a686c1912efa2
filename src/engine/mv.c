/* mv.c - which kernel reads which matrix on which CPU. */
#include "config.h"

#include "src/engine/mv.h"

#include <stdlib.h>
#include <string.h>
#if defined(HAVE_X86)
#include <cpuid.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "src/engine/mv_x86.h"
#include "src/format/ggml_type.h"

#define X(id, name) name,
static const char *const levels[] = { MV_LEVEL_LIST(X) };
#undef X

#define N MV_ANY			/* packed: no dtype of its own */
#define G SCHEME_GGML

/* Best first: the first that fits is taken.  The last column: from how many vectors
 * on decoding and sgemm win.  Measured for int4 and ggml's types, else estimated from
 * the rates of the kernels in the cache. */
static const struct mv_kernel kernels[] = {
#if defined(HAVE_X86)
	{ MV_AVX512_VNNI, SCHEME_AFFINE, 4, N, mv_avx512_prepare_nibbles, mv_avx512_int4, 96 },
	{ MV_AVX512_VNNI, SCHEME_MXFP4, 4, N, mv_avx512_prepare_e2m1, mv_avx512_mxfp4, 64 },
	{ MV_AVX512_VNNI, SCHEME_NVFP4, 4, N, mv_avx512_prepare_e2m1, mv_avx512_nvfp4, 48 },
	{ MV_AVX512_VNNI, SCHEME_AFFINE, 8, N, mv_avx512_prepare_bytes, mv_avx512_int8, 48 },
	{ MV_AVX512_VNNI, SCHEME_AFFINE, 6, N, mv_avx512_prepare_bytes, mv_avx512_int6, 32 },
	{ MV_AVX512_VNNI, SCHEME_AFFINE, 5, N, mv_avx512_prepare_bytes, mv_avx512_int5, 32 },
	{ MV_AVX512_VNNI, SCHEME_AFFINE, 3, N, mv_avx512_prepare_bytes, mv_avx512_int3, 32 },
	{ MV_AVX512_VNNI, SCHEME_AFFINE, 2, N, mv_avx512_prepare_bytes, mv_avx512_int2, 32 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q8_0, mv_avx512_prepare_q8_0, mv_avx512_q8_0, 32 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q4_0, mv_avx512_prepare_q4_0, mv_avx512_q4_0, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q4_1, mv_avx512_prepare_q45_1, mv_avx512_q4_1, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q5_0, mv_avx512_prepare_q5_0, mv_avx512_q5_0, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q5_1, mv_avx512_prepare_q45_1, mv_avx512_q5_1, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ4_NL, mv_avx512_prepare_iq4_nl, mv_avx512_iq4_nl, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_MXFP4, mv_avx512_prepare_mxfp4, mv_avx512_ggml_mxfp4, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ4_XS, mv_avx512_prepare_iq4_xs, mv_avx512_iq4_xs, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q2_K, mv_avx512_prepare_sixteens, mv_avx512_q2_k, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q3_K, mv_avx512_prepare_sixteens, mv_avx512_q3_k, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ2_XXS, mv_avx512_prepare_sixteens, mv_avx512_iq2_xxs, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ2_XS, mv_avx512_prepare_sixteens, mv_avx512_iq2_xs, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ2_S, mv_avx512_prepare_sixteens, mv_avx512_iq2_s, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ3_XXS, mv_avx512_prepare_sixteens, mv_avx512_iq3_xxs, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ3_S, mv_avx512_prepare_sixteens, mv_avx512_iq3_s, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ1_S, mv_avx512_prepare_sixteens, mv_avx512_iq1_s, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_IQ1_M, mv_avx512_prepare_sixteens, mv_avx512_iq1_m, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q4_K, mv_avx512_prepare_q45_k, mv_avx512_q4_k, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q5_K, mv_avx512_prepare_q45_k, mv_avx512_q5_k, 40 },
	{ MV_AVX512_VNNI, G, 0, GGML_Q6_K, mv_avx512_prepare_q6_k, mv_avx512_q6_k, 40 },
	{ MV_AVX512_VNNI, SCHEME_MXFP8, 8, N, mv_avx512_prepare_quarters, mv_avx512_mxfp8_table, 12 },
	{ MV_AVX512, SCHEME_MXFP8, 8, N, mv_avx512_prepare_pairs, mv_avx512_mxfp8, 12 },
	{ MV_AVX512, SCHEME_PLAIN, 16, DT_BF16, mv_avx512_prepare_pairs, mv_avx512_bf16, 32 },
	{ MV_AVX512, SCHEME_PLAIN, 16, DT_F16, NULL, mv_avx512_f16, 24 },
	{ MV_AVX512, SCHEME_PLAIN, 32, DT_F32, NULL, mv_avx512_f32, 8 },
	{ MV_AVX2, SCHEME_AFFINE, 4, N, mv_avx2_prepare_nibbles, mv_avx2_int4, 24 },
	{ MV_AVX2, SCHEME_MXFP4, 4, N, mv_avx2_prepare_e2m1, mv_avx2_mxfp4, 16 },
	{ MV_AVX2, SCHEME_NVFP4, 4, N, mv_avx2_prepare_e2m1, mv_avx2_nvfp4, 16 },
	{ MV_AVX2, SCHEME_AFFINE, 8, N, mv_avx2_prepare_int8, mv_avx2_int8, 16 },
	{ MV_AVX2, SCHEME_MXFP8, 8, N, NULL, mv_avx2_mxfp8, 8 },
	{ MV_AVX2, G, 0, GGML_Q8_0, mv_avx2_prepare_q32, mv_avx2_q8_0, 16 },
	{ MV_AVX2, G, 0, GGML_Q4_0, mv_avx2_prepare_q32, mv_avx2_q4_0, 16 },
	{ MV_AVX2, G, 0, GGML_Q4_1, mv_avx2_prepare_q32, mv_avx2_q4_1, 16 },
	{ MV_AVX2, G, 0, GGML_Q5_0, mv_avx2_prepare_q32, mv_avx2_q5_0, 16 },
	{ MV_AVX2, G, 0, GGML_Q5_1, mv_avx2_prepare_q32, mv_avx2_q5_1, 16 },
	{ MV_AVX2, G, 0, GGML_IQ4_NL, mv_avx2_prepare_q32, mv_avx2_iq4_nl, 16 },
	{ MV_AVX2, G, 0, GGML_MXFP4, mv_avx2_prepare_q32, mv_avx2_ggml_mxfp4, 16 },
	{ MV_AVX2, G, 0, GGML_IQ4_XS, mv_avx2_prepare_q256, mv_avx2_iq4_xs, 16 },
	{ MV_AVX2, G, 0, GGML_Q4_K, mv_avx2_prepare_q256, mv_avx2_q4_k, 16 },
	{ MV_AVX2, G, 0, GGML_Q5_K, mv_avx2_prepare_q256, mv_avx2_q5_k, 16 },
	{ MV_AVX2, G, 0, GGML_Q6_K, mv_avx2_prepare_q256, mv_avx2_q6_k, 16 },
	{ MV_AVX2, SCHEME_PLAIN, 16, DT_BF16, NULL, mv_avx2_bf16, 16 },
	{ MV_AVX2, SCHEME_PLAIN, 16, DT_F16, NULL, mv_avx2_f16, 16 },
	{ MV_AVX2, SCHEME_PLAIN, 32, DT_F32, NULL, mv_avx2_f32, 8 },
#endif
	{ MV_SCALAR, SCHEME_GGML, 0, MV_ANY, mv_prepare_ggml, mv_rows_ggml, 1 },
	{ .rows = NULL },
};
#undef N
#undef G

const struct mv_kernel mv_any = { .rows = mv_rows_any, .few = 1 };

#if defined(HAVE_X86)
#define ASK_FOR_STATE 0x1023	/* arch_prctl: ARCH_REQ_XCOMP_PERM */
#define TILE_STATE 18		/* XFEATURE_XTILEDATA */

static enum mv_level own_level;
static pthread_once_t asked = PTHREAD_ONCE_INIT;

/* Compilers learned late to ask by name.  Linux lets a process use tiles that asks for
 * room to save them in; one that has asked stays allowed. */
static bool
tiles_usable(void)
{
	unsigned eax = 7, ebx = 0, ecx = 0, edx = 0;
	const unsigned bf16 = 1u << 22, tiles = 1u << 24;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && edx & bf16 && edx & tiles &&
	       !syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_STATE);
}

static void
ask_cpu(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
		return;
	own_level = MV_AVX2;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
		return;
	own_level = MV_AVX512;
	if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512vbmi"))
		return;
	own_level = MV_AVX512_VNNI;
	if (__builtin_cpu_supports("avx512bf16"))
		own_level = tiles_usable() ? MV_AMX : MV_AVX512_BF16;
}
#endif

static enum mv_level
cpu_level(void)
{
#if defined(HAVE_X86)
	pthread_once(&asked, ask_cpu);
	return own_level;
#else
	return MV_SCALAR;
#endif
}

enum mv_level
mv_level(void)
{
	const char *held = getenv("TBTUI_CPU");
	enum mv_level level = cpu_level();

	for (unsigned i = 0; held && i < level; i++)
		if (!strcmp(held, levels[i]))
			return i;
	return level;
}

const char *
matmul_kernels(void)
{
	return levels[mv_level()];
}

const struct mv_kernel *
mv_find(const struct matrix *w, enum mv_level level)
{
	const struct scheme *s = &w->scheme;
	unsigned type = s->kind == SCHEME_PLAIN ? (unsigned)s->dtype : s->ggml;
	bool packed = s->kind != SCHEME_PLAIN && s->kind != SCHEME_GGML;

	for (const struct mv_kernel *k = kernels; k->rows; k++)
		if (k->level <= level && k->kind == s->kind &&
		    (packed ? k->bits == s->bits : k->type == MV_ANY || k->type == type))
			return k;
	return &mv_any;
}

const struct mv_kernel *
mv_find_exact(const struct matrix *w, enum mv_level level)
{
	bool plain = w->scheme.kind == SCHEME_PLAIN || w->scheme.kind == SCHEME_MXFP8;

	return plain ? mv_find(w, level) : &mv_any;
}

const char *
mv_level_name(enum mv_level l)
{
	return levels[l];
}

/* perm, digit, start are blocks of elements; sum, unit are groups of at least 16. */
static size_t
padded(uint32_t cols)
{
	return ((size_t)cols + MV_BLOCK - 1) / MV_BLOCK * MV_BLOCK;
}

static size_t
groups_size(uint32_t cols)
{
	return (padded(cols) / 16 + MV_PAD) * sizeof(float);
}

size_t
mv_x_size(uint32_t cols)
{
	return padded(cols) * (sizeof(float) + 2) + padded(cols) / 4 * sizeof(int32_t) +
	       2 * groups_size(cols);
}

void
mv_x_place(struct mv_x *x, void *mem, uint32_t cols)
{
	char *p = mem;

	x->cols = cols;
	x->perm = (float *)p;
	p += padded(cols) * sizeof(float);
	x->digit = (int8_t *)p;
	p += padded(cols) * 2;
	x->start = (int32_t *)p;
	p += padded(cols) / 4 * sizeof(int32_t);
	x->sum = (float *)p;
	x->unit = (float *)(p + groups_size(cols));
}
