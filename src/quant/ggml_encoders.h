/* ggml_encoders.h - private to src/quant: the encoders that the table in ggml_encode.c
 * names, one a type, or one a type and instruction set. */
#ifndef TBTUI_QUANT_GGML_ENCODERS_H
#define TBTUI_QUANT_GGML_ENCODERS_H

#include <stddef.h>
#include <stdint.h>

/* As ggml_encode(). */
typedef void ggml_encode_fn(const float *src, size_t rows, size_t cols, const float *weights,
			    void *out);

/* One body over lanes, compiled for each instruction set: NAME_scalar, NAME_avx2,
 * NAME_avx512. */
#define GGML_ENCODE_WAYS(name) \
	extern ggml_encode_fn name##_scalar, name##_avx2, name##_avx512

extern ggml_encode_fn ggml_encode_f32, ggml_encode_f16, ggml_encode_bf16;
/* ggml_encode_few.c */
extern ggml_encode_fn ggml_encode_q1_0, ggml_encode_q2_0, ggml_encode_tq1_0, ggml_encode_tq2_0;
/* ggml_k_encode.h: scales of scales */
GGML_ENCODE_WAYS(ggml_encode_q2_k);
GGML_ENCODE_WAYS(ggml_encode_q3_k);
GGML_ENCODE_WAYS(ggml_encode_q4_k);
GGML_ENCODE_WAYS(ggml_encode_q5_k);
GGML_ENCODE_WAYS(ggml_encode_q6_k);
/* ggml_encode_nibble.h, ggml_encode_table.h */
GGML_ENCODE_WAYS(ggml_encode_q4_0);
GGML_ENCODE_WAYS(ggml_encode_q4_1);
GGML_ENCODE_WAYS(ggml_encode_q5_0);
GGML_ENCODE_WAYS(ggml_encode_q5_1);
GGML_ENCODE_WAYS(ggml_encode_q8_0);
GGML_ENCODE_WAYS(ggml_encode_iq4_nl);
GGML_ENCODE_WAYS(ggml_encode_iq4_xs);
GGML_ENCODE_WAYS(ggml_encode_mxfp4);
GGML_ENCODE_WAYS(ggml_encode_nvfp4);

/* ggml_encode_few.c: NVFP4's scales as bytes, and half of what these stand for. */
#define GGML_E4M3_MOST 0x7e
uint8_t ggml_e4m3(float f);
float ggml_e4m3_half(uint8_t c);
/* The codes of 16 elements, however large. */
void ggml_nvfp4_codes(const float x[16], uint8_t scale, uint8_t out[8]);
#endif
