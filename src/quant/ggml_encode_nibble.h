/* ggml_encode_nibble.h - private to src/quant: a scale, maybe a minimum, and 32 codes of 4,
 * 5 or 8 bits.  Without weights the ends of the range decide; with them scales are tried. */

/* What is too large for an int has 0 in its lowest byte, and that is ggml's code then. */
SIMD vi i_code(vf a, uint32_t top)
{
	return i_min(i_trunc(a), i_set(top));
}

struct grid { vf scale, min; };		/* with the codes: what a block becomes */

/* ---- no weights ---- */

/* Codes about 2^(bits - 1), which is zero: the value farthest from it gets code 0. */
SIMD struct grid about_zero(const vf x[BLOCK], unsigned bits, vi code[BLOCK])
{
	const float half = (float)(1u << (bits - 1));
	vf d = v_div(lanes_extreme(x).value, v_set(-half)), inverse = v_inverse(d);

	for (unsigned j = 0; j < BLOCK; j++)
		code[j] = i_code(v_add(v_mul(x[j], inverse), v_set(half + .5f)),
				 (1u << bits) - 1);
	return (struct grid){ d, v_set(0) };
}

SIMD struct grid from_minimum(const vf x[BLOCK], unsigned bits, vi code[BLOCK])
{
	const uint32_t top = (1u << bits) - 1;
	vf least = v_set(FLT_MAX), most = v_set(-FLT_MAX), d, inverse;

	for (unsigned j = 0; j < BLOCK; j++) {
		least = v_min(x[j], least);
		most = v_max(x[j], most);
	}
	d = v_div(v_sub(most, least), v_set((float)top));
	inverse = v_inverse(d);
	for (unsigned j = 0; j < BLOCK; j++)
		code[j] = i_code(v_add(v_mul(v_sub(x[j], least), inverse), v_set(.5f)), top);
	return (struct grid){ d, least };
}

/* ---- weights ---- */

/* Sums of w x l and w l l with l the code of x / scale. */
struct fit { vf xl, ll; };

SIMD vi code_about(vf x, vf inverse, int32_t half)
{
	return i_clamp(i_near(v_mul(inverse, x)), -half, half - 1);
}

SIMD struct fit fit_about(const struct lanes *l, vf inverse, int32_t half)
{
	struct fit f = { v_set(0), v_set(0) };

	for (unsigned j = 0; j < BLOCK; j++) {
		vf code = v_from_i(code_about(l->x[j], inverse, half));

		f.xl = v_add(f.xl, v_mul(v_mul(l->w[j], l->x[j]), code));
		f.ll = v_add(f.ll, v_mul(v_mul(l->w[j], code), code));
	}
	return f;
}

/* The scale with the least weighted error, of 19 that put the largest value near the end. */
SIMD struct grid search_about_zero(const struct lanes *l, unsigned bits, vi code[BLOCK])
{
	const int32_t half = 1 << (bits - 1);
	struct extreme e = lanes_extreme(l->x);
	vf at = v_div(v_set((float)-half), e.value), scale, best;
	vm none = v_gt(v_set(1e-15f), e.size);
	struct fit f = fit_about(l, at, half);

	scale = v_pick(v_ne(f.ll, v_set(0)), v_div(f.xl, f.ll), v_set(0));
	best = v_mul(scale, f.xl);
	for (int i = -9; i <= 9; i++) {
		vf inverse = v_div(v_set(-((float)half + .1f * (float)i)), e.value);
		vm better;

		if (!i)
			continue;
		f = fit_about(l, inverse, half);
		better = m_and(v_gt(f.ll, v_set(0)),
			       v_gt(v_mul(f.xl, f.xl), v_mul(best, f.ll)));
		scale = v_pick(better, v_div(f.xl, f.ll), scale);
		best = v_pick(better, v_mul(scale, f.xl), best);
		at = v_pick(better, inverse, at);
	}
	for (unsigned j = 0; j < BLOCK; j++)
		code[j] = i_pick(none, i_set(0), i_add(code_about(l->x[j], at, half),
						       i_set((uint32_t)half)));
	return (struct grid){ v_pick(none, v_set(0), scale), v_set(0) };
}

SIMD vi code_from(vf x, vf min, vf inverse, uint32_t top)
{
	return i_clamp(i_near(v_mul(inverse, v_sub(x, min))), 0, (int32_t)top);
}

