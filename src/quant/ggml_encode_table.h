/* ggml_encode_table.h - private to src/quant: codes that look up one of 16 values. */

static const float nonlinear[16] = {
	-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113
};

/* The nearest; in the middle between two the upper.  The differences that ggml compares
 * are exact where they are nearly alike, so that middles serve. */
SIMD vi nearest_nonlinear(vf x)
{
	static const float middle[15] = { -115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19,
					  31.5f, 45.5f, 61, 79, 101 };
	vi code = i_set(15);

	UNROLL_ALL for (unsigned i = 0; i < 15; i++)
		code = i_less(v_gt(v_set(middle[i]), x), code);
	return code;
}

struct table_fit { vf xq, qq; };

SIMD struct table_fit fit_table(const struct lanes *l, vf inverse)
{
	struct table_fit f = { v_set(0), v_set(0) };

	for (unsigned j = 0; j < BLOCK; j++) {
		vf q = v_look_up16(nonlinear, nearest_nonlinear(v_mul(inverse, l->x[j])));
		vf wq = v_mul(l->w[j], q);

		f.xq = v_add(f.xq, v_mul(wq, l->x[j]));
		f.qq = v_add(f.qq, v_mul(wq, q));
	}
	return f;
}

/* 0 for blocks of nothing. */
SIMD vf search_table(const struct lanes *l)
{
	struct extreme e = lanes_extreme(l->x);
	vf d = v_div(v_negative(e.value), v_set(-127)), best;
	struct table_fit f = fit_table(l, v_div(v_set(1), d));

	d = v_pick(v_gt(f.qq, v_set(0)), v_div(f.xq, f.qq), v_set(0));
	best = v_mul(d, f.xq);
	for (int i = -7; i <= 7; i++) {
		vm better;

		f = fit_table(l, v_div(v_set((float)(i - 127)), e.value));
		better = m_and(v_gt(f.qq, v_set(0)),
			       v_gt(v_mul(f.xq, f.xq), v_mul(best, f.qq)));
		d = v_pick(better, v_div(f.xq, f.qq), d);
		best = v_pick(better, v_mul(d, f.xq), best);
	}
	return v_pick(v_gt(v_set(1e-15f), e.size), v_set(0), d);
}

SIMD void table_codes(const vf x[BLOCK], vf inverse, vi code[BLOCK])
{
	for (unsigned j = 0; j < BLOCK; j++)
		code[j] = nearest_nonlinear(v_mul(inverse, x[j]));
}

/* Without weights x * x weighs. */
SIMD void table_weigh(const struct lanes_in *in, size_t first, vf sigma2, struct lanes *l)
{
	if (in->weights)
		lanes_weigh(in, first, sigma2, l);
	else
		for (unsigned j = 0; j < BLOCK; j++)
			l->w[j] = v_mul(l->x[j], l->x[j]);
}

void
WAY(ggml_encode_iq4_nl)(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	const struct lanes_in in = { src, weights, rows * (cols / BLOCK), cols / BLOCK };

	for (size_t i = 0; i < in.blocks; i += LANES) {
		struct lanes_out to;
		vf sum = v_set(0), d;
		vi code[BLOCK];
		struct lanes l;

		for (unsigned k = 0; k < LANES; k++)
			to.at[k] = i + k < in.blocks ? (uint8_t *)out + (i + k) * 18 : NULL;
		lanes_load(&in, i, l.x);
		for (unsigned j = 0; j < BLOCK; j++)
			sum = v_add(sum, v_mul(l.x[j], l.x[j]));
		table_weigh(&in, i, v_mul(sum, v_set(2.f / BLOCK)), &l);
		d = search_table(&l);
		table_codes(l.x, v_inverse(d), code);
		lanes_put_half(&to, 0, d);
		lanes_put_nibbles(&to, 2, code);
	}
}

/* ---- IQ4_XS: eight blocks with scales of 6 bits under one ---- */

#define XS_BLOCKS 8u
#define XS_BYTES 136u

static int
near_one(float f)
{
	uint32_t bits;

	f += 0x1.8p23f;
	memcpy(&bits, &f, 4);
	return (int)(bits & 0x7fffff) - 0x400000;
}

