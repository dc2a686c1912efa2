# The bytes depend on the order of single operations: no fused multiply-add.
noinst_LIBRARIES += src/quant/libquant.a
src_quant_libquant_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
src_quant_libquant_a_SOURCES = \
	src/quant/affine.c \
	src/quant/bits.c \
	src/quant/bits.h \
	src/quant/codec.c \
	src/quant/codec.h \
	src/quant/decode.c \
	src/quant/decode.h \
	src/quant/encode.h \
	src/quant/error.c \
	src/quant/fp.c \
	src/quant/fp.h \
	src/quant/mx.c \
	src/quant/scheme.c \
	src/quant/scheme.h
QUANT_LIBS = src/quant/libquant.a
