noinst_LIBRARIES += src/quant/libquant.a
src_quant_libquant_a_CFLAGS = $(AM_CFLAGS)
src_quant_libquant_a_SOURCES = \
	src/quant/codec.h \
	src/quant/scheme.h
QUANT_LIBS = src/quant/libquant.a
