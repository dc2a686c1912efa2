noinst_LIBRARIES += src/ops/libops.a
src_ops_libops_a_CFLAGS = $(AM_CFLAGS)
src_ops_libops_a_SOURCES = \
	src/ops/bench_walk.c \
	src/ops/bench_walk.h \
	src/ops/ctx.c \
	src/ops/ctx.h \
	src/ops/inspect.h

# the index and audits
src_ops_libops_a_SOURCES += \
	src/ops/scan.h \
	src/ops/verify.h

# running models
src_ops_libops_a_SOURCES += \
	src/ops/chat.c \
	src/ops/chat.h \
	src/ops/chat_model.c \
	src/ops/chat_model.h \
	src/ops/generate.c \
	src/ops/generate.h \
	src/ops/score.c \
	src/ops/score.h \
	src/ops/stream.c \
	src/ops/stream.h

# between layouts
src_ops_libops_a_SOURCES += \
	src/ops/import.c \
	src/ops/import.h \
	src/ops/import_config.c \
	src/ops/import_config.h \
	src/ops/import_plan.c \
	src/ops/import_plan.h
