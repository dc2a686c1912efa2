/* ggml_k_share.h - private to src/quant: the scales (and minima) of a super-block become
 * small integers of what they share. */

/* Codes 0 .. most of groups' scales, the largest being the last. */
SIMD vf k_share_largest(const vf *scale, unsigned groups, int most,
			uint32_t (*out)[LANES])
{
	vf max = v_set(0), inverse;

	for (unsigned j = 0; j < groups; j++)
		max = v_max(scale[j], max);
	inverse = v_pick(v_gt(max, v_set(0)), v_div(v_set((float)most), max), v_set(0));
	for (unsigned j = 0; j < groups; j++)
		i_store(out[j], k_byte(k_nearest(v_mul(inverse, scale[j]))));
	return v_div(max, v_set((float)most));
}

/* The scale of the largest magnitude, the first of equal ones. */
SIMD vf k_extreme(const vf *scale, unsigned groups, vf *magnitude)
{
	vf amax = v_set(0), max = amax;

	for (unsigned j = 0; j < groups; j++) {
		vf size = v_abs(scale[j]);
		vm more = v_gt(size, amax);

		amax = v_pick(more, size, amax);
		max = v_pick(more, scale[j], max);
	}
	*magnitude = amax;
	return max;
}

/* Six bits, the extreme being -32; zero where there is none. */
SIMD void k_share_six(struct k_batch *b)
{
	struct k_range range = k_range(-32, 31);
	vf size, max = k_extreme(b->scale, 16, &size), inverse = v_div(v_set(-32), max);
	vm some = v_ne(max, v_set(0));

	for (unsigned j = 0; j < 16; j++) {
		/* A byte with a sign, before it is held in its range. */
		vi c = k_byte(i_add(k_nearest(v_mul(inverse, b->scale[j])), i_set(128)));

		c = i_add(c, i_set(K_ZERO - 128));
		c = k_byte(i_add(i_min(i_max(c, range.low), range.high), i_set(32)));
		i_store(b->ls[j], i_of(v_pick(some, v_of(c), v_set(0))));
	}
	v_store_f32(b->d, v_pick(some, v_div(v_set(1), inverse), v_set(0)));
}

/* Eight bits, the extreme being -128.  d is 0 where there is nothing to encode. */
SIMD void k_share_eight(struct k_batch *b)
{
	vf size, max = k_extreme(b->scale, 16, &size), inverse = v_div(v_set(-128), max);
	vm none = v_gt(v_set(K_EPS), size);

	for (unsigned j = 0; j < 16; j++)
		i_store(b->ls[j], k_byte(i_min(k_nearest(v_mul(inverse, b->scale[j])),
					       i_set(K_ZERO + 127))));
	v_store_f32(b->d, v_pick(none, v_set(0), v_div(v_set(1), inverse)));
}

/* ---- with weights: what explains most; scales and minima abreast ---- */

struct k_shared {
	const vf *x;		/* scales, or minima */
	uint32_t (*out)[LANES];
	vf w[K_GROUPS], wx[K_GROUPS], c[K_GROUPS];
	vf max, inverse, d;
};

/* The error with `inverse`.  first: codes of which no more than 8 bits are kept. */
SIMD vf k_shared_error(const struct k_shared *s, unsigned n, int most, vf inverse,
		       bool first)
{
	vf d = v_div(v_set(1), inverse), error = v_set(0);

	for (unsigned j = 0; j < n; j++) {
		vi bits = k_nearest(v_mul(inverse, s->x[j]));
		vf c = first ? k_byte_value(bits)
			     : k_value(i_min(bits, i_set(K_ZERO + (uint32_t)most)));
		vf diff = v_sub(s->x[j], v_mul(d, c));

		error = v_add(error, v_mul(v_mul(s->w[j], diff), diff));
	}
	return error;
}