/* The eight scales become the head; inverse: of what they are then. */
static void
xs_head(const float scale[XS_BLOCKS], uint8_t *out, float inverse[XS_BLOCKS])
{
	float most = 0, size = 0, d, id;
	uint16_t half, high = 0;

	for (unsigned b = 0; b < XS_BLOCKS; b++)
		if (fabsf(scale[b]) > size) {
			size = fabsf(scale[b]);
			most = scale[b];
		}
	d = -most / 32;
	id = d != 0 ? 1 / d : 0;
	half = tb_f32_f16(d);
	memset(out + 4, 0, 4);
	for (unsigned b = 0; b < XS_BLOCKS; b++) {
		int l = near_one(id * scale[b]);
		float dl;

		l = l > 31 ? 31 : l < -32 ? -32 : l;
		dl = d * (float)l;
		inverse[b] = dl != 0 ? 1 / dl : 0;
		out[4 + b / 2] |= (uint8_t)(((l + 32) & 15) << b % 2 * 4);
		high |= (uint16_t)((l + 32) >> 4 << 2 * b);
	}
	memcpy(out, &half, 2);
	memcpy(out + 2, &high, 2);
}

/* As many large blocks as there are lanes, or those that are left. */
SIMD void xs_some(const struct lanes_in *in, size_t first, size_t count, uint8_t *out)
{
	float sums[LANES], scale[XS_BLOCKS * LANES], inverse[XS_BLOCKS * LANES] = { 0 };
	const struct lanes_in part = { in->src, in->weights, first + count * XS_BLOCKS, in->per_row };
	struct lanes l;

	if (in->weights)
		sums_of_squares(in->src + first * BLOCK, count, XS_BLOCKS * BLOCK, sums);
	for (size_t i = 0; i < count * XS_BLOCKS; i += LANES) {
		float sigma2[LANES] = { 0 };

		for (unsigned k = 0; in->weights && k < LANES; k++)
			sigma2[k] = sums[(lane_block(&part, first + i, k) - first) / XS_BLOCKS] *
				    (2.f / (XS_BLOCKS * BLOCK));
		lanes_load(&part, first + i, l.x);
		table_weigh(&part, first + i, v_load_f32(sigma2), &l);
		v_store_f32(scale + i, search_table(&l));
	}
	for (size_t i = 0; i < count; i++)
		xs_head(scale + i * XS_BLOCKS, out + i * XS_BYTES, inverse + i * XS_BLOCKS);
	for (size_t i = 0; i < count * XS_BLOCKS; i += LANES) {
		struct lanes_out to;
		vi code[BLOCK];

		for (unsigned k = 0; k < LANES; k++)
			to.at[k] = i + k < count * XS_BLOCKS ? out + (i + k) / XS_BLOCKS * XS_BYTES +
				   8 + (i + k) % XS_BLOCKS * 16 : NULL;
		lanes_load(&part, first + i, l.x);
		table_codes(l.x, v_load_f32(inverse + i), code);
		lanes_put_nibbles(&to, 0, code);
	}
}

void
WAY(ggml_encode_iq4_xs)(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	const struct lanes_in in = { src, weights, rows * (cols / BLOCK), cols / BLOCK };
	const size_t large = in.blocks / XS_BLOCKS;

	for (size_t i = 0; i < large; i += LANES)
		xs_some(&in, i * XS_BLOCKS, large - i < LANES ? large - i : LANES,
			(uint8_t *)out + i * XS_BYTES);
}

/* ---- MXFP4: a power of two and floats of 4 bits ---- */

/* The exponent two below that of the largest magnitude, by way of log2f(), which rounds up
 * just below a power of two and knows what subnormals are. */
SIMD vf mxfp4_scales(vf size, uint8_t exponent[LANES])
{
	float a[LANES], d[LANES];

	v_store_f32(a, size);
	for (unsigned i = 0; i < LANES; i++) {
		uint32_t bits;
		int e;

		memcpy(&bits, &a[i], 4);
		e = (int)(bits >> 23) - 2;
		if (e < -1 || (bits & 0x7fffff) > 0x7fff00)
			e = a[i] > 0 ? (int)floorf(log2f(a[i])) - 2 + 127 : 0;
		exponent[i] = (uint8_t)e;
		bits = exponent[i] < 2 ? 0x00200000u << exponent[i]
				       : (uint32_t)(exponent[i] - 1) << 23;
		memcpy(&d[i], &bits, 4);
	}
	return v_load_f32(d);
}

