/* affine_simd.h - affine.c for LANES groups at a time: their minima and maxima come
 * out of a transposition as one vector, so the arithmetic of scales is done once
 * for all; a code costs one true division. */

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

SIMD void affine_codes(const uint8_t *w, enum dtype t, unsigned group, unsigned bits,
		       struct grids g, enum flavour f, uint8_t *codes)
{
	const unsigned size = t == DT_F32 ? 4 : 2;
	const vf top = v_set((float)((1u << bits) - 1)), zero = v_set(0);
	const uint64_t mask = code_mask(bits);

	UNROLL for (unsigned j = 0; j < group; j += LANES, codes += LANES / 8 * bits) {
		vf v = v_round(f, v_div(v_sub(v_load(t, w + j * size), g.bias), g.scale));

		codes_store(codes, i_trunc(v_max(v_min(v, top), zero)), bits, mask);
	}
}

/* LANES groups. */
SIMD void affine_block(const uint8_t *w, enum dtype t, unsigned group, unsigned bits,
		       enum flavour f, uint8_t *codes, void *scales, void *biases)
{
	const unsigned size = t == DT_F32 ? 4 : 2;
	vf lo[LANES], hi[LANES];
	struct grids g;

	for (unsigned i = 0; i < LANES; i++) {
		vf least = v_set(INFINITY), most = v_set(f == FLAVOUR_METAL ? 0 : -INFINITY);

		UNROLL for (unsigned j = 0; j < group; j += LANES) {
			vf v = v_load(t, w + (i * group + j) * size);

			least = v_min(v, least);
			most = v_max(v, most);
		}
		lo[i] = least;
		hi[i] = most;
	}
	g = affine_grids(v_across(lo, 0), v_across(hi, 1), v_set((float)((1u << bits) - 1)), f);
	v_store(t, scales, g.scale);
	v_store(t, biases, g.bias);
	for (unsigned i = 0; i < LANES; i++)
		affine_codes(w + i * group * size, t, group, bits,
			     (struct grids){ v_spread(g.scale, i), v_spread(g.bias, i) }, f,
			     codes + i * (group * bits / 8));
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
