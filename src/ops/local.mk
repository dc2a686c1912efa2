noinst_LIBRARIES += src/ops/libops.a
src_ops_libops_a_CFLAGS = $(AM_CFLAGS)
src_ops_libops_a_SOURCES = \
	src/ops/bench.c \
	src/ops/bench.h \
	src/ops/bench_bytes.c \
	src/ops/bench_limits.c \
	src/ops/bench_matrices.c \
	src/ops/bench_model.c \
	src/ops/bench_parts.h \
	src/ops/bench_stats.c \
	src/ops/bench_walk.c \
	src/ops/bench_walk.h \
	src/ops/settings.c \
	src/ops/settings.h \
	src/ops/places.c \
	src/ops/places.h \
	src/ops/ctx.c \
	src/ops/ctx.h \
	src/ops/inspect.c \
	src/ops/inspect.h \
	src/ops/inspect_dist.c \
	src/ops/inspect_dist.h \
	src/ops/inspect_kept.c \
	src/ops/inspect_kept.h \
	src/ops/inspect_read.c \
	src/ops/inspect_read.h \
	src/ops/inspect_window.c

# what a model says about itself
src_ops_libops_a_SOURCES += \
	src/ops/metadata.c \
	src/ops/metadata.h \
	src/ops/metadata_config.c \
	src/ops/metadata_gguf.c \
	src/ops/metadata_parts.h \
	src/ops/kept.c \
	src/ops/kept.h \
	src/ops/leftover.c \
	src/ops/leftover.h \
	src/ops/memory.c \
	src/ops/memory.h \
	src/ops/optional.c \
	src/ops/optional.h \
	src/ops/params.c \
	src/ops/params.h \
	src/ops/shape.c \
	src/ops/space.c \
	src/ops/space.h \
	src/ops/shape.h

# the index and audits
src_ops_libops_a_SOURCES += \
	src/ops/blobdir.c \
	src/ops/blobdir.h \
	src/ops/report.c \
	src/ops/report.h \
	src/ops/report_diff.c \
	src/ops/scan.c \
	src/ops/scan.h \
	src/ops/scan_open.c \
	src/ops/scan_open.h \
	src/ops/vocab.c \
	src/ops/vocab.h \
	src/ops/verify.c \
	src/ops/verify.h \
	src/ops/verify_complete.c \
	src/ops/verify_complete.h \
	src/ops/verify_complete_config.c \
	src/ops/verify_complete_files.c \
	src/ops/verify_complete_gguf.c \
	src/ops/verify_complete_layers.c \
	src/ops/verify_complete_packed.c \
	src/ops/verify_complete_slots.c \
	src/ops/verify_files.c \
	src/ops/verify_find.c \
	src/ops/verify_models.c \
	src/ops/verify_names.c \
	src/ops/verify_run.h \
	src/ops/verify_state.c \
	src/ops/verify_store.c \
	src/ops/verify_tensors.c \
	src/ops/verify_tensors.h \
	src/ops/verify_values.c \
	src/ops/verify_zeros.c

# running models
src_ops_libops_a_SOURCES += \
	src/ops/chat.c \
	src/ops/chat.h \
	src/ops/chat_opts.c \
	src/ops/chat_model.c \
	src/ops/chat_model.h \
	src/ops/generate.c \
	src/ops/generate.h \
	src/ops/score.c \
	src/ops/score.h \
	src/ops/stream.c \
	src/ops/stream.h

# plans and conversions
src_ops_libops_a_SOURCES += \
	src/ops/blob.c \
	src/ops/blob.h \
	src/ops/blob_layout.c \
	src/ops/block.c \
	src/ops/block.h \
	src/ops/blob_layout.h \
	src/ops/convert.c \
	src/ops/convert.h \
	src/ops/convert_apart.c \
	src/ops/convert_check.c \
	src/ops/convert_json.c \
	src/ops/convert_target.c \
	src/ops/dest.h \
	src/ops/dest_dir.c \
	src/ops/dest_file.c \
	src/ops/dest_store.c \
	src/ops/expert.c \
	src/ops/expert.h \
	src/ops/model_text.c \
	src/ops/model_text.h \
	src/ops/model_tokenizer.c \
	src/ops/plan.c \
	src/ops/plan.h \
	src/ops/plan_layout.c \
	src/ops/plan_parts.h \
	src/ops/plan_policy.c \
	src/ops/plan_policy.h \
	src/ops/plan_price.c \
	src/ops/plan_text.c \
	src/ops/window.c \
	src/ops/window.h

# between layouts
src_ops_libops_a_SOURCES += \
	src/ops/heat.c \
	src/ops/heat.h \
	src/ops/import.c \
	src/ops/import.h \
	src/ops/import_config.c \
	src/ops/import_config.h \
	src/ops/import_gguf.c \
	src/ops/import_gguf.h \
	src/ops/import_plan.c \
	src/ops/import_plan.h

# Not a test: figures depend on the machine and on who else uses it.
bench: tbtui
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./tbtui bench
.PHONY: bench
# the demo store
src_ops_libops_a_SOURCES += \
	src/ops/demo.c \
	src/ops/demo.h \
	src/ops/demo_model.c \
	src/ops/demo_text.c

# two models
src_ops_libops_a_SOURCES += \
	src/ops/diff.c \
	src/ops/diff.h \
	src/ops/diff_known.c \
	src/ops/diff_match.c \
	src/ops/diff_pair.c \
	src/ops/diff_run.h \
	src/ops/diff_tasks.c \
	src/ops/digest.c \
	src/ops/digest.h
