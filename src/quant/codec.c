/* codec.c - which code does it: the vector path this machine has, then the scalar one
 * for what is left. */
#include "config.h"

#include "src/quant/codec.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/quant/scheme_row.h"

static const char *const flavours[] = { [FLAVOUR_METAL] = "metal", [FLAVOUR_MLX_CPU] = "mlx-cpu" };

bool
flavour_parse(const char *s, enum flavour *out)
{
	for (unsigned i = 0; i < sizeof(flavours) / sizeof(flavours[0]); i++)
		if (!strcmp(s, flavours[i])) {
			*out = i;
			return true;
		}
	return false;
}

const char *
flavour_name(enum flavour f)
{
	return flavours[f];
}

static const struct quant_kernels *kernels;	/* NULL: scalar */
static pthread_once_t chosen = PTHREAD_ONCE_INIT;

static void
codec_choose(void)
{
#ifdef HAVE_X86
	const char *cpu = getenv("TBTUI_CPU");
	bool avx2 = !cpu || strcmp(cpu, "scalar"), avx512 = avx2 && (!cpu || strcmp(cpu, "avx2"));

	if (avx512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("bmi2"))
		kernels = &quant_avx512;
	else if (avx2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		kernels = &quant_avx2;
#endif
}

static const struct quant_kernels *
codec_vector(void)
{
	pthread_once(&chosen, codec_choose);
	return kernels;
}

const char *
quant_path(void)
{
	return codec_vector() ? codec_vector()->name : "scalar";
}

static void *
offset_by(void *p, uint64_t off)
{
	return p ? (char *)p + off : NULL;
}

void
quant_encode(const struct scheme *s, enum flavour f, enum dtype t, const void *src, size_t n,
	     const struct quant_parts *out)
{
	const struct quant_kernels *k = codec_vector();
	size_t done = k ? k->encode(s, f, t, src, n, out) : 0;
	uint64_t scales = scheme_scales(s, done) * (dtype_bits(scheme_scale_dtype(s, t)) / 8);
	struct quant_parts rest = { offset_by(out->codes, scheme_code_bytes(s, done)),
				    offset_by(out->scales, scales), offset_by(out->biases, scales) };

	scheme_row(s->kind)->encode(s, f, t, (const char *)src + done * (dtype_bits(t) / 8),
				    n - done, &rest);
}

struct quant_src
quant_src_at(const struct scheme *s, const struct quant_src *q, uint64_t first)
{
	uint64_t scales = scheme_scales(s, first) * (dtype_bits(q->scale_dtype) / 8);
	struct quant_src at = *q;

	at.codes = (const char *)q->codes + scheme_code_bytes(s, first);
	at.scales = q->scales ? (const char *)q->scales + scales : NULL;
	at.biases = q->biases ? (const char *)q->biases + scales : NULL;
	return at;
}

void
quant_decode(const struct scheme *s, const struct quant_src *q, size_t n, float *out)
{
	const struct quant_kernels *k = codec_vector();
	size_t done = k ? k->decode(s, q, n, out) : 0;
	struct quant_src rest = quant_src_at(s, q, done);

	scheme_row(s->kind)->decode(s, &rest, n - done, out + done);
}

void
quant_decode_exact(const struct scheme *s, enum flavour f, const struct quant_src *q, size_t n,
		   enum dtype out_dtype, void *out)
{
	scheme_row(s->kind)->exact(s, f, q, n, out_dtype, out);
}
