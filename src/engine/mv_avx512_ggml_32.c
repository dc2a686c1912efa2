/* mv_avx512_ggml_32.c - ggml's blocks of 32 codes with a scale: Q8_0, Q4_0, Q4_1, Q5_0,
 * Q5_1, IQ4_NL, MXFP4; and IQ4_XS, of whose blocks eight share a scale.
 *
 * The first 16 codes of a block are its low nibbles, the last 16 the high ones: four
 * blocks' nibbles make a vector, and a lane has 4 + 4 codes of one block.  Codes with
 * a sign are made positive; accumulators start at what that adds. */
#include "config.h"

#include "src/engine/mv_x86.h"

#include "src/engine/mv_avx512_ggml.h"
#include "src/format/ggml_type.h"

#define BLOCK 32
#define STEP 4			/* blocks of nibbles in a vector */

/* What a block of a type is: bytes, where its codes are, by how much they are too large. */
struct type { unsigned ggml, bytes, codes; int off; };

#define TYPE_Q8_0 ((struct type){ GGML_Q8_0, 34, 2, 128 })
#define TYPE_Q4_0 ((struct type){ GGML_Q4_0, 18, 2, 8 })
#define TYPE_Q4_1 ((struct type){ GGML_Q4_1, 20, 4, 0 })
#define TYPE_Q5_0 ((struct type){ GGML_Q5_0, 22, 6, 16 })
#define TYPE_Q5_1 ((struct type){ GGML_Q5_1, 24, 8, 0 })
#define TYPE_IQ4_NL ((struct type){ GGML_IQ4_NL, 18, 2, 127 })
#define TYPE_MXFP4 ((struct type){ GGML_MXFP4, 17, 1, 12 })
#define TYPE_IQ4_XS ((struct type){ GGML_IQ4_XS, 136, 8, 127 })

/* Blocks' units and sums; behind the last they are 0. */
INLINE bool
round_blocks(struct mv_x *x, uint32_t first, uint32_t n, int8_t *q)
{
	struct round8 r;

	for (uint32_t i = 0; i < n; i += BLOCK) {
		uint32_t block = (first + i) / BLOCK;

		if (!round_block(x->x + first + i, BLOCK, q + i, &r))
			return false;
		x->unit[block] = r.unit;	/* the sum goes through F16 on its own */
		x->sum[block] = tb_f16_f32(tb_f32_f16(r.exact * (float)sum32(q + i)));
	}
	return true;
}

INLINE void
end_blocks(struct mv_x *x)
{
	_mm512_storeu_ps(x->unit + x->cols / BLOCK, _mm512_setzero_ps());
	_mm512_storeu_ps(x->sum + x->cols / BLOCK, _mm512_setzero_ps());
}

/* 128 elements as nibbles meet them; 16 starts. */
INLINE void
deal_halves(const struct mv_x *x, uint32_t col, int off, const int8_t *q)
{
	int8_t *out = x->digit + col;

	for (unsigned b = 0; b < STEP; b++) {
		memcpy(out + 16 * b, q + BLOCK * b, 16);
		memcpy(out + 64 + 16 * b, q + BLOCK * b + 16, 16);
	}
	_mm512_store_si512(x->start + col / 8,
			   less(less(_mm512_setzero_si512(), off, out), off, out + 64));
}

INLINE bool
prepare_nibbles(struct mv_x *x, int off)
{
	_Alignas(64) int8_t q[MV_BLOCK];

	for (uint32_t c = 0; c < x->cols; c += MV_BLOCK) {
		uint32_t n = x->cols - c < MV_BLOCK ? x->cols - c : MV_BLOCK;

		memset(q + n, 0, MV_BLOCK - n);
		if (!round_blocks(x, c, n, q))
			return false;
		deal_halves(x, c, off, q);
		deal_halves(x, c + 128, off, q + 128);
	}
	end_blocks(x);
	return true;
}

