/* mm_x86.h - tiles and panels of mm.c's table that need instructions of x86-64. */
#ifndef TBTUI_ENGINE_MM_X86_H
#define TBTUI_ENGINE_MM_X86_H

#include "src/engine/mm.h"

extern const struct mm_tile mm_vnni, mm_bf16, mm_amx, mm_f32;

/* Bytes and their scales (mm_unpack.c). */
mm_unpack_fn mm_unpack_int2, mm_unpack_int3, mm_unpack_int4, mm_unpack_int5, mm_unpack_int6;
mm_unpack_fn mm_unpack_int8, mm_unpack_mxfp4, mm_unpack_nvfp4;
mm_unpack_fn mm_unpack_q8_0, mm_unpack_q4_0, mm_unpack_q4_1, mm_unpack_q5_0, mm_unpack_q5_1;
mm_unpack_fn mm_unpack_iq4_nl, mm_unpack_iq4_xs, mm_unpack_ggml_mxfp4;
mm_unpack_fn mm_unpack_iq2_xxs, mm_unpack_iq2_xs, mm_unpack_iq2_s, mm_unpack_iq3_xxs;
mm_unpack_fn mm_unpack_iq3_s, mm_unpack_iq1_s, mm_unpack_iq1_m;
mm_unpack_fn mm_unpack_q2_k, mm_unpack_q3_k, mm_unpack_q4_k, mm_unpack_q5_k, mm_unpack_q6_k;

/* BF16, rows as they lie (mm_values.c). */
mm_unpack_fn mm_values_int2, mm_values_int3, mm_values_int4, mm_values_int5, mm_values_int6;
mm_unpack_fn mm_values_int8, mm_values_mxfp4, mm_values_nvfp4;
mm_unpack_fn mm_values_q8_0, mm_values_q4_0, mm_values_q4_1, mm_values_q5_0, mm_values_q5_1;
mm_unpack_fn mm_values_iq4_nl, mm_values_iq4_xs, mm_values_ggml_mxfp4;
mm_unpack_fn mm_values_iq2_xxs, mm_values_iq2_xs, mm_values_iq2_s, mm_values_iq3_xxs;
mm_unpack_fn mm_values_iq3_s, mm_values_iq1_s, mm_values_iq1_m;
mm_unpack_fn mm_values_q2_k, mm_values_q3_k, mm_values_q4_k, mm_values_q5_k, mm_values_q6_k;
mm_unpack_fn mm_rows_bf16;		/* whatever can be decoded */

mm_unpack_fn mm_unpack_bf16;		/* the same, turned: a lane a row (mm_bf16.c) */
mm_unpack_fn mm_unpack_f32;		/* floats, turned (mm_f32.c) */
#endif
