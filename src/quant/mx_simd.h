/* mx_simd.h - mx.c's Metal flavour for LANES groups at a time: the largest magnitudes
 * come out of a transposition as one vector, as in affine_simd.h. */

/* E4M3: the mantissa is rounded by integers; below 2^-6 by an addition. */
SIMD vi e4m3_codes(vf x)
{
	vi u = i_of(x), a = i_and(u, i_set(0x7fffffff)), normal, small, code;

	normal = i_add(i_add(a, i_set(0x7ffff)), i_and(i_right(a, 20), i_set(1)));
	normal = i_sub(i_right(normal, 20), i_set(120 << 3));
	small = i_sub(i_of(v_add(v_of(a), v_set(0x1p14f))), i_of(v_set(0x1p14f)));
	code = i_pick(i_gt(i_set(0x3c800000), a), small, normal);
	code = i_pick(i_gt(a, i_set(0x43dfffff)), i_set(0x7e), code);
	return i_or(code, i_and(i_right(u, 24), i_set(0x80)));
}

SIMD vi e2m1_codes(vf x)
{
	vi u = i_of(x), a = i_and(u, i_set(0x7fffffff)), normal, small, code;

	normal = i_add(i_add(a, i_set(0x1fffff)), i_and(i_right(a, 22), i_set(1)));
	normal = i_sub(i_right(normal, 22), i_set(126 << 1));
	small = i_sub(i_of(v_add(v_of(a), v_set(0x1p22f))), i_of(v_set(0x1p22f)));
	code = i_pick(i_gt(i_set(0x3f800000), a), small, normal);
	code = i_pick(i_gt(a, i_set(0x40bfffff)), i_set(7), code);
	code = i_or(code, i_and(i_right(u, 28), i_set(8)));
	return i_pick(v_ne(x, x), i_set(7), code);
}

/* The exponent's byte is one up above the square root of two; next to it, and at
 * both ends of the range, the scalar code decides. */
SIMD void mx_scales(vf amax, float top, uint8_t *bytes, float recip[LANES])
{
	vf d = v_div(amax, v_set(top));
	vi e = i_right(i_of(d), 23), m = i_and(i_of(d), i_set(0x7fffff));
	vi byte = i_pick(i_gt(m, i_set(0x350500)), i_add(e, i_set(1)), e);
	vi beside = i_and(i_sub(m, i_set(0x350481)), i_set(0x7fffffff));
	float a[LANES];

	v_store_f32(a, d);
	i_store_u8(bytes, byte);
	v_store_f32(recip, v_of(i_left(i_sub(i_set(254), byte), 23)));
	if (!m_any(i_gt(i_set(1), e)) && !m_any(i_gt(e, i_set(252))) &&
	    !m_any(i_gt(i_set(0xfc), beside)))
		return;
	for (unsigned i = 0; i < LANES; i++) {
		bytes[i] = fp_e8m0_round(a[i]);
		recip[i] = 1 / fp_e8m0_decode(bytes[i]);
	}
}

SIMD void nv_scales(vf amax, uint8_t *bytes, float recip[LANES])
{
	vf scale;

	i_store_u8(bytes, e4m3_codes(v_div(amax, v_set(6))));
	scale = v_load_e4m3(bytes);
	v_store_f32(recip, v_pick(v_ne(scale, v_set(0)), v_div(v_set(1), scale), v_set(0)));
}

SIMD vf mx_absmax(const uint8_t *w, enum dtype t, unsigned group)
{
	const unsigned size = t == DT_F32 ? 4 : 2;
	vf most = v_set(0);

	if (group < 2 * LANES)
		return v_max(v_abs(v_load(t, w)), most);
	UNROLL for (unsigned j = 0; j < group; j += 2 * LANES) {
		struct pair p = v_load_pair(t, w + j * size);

		most = v_max(v_abs(p.y), v_max(v_abs(p.x), most));
	}
	return most;
}

SIMD void mx_codes(const uint8_t *w, enum dtype t, unsigned group, unsigned bits, vf recip,
		   uint8_t *codes)
{
	const unsigned size = t == DT_F32 ? 4 : 2;

	if (group < 2 * LANES) {
		i_store_u4(codes, e2m1_codes(v_mul(v_load(t, w), recip)));
		return;
	}
	UNROLL for (unsigned j = 0; j < group; j += 2 * LANES) {
		struct pair p = v_load_pair(t, w + j * size);
		vf x = v_mul(p.x, recip), y = v_mul(p.y, recip);

		if (bits == 8)
			codes_store_pair(t, codes + j, e4m3_codes(x), e4m3_codes(y), 8);
		else
			codes_store_pair(t, codes + j / 2, e2m1_codes(x), e2m1_codes(y), 4);
	}
}

SIMD void mx_block(struct scheme s, enum dtype t, const uint8_t *w, uint8_t *codes, uint8_t *scales)
{
	const unsigned step = s.group * (t == DT_F32 ? 4 : 2);
	vf most[LANES], amax;
	float recip[LANES];

	for (unsigned i = 0; i < LANES; i++)
		most[i] = mx_absmax(w + i * step, t, s.group);
	amax = v_across(most, 1);
	if (s.kind == SCHEME_NVFP4)
		nv_scales(amax, scales, recip);
	else
		mx_scales(amax, s.bits == 8 ? 448 : 6, scales, recip);
	for (unsigned i = 0; i < LANES; i++)
		mx_codes(w + i * step, t, s.group, s.bits, v_set(recip[i]),
			 codes + i * (s.group / 8 * s.bits));
}

SIMD size_t mx_blocks(struct scheme s, enum dtype t, const uint8_t *w, size_t n,
		      const struct quant_parts *out)
{
	const size_t block = LANES * s.group, size = t == DT_F32 ? 4 : 2;
	size_t i = 0;

	for (; n - i * block >= block; i++)
		mx_block(s, t, w + i * block * size,
			 (uint8_t *)out->codes + i * (block / 8 * s.bits),
			 (uint8_t *)out->scales + i * LANES);
	return i * block;
}

SIMD size_t mx_typed(struct scheme s, enum dtype t, const void *src, size_t n,
		     const struct quant_parts *out)
{
	return t == DT_BF16 ? mx_blocks(s, DT_BF16, src, n, out)
	     : t == DT_F16 ? mx_blocks(s, DT_F16, src, n, out) : mx_blocks(s, DT_F32, src, n, out);
}

static size_t
encode_simd(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	    const struct quant_parts *out)
{
	if (s->kind == SCHEME_AFFINE)
		return affine_simd(s, f, t, src, n, out);
	if (f != FLAVOUR_METAL)
		return 0;
	switch (s->kind) {
	case SCHEME_NVFP4:
		return mx_typed((struct scheme){ SCHEME_NVFP4, 4, 16, 0, 0 }, t, src, n, out);
	case SCHEME_MXFP8:
		return mx_typed((struct scheme){ SCHEME_MXFP8, 8, 32, 0, 0 }, t, src, n, out);
	case SCHEME_MXFP4:
		return mx_typed((struct scheme){ SCHEME_MXFP4, 4, 32, 0, 0 }, t, src, n, out);
	default:
		return 0;
	}
}