bool
mv_avx512_prepare_q8_0(struct mv_x *x)
{
	for (uint32_t c = 0; c < x->cols; c += MV_BLOCK) {
		uint32_t n = x->cols - c < MV_BLOCK ? x->cols - c : MV_BLOCK;

		memset(x->digit + c + n, 0, MV_BLOCK - n);
		if (!round_blocks(x, c, n, x->digit + c))
			return false;
		for (unsigned i = 0; i < MV_BLOCK; i += 64)
			_mm512_store_si512(x->start + (c + i) / 4,
					   less(_mm512_setzero_si512(), 128, x->digit + c + i));
	}
	end_blocks(x);
	return true;
}

bool
mv_avx512_prepare_iq4_xs(struct mv_x *x)
{
	_Alignas(64) int8_t q[MV_BLOCK];
	struct round8 r;

	for (uint32_t c = 0; c < x->cols; c += MV_BLOCK) {
		if (!round_block(x->x + c, MV_BLOCK, q, &r))
			return false;
		deal_halves(x, c, TYPE_IQ4_XS.off, q);
		deal_halves(x, c + 128, TYPE_IQ4_XS.off, q + 128);
		x->unit[c / MV_BLOCK] = r.unit;
	}
	return true;
}

#define PREPARE(name, type) bool name(struct mv_x *x) { return prepare_nibbles(x, type.off); }
PREPARE(mv_avx512_prepare_q4_0, TYPE_Q4_0)
PREPARE(mv_avx512_prepare_q5_0, TYPE_Q5_0)
PREPARE(mv_avx512_prepare_q45_1, TYPE_Q4_1)
PREPARE(mv_avx512_prepare_iq4_nl, TYPE_IQ4_NL)
PREPARE(mv_avx512_prepare_mxfp4, TYPE_MXFP4)

/* The 16 bytes of nibbles of up to four blocks, `bytes` from one to the next.  64 bytes from
 * the first one on are in the fourth one, if there is one, and have those of three. */
INLINE __m512i
load_nibbles(const uint8_t *p, size_t bytes, uint32_t n)
{
	const __m512i apart = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 2, 2);
	const __m512i byte = _mm512_broadcast_i32x4(
		_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
	__m512i at = _mm512_mullo_epi16(apart, _mm512_set1_epi64((long long)bytes));
	__m512i v = _mm512_setzero_si512();

	if (bytes == 16 && n >= STEP)
		return _mm512_loadu_si512(p);
	if (n >= STEP) {
		at = _mm512_add_epi8(_mm512_shuffle_epi8(at, _mm512_set1_epi64(0)), byte);
		v = _mm512_permutexvar_epi8(at, _mm512_loadu_si512(p));
		return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + 3 * bytes)), 3);
	}
	v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)p), 0);
	if (n > 1)
		v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + bytes)), 1);
	if (n > 2)
		v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + 2 * bytes)), 2);
	return v;
}

/* The fifth bits of the first or last 16 codes of up to four blocks. */
INLINE __mmask64
load_fifth(const uint8_t *p, size_t bytes, uint32_t n)
{
	uint64_t bits = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < STEP; i++) {
		uint16_t v = 0;

		if (i < n)
			memcpy(&v, p + i * bytes, sizeof(v));
		bits |= (uint64_t)v << 16 * i;
	}
	return bits;
}

/* Codes of a step as they meet x: 128 of nibbles in two vectors, or 64 bytes of Q8_0. */
struct codes { __m512i v[2]; };

INLINE struct codes
load_step(struct type t, const uint8_t *p, uint32_t n)
{
	const __m512i sixteen = _mm512_set1_epi8(16);
	const uint8_t *bits = p + t.codes - 4;
	__m512i v, low, high;

	if (t.ggml == GGML_Q8_0) {
		v = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)(p + t.codes)));
		v = _mm512_inserti64x4(
			v, n > 1 ? _mm256_loadu_si256((const void *)(p + t.bytes + t.codes))
				 : _mm256_setzero_si256(), 1);
		return (struct codes){ { _mm512_xor_si512(v, _mm512_set1_epi8((char)0x80)) } };
	}
	v = load_nibbles(p + t.codes, t.bytes, n);
	low = to_bytes(t.ggml, v);
	high = to_bytes(t.ggml, _mm512_srli_epi32(v, 4));
	if (t.ggml == GGML_Q5_0 || t.ggml == GGML_Q5_1) {
		low = _mm512_mask_add_epi8(low, load_fifth(bits, t.bytes, n), low, sixteen);
		high = _mm512_mask_add_epi8(high, load_fifth(bits + 2, t.bytes, n), high, sixteen);
	}
	return (struct codes){ { low, high } };
}

