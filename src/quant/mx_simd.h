/* mx_simd.h - mx.c's Metal flavour: a group's scale is found in scalar registers (one
 * in 16 or 32 elements), its elements are rounded in vectors. */

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

/* The scale's byte, and what elements are multiplied by. */
SIMD float mx_reciprocal(const struct scheme *s, float amax, uint8_t *byte)
{
	float scale;

	if (s->kind != SCHEME_NVFP4) {
		*byte = fp_e8m0_round(amax / (s->bits == 8 ? 448 : 6));
		return 1 / fp_e8m0_decode(*byte);
	}
	*byte = fp_e4m3_encode(amax / 6);
	scale = fp_e4m3_decode(*byte);
	return scale == 0 ? 0 : 1 / scale;
}

SIMD void mx_group(const struct scheme *s, enum dtype t, const uint8_t *w, uint8_t *codes,
		   uint8_t *scale)
{
	const unsigned size = t == DT_F32 ? 4 : 2;
	vf most = v_set(0), r;

	UNROLL for (unsigned j = 0; j < s->group; j += LANES)
		most = v_max(v_abs(v_load(t, w + j * size)), most);
	r = v_set(mx_reciprocal(s, v_reduce_max(most), scale));
	UNROLL for (unsigned j = 0; j < s->group; j += LANES, codes += LANES / 8 * s->bits) {
		vf x = v_mul(v_load(t, w + j * size), r);

		codes_store(codes, s->bits == 8 ? e4m3_codes(x) : e2m1_codes(x), s->bits,
			    code_mask(s->bits));
	}
}

SIMD size_t mx_groups(struct scheme s, enum dtype t, const uint8_t *w, size_t n,
		      const struct quant_parts *out)
{
	const size_t bytes = s.group * s.bits / 8, step = s.group * (t == DT_F32 ? 4 : 2);

	for (size_t i = 0; i < n / s.group; i++)
		mx_group(&s, t, w + i * step, (uint8_t *)out->codes + i * bytes,
			 (uint8_t *)out->scales + i);
	return n;
}

SIMD size_t mx_typed(struct scheme s, enum dtype t, const void *src, size_t n,
		     const struct quant_parts *out)
{
	return t == DT_BF16 ? mx_groups(s, DT_BF16, src, n, out)
	     : t == DT_F16 ? mx_groups(s, DT_F16, src, n, out) : mx_groups(s, DT_F32, src, n, out);
}

static size_t
mx_simd(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	const struct quant_parts *out)
{
	if (f != FLAVOUR_METAL)
		return 0;
	if (s->kind == SCHEME_NVFP4)
		return mx_typed((struct scheme){ SCHEME_NVFP4, 4, 16, 0 }, t, src, n, out);
	return s->bits == 8 ? mx_typed((struct scheme){ SCHEME_MXFP8, 8, 32, 0 }, t, src, n, out)
			    : mx_typed((struct scheme){ SCHEME_MXFP4, 4, 32, 0 }, t, src, n, out);
}
