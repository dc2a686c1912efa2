#include "config.h"

#include "src/base/half_rows.h"

#ifdef HAVE_X86
#include <immintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VECTOR __attribute__((target("avx2,f16c")))

/* TBTUI_CPU=scalar holds it down; asked once, since rows can be short. */
static bool
usable(void)
{
	static atomic_int known;	/* 0 = not asked yet, 1 = no, 2 = yes */
	int k = atomic_load_explicit(&known, memory_order_relaxed);

	if (!k) {
		const char *cpu = getenv("TBTUI_CPU");
		bool scalar = cpu && !strcmp(cpu, "scalar");

		/* AVX2 never came without F16C, which clang cannot ask for. */
		k = !scalar && __builtin_cpu_supports("avx2") ? 2 : 1;
		atomic_store_explicit(&known, k, memory_order_relaxed);
	}
	return k == 2;
}

VECTOR static size_t
bf16_to_f32(const char *src, size_t n, float *dst)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		__m128i b = _mm_loadu_si128((const __m128i_u *)(src + 2 * i));

		_mm256_storeu_si256((__m256i_u *)(dst + i),
				    _mm256_slli_epi32(_mm256_cvtepu16_epi32(b), 16));
	}
	return i;
}

VECTOR static size_t
f16_to_f32(const char *src, size_t n, float *dst)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		_mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128(
			(const __m128i_u *)(src + 2 * i))));
	return i;
}

VECTOR static __m256i
round_bf16(__m256i u)
{
	__m256i low = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
	__m256i up = _mm256_add_epi32(u, _mm256_add_epi32(low, _mm256_set1_epi32(0x7fff)));
	__m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
	__m256i nan = _mm256_cmpgt_epi32(_mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff)),
					 _mm256_set1_epi32(0x7f800000));

	return _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, nan), 16);
}

VECTOR static size_t
f32_to_bf16(const float *src, size_t n, char *dst)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		__m256i r = round_bf16(_mm256_loadu_si256((const __m256i_u *)(src + i)));

		_mm_storeu_si128((__m128i_u *)(dst + 2 * i),
				 _mm_packus_epi32(_mm256_castsi256_si128(r),
						  _mm256_extracti128_si256(r, 1)));
	}
	return i;
}

VECTOR static size_t
f32_to_f16(const float *src, size_t n, char *dst)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		_mm_storeu_si128((__m128i_u *)(dst + 2 * i),
				 _mm256_cvtps_ph(_mm256_loadu_ps(src + i),
						 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
	return i;
}

#define ROWS(name, src, dst) (usable() ? name((src), n, (dst)) : 0)
#else
#define ROWS(name, src, dst) ((void)(src), (void)(dst), (void)n, (size_t)0)
#endif

size_t
half_bf16_to_f32(const void *src, size_t n, float *dst)
{
	return ROWS(bf16_to_f32, src, dst);
}

size_t
half_f16_to_f32(const void *src, size_t n, float *dst)
{
	return ROWS(f16_to_f32, src, dst);
}

size_t
half_f32_to_bf16(const float *src, size_t n, void *dst)
{
	return ROWS(f32_to_bf16, src, dst);
}

size_t
half_f32_to_f16(const float *src, size_t n, void *dst)
{
	return ROWS(f32_to_f16, src, dst);
}
