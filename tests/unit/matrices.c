#include "config.h"

#include "tests/unit/matrices.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/half.h"
#include "src/engine/team.h"
#include "tests/unit/unit.h"

uint64_t
sample_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

float
sample_normal(uint64_t *seed)
{
	uint64_t r = sample_random(seed);
	float sum = 0;

	for (unsigned i = 0; i < 4; i++)
		sum += (float)(r >> 16 * i & 0xffff) / 65536.0f - 0.5f;
	return sum * 1.7f;
}

/* len bytes that end where the next page cannot be read. */
static uint8_t *
guarded(struct sample *s, unsigned part, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (len + page - 1) / page * page;
	char *p = mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + body, page, PROT_NONE), 0);
	s->map[part] = p;
	s->map_len[part] = body + page;
	return (uint8_t *)p + body - len;
}

static double
e4m3(uint8_t b)
{
	int e = b >> 3 & 15, m = b & 7;
	double v = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);

	return b & 0x80 ? -v : v;
}

static double
e2m1(unsigned code)
{
	static const double value[8] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };

	return code & 8 ? -value[code & 7] : value[code];
}

static size_t
dtype_size(enum dtype d)
{
	return d == DT_U8 ? 1 : d == DT_F32 ? 4 : 2;
}

static double
read_as(enum dtype d, const uint8_t *p)
{
	uint16_t h;
	float f;

	if (d == DT_F32) {
		memcpy(&f, p, 4);
		return f;
	}
	memcpy(&h, p, 2);
	return d == DT_F16 ? tb_f16_f32(h) : tb_bf16_f32(h);
}

static void
write_as(enum dtype d, uint8_t *p, float f)
{
	uint16_t h = d == DT_F16 ? tb_f32_f16(f) : tb_f32_bf16(f);

	memcpy(p, d == DT_F32 ? (void *)&f : (void *)&h, dtype_size(d));
}

/* The fp kinds' scales are bytes: nothing above 2^10, now and then a 0. */
static void
fill_scales(struct sample *s, uint8_t *scales, uint8_t *biases, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++) {
		float f = sample_normal(seed) * 0.02f;

		if (s->w.scheme.kind == SCHEME_NVFP4)
			scales[i] = (uint8_t)(sample_random(seed) % 0x60);
		else if (s->w.scheme.kind != SCHEME_AFFINE)
			scales[i] = (uint8_t)(i % 37 == 5 ? 0 : 112 + sample_random(seed) % 25);
		else {
			size_t at = i * dtype_size(s->w.scale_dtype);

			write_as(s->w.scale_dtype, scales + at, f);
			write_as(s->w.scale_dtype, biases + at, -f * 7 + 0.01f);
		}
	}
}

static unsigned
code_at(const uint8_t *row, unsigned bits, size_t i)
{
	unsigned code = 0;

	for (size_t b = i * bits, k = 0; k < bits; b++, k++)
		code |= (unsigned)(row[b / 8] >> b % 8 & 1) << k;
	return code;
}

static void
work_out(struct sample *s, size_t r, size_t c)
{
	const struct matrix *w = &s->w;
	size_t i = r * w->cols + c, g = w->scheme.group ? i / w->scheme.group : 0;
	const uint8_t *row = w->codes + (size_t)w->cols * w->scheme.bits / 8 * r;
	unsigned code = code_at(row, w->scheme.bits < 9 ? w->scheme.bits : 1, c);
	size_t at = g * dtype_size(w->scale_dtype);
	double v, size = 0;

	switch (w->scheme.kind) {
	case SCHEME_PLAIN:
		v = read_as(w->scheme.dtype, row + c * dtype_size(w->scheme.dtype));
		break;
	case SCHEME_AFFINE:
		v = read_as(w->scale_dtype, w->scales + at) * code +
		    read_as(w->scale_dtype, w->biases + at);
		size = fabs(read_as(w->scale_dtype, w->scales + at)) * (1 << w->scheme.bits) +
		       fabs(read_as(w->scale_dtype, w->biases + at));
		break;
	case SCHEME_NVFP4:
		v = e2m1(code) * e4m3(w->scales[g]);
		break;
	default:
		v = ldexp(w->scheme.bits == 4 ? e2m1(code) : e4m3((uint8_t)code),
			  w->scales[g] - 127);
	}
	s->value[i] = v * w->global;
	s->size[i] = fmax(fabs(v), size) * fabs(w->global);
}

