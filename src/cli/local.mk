noinst_LIBRARIES += src/cli/libcli.a
src_cli_libcli_a_CFLAGS = $(AM_CFLAGS) $(READLINE_CFLAGS)

# The commands, in the order of --help; each file says what it has in COMMAND rows.
cli_command_files = \
	src/cli/cmd_pull.c \
	src/cli/cmd_push.c \
	src/cli/cmd_copy.c \
	src/cli/cmd_import.c \
	src/cli/cmd_export.c \
	src/cli/cmd_bundle.c \
	src/cli/cmd_create.c \
	src/cli/cmd_scan.c \
	src/cli/cmd_stores.c \
	src/cli/cmd_ls.c \
	src/cli/cmd_show.c \
	src/cli/cmd_tensors.c \
	src/cli/cmd_tensor.c \
	src/cli/cmd_search.c \
	src/cli/cmd_diff.c \
	src/cli/cmd_blobs.c \
	src/cli/cmd_sql.c \
	src/cli/cmd_verify.c \
	src/cli/cmd_audit.c \
	src/cli/cmd_heal.c \
	src/cli/cmd_dedupe.c \
	src/cli/cmd_rm.c \
	src/cli/cmd_cp.c \
	src/cli/cmd_undo.c \
	src/cli/cmd_plan.c \
	src/cli/cmd_quantize.c \
	src/cli/cmd_calibrate.c \
	src/cli/cmd_chat.c \
	src/cli/cmd_sessions.c \
	src/cli/cmd_serve.c \
	src/cli/cmd_generate.c \
	src/cli/cmd_score.c \
	src/cli/cmd_text.c \
	src/cli/cmd_bench.c \
	src/cli/cmd_doctor.c \
	src/cli/cmd_demo.c

BUILT_SOURCES += src/cli/commands.h
CLEANFILES += src/cli/commands.h
src/cli/libcli_a-cli.$(OBJEXT): src/cli/commands.h
src/cli/commands.h: $(cli_command_files) src/cli/local.mk
	$(AM_V_GEN)$(MKDIR_P) src/cli && (cd $(srcdir) && \
		sed -n 's/^COMMAND(\([a-z_]*\),.*/C(\1)/p' $(cli_command_files)) >$@.tmp && \
		mv $@.tmp $@

src_cli_libcli_a_SOURCES = $(cli_command_files) \
	src/cli/cli.c \
	src/cli/cli.h \
	src/cli/bundle_file.c \
	src/cli/bundle_file.h \
	src/cli/chat_session.c \
	src/cli/chat_session.h \
	src/cli/copies.c \
	src/cli/examples.def \
	src/cli/export_bom.c \
	src/cli/generate_remote.c \
	src/cli/generate_remote.h \
	src/cli/far.c \
	src/cli/far.h \
	src/cli/index.c \
	src/cli/index.h \
	src/cli/line.c \
	src/cli/line.h \
	src/cli/made.c \
	src/cli/open.c \
	src/cli/plain.c \
	src/cli/plan_args.c \
	src/cli/plan_args.h \
	src/cli/plan_compare.c \
	src/cli/plan_json.c \
	src/cli/print.c \
	src/cli/progress.c \
	src/cli/problems.c \
	src/cli/problems.h \
	src/cli/pull_hub.c \
	src/cli/pull_hub.h \
	src/cli/run_model.c \
	src/cli/run_model.h \
	src/cli/show.h \
	src/cli/show_far.c \
	src/cli/show_json.c \
	src/cli/show_meta.c \
	src/cli/show_sizes.c \
	src/cli/table.c \
	src/cli/table.h \
	src/cli/tensor_json.c \
	src/cli/tensor_task.h \
	src/cli/tensor_text.c \
	src/cli/tensors.h \
	src/cli/tidy.c \
	src/cli/tidy.h \
	src/cli/unsafe.c \
	src/cli/unsafe.h \
	src/cli/verify.h \
	src/cli/wrap.c \
	src/cli/wrap.h
