/* affine_simd.h - affine.c for LANES groups at a time: their minima and maxima come
 * out of a transposition as one vector, so the arithmetic of scales is done once for
 * all.  A code takes no division. */

/* Halves away from zero: adding the number before one half never carries too far. */
SIMD vf v_away(vf v)
{
	vi sign = i_and(i_of(v), i_set(0x80000000));

	return v_trunc(v_add(v, v_of(i_or(sign, i_of(v_set(0x1.fffffep-2f))))));
}

SIMD vf v_round(enum flavour f, vf v)
{
	return f == FLAVOUR_METAL ? v_away(v) : v_nearest(v);
}

struct grids { vf scale, bias; };

SIMD struct grids affine_grids(vf lo, vf hi, vf top, enum flavour f)
{
	vf zero = v_set(0), s = v_max(v_div(v_sub(hi, lo), top), v_set(1e-7f)), edge, q0;
	vm low = v_gt(v_abs(lo), v_abs(hi)), some;

	s = v_pick(low, s, v_of(i_add(i_of(s), i_set(0x80000000))));
	edge = v_pick(low, lo, hi);
	q0 = v_round(f, v_div(edge, s));
	some = v_ne(q0, zero);
	return (struct grids){ v_pick(some, v_div(edge, q0), s), v_pick(some, edge, zero) };
}

/* For scales that reciprocals do not serve. */
static __attribute__((noinline)) void
affine_divide(const uint8_t *w, enum dtype t, unsigned group, unsigned bits, enum flavour f,
	      float scale, float bias, uint8_t *codes)
{
	const unsigned size = t == DT_F32 ? 4 : 2;
	const vf top = v_set((float)((1u << bits) - 1)), zero = v_set(0);
	uint8_t code[QUANT_GROUP_MAX];

	for (unsigned j = 0; j < group; j += LANES) {
		vf v = v_div(v_sub(v_load(t, w + j * size), v_set(bias)), v_set(scale));

		i_store_u8(code + j, i_trunc(v_max(v_min(v_round(f, v), top), zero)));
	}
	bits_pack(code, group, bits, codes);
}

/* d / scale without a division, as d * high + d * low with high + low the reciprocal to
 * 45 bits: the rounded quotient unless the true one is within 2^-21 units of the last
 * place of the middle between two floats, for which see affine_ordinary(). */
struct recip { vf high, low; };

SIMD vi affine_code(vf w, struct recip r, vf bias, vf top, enum flavour f)
{
	vf d = v_sub(w, bias), q = v_min(v_fma(d, r.high, v_mul(d, r.low)), top);

	return f == FLAVOUR_METAL ? i_trunc(v_add(q, v_set(0x1.fffffep-2f))) : i_nearest(q);
}

SIMD void affine_multiply(const uint8_t *w, enum dtype t, unsigned group, unsigned bits,
			  enum flavour f, struct recip r, vf bias, uint8_t *codes)
{
	const unsigned size = t == DT_F32 ? 4 : 2;
	const vf top = v_set((float)((1u << bits) - 1));

	UNROLL for (unsigned j = 0; j < group; j += 2 * LANES) {
		struct pair p = v_load_pair(t, w + j * size);

		codes_store_pair(t, codes + j / 8 * bits, affine_code(p.x, r, bias, top, f),
				 affine_code(p.y, r, bias, top, f), bits);
	}
}

/* May reciprocals serve?  Not for infinite, NaN and extreme scales.  And a quotient d/s
 * next to the middle M below (above) a tie k + 1/2: then d - s (k + 1/2), a multiple of
 * half a unit of s, equals s times half a unit of k + 1/2.  Written out, the mantissa
 * of s is within 16 of a multiple of 2^(24 - bits); on it, the quotient is either exact
 * or half a unit off, so only its neighbours are turned away. */
SIMD int affine_ordinary(vf scale, unsigned bits)
{
	const uint32_t period = 1u << (24 - bits);
	vi low = i_and(i_of(scale), i_set(period - 1));

	return m_all(v_gt(v_abs(scale), v_set(0x1p-100f))) &&
	       m_all(v_gt(v_set(0x1p100f), v_abs(scale))) &&
	       !m_any(i_gt(low, i_set(period - 17))) &&
	       !m_any(i_gt(i_set(16), i_and(i_sub(low, i_set(1)), i_set(0x7fffffff))));
}

SIMD struct grids affine_block_grids(const uint8_t *w, enum dtype t, unsigned group, unsigned bits,
				     enum flavour f)
{
	const unsigned size = t == DT_F32 ? 4 : 2;
	vf lo[LANES], hi[LANES];

