noinst_LIBRARIES += src/engine/libengine.a
src_engine_libengine_a_CFLAGS = $(AM_CFLAGS) $(BLAS_CFLAGS)
src_engine_libengine_a_SOURCES = \
	src/engine/engine.h \
	src/engine/gemm.c \
	src/engine/gemm.h \
	src/engine/matmul.c \
	src/engine/matrix.c \
	src/engine/matrix.h \
	src/engine/mv.c \
	src/engine/mv.h \
	src/engine/mv_scalar.c \
	src/engine/sampler.h \
	src/engine/team.c \
	src/engine/team.h
ENGINE_LIBS = src/engine/libengine.a
