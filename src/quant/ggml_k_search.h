/* ggml_k_search.h - private to src/quant: the scale (and minimum) of a group by trying
 * some.  Groups of one number are searched a few abreast, since each sum is a chain of
 * additions whose order counts. */

#define K_EPS 1e-15f	/* a group without anything larger is zero */

struct k_fit {			/* one group of LANES super-blocks */
	const vf *x;
	uint8_t (*code)[LANES];
	vf w[32], wx[32];	/* what an error weighs, times x */
	vf scale, min, sum_w;	/* found */
	vf max, sum_x, error, inverse, base;
	vf t_inverse, t_scale, t_min, t_error, l, ll, xl;	/* being tried */
	vf aux[32];
};

/* ---- scale and minimum: codes 0 .. most ---- */

struct k_steps {
	unsigned n;			/* elements */
	int most;
	float first, step;		/* of the numbers of codes that are tried */
	int steps;
	bool absolute;			/* errors are not squared */
};

SIMD void k_min_begin(struct k_fit *f, unsigned n)
{
	vf min = f->x[0], max = min, sum_w = f->w[0], sum_x = v_mul(sum_w, min);

	for (unsigned i = 1; i < n; i++) {
		min = v_min(f->x[i], min);
		max = v_max(f->x[i], max);
		sum_w = v_add(sum_w, f->w[i]);
		sum_x = v_add(sum_x, v_mul(f->w[i], f->x[i]));
	}
	f->min = f->base = v_pick(v_gt(min, v_set(0)), v_set(0), min);
	f->max = max;
	f->sum_w = sum_w;
	f->sum_x = sum_x;
}

SIMD vf k_error(const struct k_fit *f, unsigned i, bool absolute)
{
	vf diff = v_sub(v_add(v_mul(f->t_scale, f->aux[i]), f->t_min), f->x[i]);

	return v_mul(f->w[i], absolute ? v_abs(diff) : v_mul(diff, diff));
}

SIMD void k_min_errors(struct k_fit *f, unsigned abreast, const struct k_steps *k)
{
	vf error[4];

	UNROLL for (unsigned g = 0; g < abreast; g++)
		error[g] = v_set(0);
	for (unsigned i = 0; i < k->n; i++)
		UNROLL for (unsigned g = 0; g < abreast; g++)
			error[g] = v_add(error[g], k_error(f + g, i, k->absolute));
	UNROLL for (unsigned g = 0; g < abreast; g++)
		f[g].t_error = error[g];
}

SIMD void k_min_sums(struct k_fit *f, unsigned abreast, const struct k_steps *k)
{
	struct k_range range = k_range(0, k->most);
	vf l[4], ll[4], xl[4], inverse[4], min[4];

	UNROLL for (unsigned g = 0; g < abreast; g++) {
		l[g] = ll[g] = xl[g] = v_set(0);
		inverse[g] = f[g].t_inverse;
		min[g] = f[g].min;
	}
	for (unsigned i = 0; i < k->n; i++)
		UNROLL for (unsigned g = 0; g < abreast; g++) {
			vf x = f[g].x[i], above = v_sub(x, min[g]);
			vf c = k_value(k_near(v_mul(inverse[g], above), range));
			vf wc = v_mul(f[g].w[i], c);

			f[g].aux[i] = c;
			l[g] = v_add(l[g], wc);
			ll[g] = v_add(ll[g], v_mul(wc, c));
			xl[g] = v_add(xl[g], v_mul(wc, x));
		}
	UNROLL for (unsigned g = 0; g < abreast; g++) {
		f[g].l = l[g];
		f[g].ll = ll[g];
		f[g].xl = xl[g];
	}
}

/* The least squares for the codes tried; where their minimum would be positive, zero. */
SIMD vm k_min_solve(struct k_fit *f)
{
	vf D = v_sub(v_mul(f->sum_w, f->ll), v_mul(f->l, f->l));
	vf scale = v_div(v_sub(v_mul(f->sum_w, f->xl), v_mul(f->sum_x, f->l)), D);
	vf min = v_div(v_sub(v_mul(f->ll, f->sum_x), v_mul(f->l, f->xl)), D);
	vm positive = v_gt(min, v_set(0));

	if (m_any(positive)) {
		scale = v_pick(positive, v_div(f->xl, f->ll), scale);
		min = v_pick(positive, v_set(0), min);
	}
	f->t_scale = scale;
	f->t_min = min;
	return v_gt(D, v_set(0));
}

SIMD void k_min_keep(struct k_fit *f, vm solved)
{
	vm better = m_and(solved, v_gt(f->error, f->t_error));

	f->error = v_pick(better, f->t_error, f->error);
	f->scale = v_pick(better, f->t_scale, f->scale);
	f->inverse = v_pick(better, f->t_inverse, f->inverse);
	f->base = v_pick(better, f->min, f->base);
	f->min = v_pick(better, f->t_min, f->min);
}

