noinst_LIBRARIES += src/engine/libengine.a
src_engine_libengine_a_CFLAGS = $(AM_CFLAGS) $(BLAS_CFLAGS)
src_engine_libengine_a_SOURCES = \
	src/engine/blas.c \
	src/engine/blas.h \
	src/engine/engine.h \
	src/engine/gemm.c \
	src/engine/gemm.h \
	src/engine/matmul.c \
	src/engine/mm.c \
	src/engine/mm.h \
	src/engine/mm_avx512.h \
	src/engine/mm_bf16.h \
	src/engine/mm_codes.h \
	src/engine/mm_x86.h \
	src/engine/matrix.c \
	src/engine/matrix.h \
	src/engine/mv.c \
	src/engine/mv.h \
	src/engine/mv_avx2.h \
	src/engine/mv_avx512.h \
	src/engine/mv_avx512_digits.h \
	src/engine/mv_avx512_ggml.h \
	src/engine/mv_avx512_ggml_iq.h \
	src/engine/mv_digits.h \
	src/engine/mv_ggml.c \
	src/engine/mv_ggml.h \
	src/engine/mv_scalar.c \
	src/engine/mv_x86.h \
	src/engine/peak.c \
	src/engine/peak.h \
	src/engine/probe.c \
	src/engine/probe.h \
	src/engine/sampler.h \
	src/engine/team.c \
	src/engine/team.h
ENGINE_LIBS = src/engine/libengine.a

# Each set of instructions has an archive of its own; mv.c chooses when it runs.
if X86
ENGINE_AVX512 = -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c $(KERNEL_CFLAGS)
noinst_LIBRARIES += src/engine/libavx2.a src/engine/libavx512.a src/engine/libvnni.a \
	src/engine/libbf16.a
src_engine_libavx2_a_CFLAGS = $(AM_CFLAGS) $(AVX2_CFLAGS) $(KERNEL_CFLAGS)
src_engine_libavx2_a_SOURCES = \
	src/engine/mv_avx2_floats.c \
	src/engine/mv_avx2_ggml.c \
	src/engine/mv_avx2_nibbles.c
src_engine_libavx512_a_CFLAGS = $(AM_CFLAGS) $(ENGINE_AVX512)
src_engine_libavx512_a_SOURCES = \
	src/engine/mm_f32.c \
	src/engine/mv_avx512_mxfp8.c \
	src/engine/mv_avx512_plain.c
src_engine_libvnni_a_CFLAGS = $(AM_CFLAGS) $(ENGINE_AVX512) -mavx512vnni -mavx512vbmi
src_engine_libvnni_a_SOURCES = \
	src/engine/mm_unpack.c \
	src/engine/mm_vnni.c \
	src/engine/mv_avx512_bytes.c \
	src/engine/mv_avx512_ggml_16.c \
	src/engine/mv_avx512_ggml_32.c \
	src/engine/mv_avx512_ggml_k.c \
	src/engine/mv_avx512_mxfp8_table.c \
	src/engine/mv_avx512_nibbles.c
src_engine_libbf16_a_CFLAGS = $(AM_CFLAGS) $(ENGINE_AVX512) -mavx512vnni -mavx512vbmi \
	-mavx512bf16
src_engine_libbf16_a_SOURCES = \
	src/engine/mm_amx.c \
	src/engine/mm_amx_body.h \
	src/engine/mm_bf16.c \
	src/engine/mm_values.c
ENGINE_LIBS += src/engine/libbf16.a src/engine/libvnni.a src/engine/libavx512.a src/engine/libavx2.a
endif

# What runs models.
src_engine_libengine_a_SOURCES += \
	src/engine/amx.h \
	src/engine/adapter.c \
	src/engine/adapter.h \
	src/engine/lowrank.c \
	src/engine/lowrank.h \
	src/engine/arch.c \
	src/engine/arch.h \
	src/engine/arch_delta.c \
	src/engine/arch_gemma4.c \
	src/engine/arch_gpt_oss.c \
	src/engine/arch_laguna.c \
	src/engine/arch_mamba.c \
	src/engine/arch_mla.c \
	src/engine/arch_own.c \
	src/engine/arch_own.h \
	src/engine/arch_rows.c \
	src/engine/arch_rows.h \
	src/engine/attention.c \
	src/engine/attention.h \
	src/engine/attention_mixer.c \
	src/engine/attn_bf16.c \
	src/engine/attn_body.h \
	src/engine/attn_exp512.h \
	src/engine/attn_ops.c \
	src/engine/attn_ops.h \
	src/engine/beside.c \
	src/engine/canon.c \
	src/engine/canon.h \
	src/engine/need.h \
	src/engine/delta.c \
	src/engine/engine.c \
	src/engine/forward.c \
	src/engine/hparams.c \
	src/engine/hparams.h \
	src/engine/hparams_config.c \
	src/engine/hparams_config_layers.c \
	src/engine/hparams_config_rope.c \
	src/engine/hparams_gguf.c \
	src/engine/hparams_gguf_rope.c \
	src/engine/hparams_layers.c \
	src/engine/hparams_read.h \
	src/engine/kv.c \
	src/engine/kv.h \
	src/engine/mamba.c \
	src/engine/mixer.c \
	src/engine/mixer.h \
	src/engine/mla.c \
	src/engine/mla_heads.c \
	src/engine/mla_heads.h \
	src/engine/moe.c \
	src/engine/moe_biased.c \
	src/engine/per_layer.c \
	src/engine/run.h \
	src/engine/sampler.c \
	src/engine/scan.c \
	src/engine/scan.h \
	src/engine/scan_body.h \
	src/engine/session.c \
	src/engine/session_keep.c \
	src/engine/shortconv.c \
	src/engine/slot_rules.c \
	src/engine/slots.c \
	src/engine/slots.h \
	src/engine/state.c \
	src/engine/state.h \
	src/engine/synthetic.c \
	src/engine/synthetic.h \
	src/engine/synthetic_ggml.c \
	src/engine/synthetic_ggml.h \
	src/engine/vec.c \
	src/engine/vec.h \
	src/engine/vec_body.h \
	src/engine/vec_lanes.h \
	src/engine/vec_lanes_end.h \
	src/engine/watch.c \
	src/engine/watch.h \
	src/engine/weights.c \
	src/engine/weights.h

# kernels that choose the instructions function by function
src/engine/libengine_a-attn_ops.$(OBJEXT) : src_engine_libengine_a_CFLAGS += $(KERNEL_CFLAGS)
src/engine/libengine_a-scan.$(OBJEXT) : src_engine_libengine_a_CFLAGS += $(KERNEL_CFLAGS)
src/engine/libengine_a-vec.$(OBJEXT) : src_engine_libengine_a_CFLAGS += $(KERNEL_CFLAGS)
