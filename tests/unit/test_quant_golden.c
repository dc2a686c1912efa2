/* Encoders and decoders against vectors of MLX (both flavours): 0 differing bytes. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/base/file.h"
#include "src/base/half.h"
#include "src/format/safetensors.h"
#include "src/quant/codec.h"

struct golden {
	struct tb_file file;
	struct st_header header;
	enum flavour flavour;
	const char *mode;
	enum dtype dtype;
	unsigned checked;
};

/* The tensor `prefix` + `rest` in fresh memory. */
static void *
load(struct golden *g, const char *prefix, const char *rest, size_t *len)
{
	char name[256];
	const struct st_tensor *t;
	struct tb_err err;
	void *p;

	snprintf(name, sizeof(name), "%s%s", prefix, rest);
	t = st_find(&g->header, name);
	if (!t)
		return NULL;
	p = malloc(t->len + 1);
	assert_non_null(p);
	assert_int_equal(tb_file_read(&g->file, t->off, p, t->len, &err), TB_OK);
	*len = t->len;
	return p;
}

static void
same(const struct golden *g, const char *part, const char *rest, const void *got, const void *want,
     size_t len)
{
	const uint8_t *a = got, *b = want;

	for (size_t i = 0; i < len; i++)
		if (a[i] != b[i])
			fail_msg("%s: %s%s: byte %zu is %02x, not %02x", g->file.path, part, rest, i,
				 a[i], b[i]);
}

static float
element(enum dtype t, const void *p, size_t i)
{
	float f;
	uint16_t h;

	if (t == DT_F32) {
		memcpy(&f, (const char *)p + 4 * i, 4);
		return f;
	}
	memcpy(&h, (const char *)p + 2 * i, 2);
	return t == DT_BF16 ? tb_bf16_f32(h) : tb_f16_f32(h);
}

/* As same(), but one NaN is as good as another. */
static void
same_values(const struct golden *g, const char *part, const char *rest, enum dtype t,
	    const void *got, const void *want, size_t len)
{
	size_t size = dtype_bits(t) / 8;

	for (size_t i = 0; i < len / size; i++) {
		float a = element(t, got, i), b = element(t, want, i);

		if (memcmp((const char *)got + size * i, (const char *)want + size * i, size) &&
		    !(a != a && b != b))
			fail_msg("%s: %s%s: [%zu] is %.9g, not %.9g", g->file.path, part, rest, i,
				 (double)a, (double)b);
	}
}

/* MLX's CPU backend casts an exponent out of range to a byte there: undefined. */
static bool
undefined(const struct golden *g, const char *rest)
{
	return g->flavour == FLAVOUR_MLX_CPU && !strncmp(rest, "tiny", 4) &&
	       ((!strcmp(g->mode, "mxfp4") && g->dtype != DT_F16) ||
		(!strcmp(g->mode, "mxfp8") && g->dtype == DT_F32));
}

static void
check_decode(struct golden *g, const struct scheme *s, const char *rest, const char *gs,
	     enum dtype t, float global)
{
	char part[32];
	size_t len, n;
	void *codes, *scales, *biases, *want, *got;
	struct quant_src q = { .global = global };

	snprintf(part, sizeof(part), "dequant%s.", gs);
	want = load(g, part, rest, &n);
	if (!want)
		return;
	snprintf(part, sizeof(part), "weight%s.", gs);
	q.codes = codes = load(g, part, rest, &len);
	snprintf(part, sizeof(part), "scales%s.", gs);
	q.scales = scales = load(g, part, rest, &len);
	q.biases = biases = load(g, "biases.", rest, &len);
	q.scale_dtype = scheme_scale_dtype(s, g->dtype);
	got = malloc(n);
	quant_decode_exact(s, g->flavour, &q, n / (dtype_bits(t) / 8), t, got);
	same_values(g, "dequant", rest, t, got, want, n);
	free(codes);
	free(scales);
	free(biases);
	free(want);
	free(got);
}

