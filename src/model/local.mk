noinst_LIBRARIES += src/model/libmodel.a
src_model_libmodel_a_CFLAGS = $(AM_CFLAGS)
src_model_libmodel_a_SOURCES = \
	src/model/values.c \
	src/model/values.h \
	src/model/values_files.c \
	src/model/values_files.h