SIMD vf weighted_error(const struct lanes *l, const vf code[BLOCK], struct grid g)
{
	vf sum = v_set(0);

	for (unsigned j = 0; j < BLOCK; j++) {
		vf d = v_sub(v_add(v_mul(g.scale, code[j]), g.min), l->x[j]);

		sum = v_add(sum, v_mul(l->w[j], v_mul(d, d)));
	}
	return sum;
}

/* What does not change while scales are tried. */
struct moments { vf least, most, w, x; };

SIMD struct moments moments_of(const struct lanes *l)
{
	struct moments m = { l->x[0], l->x[0], l->w[0], v_mul(l->w[0], l->x[0]) };

	for (unsigned j = 1; j < BLOCK; j++) {
		m.least = v_min(l->x[j], m.least);
		m.most = v_max(l->x[j], m.most);
		m.w = v_add(m.w, l->w[j]);
		m.x = v_add(m.x, v_mul(l->w[j], l->x[j]));
	}
	m.least = v_pick(v_gt(m.least, v_set(0)), v_set(0), m.least);
	return m;
}

/* The line through codes and values with the least squares, its minimum no more than 0;
 * *some: where there is one. */
SIMD struct grid least_squares(const struct lanes *l, const struct moments *m,
			       const vf code[BLOCK], vm *some)
{
	vf sl = v_set(0), sll = v_set(0), sxl = v_set(0), det;
	struct grid g;
	vm above;

	for (unsigned j = 0; j < BLOCK; j++) {
		vf wl = v_mul(l->w[j], code[j]);

		sl = v_add(sl, wl);
		sll = v_add(sll, v_mul(wl, code[j]));
		sxl = v_add(sxl, v_mul(wl, l->x[j]));
	}
	det = v_sub(v_mul(m->w, sll), v_mul(sl, sl));
	g.scale = v_div(v_sub(v_mul(m->w, sxl), v_mul(m->x, sl)), det);
	g.min = v_div(v_sub(v_mul(sll, m->x), v_mul(sl, sxl)), det);
	above = v_gt(g.min, v_set(0));
	g.min = v_pick(above, v_set(0), g.min);
	g.scale = v_pick(above, v_div(sxl, sll), g.scale);
	*some = v_gt(det, v_set(0));
	return g;
}

SIMD struct grid search_from_minimum(const struct lanes *l, unsigned bits, vi code[BLOCK])
{
	const uint32_t top = (1u << bits) - 1;
	struct moments m = moments_of(l);
	vm wide = v_gt(m.most, m.least), some;
	vf from = m.least, inverse = v_div(v_set((float)top), v_sub(m.most, from)), best, aux[BLOCK];
	struct grid g = { v_div(v_set(1), inverse), from }, now;

	for (unsigned j = 0; j < BLOCK; j++)
		aux[j] = v_from_i(code_from(l->x[j], from, inverse, top));
	best = weighted_error(l, aux, g);
	for (int i = 0; i <= 36; i++) {
		vf try = v_div(v_set(-.9f + .05f * (float)i + (float)top), v_sub(m.most, g.min));
		vm better;
		vf error;

		for (unsigned j = 0; j < BLOCK; j++)
			aux[j] = v_from_i(code_from(l->x[j], g.min, try, top));
		now = least_squares(l, &m, aux, &some);
		error = weighted_error(l, aux, now);
		better = m_and(some, v_gt(best, error));
		inverse = v_pick(better, try, inverse);
		from = v_pick(better, g.min, from);
		best = v_pick(better, error, best);
		g.scale = v_pick(better, now.scale, g.scale);
		g.min = v_pick(better, now.min, g.min);
	}
	for (unsigned j = 0; j < BLOCK; j++)
		code[j] = i_pick(wide, code_from(l->x[j], from, inverse, top), i_set(0));
	return (struct grid){ v_pick(wide, g.scale, v_set(0)), v_pick(wide, g.min, m.least) };
}

/* ---- types ---- */

/* A scale, the minimum, the fifth bits, the nibbles. */
struct nibble_type { unsigned bits; int minimum; };

SIMD unsigned nibble_bytes(struct nibble_type t)
{
	return 18 + (t.minimum ? 2 : 0) + (t.bits == 5 ? 4 : 0);
}

/* Block `first` of the lanes goes to out. */
SIMD void put_grid(struct nibble_type t, struct grid g, const vi code[BLOCK],
		   const struct lanes_in *in, size_t first, uint8_t *out)
{
	const unsigned bytes = nibble_bytes(t), fifths = t.minimum ? 4 : 2;
	struct lanes_out to;

	for (unsigned i = 0; i < LANES; i++)
		to.at[i] = first + i < in->blocks ? out + i * bytes : NULL;
	lanes_put_half(&to, 0, g.scale);
	if (t.minimum)
		lanes_put_half(&to, 2, g.min);
	if (t.bits == 5)
		lanes_put_fifths(&to, fifths, code);
	lanes_put_nibbles(&to, bytes - 16, code);
}

