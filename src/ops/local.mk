noinst_LIBRARIES += src/ops/libops.a
src_ops_libops_a_CFLAGS = $(AM_CFLAGS)
src_ops_libops_a_SOURCES =

# where the program lives: folders, settings, the pool
src_ops_libops_a_SOURCES += \
	src/ops/home/ctx.c \
	src/ops/home/ctx.h \
	src/ops/home/places.c \
	src/ops/home/places.h \
	src/ops/home/settings.c \
	src/ops/home/settings.h

# the index and what lies in stores
src_ops_libops_a_SOURCES += \
	src/ops/scan/blobdir.c \
	src/ops/scan/blobdir.h \
	src/ops/scan/leftover.c \
	src/ops/scan/leftover.h \
	src/ops/scan/scan.c \
	src/ops/scan/scan.h \
	src/ops/scan/scan_open.c \
	src/ops/scan/scan_open.h

# audits and their reports
src_ops_libops_a_SOURCES += \
	src/ops/verify/report.c \
	src/ops/verify/report.h \
	src/ops/verify/report_diff.c \
	src/ops/verify/verify.c \
	src/ops/verify/verify.h \
	src/ops/verify/verify_complete.c \
	src/ops/verify/verify_complete.h \
	src/ops/verify/verify_complete_config.c \
	src/ops/verify/verify_complete_files.c \
	src/ops/verify/verify_complete_gguf.c \
	src/ops/verify/verify_complete_layers.c \
	src/ops/verify/verify_complete_packed.c \
	src/ops/verify/verify_complete_slots.c \
	src/ops/verify/verify_files.c \
	src/ops/verify/verify_find.c \
	src/ops/verify/verify_models.c \
	src/ops/verify/verify_names.c \
	src/ops/verify/verify_run.h \
	src/ops/verify/verify_state.c \
	src/ops/verify/verify_store.c \
	src/ops/verify/verify_tensors.c \
	src/ops/verify/verify_tensors.h \
	src/ops/verify/verify_values.c \
	src/ops/verify/verify_zeros.c

# the values of tensors
src_ops_libops_a_SOURCES += \
	src/ops/inspect/block.c \
	src/ops/inspect/block.h \
	src/ops/inspect/digest.c \
	src/ops/inspect/digest.h \
	src/ops/inspect/heat.c \
	src/ops/inspect/heat.h \
	src/ops/inspect/inspect.c \
	src/ops/inspect/inspect.h \
	src/ops/inspect/inspect_dist.c \
	src/ops/inspect/inspect_dist.h \
	src/ops/inspect/inspect_kept.c \
	src/ops/inspect/inspect_kept.h \
	src/ops/inspect/inspect_window.c

# what a model says about itself
src_ops_libops_a_SOURCES += \
	src/ops/about/memory.c \
	src/ops/about/memory.h \
	src/ops/about/metadata.c \
	src/ops/about/metadata.h \
	src/ops/about/metadata_config.c \
	src/ops/about/metadata_gguf.c \
	src/ops/about/metadata_parts.h \
	src/ops/about/model_text.c \
	src/ops/about/model_text.h \
	src/ops/about/model_tokenizer.c \
	src/ops/about/optional.c \
	src/ops/about/optional.h \
	src/ops/about/params.c \
	src/ops/about/params.h \
	src/ops/about/shape.c \
	src/ops/about/shape.h \
	src/ops/about/vocab.c \
	src/ops/about/vocab.h

# two models
src_ops_libops_a_SOURCES += \
	src/ops/diff/diff.c \
	src/ops/diff/diff.h \
	src/ops/diff/diff_known.c \
	src/ops/diff/diff_match.c \
	src/ops/diff/diff_pair.c \
	src/ops/diff/diff_run.h \
	src/ops/diff/diff_tasks.c

# what a conversion would do
src_ops_libops_a_SOURCES += \
	src/ops/plan/plan.c \
	src/ops/plan/plan.h \
	src/ops/plan/plan_layout.c \
	src/ops/plan/plan_parts.h \
	src/ops/plan/plan_policy.c \
	src/ops/plan/plan_policy.h \
	src/ops/plan/plan_price.c \
	src/ops/plan/plan_text.c

# conversions
src_ops_libops_a_SOURCES += \
	src/ops/convert/blob.c \
	src/ops/convert/blob.h \
	src/ops/convert/blob_layout.c \
	src/ops/convert/blob_layout.h \
	src/ops/convert/convert.c \
	src/ops/convert/convert.h \
	src/ops/convert/convert_apart.c \
	src/ops/convert/convert_check.c \
	src/ops/convert/convert_json.c \
	src/ops/convert/convert_target.c \
	src/ops/convert/dest.h \
	src/ops/convert/dest_dir.c \
	src/ops/convert/dest_file.c \
	src/ops/convert/dest_store.c \
	src/ops/convert/kept.c \
	src/ops/convert/kept.h \
	src/ops/convert/space.c \
	src/ops/convert/space.h \
	src/ops/convert/window.c \
	src/ops/convert/window.h

# between layouts
src_ops_libops_a_SOURCES += \
	src/ops/import/import.c \
	src/ops/import/import.h \
	src/ops/import/import_config.c \
	src/ops/import/import_config.h \
	src/ops/import/import_gguf.c \
	src/ops/import/import_gguf.h \
	src/ops/import/import_plan.c \
	src/ops/import/import_plan.h

# running models
src_ops_libops_a_SOURCES += \
	src/ops/chat/chat.c \
	src/ops/chat/chat.h \
	src/ops/chat/chat_model.c \
	src/ops/chat/chat_model.h \
	src/ops/chat/chat_opts.c \
	src/ops/chat/generate.c \
	src/ops/chat/generate.h \
	src/ops/chat/score.c \
	src/ops/chat/score.h \
	src/ops/chat/stream.c \
	src/ops/chat/stream.h

# measuring
src_ops_libops_a_SOURCES += \
	src/ops/bench/bench.c \
	src/ops/bench/bench.h \
	src/ops/bench/bench_bytes.c \
	src/ops/bench/bench_limits.c \
	src/ops/bench/bench_matrices.c \
	src/ops/bench/bench_model.c \
	src/ops/bench/bench_parts.h \
	src/ops/bench/bench_stats.c \
	src/ops/bench/bench_walk.c \
	src/ops/bench/bench_walk.h

# the demo store
src_ops_libops_a_SOURCES += \
	src/ops/demo/demo.c \
	src/ops/demo/demo.h \
	src/ops/demo/demo_model.c \
	src/ops/demo/demo_text.c

# Not a test: figures depend on the machine and on who else uses it.
bench: tbtui
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./tbtui bench
.PHONY: bench