static void
check_encode(struct golden *g, const struct scheme *s, const char *rest, const char *gs,
	     const void *src, size_t n, float absmax)
{
	size_t ncodes, nscales, nbiases;
	char part[32];
	void *codes, *scales, *biases, *a = malloc(4 * n), *b = malloc(4 * n), *c = malloc(4 * n);

	snprintf(part, sizeof(part), "weight%s.", gs);
	codes = load(g, part, rest, &ncodes);
	snprintf(part, sizeof(part), "scales%s.", gs);
	scales = load(g, part, rest, &nscales);
	biases = load(g, "biases.", rest, &nbiases);
	assert_non_null(scales);
	assert_true(a && b && c);
	assert_int_equal(ncodes, scheme_code_bytes(s, n));
	if (*gs)
		quant_encode_nvfp4_global(g->flavour, g->dtype, src, n, absmax,
					  &(struct quant_parts){ a, b, NULL });
	else
		quant_encode(s, g->flavour, g->dtype, src, n,
			     &(struct quant_parts){ a, b, biases ? c : NULL });
	same(g, "scales", rest, b, scales, nscales);
	same(g, "weight", rest, a, codes, ncodes);
	if (biases)
		same(g, "biases", rest, c, biases, nbiases);
	free(codes);
	free(scales);
	free(biases);
	free(a);
	free(b);
	free(c);
}

/* rest: "<family>.<shape>.b<bits>g<group>" */
static void
check_tensor(struct golden *g, const char *rest)
{
	unsigned bits, group;
	char input[128];
	const char *dot = strrchr(rest, '.');
	size_t len, n, glen;
	struct scheme s;
	void *src;
	float *absmax;

	assert_int_equal(sscanf(dot, ".b%ug%u", &bits, &group), 2);
	assert_true(scheme_from_mode(g->mode, bits, group, &s));
	snprintf(input, sizeof(input), "%.*s", (int)(dot - rest), rest);
	src = load(g, "input.", input, &len);
	assert_non_null(src);
	n = len / (dtype_bits(g->dtype) / 8);
	check_decode(g, &s, rest, "", g->dtype, 1);
	if (!undefined(g, rest)) {
		check_encode(g, &s, rest, "", src, n, 0);
		g->checked++;
	}
	absmax = load(g, "global_scale.", rest, &glen);
	if (absmax) {
		check_encode(g, &s, rest, "_gs", src, n, *absmax);
		check_decode(g, &s, rest, "_gs",
			     g->flavour == FLAVOUR_MLX_CPU ? DT_F32 : g->dtype, *absmax / 2688);
		g->checked++;
	}
	free(absmax);
	free(src);
}

static void
check_file(const char *shared, enum flavour flavour, const char *mode, enum dtype dtype,
	   const char *dtype_text)
{
	struct golden g = { .flavour = flavour, .mode = mode, .dtype = dtype };
	struct tb_err err;
	char path[512];

	snprintf(path, sizeof(path), "%s/data/quant-golden/%s%s.%s.safetensors", shared,
		 flavour == FLAVOUR_METAL ? "metal/" : "", mode, dtype_text);
	if (tb_file_open(&g.file, path, &err) || st_read(&g.header, &g.file, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < g.header.ntensors; i++)
		if (!strncmp(g.header.tensors[i].name, "weight.", 7))
			check_tensor(&g, g.header.tensors[i].name + 7);
	assert_true(g.checked >= 10);
	st_free(&g.header);
	tb_file_close(&g.file);
}

static void
check_flavour(enum flavour f)
{
	static const char *const modes[] = { "affine", "mxfp4", "mxfp8", "nvfp4" };
	static const struct { enum dtype d; const char *text; } dtypes[] = {
		{ DT_BF16, "bf16" }, { DT_F16, "f16" }, { DT_F32, "f32" } };
	const char *shared = getenv("TBTUI_SHARED");

	if (!shared)
		skip();
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 3; j++)
			check_file(shared, f, modes[i], dtypes[j].d, dtypes[j].text);
}

static void
test_metal(void **state)
{
	(void)state;
	check_flavour(FLAVOUR_METAL);
}

static void
test_mlx_cpu(void **state)
{
	(void)state;
	check_flavour(FLAVOUR_MLX_CPU);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metal),
		cmocka_unit_test(test_mlx_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
