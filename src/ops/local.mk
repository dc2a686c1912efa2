noinst_LIBRARIES += src/ops/libops.a
src_ops_libops_a_CFLAGS = $(AM_CFLAGS) -DDEMO_DATA='"$(srcdir)/data/demo"'
src_ops_libops_a_SOURCES =

# what all work on: folders, the configuration, the pool
src_ops_libops_a_SOURCES += \
	src/ops/home/ctx.c \
	src/ops/home/held.c \
	src/ops/home/home.h \
	src/ops/home/registries.c \
	src/ops/home/remotes.c \
	src/ops/home/settings.c

# where models are looked for
src_ops_libops_a_SOURCES += \
	src/ops/places/places.c \
	src/ops/places/places.h

# around what writes models
src_ops_libops_a_SOURCES += \
	src/ops/output/kept.c \
	src/ops/output/output.h \
	src/ops/output/space.c

# bytes that come from elsewhere
src_ops_libops_a_SOURCES += \
	src/ops/fetch/fetch.c \
	src/ops/fetch/fetch.h \
	src/ops/fetch/fetch_adopt.c \
	src/ops/fetch/fetch_file.c \
	src/ops/fetch/fetch_hash.c \
	src/ops/fetch/fetch_left.c \
	src/ops/fetch/fetch_list.c \
	src/ops/fetch/fetch_list.h \
	src/ops/fetch/fetch_load.c \
	src/ops/fetch/fetch_parts.h \
	src/ops/fetch/fetch_run.c

# the files beside the tensors
src_ops_libops_a_SOURCES += \
	src/ops/model_text/model_template.c \
	src/ops/model_text/model_text.h \
	src/ops/model_text/model_tokenizer.c \
	src/ops/model_text/optional.c

src_ops_libops_a_SOURCES += \
	src/ops/vocab/vocab.c \
	src/ops/vocab/vocab.h

# what a model says about itself
src_ops_libops_a_SOURCES += \
	src/ops/metadata/metadata.c \
	src/ops/metadata/metadata.h \
	src/ops/metadata/metadata_config.c \
	src/ops/metadata/metadata_gguf.c \
	src/ops/metadata/metadata_parts.h

# how large it is
src_ops_libops_a_SOURCES += \
	src/ops/about/about.h \
	src/ops/about/memory.c \
	src/ops/about/params.c \
	src/ops/about/shape.c

# models where they lie, far away
src_ops_libops_a_SOURCES += \
	src/ops/look/look.c \
	src/ops/look/look.h \
	src/ops/look/look_facts.c \
	src/ops/look/look_heads.c \
	src/ops/look/look_hub.c \
	src/ops/look/look_mirror.c \
	src/ops/look/look_parts.h \
	src/ops/look/look_read.c \
	src/ops/look/look_registry.c \
	src/ops/look/look_stores.c

# what lies in stores
src_ops_libops_a_SOURCES += \
	src/ops/blobdir/blobdir.c \
	src/ops/blobdir/blobdir.h \
	src/ops/blobdir/leftover.c

# the index
src_ops_libops_a_SOURCES += \
	src/ops/scan/scan.c \
	src/ops/scan/scan.h \
	src/ops/scan/scan_open.c \
	src/ops/scan/scan_open.h

# audits
src_ops_libops_a_SOURCES += \
	src/ops/verify/verify.c \
	src/ops/verify/verify.h \
	src/ops/verify/verify_complete.c \
	src/ops/verify/verify_complete.h \
	src/ops/verify/verify_complete_files.c \
	src/ops/verify/verify_complete_numbers.c \
	src/ops/verify/verify_complete_layers.c \
	src/ops/verify/verify_complete_manifest.c \
	src/ops/verify/verify_complete_packed.c \
	src/ops/verify/verify_complete_slots.c \
	src/ops/verify/verify_files.c \
	src/ops/verify/verify_find.c \
	src/ops/verify/verify_guess.c \
	src/ops/verify/verify_guess.h \
	src/ops/verify/verify_kept.c \
	src/ops/verify/verify_models.c \
	src/ops/verify/verify_moved.c \
	src/ops/verify/verify_names.c \
	src/ops/verify/verify_resume.c \
	src/ops/verify/verify_run.h \
	src/ops/verify/verify_blank.c \
	src/ops/verify/verify_scales.c \
	src/ops/verify/verify_scan.c \
	src/ops/verify/verify_scan.h \
	src/ops/verify/verify_sidecar.c \
	src/ops/verify/verify_state.c \
	src/ops/verify/verify_store.c \
	src/ops/verify/verify_sums.c \
	src/ops/verify/verify_sums.h \
	src/ops/verify/verify_tensors.c \
	src/ops/verify/verify_tensors.h \
	src/ops/verify/verify_values.c \
	src/ops/verify/verify_where.c \
	src/ops/verify/verify_zeros.c