SIMD void k_min_end(struct k_fit *f, vm some, const struct k_steps *k)
{
	struct k_range range = k_range(0, k->most);
	vf inverse = v_pick(some, f->inverse, v_set(0));

	f->scale = v_pick(some, f->scale, v_set(0));
	f->min = v_sub(v_set(-0.f), f->min);
	for (unsigned i = 0; i < k->n; i++) {
		vf above = v_sub(f->x[i], f->base);

		i_store_u8(f->code[i], k_byte(k_near(v_mul(inverse, above), range)));
	}
}

SIMD void k_search_min(struct k_fit *f, unsigned abreast, const struct k_steps *k)
{
	vm some[4], solved[4];

	UNROLL for (unsigned g = 0; g < abreast; g++) {
		k_min_begin(f + g, k->n);
		some[g] = v_ne(f[g].max, f[g].min);
		f[g].t_inverse = v_div(v_set((float)k->most), v_sub(f[g].max, f[g].min));
		f[g].t_scale = v_div(v_set(1), f[g].t_inverse);
		f[g].t_min = f[g].min;
	}
	k_min_sums(f, abreast, k);
	k_min_errors(f, abreast, k);
	UNROLL for (unsigned g = 0; g < abreast; g++) {
		f[g].inverse = f[g].t_inverse;
		f[g].scale = f[g].t_scale;
		f[g].error = f[g].t_error;
	}
	for (int step = 0; step <= k->steps; step++) {
		vf range = v_set(k->first + k->step * (float)step + (float)k->most);

		UNROLL for (unsigned g = 0; g < abreast; g++)
			f[g].t_inverse = v_div(range, v_sub(f[g].max, f[g].min));
		k_min_sums(f, abreast, k);
		UNROLL for (unsigned g = 0; g < abreast; g++)
			solved[g] = k_min_solve(f + g);
		k_min_errors(f, abreast, k);
		UNROLL for (unsigned g = 0; g < abreast; g++)
			k_min_keep(f + g, solved[g]);
	}
	UNROLL for (unsigned g = 0; g < abreast; g++)
		k_min_end(f + g, some[g], k);
}

/* ---- a scale alone: codes -half .. half - 1, kept with half added ---- */

/* max: that of the largest magnitude, the first of equal ones.  Is there any? */
SIMD vm k_scale_begin(struct k_fit *f, unsigned n)
{
	vf amax = v_set(0), max = amax;

	for (unsigned i = 0; i < n; i++) {
		vf x = f->x[i], ax = v_abs(x);
		vm more = v_gt(ax, amax);

		amax = v_pick(more, ax, amax);
		max = v_pick(more, x, max);
	}
	f->max = max;
	return v_gt(v_set(K_EPS), amax);
}

SIMD void k_scale_sums(struct k_fit *f, unsigned abreast, unsigned n, int half)
{
	struct k_range range = k_range(-half, half - 1);
	vf xl[4], ll[4], inverse[4];

	UNROLL for (unsigned g = 0; g < abreast; g++) {
		xl[g] = ll[g] = v_set(0);
		inverse[g] = f[g].t_inverse;
	}
	for (unsigned i = 0; i < n; i++)
		UNROLL for (unsigned g = 0; g < abreast; g++) {
			vf c = k_value(k_near(v_mul(inverse[g], f[g].x[i]), range));

			xl[g] = v_add(xl[g], v_mul(f[g].wx[i], c));
			ll[g] = v_add(ll[g], v_mul(v_mul(f[g].w[i], c), c));
		}
	UNROLL for (unsigned g = 0; g < abreast; g++) {
		f[g].xl = xl[g];
		f[g].ll = ll[g];
	}
}

SIMD void k_scale_keep(struct k_fit *f)
{
	vm better = m_and(v_gt(f->ll, v_set(0)),
			  v_gt(v_mul(f->xl, f->xl), v_mul(f->error, f->ll)));
	vf scale = v_div(f->xl, f->ll);

	f->scale = v_pick(better, scale, f->scale);
	f->error = v_pick(better, v_mul(scale, f->xl), f->error);
	f->inverse = v_pick(better, f->t_inverse, f->inverse);
}

SIMD void k_scale_end(struct k_fit *f, vm none, unsigned n, int half)
{
	struct k_range range = k_range(-half, half - 1);

	f->scale = v_pick(none, v_set(0), f->scale);
	for (unsigned i = 0; i < n; i++) {
		vi c = k_near(v_mul(f->inverse, f->x[i]), range);

		c = i_add(c, i_set((uint32_t)half));
		i_store_u8(f->code[i], k_byte(i_of(v_pick(none, v_set(0), v_of(c)))));
	}
}