/* Sums a lane with x from column `col` on. */
INLINE __m512
dot_step(struct type t, const struct codes *codes, const struct mv_x *x, size_t col)
{
	const __m512i *digit = (const __m512i *)(x->digit + col);
	__m512i sum = _mm512_setzero_si512();

	if (t.off)
		sum = _mm512_load_si512(x->start + col / (t.ggml == GGML_Q8_0 ? 4 : 8));
	DOT8(sum, codes->v[0], digit[0]);
	if (t.ggml != GGML_Q8_0)
		DOT8(sum, codes->v[1], digit[1]);
	return _mm512_cvtepi32_ps(sum);
}

/* What 16 blocks begin with, a number of half precision, when blocks are 9 or 17 words: of
 * each 128 bytes, 8 or 4 words. */
INLINE __m512
load_halves(const uint8_t *p, size_t bytes)
{
	const unsigned each = bytes == 18 ? 8 : 4;
	const __m512i words = _mm512_cvtepu8_epi16(_mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
	__m512i which = _mm512_and_si512(words, _mm512_set1_epi16((short)(each - 1)));
	__m512i at = _mm512_mullo_epi16(which, _mm512_set1_epi16((short)(bytes / 2)));
	__m512i v = _mm512_setzero_si512();

#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++, p += each * bytes)
		if (each * i < 16)
			v = _mm512_or_si512(v, _mm512_maskz_permutex2var_epi16(
				((1u << each) - 1) << each * i, _mm512_loadu_si512(p), at,
				_mm512_loadu_si512(p + 64)));
	return _mm512_cvtph_ps(_mm512_castsi512_si256(v));
}

struct sums { __m512 scaled[MV_TILE], biased[MV_TILE]; };

/* Scales of n <= 16 blocks from number `block` on, for each x; minima are done. */
INLINE void
load_factors(struct type t, const uint8_t *p, const struct mv_x *x, size_t m, uint32_t block,
	     uint32_t n, struct sums *sums, __m512 *factors)
{
	bool minima = t.ggml == GGML_Q4_1 || t.ggml == GGML_Q5_1;
	__m512 scales, least = _mm512_setzero_ps();

	if (n == 16 && (t.bytes == 18 || t.bytes == 34)) {
		scales = load_halves(p, t.bytes);
	} else {
		__m512i heads = load_heads(p, t.bytes, n);

		scales = t.ggml == GGML_MXFP4 ? half_e8m0(heads) : low_halves(heads);
		least = low_halves(_mm512_srli_epi32(heads, 16));
	}
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++) {
		factors[k] = _mm512_mul_ps(scales, _mm512_loadu_ps(x[k].unit + block));
		if (minima)
			sums->biased[k] = _mm512_fmadd_ps(least, _mm512_loadu_ps(x[k].sum + block),
							  sums->biased[k]);
	}
}

/* n <= 16 blocks from number `block` on.  Inlined with n a constant for all but the
 * last ones of a row. */
INLINE void
blocks16(struct type t, const uint8_t *p, const struct mv_x *x, size_t m, uint32_t block, uint32_t n,
	 struct sums *sums)
{
	const uint32_t step = t.ggml == GGML_Q8_0 ? 2 : STEP;
	__m512i lane = _mm512_srli_epi32(lane_numbers(), step == 2 ? 3 : 2);
	__m512 factors[MV_TILE];

	load_factors(t, p, x, m, block, n, sums, factors);
	for (uint32_t i = 0; i < 16 * t.bytes; i += 64)
		prefetch(p + AHEAD_BYTES + i);
#pragma GCC unroll 8
	for (uint32_t i = 0; i < n; i += step) {
		struct codes codes = load_step(t, p, n - i);

#pragma GCC unroll 4
		for (size_t k = 0; k < m; k++)
			sums->scaled[k] = _mm512_fmadd_ps(
				dot_step(t, &codes, &x[k], (size_t)(block + i) * BLOCK),
				_mm512_permutexvar_ps(lane, factors[k]), sums->scaled[k]);
		lane = _mm512_add_epi32(lane, _mm512_set1_epi32((int)step));
		p += step * t.bytes;
	}
}

