noinst_LIBRARIES += src/engine/libengine.a
src_engine_libengine_a_CFLAGS = $(AM_CFLAGS) $(BLAS_CFLAGS)
src_engine_libengine_a_SOURCES = \
	src/engine/engine.h \
	src/engine/matrix.h \
	src/engine/sampler.h \
	src/engine/team.h
ENGINE_LIBS = src/engine/libengine.a