# what is on the disk, and what is known of its bytes
src_ops_libops_a_SOURCES += \
	src/ops/content/content.c \
	src/ops/content/content.h \
	src/ops/content/content_hashed.c

# damaged files get the bytes that they should have
src_ops_libops_a_SOURCES += \
	src/ops/heal/heal.c \
	src/ops/heal/heal.h \
	src/ops/heal/heal_patch.c \
	src/ops/heal/heal_plan.c \
	src/ops/heal/heal_remote.c \
	src/ops/heal/heal_run.h \
	src/ops/heal/heal_source.c

# equal files become one
src_ops_libops_a_SOURCES += \
	src/ops/dedupe/dedupe.c \
	src/ops/dedupe/dedupe.h \
	src/ops/dedupe/dedupe_plan.c

# and their reports
src_ops_libops_a_SOURCES += \
	src/ops/report/report.c \
	src/ops/report/report.h \
	src/ops/report/report_diff.c \
	src/ops/report/report_html.c \
	src/ops/report/report_html.h \
	src/ops/report/report_json.c \
	src/ops/report/report_map.c \
	src/ops/report/report_out.h \
	src/ops/report/report_read.c \
	src/ops/report/report_seal.c \
	src/ops/report/report_table.c \
	src/ops/report/report_text.c \
	src/ops/report/report_words.c

# models as a bill of materials
src_ops_libops_a_SOURCES += \
	src/ops/bom/bom.c \
	src/ops/bom/bom.h \
	src/ops/bom/bom_card.c \
	src/ops/bom/bom_licence.c \
	src/ops/bom/bom_parts.h

# the values of tensors
src_ops_libops_a_SOURCES += \
	src/ops/inspect/block.c \
	src/ops/inspect/heat.c \
	src/ops/inspect/inspect.c \
	src/ops/inspect/inspect.h \
	src/ops/inspect/inspect_dist.c \
	src/ops/inspect/inspect_kept.c \
	src/ops/inspect/inspect_run.h \
	src/ops/inspect/inspect_window.c

src_ops_libops_a_SOURCES += \
	src/ops/digest/digest.c \
	src/ops/digest/digest.h

# two models
src_ops_libops_a_SOURCES += \
	src/ops/diff/diff.c \
	src/ops/diff/diff.h \
	src/ops/diff/diff_known.c \
	src/ops/diff/diff_match.c \
	src/ops/diff/diff_pair.c \
	src/ops/diff/diff_run.h \
	src/ops/diff/diff_tasks.c

# what two formats say of the same model
src_ops_libops_a_SOURCES += \
	src/ops/translate/hf_back.c \
	src/ops/translate/hf_config.c \
	src/ops/translate/hf_config_rows.c \
	src/ops/translate/hf_names.c \
	src/ops/translate/hf_dtype.c \
	src/ops/translate/hf_parts.h \
	src/ops/translate/hf_rope.c \
	src/ops/translate/hf_tokenizer.c \
	src/ops/translate/hf_view.c \
	src/ops/translate/same_ids.c \
	src/ops/translate/same_ids.h \
	src/ops/translate/translate.h \
	src/ops/translate/translate_check.c \
	src/ops/translate/translate_config.c \
	src/ops/translate/translate_config.h \
	src/ops/translate/translate_config_keys.c \
	src/ops/translate/translate_keys.c \
	src/ops/translate/translate_made.c \
	src/ops/translate/translate_name.c \
	src/ops/translate/translate_rows.c \
	src/ops/translate/translate_rows.h \
	src/ops/translate/translate_vocab.c \
	src/ops/translate/walk.c

# conversions
src_ops_libops_a_SOURCES += \
	src/ops/plan/plan.c \
	src/ops/plan/plan.h \
	src/ops/plan/plan_budget.c \
	src/ops/plan/plan_facts.c \
	src/ops/plan/plan_gguf.c \
	src/ops/plan/plan_layout.c \
	src/ops/plan/plan_llama.c \
	src/ops/plan/plan_mlx.c \
	src/ops/plan/plan_parts.h \
	src/ops/plan/plan_policy.c \
	src/ops/plan/plan_recipe.c \
	src/ops/plan/plan_text.c

