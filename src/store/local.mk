noinst_LIBRARIES += src/store/libstore.a
src_store_libstore_a_CFLAGS = $(AM_CFLAGS)
src_store_libstore_a_SOURCES = \
	src/store/model.h \
	src/store/name.c \
	src/store/name.h \
	src/store/ollama.c \
	src/store/ollama.h \
	src/store/roots.c \
	src/store/store.h