static void
fill_plain(struct sample *s, uint8_t *p, size_t n, uint64_t *seed)
{
	for (size_t i = 0; i < n; i++)
		write_as(s->w.scheme.dtype, p + i * dtype_size(s->w.scheme.dtype),
			 sample_normal(seed) * 0.05f);
}

void
sample_make(struct sample *s, struct scheme scheme, enum dtype scale_dtype, uint32_t rows,
	    uint32_t cols, float global, uint64_t seed)
{
	size_t n = (size_t)rows * cols, len = n * scheme.bits / 8;
	size_t scales = scheme.group ? n / scheme.group : 0;
	uint8_t *codes, *scale = NULL, *bias = NULL;

	*s = (struct sample){ .w = { .scheme = scheme, .rows = rows, .cols = cols,
				     .scale_dtype = scale_dtype, .global = global } };
	codes = guarded(s, 0, len);
	for (size_t i = 0; i < len; i++)
		codes[i] = (uint8_t)(sample_random(&seed) >> 24);
	if (scheme.kind == SCHEME_PLAIN)
		fill_plain(s, codes, n, &seed);
	if (scales)
		scale = guarded(s, 1, scales * dtype_size(scale_dtype));
	if (scheme.kind == SCHEME_AFFINE)
		bias = guarded(s, 2, scales * dtype_size(scale_dtype));
	fill_scales(s, scale, bias, scales, &seed);
	s->w.codes = codes;
	s->w.scales = scale;
	s->w.biases = bias;
	s->value = test_calloc(n, sizeof(*s->value));
	s->size = test_calloc(n, sizeof(*s->size));
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < cols; c++)
			work_out(s, r, c);
}

void
sample_free(struct sample *s)
{
	for (unsigned i = 0; i < 3; i++)
		if (s->map[i])
			munmap(s->map[i], s->map_len[i]);
	test_free(s->value);
	test_free(s->size);
}

void
matmul_together(const struct matrix *w, const char *path)
{
	enum { MOST = 8 };
	float *x = test_calloc((size_t)MOST * w->cols, sizeof(*x));
	float *alone = test_calloc((size_t)MOST * w->rows, sizeof(*alone));
	float *y = test_calloc((size_t)MOST * w->rows, sizeof(*y));
	uint64_t seed = 4711;
	struct matmul *mm;
	struct team *team;
	struct tb_err err;

	assert_int_equal(setenv("TBTUI_CPU", path, 1), 0);
	team = team_new(2);
	assert_ok(matmul_new(&mm, team, &err), err);
	for (size_t i = 0; i < (size_t)MOST * w->cols; i++)
		x[i] = sample_normal(&seed) * (i % 251 == 17 ? 30.0f : 1.0f);
	for (size_t i = 0; i < MOST; i++)
		assert_ok(matmul_one(mm, w, x + i * w->cols, 1, alone + i * w->rows, &err), err);
	for (size_t m = 2; m <= MOST; m++) {
		assert_ok(matmul_one(mm, w, x, m, y, &err), err);
		for (size_t i = 0; i < m * w->rows; i++)
			if (memcmp(y + i, alone + i, sizeof(*y)))
				fail_msg("%s: scheme %d %u, %u x %u, m %zu: row %zu of x %zu is %a, not %a",
					 path, (int)w->scheme.kind, w->scheme.ggml, w->rows, w->cols,
					 m, i % w->rows, i / w->rows, y[i], alone[i]);
	}
	matmul_free(mm);
	team_free(team);
	unsetenv("TBTUI_CPU");
	test_free(x);
	test_free(alone);
	test_free(y);
}