/* The nearest of 0 1 2 3 4 6 8 12, the lower in the middle; the sign of what is not 0. */
SIMD vi nearest_e2m1(vf x, const vf middle[7])
{
	vf size = v_abs(x);
	vi code = i_set(7), sign = i_and(i_right(i_of(x), 28), i_set(8));

	UNROLL_ALL for (unsigned i = 0; i < 7; i++)
		code = i_less(v_ge(middle[i], size), code);
	return i_pick(v_gt(size, middle[0]), i_or(code, sign), code);
}

static const float middles[7] = { .5f, 1.5f, 2.5f, 3.5f, 5, 7, 10 };

void
WAY(ggml_encode_mxfp4)(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	const struct lanes_in in = { src, weights, rows * (cols / BLOCK), cols / BLOCK };

	for (size_t i = 0; i < in.blocks; i += LANES) {
		uint8_t exponent[LANES];
		struct lanes_out to;
		vf x[BLOCK], d, middle[7];
		vi code[BLOCK];

		for (unsigned k = 0; k < LANES; k++)
			to.at[k] = i + k < in.blocks ? (uint8_t *)out + (i + k) * 17 : NULL;
		lanes_load(&in, i, x);
		d = mxfp4_scales(lanes_extreme(x).size, exponent);
		UNROLL for (unsigned k = 0; k < 7; k++)
			middle[k] = v_mul(d, v_set(middles[k]));
		for (unsigned j = 0; j < BLOCK; j++)
			code[j] = nearest_e2m1(x[j], middle);
		lanes_put(&to, 0, exponent, 1);
		lanes_put_nibbles(&to, 1, code);
	}
}

/* ---- NVFP4: a scale for 16, so that a lane has two ---- */

/* Half the scales; where one is zero, nothing reaches a code but 0. */
SIMD vf nvfp4_scales(vf size, uint8_t scale[LANES])
{
	float a[LANES], d[LANES];

	v_store_f32(a, size);
	for (unsigned i = 0; i < LANES; i++) {
		scale[i] = ggml_e4m3(a[i] / 6);
		d[i] = scale[i] ? ggml_e4m3_half(scale[i]) : INFINITY;
	}
	return v_load_f32(d);
}

/* 16 elements, in the order in which nibbles want them; bytes 8 to 15 are the second half. */
SIMD void nvfp4_half(const vf *x, uint8_t scale[LANES], vi *code)
{
	vf size = v_set(0), d, middle[7];

	for (unsigned j = 0; j < 16; j++)
		size = v_max(v_abs(x[j]), size);
	d = nvfp4_scales(size, scale);
	UNROLL for (unsigned k = 0; k < 7; k++)
		middle[k] = v_mul(d, v_set(middles[k]));
	for (unsigned j = 0; j < 16; j++)
		code[j / 8 * 16 + j % 8] = nearest_e2m1(x[j], middle);
}

void
WAY(ggml_encode_nvfp4)(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	const struct lanes_in in = { src, weights, rows * (cols / BLOCK), cols / BLOCK };

	for (size_t i = 0; i < in.blocks; i += LANES) {
		uint8_t scale[2][LANES], *p;
		struct lanes_out to;
		vi code[BLOCK];
		vf x[BLOCK];

		for (unsigned k = 0; k < LANES; k++)
			to.at[k] = i + k < in.blocks ? (uint8_t *)out + (i + k) / 2 * 36 +
				   4 + (i + k) % 2 * 16 : NULL;
		lanes_load(&in, i, x);
		nvfp4_half(x, scale[0], code);
		nvfp4_half(x + 16, scale[1], code + 8);
		lanes_put_nibbles(&to, 0, code);
		for (unsigned k = 0; k < 2 * LANES && (p = to.at[k / 2]); k++) {
			const float *group = src + (i + k / 2) * BLOCK + k % 2 * 16;
			uint8_t c = scale[k % 2][k / 2];

			((uint8_t *)out)[(i + k / 2) / 2 * 36 + (i + k / 2) % 2 * 2 + k % 2] = c;
			if (c == GGML_E4M3_MOST)
				ggml_nvfp4_codes(group, c, p + k % 2 * 8);
		}
	}
}