SIMD void nibble_plain(struct nibble_type t, const struct lanes_in *in, uint8_t *out)
{
	vi code[BLOCK];
	vf x[BLOCK];

	for (size_t i = 0; i < in->blocks; i += LANES) {
		struct grid g;

		lanes_load(in, i, x);
		g = t.minimum ? from_minimum(x, t.bits, code) : about_zero(x, t.bits, code);
		put_grid(t, g, code, in, i, out + i * nibble_bytes(t));
	}
}

/* sums: of the squares of a row. */
SIMD void nibble_search(struct nibble_type t, const struct lanes_in *in, const float *sums,
			uint8_t *out)
{
	const float cols = (float)(in->per_row * BLOCK);
	float sigma2[LANES];
	vi code[BLOCK];
	struct lanes l;

	for (size_t i = 0; i < in->blocks; i += LANES) {
		struct grid g;

		for (unsigned k = 0; k < LANES; k++)
			sigma2[k] = sums[lane_block(in, i, k) / in->per_row] / cols;
		lanes_load(in, i, l.x);
		lanes_weigh(in, i, v_load_f32(sigma2), &l);
		g = t.minimum ? search_from_minimum(&l, t.bits, code)
			      : search_about_zero(&l, t.bits, code);
		put_grid(t, g, code, in, i, out + i * nibble_bytes(t));
	}
}

SIMD void nibble_rows(struct nibble_type t, const float *src, size_t rows, size_t cols,
		      const float *weights, uint8_t *out)
{
	struct lanes_in in = { src, weights, rows * (cols / BLOCK), cols / BLOCK };
	float sums[SUMS];

	if (!weights) {
		nibble_plain(t, &in, out);
		return;
	}
	for (size_t i = 0; i < rows; i += SUMS) {
		size_t n = rows - i < SUMS ? rows - i : SUMS;

		in.src = src + i * cols;
		in.blocks = n * in.per_row;
		sums_of_squares(in.src, n, cols, sums);
		nibble_search(t, &in, sums, out + i * in.per_row * nibble_bytes(t));
	}
}

#define NIBBLE_TYPE(name, bits, minimum) \
void \
WAY(name)(const float *src, size_t rows, size_t cols, const float *weights, void *out) \
{ \
	nibble_rows((struct nibble_type){ bits, minimum }, src, rows, cols, weights, out); \
}

NIBBLE_TYPE(ggml_encode_q4_0, 4, 0)
NIBBLE_TYPE(ggml_encode_q4_1, 4, 1)
NIBBLE_TYPE(ggml_encode_q5_0, 5, 0)
NIBBLE_TYPE(ggml_encode_q5_1, 5, 1)

/* ---- Q8_0 ---- */

/* Halves away from zero: adding the number before one half never carries too far. */
SIMD vi i_away(vf v)
{
	vi sign = i_and(i_of(v), i_set(0x80000000));

	return i_trunc(v_add(v, v_of(i_or(sign, i_of(v_set(0x1.fffffep-2f))))));
}

/* A scale and bytes, whatever weighs. */
void
WAY(ggml_encode_q8_0)(const float *src, size_t rows, size_t cols, const float *weights, void *out)
{
	const struct lanes_in in = { src, weights, rows * (cols / BLOCK), cols / BLOCK };

	for (size_t i = 0; i < in.blocks; i += LANES) {
		uint32_t word[LANES];
		struct lanes_out to;
		vf x[BLOCK], d, inverse;

		for (unsigned k = 0; k < LANES; k++)
			to.at[k] = i + k < in.blocks ? (uint8_t *)out + (i + k) * 34 : NULL;
		lanes_load(&in, i, x);
		d = v_div(lanes_extreme(x).size, v_set(127));
		inverse = v_inverse(d);
		lanes_put_half(&to, 0, d);
		for (unsigned j = 0; j < BLOCK; j += 4) {
			vi w = i_set(0);

			UNROLL for (unsigned b = 0; b < 4; b++) {
				vi code = i_and(i_away(v_mul(x[j + b], inverse)), i_set(255));

				w = i_or(w, i_left(code, (int)(8 * b)));
			}
			i_store(word, w);
			lanes_put(&to, 2 + j, word, 4);
		}
	}
}
