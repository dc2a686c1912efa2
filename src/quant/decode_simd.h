/* decode_simd.h - what groups.h decodes to F32, the same operations in the same order. */

SIMD float scale_at(const struct scheme *s, enum dtype t, const void *scales, size_t i)
{
	const uint8_t *p = scales;
	uint32_t u;
	uint16_t h;
	float f;

	if (s->kind == SCHEME_NVFP4) {
		h = (uint16_t)((p[i] & 0x80) << 8 | (p[i] & 0x7f) << 7);
		return _cvtsh_ss(h) * 256;
	}
	if (s->kind != SCHEME_AFFINE) {
		u = p[i] ? (uint32_t)p[i] << 23 : 1u << 22;
	} else if (t == DT_F32) {
		memcpy(&u, p + 4 * i, 4);
	} else {
		memcpy(&h, p + 2 * i, 2);
		if (t == DT_F16)
			return _cvtsh_ss(h);
		u = (uint32_t)h << 16;
	}
	memcpy(&f, &u, 4);
	return f;
}

SIMD vf values_at(const struct scheme *s, const uint8_t *p, const uint8_t *end)
{
	static const float e2m1[16] = { 0, .5f, 1, 1.5f, 2, 3, 4, 6,
					-0.f, -.5f, -1, -1.5f, -2, -3, -4, -6 };
	vi code;

	if (s->kind == SCHEME_MXFP8)
		return v_load_e4m3(p);
	code = codes_load(p, end, s->bits, code_mask(s->bits));
	return s->kind == SCHEME_AFFINE ? v_from_i(code) : v_look_up16(e2m1, code);
}

SIMD size_t decode_groups(struct scheme s, const struct quant_src *q, size_t n, float *out)
{
	const size_t step = LANES * s.bits / 8;
	const uint8_t *p = q->codes, *end = p + n / 8 * s.bits;

	for (size_t i = 0; i < n / s.group; i++) {
		vf scale = v_set(scale_at(&s, q->scale_dtype, q->scales, i) * q->global), bias;

		if (s.kind == SCHEME_AFFINE)
			bias = v_set(scale_at(&s, q->scale_dtype, q->biases, i) * q->global);
		for (unsigned j = 0; j < s.group; j += LANES, p += step, out += LANES) {
			vf v = v_mul(values_at(&s, p, end), scale);

			v_store_f32(out, s.kind == SCHEME_AFFINE ? v_add(v, bias) : v);
		}
	}
	return n;
}

/* Kinds and widths compiled on their own where speed was asked for. */
static size_t
decode_simd(const struct scheme *s, const struct quant_src *q, size_t n, float *out)
{
	switch (s->kind) {
	case SCHEME_GGML:
		return ggml_simd(s->ggml, q->codes, n, out);
	case SCHEME_MXFP4:
		return decode_groups((struct scheme){ SCHEME_MXFP4, 4, 32, 0, 0 }, q, n, out);
	case SCHEME_MXFP8:
		return decode_groups((struct scheme){ SCHEME_MXFP8, 8, 32, 0, 0 }, q, n, out);
	case SCHEME_NVFP4:
		return decode_groups((struct scheme){ SCHEME_NVFP4, 4, 16, 0, 0 }, q, n, out);
	case SCHEME_AFFINE:
		break;
	default:
		return 0;
	}
	if (s->bits == 4)
		return decode_groups((struct scheme){ SCHEME_AFFINE, 4, s->group, 0, 0 }, q, n, out);
	if (s->bits == 8)
		return decode_groups((struct scheme){ SCHEME_AFFINE, 8, s->group, 0, 0 }, q, n, out);
	return decode_groups((struct scheme){ SCHEME_AFFINE, s->bits, s->group, 0, 0 }, q, n, out);
}
