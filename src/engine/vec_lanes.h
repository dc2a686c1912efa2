/* vec_lanes.h - registers of one width, and what all that is written with them shares.
 *
 * Included once for each instruction set by a file of bodies, with VEC_BYTES (of a
 * register) and VEC_NAME(x) defined; vec_lanes_end.h takes its names back. */

typedef float VEC_NAME(vf) __attribute__((vector_size(VEC_BYTES), aligned(4), may_alias));
typedef int32_t VEC_NAME(vi) __attribute__((vector_size(VEC_BYTES), aligned(4), may_alias));
#define vf VEC_NAME(vf)
#define vi VEC_NAME(vi)
#define LANES (VEC_BYTES / 4)
#define SELECT(mask, a, b) ((vf)(((vi)(a) & (mask)) | ((vi)(b) & ~(mask))))

static inline float
VEC_NAME(sum_lanes)(const vf *v)
{
	float s[LANES];

	memcpy(s, v, sizeof(s));
	for (size_t step = LANES / 2; step; step /= 2)
		for (size_t i = 0; i < step; i++)
			s[i] += s[i + step];
	return s[0];
}

/* exp(x) as 2^n * p(r), |r| <= ln 2 / 2: Cephes' polynomial, below 2 ulp.  Outside
 * [-87, 88] it stays at the ends; a NaN comes out as NaN. */
static inline void
VEC_NAME(exp_lanes)(vf *x)
{
	const vf least = (vf){ 0 } - 87.0f, most = (vf){ 0 } + 88.0f, round = (vf){ 0 } + 0x1.8p23f;
	const vf lo = SELECT(*x < least, least, *x), v = SELECT(lo > most, most, lo);
	const vf t = v * 1.44269504f + round;	/* n in the last bits */
	const vi n = (vi)t - (vi)round;
	const vf fn = t - round;
	const vf r = v - fn * 0.693359375f + fn * 2.12194440e-4f;
	vf p = r * 1.9875691500e-4f + 1.3981999507e-3f;
	const vi two_n = (n + 127) << 23;

	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * r * r + r + 1.0f;
	*x = p * (vf)two_n;
}
