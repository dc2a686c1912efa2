noinst_LIBRARIES += src/format/libformat.a
src_format_libformat_a_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
src_format_libformat_a_SOURCES = \
	src/format/dtype.c \
	src/format/dtype.h \
	src/format/format.c \
	src/format/format.h \
	src/format/ggml_type.c \
	src/format/ggml_type.h \
	src/format/gguf.c \
	src/format/gguf.h \
	src/format/gguf_array.c \
	src/format/gguf_array.h \
	src/format/gguf_cursor.c \
	src/format/gguf_cursor.h \
	src/format/gguf_value.c \
	src/format/gguf_write.c \
	src/format/gguf_write.h \
	src/format/imatrix.c \
	src/format/imatrix.h \
	src/format/imatrix_write.c \
	src/format/json.c \
	src/format/json.h \
	src/format/json_plain.c \
	src/format/json_plain.h \
	src/format/json_scan.c \
	src/format/json_scan.h \
	src/format/json_write.c \
	src/format/manifest.c \
	src/format/manifest.h \
	src/format/manifest_plain.c \
	src/format/manifest_plain.h \
	src/format/modelfile.c \
	src/format/modelfile.h \
	src/format/protobuf.c \
	src/format/protobuf.h \
	src/format/safetensors.c \
	src/format/safetensors.h \
	src/format/safetensors_write.c \
	src/format/st_plain.c \
	src/format/st_plain.h \
	src/format/tar.c \
	src/format/tar.h
