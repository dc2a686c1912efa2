/* mv_x86.h - the kernels of mv.c's table that need instructions of x86-64. */
#ifndef TBTUI_ENGINE_MV_X86_H
#define TBTUI_ENGINE_MV_X86_H

#include "src/engine/mv.h"

mv_prepare_fn mv_avx512_prepare_nibbles, mv_avx512_prepare_e2m1;
mv_rows_fn mv_avx512_int4, mv_avx512_mxfp4, mv_avx512_nvfp4;

mv_prepare_fn mv_avx512_prepare_bytes;
mv_rows_fn mv_avx512_int2, mv_avx512_int3, mv_avx512_int5, mv_avx512_int6, mv_avx512_int8;

mv_prepare_fn mv_avx512_prepare_pairs;
mv_rows_fn mv_avx512_mxfp8, mv_avx512_bf16, mv_avx512_f16, mv_avx512_f32;

mv_prepare_fn mv_avx512_prepare_quarters;
mv_rows_fn mv_avx512_mxfp8_table;

mv_prepare_fn mv_avx512_prepare_q8_0, mv_avx512_prepare_q4_0, mv_avx512_prepare_q45_1;
mv_prepare_fn mv_avx512_prepare_q5_0, mv_avx512_prepare_iq4_nl, mv_avx512_prepare_iq4_xs;
mv_prepare_fn mv_avx512_prepare_mxfp4;
mv_rows_fn mv_avx512_q8_0, mv_avx512_q4_0, mv_avx512_q4_1, mv_avx512_q5_0, mv_avx512_q5_1;
mv_rows_fn mv_avx512_iq4_nl, mv_avx512_iq4_xs, mv_avx512_ggml_mxfp4;

mv_prepare_fn mv_avx512_prepare_q45_k, mv_avx512_prepare_q6_k;
mv_rows_fn mv_avx512_q4_k, mv_avx512_q5_k, mv_avx512_q6_k;

mv_prepare_fn mv_avx512_prepare_sixteens;
mv_rows_fn mv_avx512_q2_k, mv_avx512_q3_k, mv_avx512_iq2_xxs, mv_avx512_iq2_xs, mv_avx512_iq2_s;
mv_rows_fn mv_avx512_iq3_xxs, mv_avx512_iq3_s, mv_avx512_iq1_s, mv_avx512_iq1_m;

mv_prepare_fn mv_avx2_prepare_nibbles, mv_avx2_prepare_e2m1, mv_avx2_prepare_int8;
mv_rows_fn mv_avx2_int4, mv_avx2_mxfp4, mv_avx2_nvfp4, mv_avx2_int8, mv_avx2_mxfp8;
mv_rows_fn mv_avx2_bf16, mv_avx2_f16, mv_avx2_f32;

mv_prepare_fn mv_avx2_prepare_q32, mv_avx2_prepare_q256;
mv_rows_fn mv_avx2_q8_0, mv_avx2_q4_0, mv_avx2_q4_1, mv_avx2_q5_0, mv_avx2_q5_1, mv_avx2_iq4_nl;
mv_rows_fn mv_avx2_ggml_mxfp4, mv_avx2_iq4_xs, mv_avx2_q4_k, mv_avx2_q5_k, mv_avx2_q6_k;
#endif