INLINE void
sums_begin(struct sums *s, size_t m)
{
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++)
		s->scaled[k] = s->biased[k] = _mm512_setzero_ps();
}

INLINE void
sums_end(const struct sums *s, size_t m, float *y, size_t stride)
{
#pragma GCC unroll 4
	for (size_t k = 0; k < m; k++)
		y[k * stride] = _mm512_reduce_add_ps(_mm512_add_ps(s->scaled[k], s->biased[k]));
}

INLINE void
rows32(struct type t, const struct matrix *w, const struct mv_x *x, size_t m, float *y,
       uint32_t first, uint32_t end)
{
	const uint32_t blocks = w->cols / BLOCK, whole = blocks / 16 * 16;

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *p = w->codes + (size_t)blocks * t.bytes * r;
		struct sums sums;
		uint32_t b = 0;

		sums_begin(&sums, m);
		for (; b < whole; b += 16)
			blocks16(t, p + (size_t)b * t.bytes, x, m, b, 16, &sums);
		if (b < blocks)
			blocks16(t, p + (size_t)b * t.bytes, x, m, b, blocks - b, &sums);
		sums_end(&sums, m, y + r, w->rows);
	}
}

INLINE void
rows_xs(struct type t, const struct matrix *w, const struct mv_x *x, size_t m, float *y,
	uint32_t first, uint32_t end)
{
	const size_t row = w->cols / MV_BLOCK * t.bytes;
	const struct type part = { t.ggml, 16, 0, t.off };	/* nibbles without scales */

	for (uint32_t r = first; r < end; r++) {
		const uint8_t *p = w->codes + row * r;
		struct sums sums;

		sums_begin(&sums, m);
		for (size_t c = 0; c < w->cols; c += MV_BLOCK, p += t.bytes) {
			__m512i lane = _mm512_srli_epi32(lane_numbers(), 2);
			__m512 scales = scales_xs(p);
			struct codes codes[2] = { load_step(part, p + t.codes, STEP),
						  load_step(part, p + t.codes + 64, STEP) };

			for (size_t i = 0; i < t.bytes; i += 64)
				prefetch(p + AHEAD_BYTES + i);
#pragma GCC unroll 4
			for (size_t k = 0; k < m; k++) {
				__m128 unit = _mm_set_ss(x[k].unit[c / MV_BLOCK]);
				__m512 d = _mm512_broadcastss_ps(_mm_mul_ss(halves(p), unit));
				__m512 f = _mm512_mul_ps(scales, d), sum = sums.scaled[k];

				for (unsigned i = 0; i < 2; i++) {
					__m512i at = _mm512_add_epi32(lane,
								      _mm512_set1_epi32((int)i * 4));

					sum = _mm512_fmadd_ps(
						dot_step(part, &codes[i], &x[k], c + 128 * i),
						_mm512_permutexvar_ps(at, f), sum);
				}
				sums.scaled[k] = sum;
			}
		}
		sums_end(&sums, m, y + r, w->rows);
	}
}

MV_SHARED(mv_avx512_iq4_xs, rows_xs, TYPE_IQ4_XS)
MV_SHARED(mv_avx512_q8_0, rows32, TYPE_Q8_0)
MV_SHARED(mv_avx512_q4_0, rows32, TYPE_Q4_0)
MV_SHARED(mv_avx512_q4_1, rows32, TYPE_Q4_1)
MV_SHARED(mv_avx512_q5_0, rows32, TYPE_Q5_0)
MV_SHARED(mv_avx512_q5_1, rows32, TYPE_Q5_1)
MV_SHARED(mv_avx512_iq4_nl, rows32, TYPE_IQ4_NL)
MV_SHARED(mv_avx512_ggml_mxfp4, rows32, TYPE_MXFP4)
