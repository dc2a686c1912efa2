noinst_LIBRARIES += src/base/libbase.a
src_base_libbase_a_CFLAGS = $(AM_CFLAGS) $(UTF8PROC_CFLAGS) $(CRYPTO_CFLAGS) $(XXHASH_CFLAGS)
src_base_libbase_a_SOURCES = \
	src/base/arena.c \
	src/base/arena.h \
	src/base/buf.c \
	src/base/buf.h \
	src/base/dir.c \
	src/base/dir.h \
	src/base/err.c \
	src/base/err.h \
	src/base/file.c \
	src/base/file.h \
	src/base/file_map.c \
	src/base/half.c \
	src/base/half.h \
	src/base/hash.h \
	src/base/human.c \
	src/base/job.c \
	src/base/job.h \
	src/base/mem.c \
	src/base/mem.h \
	src/base/near.c \
	src/base/near.h \
	src/base/opt.c \
	src/base/opt.h \
	src/base/out.c \
	src/base/out.h \
	src/base/pool.c \
	src/base/pool.h \
	src/base/replace.c \
	src/base/replace.h \
	src/base/search.h \
	src/base/sha256.c \
	src/base/sha256.h \
	src/base/sums.c \
	src/base/sums.h \
	src/base/text.c \
	src/base/text.h \
	src/base/time.c \
	src/base/utf8.c