	for (unsigned i = 0; i < LANES; i++) {
		vf least = v_set(INFINITY), most = v_set(f == FLAVOUR_METAL ? 0 : -INFINITY);

		UNROLL for (unsigned j = 0; j < group; j += 2 * LANES) {
			struct pair p = v_load_pair(t, w + (i * group + j) * size);

			least = v_min(p.y, v_min(p.x, least));
			most = v_max(p.y, v_max(p.x, most));
		}
		lo[i] = least;
		hi[i] = most;
	}
	return affine_grids(v_across(lo, 0), v_across(hi, 1), v_set((float)((1u << bits) - 1)), f);
}

/* LANES groups. */
SIMD void affine_block(const uint8_t *w, enum dtype t, unsigned group, unsigned bits,
		       enum flavour f, uint8_t *codes, void *scales, void *biases)
{
	const unsigned step = group * (t == DT_F32 ? 4 : 2);
	struct grids g = affine_block_grids(w, t, group, bits, f);
	float scale[LANES], high[LANES], low[LANES], bias[LANES];
	int ordinary = affine_ordinary(g.scale, bits);
	vf recip = v_div(v_set(1), g.scale);

	v_store(t, scales, g.scale);
	v_store(t, biases, g.bias);
	v_store_f32(scale, g.scale);
	v_store_f32(high, recip);
	v_store_f32(low, v_mul(v_fnma(recip, g.scale, v_set(1)), recip));
	v_store_f32(bias, g.bias);
	for (unsigned i = 0; i < LANES; i++, w += step, codes += group / 8 * bits) {
		/* The next block, while there is arithmetic to do: its first pass has none. */
		for (unsigned j = 0; j < step; j += 64)
			_mm_prefetch((const char *)w + LANES * step + j, _MM_HINT_T0);
		if (ordinary)
			affine_multiply(w, t, group, bits, f,
					(struct recip){ v_set(high[i]), v_set(low[i]) },
					v_set(bias[i]), codes);
		else
			affine_divide(w, t, group, bits, f, scale[i], bias[i], codes);
	}
}

struct affine_io { const uint8_t *w; size_t n; uint8_t *codes, *scales, *biases; };

SIMD size_t affine_blocks(const struct affine_io *io, unsigned bits, unsigned group,
			  enum flavour f, enum dtype t)
{
	const size_t size = t == DT_F32 ? 4 : 2, block = (size_t)LANES * group;
	size_t i = 0;

	for (; io->n - i * block >= block; i++)
		affine_block(io->w + i * block * size, t, group, bits, f,
			     io->codes + i * (block * bits / 8), io->scales + i * LANES * size,
			     io->biases + i * LANES * size);
	return i * block;
}

/* Everything known when it is compiled: the loops over a group unroll.  The widths
 * that people use have their own code, the others share one for each dtype. */
SIMD size_t affine_grouped(const struct affine_io *io, unsigned bits, unsigned group,
			   enum flavour f, enum dtype t)
{
	return group == 64 ? affine_blocks(io, bits, 64, f, t)
	     : group == 32 ? affine_blocks(io, bits, 32, f, t)
			   : affine_blocks(io, bits, 128, f, t);
}

SIMD size_t affine_typed(const struct affine_io *io, const struct scheme *s, enum flavour f,
			 enum dtype t)
{
	if (f != FLAVOUR_METAL)
		return affine_blocks(io, s->bits, s->group, f, t);
	return s->bits == 4 ? affine_grouped(io, 4, s->group, FLAVOUR_METAL, t)
	     : s->bits == 8 ? affine_grouped(io, 8, s->group, FLAVOUR_METAL, t)
	     : s->bits == 2 ? affine_blocks(io, 2, s->group, FLAVOUR_METAL, t)
	     : s->bits == 3 ? affine_blocks(io, 3, s->group, FLAVOUR_METAL, t)
	     : s->bits == 5 ? affine_blocks(io, 5, s->group, FLAVOUR_METAL, t)
			    : affine_blocks(io, 6, s->group, FLAVOUR_METAL, t);
}

static size_t
affine_simd(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	    const struct quant_parts *out)
{
	struct affine_io io = { src, n, out->codes, out->scales, out->biases };

	return t == DT_BF16 ? affine_typed(&io, s, f, DT_BF16)
	     : t == DT_F16 ? affine_typed(&io, s, f, DT_F16) : affine_typed(&io, s, f, DT_F32);
}