/* error: the square that is explained, which is to be large. */
SIMD void k_search_scale(struct k_fit *f, unsigned abreast, unsigned n, int half)
{
	vm none[4];

	UNROLL for (unsigned g = 0; g < abreast; g++) {
		none[g] = k_scale_begin(f + g, n);
		f[g].inverse = f[g].t_inverse = v_div(v_set((float)-half), f[g].max);
		for (unsigned i = 0; i < n; i++)
			f[g].wx[i] = v_mul(f[g].w[i], f[g].x[i]);
	}
	k_scale_sums(f, abreast, n, half);
	UNROLL for (unsigned g = 0; g < abreast; g++) {
		vm some = v_ne(f[g].ll, v_set(0));

		f[g].scale = v_pick(some, v_div(f[g].xl, f[g].ll), v_set(0));
		f[g].error = v_mul(f[g].scale, f[g].xl);
	}
	for (int step = -9; step <= 9; step++) {
		if (!step)
			continue;
		UNROLL for (unsigned g = 0; g < abreast; g++)
			f[g].t_inverse = v_div(v_set(-((float)half + 0.1f * (float)step)),
					       f[g].max);
		k_scale_sums(f, abreast, n, half);
		UNROLL for (unsigned g = 0; g < abreast; g++)
			k_scale_keep(f + g);
	}
	UNROLL for (unsigned g = 0; g < abreast; g++)
		k_scale_end(f + g, none[g], n, half);
}

/* ---- a scale alone, each code moved to where the others want it ---- */

struct k_explained { vf xl, ll; };

/* Is more explained with these sums?  Then they count, in lanes that can move. */
SIMD vm k_more(struct k_explained *e, vm can, vf xl, vf ll)
{
	vm more = v_gt(v_mul(v_mul(xl, xl), e->ll), v_mul(v_mul(e->xl, e->xl), ll));

	more = m_and(can, more);
	e->xl = v_pick(more, xl, e->xl);
	e->ll = v_pick(more, ll, e->ll);
	return more;
}

/* Tries another code for element i; which lanes took it. */
SIMD vm k_move(struct k_fit *f, unsigned i, struct k_range range, struct k_explained *e)
{
	vf x = f->x[i], w = f->w[i], wx = f->wx[i], c = f->aux[i];
	vf xl = v_sub(e->xl, v_mul(wx, c)), ll = v_sub(e->ll, v_mul(v_mul(w, c), c));
	vm move = v_gt(xl, v_set(0));
	vf to = k_value(k_near(v_div(v_mul(x, ll), xl), range));

	xl = v_add(xl, v_mul(wx, to));
	ll = v_add(ll, v_mul(v_mul(w, to), to));
	move = m_and(m_and(move, v_ne(to, c)), v_gt(ll, v_set(0)));
	move = k_more(e, move, xl, ll);
	f->aux[i] = v_pick(move, to, c);
	return move;
}

/* A lane in which nothing moved stays as it is for good: no need to hold it. */
SIMD void k_move_all(struct k_fit *f, unsigned abreast, unsigned n, int half)
{
	struct k_range range = k_range(-half, half - 1);
	struct k_explained e[4];

	UNROLL for (unsigned g = 0; g < abreast; g++)
		e[g] = (struct k_explained){ f[g].xl, f[g].ll };
	for (int times = 0; times < 5; times++) {
		int moved = 0;

		for (unsigned i = 0; i < n; i++)
			UNROLL for (unsigned g = 0; g < abreast; g++)
				moved |= m_any(k_move(f + g, i, range, e + g));
		if (!moved)
			break;
	}
	UNROLL for (unsigned g = 0; g < abreast; g++) {
		f[g].xl = e[g].xl;
		f[g].ll = e[g].ll;
	}
}

SIMD void k_search_moves(struct k_fit *f, unsigned abreast, unsigned n, int half)
{
	struct k_range range = k_range(-half, half - 1);
	vm none[4];

	UNROLL for (unsigned g = 0; g < abreast; g++) {
		vf inverse, xl = v_set(0), ll = v_set(0);

		none[g] = k_scale_begin(f + g, n);
		inverse = v_div(v_set((float)-half), f[g].max);
		for (unsigned i = 0; i < n; i++) {
			vf c = k_value(k_near(v_mul(inverse, f[g].x[i]), range));

			f[g].wx[i] = v_mul(f[g].w[i], f[g].x[i]);
			f[g].aux[i] = c;
			xl = v_add(xl, v_mul(f[g].wx[i], c));
			ll = v_add(ll, v_mul(v_mul(f[g].w[i], c), c));
		}
		f[g].xl = xl;
		f[g].ll = ll;
	}
	k_move_all(f, abreast, n, half);
	UNROLL for (unsigned g = 0; g < abreast; g++) {
		vm some = v_gt(f[g].ll, v_set(0));

		f[g].scale = v_pick(some, v_div(f[g].xl, f[g].ll), v_set(0));
		f[g].scale = v_pick(none[g], v_set(0), f[g].scale);
		for (unsigned i = 0; i < n; i++) {
			vf c = v_add(f[g].aux[i], v_set(K_MAGIC + (float)half));

			c = v_pick(none[g], v_set(0), c);
			i_store_u8(f[g].code[i], k_byte(i_of(c)));
		}
	}
}