src_ops_libops_a_SOURCES += \
	src/ops/convert/blob.c \
	src/ops/convert/blob.h \
	src/ops/convert/blob_layout.c \
	src/ops/convert/blob_verify.c \
	src/ops/convert/convert.c \
	src/ops/convert/convert.h \
	src/ops/convert/convert_apart.c \
	src/ops/convert/convert_check.c \
	src/ops/convert/convert_json.c \
	src/ops/convert/convert_map.c \
	src/ops/convert/convert_price.c \
	src/ops/convert/convert_ready.c \
	src/ops/convert/convert_target.c \
	src/ops/convert/deliver.c \
	src/ops/convert/deliver.h \
	src/ops/convert/dest.h \
	src/ops/convert/dest_dir.c \
	src/ops/convert/dest_file.c \
	src/ops/convert/dest_gguf.c \
	src/ops/convert/gguf_head.c \
	src/ops/convert/dest_store.c \
	src/ops/convert/window.c \
	src/ops/convert/window.h \
	src/ops/convert/window_walk.c \
	src/ops/convert/work.c \
	src/ops/convert/work.h \
	src/ops/convert/work_key.c

# between layouts
src_ops_libops_a_SOURCES += \
	src/ops/import/import.c \
	src/ops/import/import.h \
	src/ops/import/import_config.c \
	src/ops/import/import_image.c \
	src/ops/import/import_plan.c \
	src/ops/import/import_plan.h

# from registries
src_ops_libops_a_SOURCES += \
	src/ops/pull/pull.c \
	src/ops/pull/pull.h \
	src/ops/pull/pull_manifest.c \
	src/ops/pull/pull_parts.h \
	src/ops/pull/pull_place.c \
	src/ops/pull/pull_there.c

# several as one archive
src_ops_libops_a_SOURCES += \
	src/ops/bundle/bundle.h \
	src/ops/bundle/bundle_gather.c \
	src/ops/bundle/bundle_image.c \
	src/ops/bundle/bundle_import.c \
	src/ops/bundle/bundle_list.c \
	src/ops/bundle/bundle_parts.h \
	src/ops/bundle/bundle_read.c \
	src/ops/bundle/bundle_verify.c \
	src/ops/bundle/bundle_write.c

# between stores, layouts and registries
src_ops_libops_a_SOURCES += \
	src/ops/carry/carry.c \
	src/ops/carry/carry.h \
	src/ops/carry/carry_kept.c \
	src/ops/carry/referrers.c \
	src/ops/carry/site.c \
	src/ops/carry/site.h \
	src/ops/carry/site_file.c \
	src/ops/carry/site_layout.c \
	src/ops/carry/site_pipe.c \
	src/ops/carry/site_registry.c \
	src/ops/copy/copy.c \
	src/ops/copy/copy.h \
	src/ops/copy/copy_place.c \
	src/ops/copy/copy_place.h \
	src/ops/push/push.c \
	src/ops/push/push.h

# some tensors of a model
src_ops_libops_a_SOURCES += \
	src/ops/slice/slice.c \
	src/ops/slice/slice.h

# from a Modelfile, and back
src_ops_libops_a_SOURCES += \
	src/ops/create/create.c \
	src/ops/create/create.h \
	src/ops/create/create_config.c \
	src/ops/create/create_gguf.c \
	src/ops/create/create_items.c \
	src/ops/create/create_params.c \
	src/ops/create/create_parts.h \
	src/ops/create/create_say.c \
	src/ops/create/create_spec.c

# running models
src_ops_libops_a_SOURCES += \
	src/ops/run/best.c \
	src/ops/run/best.h \
	src/ops/run/chat_model.c \
	src/ops/run/chat_text.c \
	src/ops/run/draft.c \
	src/ops/run/draft.h \
	src/ops/run/generate.c \
	src/ops/run/guess.c \
	src/ops/run/guess.h \
	src/ops/run/kv_file.c \
	src/ops/run/run.h \
	src/ops/run/score.c \
	src/ops/run/score_pair.c \
	src/ops/run/stream.c \
	src/ops/run/stream.h

