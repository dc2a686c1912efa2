noinst_LIBRARIES += src/store/libstore.a
src_store_libstore_a_CFLAGS = $(AM_CFLAGS)
src_store_libstore_a_SOURCES = \
	src/store/headers.c \
	src/store/headers.h \
	src/store/hub.c \
	src/store/hub.h \
	src/store/kind.c \
	src/store/kind.h \
	src/store/model.c \
	src/store/model.h \
	src/store/model_build.c \
	src/store/model_build.h \
	src/store/model_config.c \
	src/store/model_dir.c \
	src/store/model_foreign.c \
	src/store/model_gguf.c \
	src/store/model_manifest.c \
	src/store/model_meta.c \
	src/store/model_meta.h \
	src/store/model_scheme.c \
	src/store/model_tensors.c \
	src/store/name.c \
	src/store/name.h \
	src/store/oci.c \
	src/store/oci.h \
	src/store/oci_check.c \
	src/store/ollama.c \
	src/store/ollama.h \
	src/store/ollama_write.c \
	src/store/roots.c \
	src/store/split.c \
	src/store/split.h \
	src/store/store.c \
	src/store/store.h \
	src/store/store_kind.c \
	src/store/store_kind.h \
	src/store/tensor_name.c \
	src/store/tensor_name.h \
	src/store/unread.c \
	src/store/unread.h \
	src/store/walk.c \
	src/store/walk.h
