# The bytes depend on the order of single operations: no fused multiply-add.
noinst_LIBRARIES += src/quant/libquant.a
src_quant_libquant_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fopenmp-simd
src_quant_libquant_a_SOURCES = \
	src/quant/affine.c \
	src/quant/bits.c \
	src/quant/bits.h \
	src/quant/codec.c \
	src/quant/codec.h \
	src/quant/compare.c \
	src/quant/compare.h \
	src/quant/compare_kernel.h \
	src/quant/compare_ops.h \
	src/quant/compare_scalar.c \
	src/quant/error.c \
	src/quant/feedback.c \
	src/quant/feedback.h \
	src/quant/foreign.c \
	src/quant/foreign.h \
	src/quant/foreign_awq.c \
	src/quant/foreign_bytes.c \
	src/quant/foreign_ct.c \
	src/quant/foreign_gptq.c \
	src/quant/fp.c \
	src/quant/fp.h \
	src/quant/ggml.c \
	src/quant/ggml.h \
	src/quant/ggml_blocks.h \
	src/quant/ggml_books.h \
	src/quant/ggml_books_iq1.c \
	src/quant/ggml_books_iq2.c \
	src/quant/ggml_books_iq3.c \
	src/quant/ggml_encode.c \
	src/quant/ggml_encode.h \
	src/quant/ggml_encode_few.c \
	src/quant/ggml_encode_k.c \
	src/quant/ggml_encode_lanes.h \
	src/quant/ggml_encode_nibble.h \
	src/quant/ggml_encode_scalar.c \
	src/quant/ggml_encode_table.h \
	src/quant/ggml_encoders.h \
	src/quant/ggml_few.c \
	src/quant/ggml_fields.c \
	src/quant/ggml_fields.h \
	src/quant/ggml_iq.c \
	src/quant/ggml_k.c \
	src/quant/ggml_k_encode.h \
	src/quant/ggml_k_lanes.h \
	src/quant/ggml_k_pack.h \
	src/quant/ggml_k_search.h \
	src/quant/ggml_k_share.h \
	src/quant/ggml_nibble.c \
	src/quant/ggml_table.c \
	src/quant/groups.h \
	src/quant/mx.c \
	src/quant/scheme.c \
	src/quant/scheme.h \
	src/quant/scheme_row.h \
	src/quant/simd_four.h \
	src/quant/peak.c \
	src/quant/peak.h \
	src/quant/repack.c \
	src/quant/repack.h \
	src/quant/search.c \
	src/quant/search.h \
	src/quant/search_kernel.h \
	src/quant/search_block.h \
	src/quant/search_scalar.c \
	src/quant/sketch.c \
	src/quant/sketch.h \
	src/quant/stats.c \
	src/quant/stats.h \
	src/quant/stats_kernel.h \
	src/quant/stats_lanes.h \
	src/quant/stats_ops.h \
	src/quant/stats_scalar.c
QUANT_LIBS = src/quant/libquant.a

# The same sources for two instruction sets; codec.c chooses when the program runs.
QUANT_SIMD = \
	src/quant/affine_simd.h \
	src/quant/decode_simd.h \
	src/quant/ggml_simd.h \
	src/quant/mx_simd.h \
	src/quant/pack_simd.h \
	src/quant/stats_simd.h
if X86
noinst_LIBRARIES += src/quant/libquant_avx2.a src/quant/libquant_avx512.a
src_quant_libquant_avx2_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fopenmp-simd $(AVX2_CFLAGS) -mbmi2 $(KERNEL_CFLAGS)
src_quant_libquant_avx2_a_SOURCES = src/quant/quant_avx2.c src/quant/simd_avx2.h \
	src/quant/compare_avx2.c src/quant/ggml_encode_avx2.c \
	src/quant/ggml_encode_k_avx2.c \
	src/quant/search_avx2.c src/quant/stats_avx2.c $(QUANT_SIMD)
src_quant_libquant_avx512_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off -fopenmp-simd $(AVX512_CFLAGS) -mbmi2 $(KERNEL_CFLAGS)
src_quant_libquant_avx512_a_SOURCES = src/quant/quant_avx512.c src/quant/simd_avx512.h \
	src/quant/compare_avx512.c src/quant/ggml_encode_avx512.c \
	src/quant/ggml_encode_k_avx512.c \
	src/quant/search_avx512.c src/quant/stats_avx512.c $(QUANT_SIMD)
QUANT_LIBS += src/quant/libquant_avx512.a src/quant/libquant_avx2.a
# Each needs the other: the choice is made below what is chosen from.
QUANT_LIBS += src/quant/libquant.a
endif