# models that run elsewhere
src_ops_libops_a_SOURCES += \
	src/ops/remote/remote.c \
	src/ops/remote/remote.h \
	src/ops/remote/remote_answer.c \
	src/ops/remote/remote_mend.c \
	src/ops/remote/remote_parts.h \
	src/ops/remote/remote_request.c

src_ops_libops_a_SOURCES += \
	src/ops/chat/chat.c \
	src/ops/chat/chat.h \
	src/ops/chat/chat_beside.c \
	src/ops/chat/chat_export.c \
	src/ops/chat/chat_import.c \
	src/ops/chat/chat_kept.c \
	src/ops/chat/chat_opts.c \
	src/ops/chat/chat_resume.c \
	src/ops/chat/chat_park.c \
	src/ops/chat/chat_parts.h \
	src/ops/chat/chat_say.c \
	src/ops/chat/chat_settings.c \
	src/ops/chat/local_parts.c \
	src/ops/chat/local_parts.h \
	src/ops/chat/reading.c \
	src/ops/chat/reading.h \
	src/ops/chat/speaker.h \
	src/ops/chat/speaker_local.c \
	src/ops/chat/speaker_remote.c \
	src/ops/chat/turns.c \
	src/ops/chat/turns.h

# models for other programs
src_ops_libops_a_SOURCES += \
	src/ops/serve/batch.c \
	src/ops/serve/batch.h \
	src/ops/serve/exchange.c \
	src/ops/serve/exchange.h \
	src/ops/serve/forced.c \
	src/ops/serve/forced.h \
	src/ops/serve/hosts.c \
	src/ops/serve/hosts.h \
	src/ops/serve/reply.c \
	src/ops/serve/reply.h \
	src/ops/serve/request.c \
	src/ops/serve/request.h \
	src/ops/serve/serve.c \
	src/ops/serve/serve.h

# measuring
src_ops_libops_a_SOURCES += \
	src/ops/bench/bench.c \
	src/ops/bench/bench.h \
	src/ops/bench/bench_bytes.c \
	src/ops/bench/bench_hash.c \
	src/ops/bench/bench_limits.c \
	src/ops/bench/bench_matrices.c \
	src/ops/bench/bench_model.c \
	src/ops/bench/bench_parts.h \
	src/ops/bench/bench_stats.c \
	src/ops/bench/bench_walk.c \
	src/ops/bench/bench_walk.h \
	src/ops/doctor/doctor.c \
	src/ops/doctor/doctor.h

# taken away, copied, renamed; and undone
src_ops_libops_a_SOURCES += \
	src/ops/tidy/tidy.c \
	src/ops/tidy/tidy.h \
	src/ops/tidy/tidy_name.c \
	src/ops/tidy/tidy_needs.c \
	src/ops/tidy/tidy_oci.c \
	src/ops/tidy/tidy_ollama.c \
	src/ops/tidy/tidy_parts.h \
	src/ops/tidy/tidy_prune.c \
	src/ops/tidy/tidy_pulls.c \
	src/ops/tidy/tidy_rm.c \
	src/ops/tidy/tidy_undo.c

# the demo store
src_ops_libops_a_SOURCES += \
	src/ops/demo/demo.c \
	src/ops/demo/demo.h \
	src/ops/demo/demo_files.c \
	src/ops/demo/demo_model.c \
	src/ops/demo/demo_text.c \
	src/ops/demo/demo_trained.c

# Not a test: figures depend on the machine and on who else uses it.
bench: tbtui
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./tbtui bench
.PHONY: bench

# what matters in a model
src_ops_libops_a_SOURCES += \
	src/ops/calibrate/calibrate.c \
	src/ops/calibrate/calibrate.h \
	src/ops/calibrate/feeds.c \
	src/ops/calibrate/feeds.h \
	src/ops/calibrate/importance.c

# models of a hub, into a cache as it keeps them
src_ops_libops_a_SOURCES += \
	src/ops/hub_pull/hub_cache.c \
	src/ops/hub_pull/hub_choose.c \
	src/ops/hub_pull/hub_choose.h \
	src/ops/hub_pull/hub_gguf.c \
	src/ops/hub_pull/hub_gguf.h \
	src/ops/hub_pull/hub_place.c \
	src/ops/hub_pull/hub_pull.c \
	src/ops/hub_pull/hub_pull.h \
	src/ops/hub_pull/hub_pull_parts.h \
	src/ops/hub_pull/hub_snapshot.c \
	src/ops/hub_pull/hub_there.c
