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

/* The 16 bytes of nibbles of up to four blocks. */
INLINE __m512i
load_nibbles(const uint8_t *p, size_t bytes, uint32_t n)
{
	__m128i v[STEP];

#pragma GCC unroll 4
	for (unsigned i = 0; i < STEP; i++)
		v[i] = i < n ? _mm_loadu_si128((const void *)(p + i * bytes)) : _mm_setzero_si128();
	return _mm512_inserti64x4(
		_mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(v[0]), v[1], 1)),
		_mm256_inserti128_si256(_mm256_castsi128_si256(v[2]), v[3], 1), 1);
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

/* Sums a lane of 128 codes from column `col` on, of n blocks at p. */
INLINE __m512
dot_step(struct type t, const uint8_t *p, const struct mv_x *x, uint32_t col, uint32_t n)
{
	__m512i v = load_nibbles(p + t.codes, t.bytes, n);
	__m512i low = to_bytes(t.ggml, v), high = to_bytes(t.ggml, _mm512_srli_epi32(v, 4));
	__m512i sum = t.off ? _mm512_load_si512(x->start + col / 8) : _mm512_setzero_si512();

	if (t.ggml == GGML_Q5_0 || t.ggml == GGML_Q5_1) {
		const uint8_t *bits = p + t.codes - 4;
		const __m512i sixteen = _mm512_set1_epi8(16);

		low = _mm512_mask_add_epi8(low, load_fifth(bits, t.bytes, n), low, sixteen);
		high = _mm512_mask_add_epi8(high, load_fifth(bits + 2, t.bytes, n), high, sixteen);
	}
	DOT8(sum, low, *(const __m512i *)(x->digit + col));
	DOT8(sum, high, *(const __m512i *)(x->digit + col + 64));
	return _mm512_cvtepi32_ps(sum);
}

/* The same of 64 codes of Q8_0, of two blocks if there are. */
INLINE __m512
dot_bytes(const uint8_t *p, const struct mv_x *x, uint32_t col, uint32_t n)
{
	__m256i a = _mm256_loadu_si256((const void *)(p + 2)), b = _mm256_setzero_si256();
	__m512i v, sum = _mm512_load_si512(x->start + col / 4);

	if (n > 1)
		b = _mm256_loadu_si256((const void *)(p + 36));
	v = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
	v = _mm512_xor_si512(v, _mm512_set1_epi8((char)0x80));
	DOT8(sum, v, *(const __m512i *)(x->digit + col));
	return _mm512_cvtepi32_ps(sum);
}

/* n <= 16 blocks from number `block` on.  Inlined with n a constant for all but the
 * last ones of a row. */
INLINE void
blocks16(struct type t, const uint8_t *p, const struct mv_x *x, uint32_t block, uint32_t n,
	 __m512 *acc, __m512 *acc_bias)
{
	const uint32_t step = t.ggml == GGML_Q8_0 ? 2 : STEP;
	__m512i heads = load_heads(p, t.bytes, n), lane;
	__m512 factors = t.ggml == GGML_MXFP4 ? half_e8m0(heads) : low_halves(heads);

	if (t.ggml == GGML_Q4_1 || t.ggml == GGML_Q5_1)
		*acc_bias = _mm512_fmadd_ps(low_halves(_mm512_srli_epi32(heads, 16)),
					    _mm512_loadu_ps(x->sum + block), *acc_bias);
	factors = _mm512_mul_ps(factors, _mm512_loadu_ps(x->unit + block));
	lane = _mm512_srli_epi32(lane_numbers(), step == 2 ? 3 : 2);
	for (uint32_t i = 0; i < 16 * t.bytes; i += 64)
		prefetch(p + AHEAD_BYTES + i);
#pragma GCC unroll 8
	for (uint32_t i = 0; i < n; i += step) {
		__m512 dot = step == 2 ? dot_bytes(p, x, (block + i) * BLOCK, n - i)
				       : dot_step(t, p, x, (block + i) * BLOCK, n - i);

		*acc = _mm512_fmadd_ps(dot, _mm512_permutexvar_ps(lane, factors), *acc);
		lane = _mm512_add_epi32(lane, _mm512_set1_epi32((int)step));
		p += step * t.bytes;
	}
}

INLINE void
rows32(struct type t, const struct matrix *w, const struct mv_x *x, float *y, uint32_t first,
       uint32_t end)
{
	const uint32_t blocks = w->cols / BLOCK, whole = blocks / 16 * 16;

	for (uint32_t i = 0; i < end - first; i++) {
		const uint32_t r = row_in_turn(first, end, i);
		const uint8_t *p = w->codes + (size_t)blocks * t.bytes * r;
		__m512 acc = _mm512_setzero_ps(), bias = acc;
		uint32_t b = 0;

		for (; b < whole; b += 16)
			blocks16(t, p + (size_t)b * t.bytes, x, b, 16, &acc, &bias);
		if (b < blocks)
			blocks16(t, p + (size_t)b * t.bytes, x, b, blocks - b, &acc, &bias);
		y[r] = _mm512_reduce_add_ps(_mm512_add_ps(acc, bias));
	}
}

void
mv_avx512_iq4_xs(const struct matrix *w, const struct mv_x *x, float *y, uint32_t first,
		 uint32_t end)
{
	const struct type t = { GGML_IQ4_XS, 16, 8, 127 };	/* 16: from nibbles to nibbles */
	const size_t bytes = TYPE_IQ4_XS.bytes, row = w->cols / MV_BLOCK * bytes;
	const __m512i lane = _mm512_srli_epi32(lane_numbers(), 2);
	const __m512i four = _mm512_add_epi32(lane, _mm512_set1_epi32(4));

	for (uint32_t i = 0; i < end - first; i++) {
		const uint32_t r = row_in_turn(first, end, i);
		const uint8_t *p = w->codes + row * r;
		__m512 acc = _mm512_setzero_ps();

		for (uint32_t c = 0; c < w->cols; c += MV_BLOCK, p += bytes) {
			__m512 d = _mm512_broadcastss_ps(_mm_mul_ss(
				halves(p), _mm_set_ss(x->unit[c / MV_BLOCK])));
			__m512 f = _mm512_mul_ps(scales_xs(p), d);

			for (size_t k = 0; k < bytes; k += 64)
				prefetch(p + AHEAD_BYTES + k);
			acc = _mm512_fmadd_ps(dot_step(t, p, x, c, STEP),
					      _mm512_permutexvar_ps(lane, f), acc);
			acc = _mm512_fmadd_ps(dot_step(t, p + 64, x, c + 128, STEP),
					      _mm512_permutexvar_ps(four, f), acc);
		}
		y[r] = _mm512_reduce_add_ps(acc);
	}
}

MV_ROWS(mv_avx512_q8_0, rows32(TYPE_Q8_0, w, x, y, first, end))
MV_ROWS(mv_avx512_q4_0, rows32(TYPE_Q4_0, w, x, y, first, end))
MV_ROWS(mv_avx512_q4_1, rows32(TYPE_Q4_1, w, x, y, first, end))
MV_ROWS(mv_avx512_q5_0, rows32(TYPE_Q5_0, w, x, y, first, end))
MV_ROWS(mv_avx512_q5_1, rows32(TYPE_Q5_1, w, x, y, first, end))
MV_ROWS(mv_avx512_iq4_nl, rows32(TYPE_IQ4_NL, w, x, y, first, end))
MV_ROWS(mv_avx512_ggml_mxfp4, rows32(TYPE_MXFP4, w, x, y, first, end))
