#include "config.h"

#include "src/base/half.h"

/* 2^-24 steps below 2^-14, then exponent and mantissa move into place. */
float
tb_f16_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, u;
	float f;

	if (e == 0) {
		f = (float)m * 0x1p-24f;
		memcpy(&u, &f, 4);
		u |= sign;
	} else {
		u = sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13;
	}
	memcpy(&f, &u, 4);
	return f;
}

uint16_t
tb_f32_f16(float f)
{
	uint32_t u, sign, m, shift;
	int e;

	memcpy(&u, &f, 4);
	sign = u >> 16 & 0x8000;
	u &= 0x7fffffff;
	if (u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (u >> 13 & 0x1ff));
	if (u >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);	/* 65520 and above round to infinity */
	e = (int)(u >> 23) - 112;
	if (e > 0)		/* the carry of rounding walks into the exponent by itself */
		return (uint16_t)(sign | ((u - (112u << 23) + 0xfff + (u >> 13 & 1)) >> 13));
	if (e < -10)
		return (uint16_t)sign;
	m = (u & 0x7fffff) | 0x800000;
	shift = (uint32_t)(14 - e);
	return (uint16_t)(sign | ((m + (1u << (shift - 1)) - 1 + (m >> shift & 1)) >> shift));
}

/* ---- rows ---- */

#ifdef HAVE_X86
#include <immintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define VECTOR __attribute__((target("avx2,f16c")))

/* TBTUI_CPU=scalar holds it down; asked once, since rows can be short. */
static bool
vectors_usable(void)
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
rows_bf16_to_f32(const char *src, size_t n, float *dst)
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
rows_f16_to_f32(const char *src, size_t n, float *dst)
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
rows_f32_to_bf16(const float *src, size_t n, char *dst)
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
rows_f32_to_f16(const float *src, size_t n, char *dst)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		_mm_storeu_si128((__m128i_u *)(dst + 2 * i),
				 _mm256_cvtps_ph(_mm256_loadu_ps(src + i),
						 _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
	return i;
}

#define ROWS(name, src, n, dst) (vectors_usable() ? rows_##name((src), (n), (dst)) : 0)
#else
#define ROWS(name, src, n, dst) ((void)(n), (size_t)0)
#endif

/* What fills vectors, where the CPU has AVX2 and F16C, then the rest one by one. */
void
tb_bf16_to_f32(const void *src, size_t n, float *dst)
{
	const char *p = src;

	for (size_t i = ROWS(bf16_to_f32, src, n, dst); i < n; i++) {
		uint16_t b;

		memcpy(&b, p + 2 * i, 2);
		dst[i] = tb_bf16_f32(b);
	}
}

void
tb_f16_to_f32(const void *src, size_t n, float *dst)
{
	const char *p = src;

	for (size_t i = ROWS(f16_to_f32, src, n, dst); i < n; i++) {
		uint16_t h;

		memcpy(&h, p + 2 * i, 2);
		dst[i] = tb_f16_f32(h);
	}
}

void
tb_f32_to_bf16(const float *src, size_t n, void *dst)
{
	char *p = dst;

	for (size_t i = ROWS(f32_to_bf16, src, n, dst); i < n; i++) {
		uint16_t b = tb_f32_bf16(src[i]);

		memcpy(p + 2 * i, &b, 2);
	}
}

void
tb_f32_to_f16(const float *src, size_t n, void *dst)
{
	char *p = dst;

	for (size_t i = ROWS(f32_to_f16, src, n, dst); i < n; i++) {
		uint16_t h = tb_f32_f16(src[i]);

		memcpy(p + 2 * i, &h, 2);
	}
}