SIMD void k_shared_begin(struct k_shared *s, const vf *weights, unsigned n, int most)
{
	vf max = v_set(0), error;

	for (unsigned j = 0; j < n; j++) {
		max = v_max(max, s->x[j]);
		s->w[j] = weights[j];
		s->wx[j] = v_mul(weights[j], s->x[j]);
	}
	s->max = max;
	s->inverse = v_div(v_set((float)most), max);
	error = k_shared_error(s, n, most, s->inverse, true);
	for (int step = -4; step <= 4; step++) {
		vf inverse = v_div(v_set(0.1f * (float)step + (float)most), max), e;
		vm better;

		if (!step)
			continue;
		e = k_shared_error(s, n, most, inverse, false);
		better = v_gt(error, e);
		error = v_pick(better, e, error);
		s->inverse = v_pick(better, inverse, s->inverse);
	}
}

/* As k_move(), for codes that are bytes, none above `most`. */
SIMD vm k_shared_move(struct k_shared *s, unsigned j, vi high, struct k_explained *e)
{
	vf x = s->x[j], w = s->w[j], wx = s->wx[j], c = s->c[j];
	vf xl = v_sub(e->xl, v_mul(wx, c)), ll = v_sub(e->ll, v_mul(v_mul(w, c), c));
	vm move = m_and(v_gt(xl, v_set(0)), v_gt(ll, v_set(0)));
	vi bits = i_min(k_nearest(v_div(v_mul(x, ll), xl)), high);
	vf to = k_value(bits);

	xl = v_add(xl, v_mul(wx, to));
	ll = v_add(ll, v_mul(v_mul(w, to), to));
	move = k_more(e, m_and(move, v_ne(to, c)), xl, ll);
	s->c[j] = v_pick(move, k_byte_value(bits), c);
	return move;
}

SIMD void k_share_two(struct k_shared s[2], unsigned n, int most)
{
	vi high = i_set(K_ZERO + (uint32_t)most);
	struct k_explained e[2];

	UNROLL for (unsigned g = 0; g < 2; g++) {
		e[g] = (struct k_explained){ v_set(0), v_set(0) };
		for (unsigned j = 0; j < n; j++) {
			vi bits = i_min(k_nearest(v_mul(s[g].inverse, s[g].x[j])), high);
			vf c = k_value(bits);

			e[g].xl = v_add(e[g].xl, v_mul(s[g].wx[j], c));
			e[g].ll = v_add(e[g].ll, v_mul(v_mul(s[g].w[j], c), c));
			s[g].c[j] = k_byte_value(bits);
		}
	}
	for (int times = 0; times < 5; times++) {
		int moved = 0;

		for (unsigned j = 0; j < n; j++)
			UNROLL for (unsigned g = 0; g < 2; g++)
				moved |= m_any(k_shared_move(s + g, j, high, e + g));
		if (!moved)
			break;
	}
	UNROLL for (unsigned g = 0; g < 2; g++) {
		vm some = v_gt(e[g].ll, v_set(0));

		s[g].d = v_pick(some, v_div(e[g].xl, e[g].ll), v_set(0));
	}
}

SIMD void k_share_weighted(struct k_batch *b, unsigned groups, int most)
{
	struct k_shared s[2];

	s[0].x = b->scale;
	s[0].out = b->ls;
	s[1].x = b->min;
	s[1].out = b->lm;
	for (unsigned g = 0; g < 2; g++)
		k_shared_begin(s + g, b->sum_w, groups, most);
	k_share_two(s, groups, most);
	for (unsigned g = 0; g < 2; g++) {
		vm none = v_gt(v_set(K_EPS), s[g].max);

		for (unsigned j = 0; j < groups; j++) {
			vf c = v_add(s[g].c[j], v_set(K_MAGIC));

			i_store(s[g].out[j], k_byte(i_of(v_pick(none, v_set(0), c))));
		}
		v_store_f32(g ? b->dmin : b->d, v_pick(none, v_set(0), s[g].d));
	}
}

/* One more search of a scale: over scales, weighing what their groups do. */
SIMD void k_share_six_weighted(struct k_batch *b)
{
	uint8_t code[K_GROUPS][LANES];
	struct k_fit f = { .x = b->scale, .code = code };

	for (unsigned j = 0; j < 16; j++)
		f.w[j] = b->sum_w[j];
	k_search_scale(&f, 1, 16, 32);
	for (unsigned j = 0; j < 16; j++)
		for (unsigned s = 0; s < LANES; s++)
			b->ls[j][s] = code[j][s];
	v_store_f32(b->d, f.scale);
}
