# A unit test links the archives of its layer and of those below, no others: the
# linker checks the direction of the layers a second time.
#
#	check_PROGRAMS += tests/unit/test_NAME
#	TESTS += tests/unit/test_NAME
#	tests_unit_test_NAME_LDADD = $(TEST_LAYER)
#
# "make tests/unit/test_NAME.log" builds and runs one of them, in the surroundings
# below and without the rest of the program.
#
# Shell tests (tests/cli/*.sh, they source lib.sh) and screens (tests/screens/*.scr)
# (commands: tests/scrtest.c) go into dist_check_SCRIPTS and SCREENS; what they read into EXTRA_DIST.
TEST_BASE = tests/unit/libunit.a src/base/libbase.a \
	$(UTF8PROC_LIBS) $(CRYPTO_LIBS) $(XXHASH_LIBS) $(CMOCKA_LIBS)
TEST_FORMAT = src/format/libformat.a $(CJSON_LIBS) $(TEST_BASE)
TEST_QUANT = $(QUANT_LIBS) $(TEST_FORMAT)
TEST_STORE = src/store/libstore.a $(TEST_QUANT)
TEST_MODEL = src/model/libmodel.a $(TEST_STORE)
TEST_DB = db/libdb.a $(SQLITE_LIBS) $(TEST_STORE)
TEST_TEXT = src/text/libtext.a $(PCRE2_LIBS) $(TEST_STORE)
TEST_NET = src/net/libnet.a $(CURL_LIBS) $(MICROHTTPD_LIBS) $(TEST_STORE)
TEST_ENGINE = $(ENGINE_LIBS) $(BLAS_LIBS) $(TEST_MODEL)
TEST_OPS = src/ops/libops.a $(ENGINE_LIBS) $(BLAS_LIBS) src/text/libtext.a $(PCRE2_LIBS) \
	src/net/libnet.a $(CURL_LIBS) $(MICROHTTPD_LIBS) db/libdb.a $(SQLITE_LIBS) $(TEST_MODEL)
TEST_FACE = src/face/libface.a $(MD4C_LIBS) $(TEST_OPS)
TEST_UI = ui/libui.a $(CURSES_LIBS) $(READLINE_LIBS) $(TEST_FACE)
TEST_CLI = src/cli/libcli.a $(READLINE_LIBS) $(TEST_FACE)

AM_CPPFLAGS += $(CMOCKA_CFLAGS)
check_LIBRARIES = tests/unit/libunit.a
tests_unit_libunit_a_SOURCES = tests/unit/unit.c tests/unit/unit.h

SCREENS =
dist_check_SCRIPTS =

# What every change must leave true, whatever it adds.
dist_check_SCRIPTS += tests/check-layers.sh tests/check-length.sh tests/check-banned.sh \
	tests/check-names.sh tests/check-security.sh
EXTRA_DIST += tests/code.awk

# What doc/INTERNALS.md says about adding things is true: "make check" counts the files of the
# patches, "make check-howto" builds the program with all of them and looks at what they did.
dist_check_SCRIPTS += tests/howto.sh
HOWTO = tests/howto/arch tests/howto/arch-math tests/howto/command \
	tests/howto/foreign tests/howto/format tests/howto/scheme tests/howto/screen \
	tests/howto/store tests/howto/word
EXTRA_DIST += $(HOWTO:=.patch) $(HOWTO:=.check)
check-howto: all
	$(MAKE) $(AM_MAKEFLAGS) distdir=check-howto.tmp distdir
	$(AM_TESTS_ENVIRONMENT) \
	srcdir=$(abs_srcdir) builddir=$(abs_builddir) copy=$(abs_builddir)/check-howto.tmp \
		$(SHELL) $(srcdir)/tests/howto.sh build
	rm -rf check-howto.tmp
.PHONY: check-howto

# The longest of all goes first: others fill the cores beside it.
TESTS += tests/faults/faults.sh
EXTRA_DIST += tests/faults/faults.sh
TEST_EXTENSIONS = .sh .scr
SH_LOG_COMPILER = $(SHELL)
# Screens: the terminal that tests/vt.c understands, and what drives it.
check_PROGRAMS += tests/scrtest
tests_scrtest_SOURCES = tests/scrtest.c tests/tty.c tests/tty.h tests/vt.c tests/vt.h
tests_scrtest_LDADD = src/base/libbase.a $(UTF8PROC_LIBS) $(CRYPTO_LIBS) $(XXHASH_LIBS)
SCR_LOG_COMPILER = tests/scrtest
check_DATA += tests/ti/stamp
tests/ti/stamp: tests/tbtest.ti
	$(AM_V_GEN)$(MKDIR_P) tests/ti && \
		$(TIC) -x -o tests/ti $(srcdir)/tests/tbtest.ti && touch $@

dist_check_SCRIPTS += tests/cli/scrtest.sh tests/cli/completion.sh
EXTRA_DIST += tests/check-docs.sh

# numbered menus
dist_check_SCRIPTS += tests/cli/plain.sh

# the index and audits
dist_check_SCRIPTS += tests/cli/scan.sh tests/cli/ls.sh tests/cli/verify.sh tests/cli/unreadable.sh tests/cli/audit.sh tests/cli/report.sh tests/cli/bom.sh tests/cli/cron.sh tests/cli/hub.sh \
	tests/cli/oci.sh
EXTRA_DIST += tests/cli/store.sh
dist_check_SCRIPTS += tests/cli/stores.sh tests/cli/hints.sh tests/cli/examples.sh tests/cli/config.sh tests/cli/path.sh

# from Modelfiles; layouts of experts
dist_check_SCRIPTS += tests/cli/create.sh tests/cli/packs.sh tests/cli/slice.sh
EXTRA_DIST += tests/cli/create.py tests/cli/packs.py
dist_check_SCRIPTS += tests/cli/rounds.sh
EXTRA_DIST += tests/cli/rounds.py

# damaged files, and equal ones
dist_check_SCRIPTS += tests/cli/heal.sh tests/cli/dedupe.sh
dist_check_SCRIPTS += tests/cli/look.sh

# tables of commands
check_PROGRAMS += tests/unit/test_cli_progress
TESTS += tests/unit/test_cli_progress
tests_unit_test_cli_progress_LDADD = $(TEST_CLI)
check_PROGRAMS += tests/unit/test_cli_table
TESTS += tests/unit/test_cli_table
tests_unit_test_cli_table_LDADD = $(TEST_CLI)
dist_check_SCRIPTS += tests/cli/table.sh tests/cli/output.sh

check_PROGRAMS += tests/unit/test_cli_wrap
TESTS += tests/unit/test_cli_wrap
tests_unit_test_cli_wrap_LDADD = $(TEST_CLI)

# what a model says about itself
check_PROGRAMS += tests/unit/test_metadata
TESTS += tests/unit/test_metadata
tests_unit_test_metadata_SOURCES = tests/unit/test_metadata.c tests/unit/fixture.c \
	tests/unit/fixture.h tests/unit/gguf_make.c tests/unit/gguf_make.h
tests_unit_test_metadata_LDADD = $(TEST_OPS)
dist_check_SCRIPTS += tests/cli/show.sh

# The tests see nothing of the person who runs them.
AM_TESTS_ENVIRONMENT = \
	if test -z "$$TBTUI_SHARED" && test -d '$(abs_top_srcdir)/../shared'; then \
		TBTUI_SHARED='$(abs_top_srcdir)/../shared'; export TBTUI_SHARED; \
	fi; \
	TBTUI='$(abs_top_builddir)/tbtui'; export TBTUI; \
	TBTUI_SRC='$(abs_top_srcdir)'; export TBTUI_SRC; \
	SCRTEST='$(abs_top_builddir)/tests/scrtest'; export SCRTEST; \
	LC_ALL=C.UTF-8; export LC_ALL; \
	TERMINFO='$(abs_top_builddir)/tests/ti'; export TERMINFO; \
	HOME='$(abs_top_builddir)/tests/home'; export HOME; \
	$(MKDIR_P) "$$HOME"; \
	XDG_DATA_HOME="$$HOME/data"; export XDG_DATA_HOME; \
	XDG_CONFIG_HOME="$$HOME/config"; export XDG_CONFIG_HOME; \
	XDG_CACHE_HOME="$$HOME/cache"; export XDG_CACHE_HOME; \
	XDG_STATE_HOME="$$HOME/state"; export XDG_STATE_HOME; \
	OPENBLAS_NUM_THREADS=2; export OPENBLAS_NUM_THREADS; \
	OMP_NUM_THREADS=2; export OMP_NUM_THREADS; \
	ASAN_OPTIONS="allocator_may_return_null=1:$$ASAN_OPTIONS"; export ASAN_OPTIONS; \
	TSAN_OPTIONS="allocator_may_return_null=1:$$TSAN_OPTIONS"; export TSAN_OPTIONS; \
	UBSAN_OPTIONS="print_stacktrace=1:$$UBSAN_OPTIONS"; export UBSAN_OPTIONS; \
	unset TBTUI_DB TBTUI_CPU TBTUI_NOW OLLAMA_MODELS HF_HOME NO_COLOR INPUTRC TMUX;

# base
BASE_TESTS = \
	tests/unit/test_base_file \
	tests/unit/test_base_half \
	tests/unit/test_base_job \
	tests/unit/test_base_match \
	tests/unit/test_base_mem \
	tests/unit/test_base_near \
	tests/unit/test_base_opt \
	tests/unit/test_base_out \
	tests/unit/test_base_pool \
	tests/unit/test_base_lanes \
	tests/unit/test_base_sha256 \
	tests/unit/test_base_sums \
	tests/unit/test_base_text
check_PROGRAMS += $(BASE_TESTS)
TESTS += $(BASE_TESTS)
tests_unit_test_base_file_LDADD = $(TEST_BASE)
tests_unit_test_base_half_LDADD = $(TEST_BASE)
tests_unit_test_base_job_LDADD = $(TEST_BASE)
tests_unit_test_base_match_LDADD = $(TEST_BASE)
tests_unit_test_base_mem_LDADD = $(TEST_BASE)
tests_unit_test_base_near_LDADD = $(TEST_BASE)
tests_unit_test_base_opt_LDADD = $(TEST_BASE)
tests_unit_test_base_out_LDADD = $(TEST_BASE)
tests_unit_test_base_pool_LDADD = $(TEST_BASE)
tests_unit_test_base_lanes_LDADD = $(TEST_BASE)
tests_unit_test_base_sha256_LDADD = $(TEST_BASE)
tests_unit_test_base_sums_LDADD = $(TEST_BASE)
tests_unit_test_base_text_LDADD = $(TEST_BASE)

# format
check_PROGRAMS += tests/unit/test_json
TESTS += tests/unit/test_json
tests_unit_test_json_LDADD = $(TEST_FORMAT)
check_PROGRAMS += tests/unit/test_safetensors
TESTS += tests/unit/test_safetensors
tests_unit_test_safetensors_LDADD = $(TEST_FORMAT)
check_PROGRAMS += tests/unit/test_manifest
TESTS += tests/unit/test_manifest
tests_unit_test_manifest_LDADD = $(TEST_FORMAT)
check_PROGRAMS += tests/unit/test_modelfile
TESTS += tests/unit/test_modelfile
tests_unit_test_modelfile_LDADD = $(TEST_FORMAT)
check_PROGRAMS += tests/st_list
tests_st_list_LDADD = $(TEST_FORMAT)
dist_check_SCRIPTS += tests/cli/safetensors.sh
check_PROGRAMS += tests/unit/test_tar
TESTS += tests/unit/test_tar
tests_unit_test_tar_LDADD = $(TEST_FORMAT)
check_PROGRAMS += tests/unit/test_gguf_write
TESTS += tests/unit/test_gguf_write
tests_unit_test_gguf_write_LDADD = $(TEST_FORMAT)
check_PROGRAMS += tests/unit/test_gguf
TESTS += tests/unit/test_gguf
tests_unit_test_gguf_SOURCES = tests/unit/test_gguf.c tests/unit/gguf_make.c tests/unit/gguf_make.h
tests_unit_test_gguf_LDADD = $(TEST_FORMAT)
check_PROGRAMS += tests/gguf_list
tests_gguf_list_LDADD = $(TEST_FORMAT)
dist_check_SCRIPTS += tests/cli/gguf.sh
# GGUF files become other models
dist_check_SCRIPTS += tests/cli/gguf_back.sh
dist_check_SCRIPTS += tests/cli/gguf_back_arch.sh tests/cli/arch.sh tests/cli/arch_vary.sh tests/cli/arch_mlx.sh tests/cli/windows.sh
EXTRA_DIST += tests/cli/gguf_back.py tests/cli/arch.py tests/cli/arch_vary.py tests/cli/gptoss.py tests/cli/arch_mlx.py
# what other programs stumble over
dist_check_SCRIPTS += tests/cli/pitfalls.sh
EXTRA_DIST += tests/cli/pitfalls.py
# every kind of damage, and what verify says
dist_check_SCRIPTS += tests/cli/damage.sh tests/cli/resume.sh tests/cli/where.sh
EXTRA_DIST += tests/cli/resume.py tests/cli/where.py tests/cli/report.py tests/cli/bom.py
EXTRA_DIST += tests/cli/damage.py tests/cli/damage_make.py tests/cli/damage_rows.py \
	tests/cli/damage_stores.py tests/cli/damage_values.py
# values of model files, against decoders in Python
dist_check_SCRIPTS += tests/cli/values.sh
EXTRA_DIST += tests/cli/values.py

# store
check_PROGRAMS += tests/unit/test_name
TESTS += tests/unit/test_name
tests_unit_test_name_LDADD = $(TEST_STORE)
check_PROGRAMS += tests/unit/test_tensor_name
TESTS += tests/unit/test_tensor_name
tests_unit_test_tensor_name_LDADD = $(TEST_STORE)
check_PROGRAMS += tests/unit/test_foreign
TESTS += tests/unit/test_foreign
tests_unit_test_foreign_LDADD = $(TEST_QUANT)
check_PROGRAMS += tests/unit/test_model
TESTS += tests/unit/test_model
MODELS = tests/unit/fixture.c tests/unit/fixture.h tests/unit/models.c tests/unit/models.h
tests_unit_test_model_SOURCES = tests/unit/test_model.c $(MODELS)
tests_unit_test_model_LDADD = $(TEST_STORE)
check_PROGRAMS += tests/unit/test_model_foreign
TESTS += tests/unit/test_model_foreign
tests_unit_test_model_foreign_SOURCES = tests/unit/test_model_foreign.c $(MODELS)
tests_unit_test_model_foreign_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_generations
TESTS += tests/unit/test_generations
tests_unit_test_generations_SOURCES = tests/unit/test_generations.c $(MODELS)
tests_unit_test_generations_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_model_gguf
TESTS += tests/unit/test_model_gguf
tests_unit_test_model_gguf_SOURCES = tests/unit/test_model_gguf.c tests/unit/fixture.c \
	tests/unit/fixture.h tests/unit/gguf_make.c tests/unit/gguf_make.h
tests_unit_test_model_gguf_LDADD = $(TEST_STORE)
check_PROGRAMS += tests/unit/test_store
TESTS += tests/unit/test_store
tests_unit_test_store_SOURCES = tests/unit/test_store.c tests/unit/fixture.c tests/unit/fixture.h
tests_unit_test_store_LDADD = $(TEST_STORE)

check_PROGRAMS += tests/unit/test_journal
TESTS += tests/unit/test_journal
tests_unit_test_journal_SOURCES = tests/unit/test_journal.c tests/unit/fixture.c tests/unit/fixture.h
tests_unit_test_journal_LDADD = $(TEST_STORE)

check_PROGRAMS += tests/unit/test_journal_cancel
TESTS += tests/unit/test_journal_cancel
tests_unit_test_journal_cancel_SOURCES = tests/unit/test_journal_cancel.c tests/unit/fixture.c tests/unit/fixture.h
tests_unit_test_journal_cancel_LDADD = $(TEST_STORE)

check_PROGRAMS += tests/unit/test_journal_held
TESTS += tests/unit/test_journal_held
tests_unit_test_journal_held_LDADD = $(TEST_STORE)

check_PROGRAMS += tests/unit/test_journal_left
TESTS += tests/unit/test_journal_left
tests_unit_test_journal_left_LDADD = $(TEST_STORE)

# import
check_PROGRAMS += tests/unit/test_import
TESTS += tests/unit/test_import
tests_unit_test_import_SOURCES = tests/unit/test_import.c tests/unit/fixture.c tests/unit/fixture.h
tests_unit_test_import_LDADD = $(TEST_OPS)
dist_check_SCRIPTS += tests/cli/import.sh
# as one archive, and back
dist_check_SCRIPTS += tests/cli/bundle.sh tests/cli/export.sh tests/cli/exact.sh

# conversions
check_PROGRAMS += tests/unit/test_writers
TESTS += tests/unit/test_writers
tests_unit_test_writers_SOURCES = tests/unit/test_writers.c tests/unit/fixture.c tests/unit/fixture.h
tests_unit_test_writers_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_row_lengths
TESTS += tests/unit/test_row_lengths
tests_unit_test_row_lengths_SOURCES = tests/unit/test_row_lengths.c tests/unit/tensors.c \
	tests/unit/tensors.h
tests_unit_test_row_lengths_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_repack
TESTS += tests/unit/test_repack
tests_unit_test_repack_LDADD = $(TEST_QUANT)

check_PROGRAMS += tests/unit/test_walk
TESTS += tests/unit/test_walk
tests_unit_test_walk_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_translate
TESTS += tests/unit/test_translate
tests_unit_test_translate_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_window
TESTS += tests/unit/test_window
tests_unit_test_window_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_plan
TESTS += tests/unit/test_plan
tests_unit_test_plan_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_recipe
TESTS += tests/unit/test_recipe
tests_unit_test_recipe_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_price
TESTS += tests/unit/test_price
tests_unit_test_price_SOURCES = tests/unit/test_price.c tests/unit/tensors.c tests/unit/tensors.h
tests_unit_test_price_LDADD = $(TEST_OPS)
dist_check_SCRIPTS += tests/cli/quantize.sh tests/cli/recipe.sh tests/cli/gguf_write.sh tests/cli/writers.sh tests/cli/goes_on.sh tests/cli/lies.sh tests/cli/ready.sh tests/cli/demo.sh tests/cli/tidy.sh

# db
check_PROGRAMS += tests/unit/test_db
TESTS += tests/unit/test_db
tests_unit_test_db_SOURCES = tests/unit/test_db.c tests/unit/db_fake.c tests/unit/db_fake.h
tests_unit_test_db_LDADD = $(TEST_DB)
check_PROGRAMS += tests/unit/test_db_sums
TESTS += tests/unit/test_db_sums
tests_unit_test_db_sums_LDADD = $(TEST_DB)
check_PROGRAMS += tests/unit/test_db_files
TESTS += tests/unit/test_db_files
tests_unit_test_db_files_SOURCES = tests/unit/test_db_files.c tests/unit/db_fake.c \
	tests/unit/db_fake.h
tests_unit_test_db_files_LDADD = $(TEST_DB)
check_PROGRAMS += tests/unit/test_facts
TESTS += tests/unit/test_facts
tests_unit_test_facts_LDADD = $(TEST_DB)

# quant
check_PROGRAMS += tests/unit/test_quant
TESTS += tests/unit/test_quant
tests_unit_test_quant_LDADD = $(TEST_QUANT) -lm
check_PROGRAMS += tests/unit/test_ggml
TESTS += tests/unit/test_ggml
tests_unit_test_ggml_SOURCES = tests/unit/test_ggml.c tests/unit/ggml_golden.h
tests_unit_test_ggml_LDADD = $(TEST_QUANT)
check_PROGRAMS += tests/unit/test_ggml_encode
TESTS += tests/unit/test_ggml_encode
tests_unit_test_ggml_encode_SOURCES = tests/unit/test_ggml_encode.c tests/unit/ggml_golden.h
tests_unit_test_ggml_encode_LDADD = $(TEST_QUANT) -lm
check_PROGRAMS += tests/unit/test_ggml_encode_ways
TESTS += tests/unit/test_ggml_encode_ways
tests_unit_test_ggml_encode_ways_LDADD = $(TEST_QUANT) -lm
check_PROGRAMS += tests/unit/test_peak
TESTS += tests/unit/test_peak
tests_unit_test_peak_LDADD = $(TEST_QUANT) -lm
check_PROGRAMS += tests/unit/test_quant_golden
TESTS += tests/unit/test_quant_golden
tests_unit_test_quant_golden_LDADD = $(TEST_QUANT)
check_PROGRAMS += tests/unit/test_imatrix
TESTS += tests/unit/test_imatrix
tests_unit_test_imatrix_LDADD = $(TEST_FORMAT)
check_PROGRAMS += tests/unit/test_quant_search
TESTS += tests/unit/test_quant_search
tests_unit_test_quant_search_LDADD = $(TEST_QUANT)
check_PROGRAMS += tests/unit/test_quant_paths
TESTS += tests/unit/test_quant_paths
tests_unit_test_quant_paths_LDADD = $(TEST_QUANT)

check_PROGRAMS += tests/unit/test_compare
TESTS += tests/unit/test_compare
tests_unit_test_compare_LDADD = $(TEST_QUANT) -lm

# two models
check_PROGRAMS += tests/unit/test_canon
TESTS += tests/unit/test_canon
tests_unit_test_canon_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_diff
TESTS += tests/unit/test_diff
tests_unit_test_diff_SOURCES = tests/unit/test_diff.c tests/unit/gguf_make.c \
	tests/unit/gguf_make.h
tests_unit_test_diff_LDADD = $(TEST_OPS) -lm

# text
check_PROGRAMS += tests/unit/test_tokenizer
TESTS += tests/unit/test_tokenizer
tests_unit_test_tokenizer_LDADD = $(TEST_TEXT)
check_PROGRAMS += tests/unit/test_tok_to_gguf
TESTS += tests/unit/test_tok_to_gguf
tests_unit_test_tok_to_gguf_LDADD = $(TEST_TEXT)
check_PROGRAMS += tests/unit/test_tokenizer_golden
TESTS += tests/unit/test_tokenizer_golden
tests_unit_test_tokenizer_golden_LDADD = $(TEST_TEXT)
check_PROGRAMS += tests/unit/test_tokenizer_gguf
TESTS += tests/unit/test_tokenizer_gguf
tests_unit_test_tokenizer_gguf_SOURCES = tests/unit/test_tokenizer_gguf.c \
	tests/unit/gguf_make.c tests/unit/gguf_make.h
tests_unit_test_tokenizer_gguf_LDADD = $(TEST_TEXT)
check_PROGRAMS += tests/unit/test_grammar
TESTS += tests/unit/test_grammar
tests_unit_test_grammar_LDADD = $(TEST_TEXT)
check_PROGRAMS += tests/unit/test_chat_template
TESTS += tests/unit/test_chat_template
tests_unit_test_chat_template_LDADD = $(TEST_TEXT)
check_PROGRAMS += tests/unit/test_answer
TESTS += tests/unit/test_answer
tests_unit_test_answer_LDADD = $(TEST_TEXT)
check_PROGRAMS += tests/unit/test_go_template
TESTS += tests/unit/test_go_template
tests_unit_test_go_template_LDADD = $(TEST_TEXT)
dist_check_SCRIPTS += tests/cli/diff.sh tests/cli/digest.sh tests/cli/doctor.sh tests/cli/duplicates.sh
dist_check_SCRIPTS += tests/cli/text.sh tests/cli/tensor.sh
check_PROGRAMS += tests/unit/test_inspect
TESTS += tests/unit/test_inspect
tests_unit_test_inspect_SOURCES = tests/unit/test_inspect.c tests/unit/tensors.c \
	tests/unit/tensors.h
tests_unit_test_inspect_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_values
TESTS += tests/unit/test_values
tests_unit_test_values_SOURCES = tests/unit/test_values.c tests/unit/tensors.c \
	tests/unit/tensors.h
tests_unit_test_values_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_heat
TESTS += tests/unit/test_heat
tests_unit_test_heat_SOURCES = tests/unit/test_heat.c tests/unit/tensors.c tests/unit/tensors.h
tests_unit_test_heat_LDADD = $(TEST_OPS)

check_PROGRAMS += tests/unit/test_oom
TESTS += tests/unit/test_oom
tests_unit_test_oom_LDADD = $(TEST_FORMAT)

# engine
check_PROGRAMS += tests/unit/test_team
TESTS += tests/unit/test_team
tests_unit_test_team_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_attention
TESTS += tests/unit/test_attention
tests_unit_test_attention_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_scan
TESTS += tests/unit/test_scan
tests_unit_test_scan_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_states
TESTS += tests/unit/test_states
tests_unit_test_states_LDADD = $(TEST_ENGINE)

# ui
check_PROGRAMS += tests/unit/test_ui_list
TESTS += tests/unit/test_ui_list
tests_unit_test_ui_list_LDADD = $(TEST_UI)
check_PROGRAMS += tests/unit/test_ui_rows
TESTS += tests/unit/test_ui_rows
tests_unit_test_ui_rows_LDADD = $(TEST_UI)
check_PROGRAMS += tests/unit/test_ui_keys
TESTS += tests/unit/test_ui_keys
tests_unit_test_ui_keys_LDADD = $(TEST_UI)
check_PROGRAMS += tests/unit/test_ui_jobs
TESTS += tests/unit/test_ui_jobs
tests_unit_test_ui_jobs_LDADD = $(TEST_UI)
check_PROGRAMS += tests/unit/test_ui_transcript
TESTS += tests/unit/test_ui_transcript
tests_unit_test_ui_transcript_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
tests_unit_test_ui_transcript_LDADD = $(TEST_UI)
check_PROGRAMS += tests/unit/test_markdown
TESTS += tests/unit/test_markdown
tests_unit_test_markdown_LDADD = $(TEST_FACE)
check_PROGRAMS += tests/unit/test_ui_pull
TESTS += tests/unit/test_ui_pull
tests_unit_test_ui_pull_LDADD = $(TEST_UI)
check_PROGRAMS += tests/unit/test_ui_paste
TESTS += tests/unit/test_ui_paste
tests_unit_test_ui_paste_LDADD = $(TEST_UI)
check_PROGRAMS += tests/unit/test_texts
TESTS += tests/unit/test_texts
tests_unit_test_texts_SOURCES = tests/unit/test_texts.c $(MODELS)
tests_unit_test_texts_LDADD = $(TEST_FACE)
check_PROGRAMS += tests/unit/test_ui_text
TESTS += tests/unit/test_ui_text
tests_unit_test_ui_text_LDADD = $(TEST_UI) -lm
check_PROGRAMS += tests/unit/test_ui_frame
TESTS += tests/unit/test_ui_frame
tests_unit_test_ui_frame_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)
tests_unit_test_ui_frame_LDADD = $(TEST_UI)
EXTRA_DIST += tests/screens/chat_markdown.json
SCREENS += tests/screens/audit.scr tests/screens/chat.scr tests/screens/chat_commands.scr tests/screens/chat_input.scr \
	tests/screens/chat_read.scr tests/screens/chat_strip.scr tests/screens/chat_beside.scr tests/screens/chat_markdown.scr \
	tests/screens/convert.scr \
	tests/screens/convert_budget.scr \
	tests/screens/convert_gguf.scr \
	tests/screens/convert_moe.scr \
	tests/screens/convert_pane.scr \
	tests/screens/diff.scr \
	tests/screens/job.scr tests/screens/model.scr tests/screens/models.scr \
	tests/screens/prompt.scr tests/screens/small.scr tests/screens/tensor.scr tests/screens/tensors.scr \
	tests/screens/term.scr
check_PROGRAMS += tests/unit/test_ui_blobs
TESTS += tests/unit/test_ui_blobs
tests_unit_test_ui_blobs_LDADD = $(TEST_UI)
SCREENS += tests/screens/chats.scr
SCREENS += tests/screens/pull.scr tests/screens/push.scr tests/screens/pull_pause.scr tests/screens/pull_hub.scr tests/screens/first.scr tests/screens/path.scr tests/screens/config.scr
SCREENS += tests/screens/blobs.scr tests/screens/pages.scr tests/screens/states.scr tests/screens/where.scr tests/screens/writes.scr
SCREENS += tests/screens/whole.scr tests/screens/heal.scr tests/screens/tidy.scr tests/screens/undo.scr
EXTRA_DIST += tests/screens/blobs.sh tests/screens/where.sh
EXTRA_DIST += tests/screens/big.sh tests/screens/store.sh
dist_check_SCRIPTS += tests/cli/screens.sh

# Fuzzing: tests/fuzz/run configures a build of its own with clang, in which
# "fuzz-targets" are linked with libFuzzer.  "make fuzz SECONDS=60" does it all.
#
#	FUZZ_TARGETS += tests/fuzz/fuzz_NAME
#	tests_fuzz_fuzz_NAME_LDFLAGS = $(FUZZ_LINK)
#	tests_fuzz_fuzz_NAME_LDADD = the libraries, without $(TEST_BASE)
FUZZ_TARGETS = tests/fuzz/fuzz_text
tests_fuzz_fuzz_text_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_text_LDADD = src/base/libbase.a $(UTF8PROC_LIBS) $(CRYPTO_LIBS) $(XXHASH_LIBS)
FUZZ_TEXT = src/text/libtext.a $(PCRE2_LIBS) src/format/libformat.a $(CJSON_LIBS) \
	src/base/libbase.a $(UTF8PROC_LIBS) $(CRYPTO_LIBS) $(XXHASH_LIBS)
FUZZ_TARGETS += tests/fuzz/fuzz_tokenizer tests/fuzz/fuzz_template tests/fuzz/fuzz_go_template
FUZZ_TARGETS += tests/fuzz/fuzz_answer
tests_fuzz_fuzz_answer_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_answer_LDADD = $(FUZZ_TEXT)
EXTRA_DIST += tests/fuzz/seeds/answer/calls tests/fuzz/seeds/answer/channels \
	tests/fuzz/seeds/answer/named tests/fuzz/seeds/answer/python
tests_fuzz_fuzz_tokenizer_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_tokenizer_LDADD = $(FUZZ_TEXT)
tests_fuzz_fuzz_template_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_template_LDADD = $(FUZZ_TEXT)
tests_fuzz_fuzz_go_template_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_go_template_LDADD = $(FUZZ_TEXT)
EXTRA_DIST += tests/fuzz/seeds/go_template/messages tests/fuzz/seeds/go_template/tools \
	tests/fuzz/seeds/go_template/turns
FUZZ_TARGETS += tests/fuzz/fuzz_gbnf tests/fuzz/fuzz_schema
tests_fuzz_fuzz_gbnf_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_gbnf_LDADD = $(FUZZ_TEXT)
tests_fuzz_fuzz_schema_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_schema_LDADD = $(FUZZ_TEXT)
EXTRA_DIST += tests/fuzz/seeds/gbnf/list tests/fuzz/seeds/gbnf/nested \
	tests/fuzz/seeds/schema/all tests/fuzz/seeds/schema/object tests/fuzz/seeds/schema/tuple
EXTRA_DIST += tests/fuzz/seeds/template/filters.jinja tests/fuzz/seeds/template/loop.jinja \
	tests/fuzz/seeds/tokenizer/bytes tests/fuzz/seeds/tokenizer/metaspace \
	tests/fuzz/seeds/tokenizer/spm

# what comes from servers
check_PROGRAMS += tests/unit/test_net
TESTS += tests/unit/test_net
tests_unit_test_net_LDADD = $(TEST_NET)
check_PROGRAMS += tests/unit/test_image_name
TESTS += tests/unit/test_image_name
tests_unit_test_image_name_LDADD = $(TEST_NET)
check_PROGRAMS += tests/unit/test_hub
TESTS += tests/unit/test_hub
tests_unit_test_hub_LDADD = $(TEST_NET)
check_PROGRAMS += tests/unit/test_hub_choose
TESTS += tests/unit/test_hub_choose
tests_unit_test_hub_choose_LDADD = $(TEST_OPS)
FUZZ_TARGETS += tests/fuzz/fuzz_hub_api
tests_fuzz_fuzz_hub_api_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_hub_api_LDADD = src/net/libnet.a $(CURL_LIBS) $(MICROHTTPD_LIBS) $(FUZZ_STORE)
EXTRA_DIST += tests/fuzz/seeds/hub_api/files tests/fuzz/seeds/hub_api/name
check_PROGRAMS += tests/unit/test_stretch
TESTS += tests/unit/test_stretch
tests_unit_test_stretch_LDADD = $(TEST_NET)
check_PROGRAMS += tests/unit/test_http
TESTS += tests/unit/test_http
tests_unit_test_http_SOURCES = tests/unit/test_http.c tests/unit/little_server.c \
	tests/unit/little_server.h
tests_unit_test_http_LDADD = $(TEST_NET)
check_PROGRAMS += tests/unit/test_auth
TESTS += tests/unit/test_auth
tests_unit_test_auth_SOURCES = tests/unit/test_auth.c tests/unit/little_server.c \
	tests/unit/little_server.h
tests_unit_test_auth_LDADD = $(TEST_NET)
dist_check_SCRIPTS += tests/cli/remote.sh
EXTRA_DIST += tests/cli/remote_server.py
FUZZ_TARGETS += tests/fuzz/fuzz_sse
tests_fuzz_fuzz_sse_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_sse_LDADD = src/net/libnet.a $(CURL_LIBS) $(MICROHTTPD_LIBS) src/base/libbase.a $(UTF8PROC_LIBS) \
	$(CRYPTO_LIBS) $(XXHASH_LIBS)
EXTRA_DIST += tests/fuzz/seeds/sse/crlf tests/fuzz/seeds/sse/deltas
# what registries want to see, and where it is kept
FUZZ_TARGETS += tests/fuzz/fuzz_challenge tests/fuzz/fuzz_ssh_key tests/fuzz/fuzz_docker_config
FUZZ_NET = src/net/libnet.a $(CURL_LIBS) $(MICROHTTPD_LIBS) src/format/libformat.a $(CJSON_LIBS) \
	src/base/libbase.a $(UTF8PROC_LIBS) $(CRYPTO_LIBS) $(XXHASH_LIBS)
tests_fuzz_fuzz_challenge_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_challenge_LDADD = $(FUZZ_NET)
tests_fuzz_fuzz_ssh_key_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_ssh_key_LDADD = $(FUZZ_NET)
tests_fuzz_fuzz_docker_config_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_docker_config_LDADD = $(FUZZ_NET)
EXTRA_DIST += tests/fuzz/seeds/challenge/both tests/fuzz/seeds/challenge/token \
	tests/fuzz/seeds/docker_config/entries tests/fuzz/seeds/docker_config/helper \
	tests/fuzz/seeds/ssh_key/ed25519 tests/fuzz/seeds/ssh_key/packed
FUZZ_TARGETS += tests/fuzz/fuzz_remote
tests_fuzz_fuzz_remote_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_remote_LDADD = $(FUZZ_OPS)
EXTRA_DIST += tests/fuzz/seeds/remote/document tests/fuzz/seeds/remote/error \
	tests/fuzz/seeds/remote/lists \
	tests/fuzz/seeds/remote/logprobs tests/fuzz/seeds/remote/tools
check_PROGRAMS += tests/unit/test_remote
TESTS += tests/unit/test_remote
tests_unit_test_remote_LDADD = $(TEST_OPS)

FUZZ_TARGETS += tests/fuzz/fuzz_json tests/fuzz/fuzz_manifest tests/fuzz/fuzz_safetensors
FUZZ_FORMAT = src/format/libformat.a $(CJSON_LIBS) src/base/libbase.a $(UTF8PROC_LIBS) \
	$(CRYPTO_LIBS) $(XXHASH_LIBS)
tests_fuzz_fuzz_json_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_json_LDADD = $(FUZZ_FORMAT)
tests_fuzz_fuzz_manifest_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_manifest_LDADD = $(FUZZ_FORMAT)
tests_fuzz_fuzz_safetensors_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_safetensors_LDADD = $(FUZZ_FORMAT)
FUZZ_TARGETS += tests/fuzz/fuzz_modelfile
tests_fuzz_fuzz_modelfile_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_modelfile_LDADD = $(FUZZ_FORMAT)

FUZZ_TARGETS += tests/fuzz/fuzz_markdown
tests_fuzz_fuzz_markdown_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_markdown_LDADD = src/face/libface.a $(MD4C_LIBS) $(FUZZ_FORMAT)
EXTRA_DIST += tests/fuzz/seeds/markdown/answer

FUZZ_TARGETS += tests/fuzz/fuzz_gguf
tests_fuzz_fuzz_gguf_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_gguf_LDADD = $(FUZZ_FORMAT)
EXTRA_DIST += tests/fuzz/seeds/gguf/small
FUZZ_TARGETS += tests/fuzz/fuzz_imatrix
tests_fuzz_fuzz_imatrix_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_imatrix_LDADD = $(FUZZ_FORMAT)
EXTRA_DIST += tests/fuzz/seeds/imatrix/dat tests/fuzz/seeds/imatrix/gguf

FUZZ_TARGETS += tests/fuzz/fuzz_gguf_vocab tests/fuzz/fuzz_spm
tests_fuzz_fuzz_gguf_vocab_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_gguf_vocab_LDADD = $(FUZZ_TEXT)
tests_fuzz_fuzz_spm_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_spm_LDADD = $(FUZZ_TEXT)
EXTRA_DIST += tests/fuzz/seeds/gguf_vocab/bert tests/fuzz/seeds/gguf_vocab/gemma4 \
	tests/fuzz/seeds/gguf_vocab/gpt2 tests/fuzz/seeds/gguf_vocab/llama \
	tests/fuzz/seeds/spm/bpe tests/fuzz/seeds/spm/list \
	tests/fuzz/seeds/spm/twice

# what is read from folders
FUZZ_STORE = src/store/libstore.a $(QUANT_LIBS) $(FUZZ_FORMAT)
FUZZ_TARGETS += tests/fuzz/fuzz_config tests/fuzz/fuzz_shards tests/fuzz/fuzz_hub tests/fuzz/fuzz_oci
FOLDER = tests/fuzz/folder.c tests/fuzz/folder.h
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c $(FOLDER)
tests_fuzz_fuzz_config_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_config_LDADD = $(FUZZ_STORE)
tests_fuzz_fuzz_shards_SOURCES = tests/fuzz/fuzz_shards.c $(FOLDER)
tests_fuzz_fuzz_shards_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_shards_LDADD = $(FUZZ_STORE)
tests_fuzz_fuzz_hub_SOURCES = tests/fuzz/fuzz_hub.c $(FOLDER)
tests_fuzz_fuzz_hub_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_hub_LDADD = $(FUZZ_STORE)
tests_fuzz_fuzz_oci_SOURCES = tests/fuzz/fuzz_oci.c $(FOLDER)
tests_fuzz_fuzz_oci_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_oci_LDADD = $(FUZZ_STORE)

# what is read back of what was taken away, verified and reported
FUZZ_TARGETS += tests/fuzz/fuzz_journal tests/fuzz/fuzz_sums tests/fuzz/fuzz_report \
	tests/fuzz/fuzz_sidecar
FUZZ_OPS = src/ops/libops.a $(ENGINE_LIBS) $(BLAS_LIBS) src/text/libtext.a $(PCRE2_LIBS) \
	src/net/libnet.a $(CURL_LIBS) $(MICROHTTPD_LIBS) db/libdb.a $(SQLITE_LIBS) src/model/libmodel.a $(FUZZ_STORE)
tests_fuzz_fuzz_journal_SOURCES = tests/fuzz/fuzz_journal.c $(FOLDER)
tests_fuzz_fuzz_journal_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_journal_LDADD = $(FUZZ_STORE)
tests_fuzz_fuzz_sums_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_sums_LDADD = $(FUZZ_FORMAT)
tests_fuzz_fuzz_report_SOURCES = tests/fuzz/fuzz_report.c $(FOLDER)
tests_fuzz_fuzz_report_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_report_LDADD = $(FUZZ_OPS)
tests_fuzz_fuzz_sidecar_SOURCES = tests/fuzz/fuzz_sidecar.c $(FOLDER)
tests_fuzz_fuzz_sidecar_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_sidecar_LDADD = $(FUZZ_OPS)
FUZZ_TARGETS += tests/fuzz/fuzz_bundle
tests_fuzz_fuzz_bundle_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_bundle_LDADD = $(FUZZ_OPS)
EXTRA_DIST += tests/fuzz/seeds/bundle/small
FUZZ_TARGETS += tests/fuzz/fuzz_serve_request
tests_fuzz_fuzz_serve_request_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_serve_request_LDADD = $(FUZZ_OPS)
EXTRA_DIST += tests/fuzz/seeds/serve_request/chat tests/fuzz/seeds/serve_request/completion \
	tests/fuzz/seeds/serve_request/ollama_chat tests/fuzz/seeds/serve_request/ollama_generate
FUZZ_TARGETS += tests/fuzz/fuzz_kv_file
tests_fuzz_fuzz_kv_file_SOURCES = tests/fuzz/fuzz_kv_file.c $(FOLDER)
tests_fuzz_fuzz_kv_file_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_kv_file_LDADD = $(FUZZ_OPS)
FUZZ_TARGETS += tests/fuzz/fuzz_hparams
tests_fuzz_fuzz_hparams_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_hparams_LDADD = $(FUZZ_OPS)
EXTRA_DIST += tests/fuzz/seeds/hparams/delta tests/fuzz/seeds/hparams/gemma4 \
	tests/fuzz/seeds/hparams/mamba tests/fuzz/seeds/hparams/mla
EXTRA_DIST += tests/fuzz/seeds/kv_file/header tests/fuzz/seeds/kv_file/same
EXTRA_DIST += tests/fuzz/seeds/journal/rm tests/fuzz/seeds/report/small \
	tests/fuzz/seeds/sidecar/sums
EXTRA_DIST += tests/fuzz/seeds/config/ct tests/fuzz/seeds/config/gptq \
	tests/fuzz/seeds/config/mlx tests/fuzz/seeds/shards/whole tests/fuzz/seeds/oci/image

EXTRA_PROGRAMS += $(FUZZ_TARGETS)
FUZZ_LINK = $(AM_LDFLAGS) -fsanitize=fuzzer
EXTRA_DIST += tests/fuzz/run \
	tests/fuzz/seeds/json/values tests/fuzz/seeds/manifest/tensor \
	tests/fuzz/seeds/safetensors/packed tests/fuzz/seeds/safetensors/plain
SECONDS = 60
fuzz-targets: $(FUZZ_TARGETS)
fuzz:
	$(srcdir)/tests/fuzz/run $(SECONDS)
.PHONY: fuzz fuzz-targets

# What runs threads, for a build with --enable-sanitizers=thread.
THREAD_TESTS = $(SCREENS)
THREAD_TESTS += tests/unit/test_base_job
THREAD_TESTS += tests/unit/test_base_pool
THREAD_TESTS += tests/unit/test_base_lanes
THREAD_TESTS += tests/unit/test_base_sha256
THREAD_TESTS += tests/unit/test_team
THREAD_TESTS += tests/unit/test_ui_jobs
THREAD_TESTS += tests/unit/test_ui_frame
THREAD_TESTS += tests/unit/test_db_files
THREAD_TESTS += tests/unit/test_fetch
THREAD_TESTS += tests/unit/test_fetch_left
THREAD_TESTS += tests/unit/test_chats
THREAD_TESTS += tests/unit/test_heat
THREAD_TESTS += tests/unit/test_inspect
THREAD_TESTS += tests/unit/test_values
THREAD_TESTS += tests/unit/test_diff
THREAD_TESTS += tests/cli/audit.sh
THREAD_TESTS += tests/cli/scan.sh
THREAD_TESTS += tests/cli/verify.sh
THREAD_TESTS += tests/cli/quantize.sh
THREAD_TESTS += tests/cli/generate.sh
THREAD_TESTS += tests/cli/serve_models.sh
check-threads: tbtui $(check_LIBRARIES) $(check_DATA) tests/scrtest
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(THREAD_TESTS)'
.PHONY: check-threads

# With every byte of memory watched all but the rules of the house, which read sources, and what
# compares the numbers and answers of many models, one after another by the same code: a plain
# build does that.
LONG_TESTS = tests/check-layers.sh tests/check-length.sh tests/check-banned.sh \
	tests/check-names.sh tests/check-security.sh \
	tests/cli/arch.sh tests/cli/arch_vary.sh tests/cli/arch_mlx.sh \
	tests/cli/gguf_back_arch.sh tests/cli/packs.sh tests/cli/rounds.sh tests/cli/against.sh \
	tests/cli/demo_runs.sh tests/cli/demo_answers.sh tests/cli/schema.sh tests/cli/gguf.sh \
	tests/cli/search.sh tests/cli/examples.sh \
	tests/unit/test_reference tests/unit/test_paths tests/unit/test_speculate \
	tests/unit/test_passes
check-memory: all-am $(check_PROGRAMS) $(check_LIBRARIES) $(check_DATA)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(filter-out $(LONG_TESTS),$(TESTS))'
.PHONY: check-memory

check_PROGRAMS += tests/unit/test_matmul
TESTS += tests/unit/test_matmul
tests_unit_test_matmul_SOURCES = tests/unit/matrices.c tests/unit/matrices.h \
	tests/unit/test_matmul.c
tests_unit_test_matmul_LDADD = $(TEST_ENGINE)

# bytes that come from elsewhere
check_PROGRAMS += tests/unit/test_fetch tests/unit/test_fetch_left
TESTS += tests/unit/test_fetch tests/unit/test_fetch_left
tests_unit_test_fetch_SOURCES = tests/unit/test_fetch.c tests/unit/fetch_world.c \
	tests/unit/fetch_world.h
tests_unit_test_fetch_LDADD = $(TEST_OPS)
tests_unit_test_fetch_left_SOURCES = tests/unit/test_fetch_left.c tests/unit/fetch_world.c \
	tests/unit/fetch_world.h
tests_unit_test_fetch_left_LDADD = $(TEST_OPS)

check_PROGRAMS += tests/unit/test_bench
TESTS += tests/unit/test_bench
tests_unit_test_bench_LDADD = $(TEST_OPS)

# running models
check_PROGRAMS += tests/unit/test_forward
TESTS += tests/unit/test_forward
tests_unit_test_forward_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_mamba
TESTS += tests/unit/test_mamba
tests_unit_test_mamba_SOURCES = tests/unit/test_mamba.c tests/unit/families.c \
	tests/unit/families.h
tests_unit_test_mamba_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_families
TESTS += tests/unit/test_families
tests_unit_test_families_SOURCES = tests/unit/test_families.c tests/unit/families.c \
	tests/unit/families.h tests/unit/gguf_make.c tests/unit/gguf_make.h
tests_unit_test_families_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_slots
TESTS += tests/unit/test_slots
tests_unit_test_slots_SOURCES = tests/unit/test_slots.c tests/unit/fixture.c tests/unit/fixture.h
tests_unit_test_slots_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_arch
TESTS += tests/unit/test_arch
tests_unit_test_arch_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_sampler
TESTS += tests/unit/test_sampler
tests_unit_test_sampler_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_stream
TESTS += tests/unit/test_stream
tests_unit_test_stream_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_paths
TESTS += tests/unit/test_paths
tests_unit_test_paths_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_configs
TESTS += tests/unit/test_configs
tests_unit_test_configs_LDADD = $(TEST_ENGINE)

check_PROGRAMS += tests/unit/test_mla_heads
TESTS += tests/unit/test_mla_heads
tests_unit_test_mla_heads_SOURCES = tests/unit/matrices.c tests/unit/matrices.h \
	tests/unit/test_mla_heads.c
tests_unit_test_mla_heads_LDADD = $(TEST_ENGINE)

check_PROGRAMS += tests/unit/test_matmul_ggml
TESTS += tests/unit/test_matmul_ggml
tests_unit_test_matmul_ggml_SOURCES = tests/unit/test_matmul_ggml.c tests/unit/matrices.c
tests_unit_test_matmul_ggml_LDADD = $(TEST_ENGINE)

if X86
check_PROGRAMS += tests/unit/test_mm_amx
TESTS += tests/unit/test_mm_amx
tests_unit_test_mm_amx_SOURCES = tests/unit/test_mm_amx.c tests/unit/matrices.c
tests_unit_test_mm_amx_CFLAGS = $(AM_CFLAGS) $(ENGINE_AVX512) -mavx512vnni -mavx512bf16
tests_unit_test_mm_amx_LDADD = $(TEST_ENGINE)
endif
check_PROGRAMS += tests/unit/test_arch_gguf
TESTS += tests/unit/test_arch_gguf
tests_unit_test_arch_gguf_SOURCES = tests/unit/test_arch_gguf.c tests/unit/gguf_make.c
tests_unit_test_arch_gguf_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_run_gguf
TESTS += tests/unit/test_run_gguf
tests_unit_test_run_gguf_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_reference
TESTS += tests/unit/test_reference
tests_unit_test_reference_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_guess
TESTS += tests/unit/test_guess
tests_unit_test_guess_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_passes
TESTS += tests/unit/test_passes
tests_unit_test_passes_LDADD = $(TEST_ENGINE)
check_PROGRAMS += tests/unit/test_kv_file
TESTS += tests/unit/test_kv_file
tests_unit_test_kv_file_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_speculate
TESTS += tests/unit/test_speculate
tests_unit_test_speculate_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_chat
TESTS += tests/unit/test_chat
tests_unit_test_chat_LDADD = $(TEST_OPS)
check_PROGRAMS += tests/unit/test_chats
TESTS += tests/unit/test_chats
tests_unit_test_chats_LDADD = $(TEST_OPS)
dist_check_SCRIPTS += tests/cli/sessions.sh tests/cli/serve.sh tests/cli/serve_models.sh tests/cli/chat_kill.sh
EXTRA_DIST += tests/cli/serve.py tests/cli/chat_kill.py
dist_check_SCRIPTS += tests/cli/calibrate.sh tests/cli/search.sh tests/cli/draft.sh tests/cli/generate.sh tests/cli/chat.sh tests/cli/messages.sh tests/cli/chat_lines.sh tests/cli/chat_set.sh tests/cli/tools.sh \
	tests/cli/adapter.sh
EXTRA_DIST += tests/cli/adapter.py tests/cli/chat_lines.py

TESTS += $(dist_check_SCRIPTS) $(SCREENS)
EXTRA_DIST += $(SCREENS) tests/cli/lib.sh tests/tbtest.ti

clean-local:
	rm -rf tests/home tests/ti check-howto.tmp

dist_check_SCRIPTS += tests/cli/search.sh
SCREENS += tests/screens/search.scr

# Scale: a synthetic store and what a scan of it is compared with ("make bench-scale").
check_PROGRAMS += tests/scale/mkstore tests/scale/headread
tests_scale_mkstore_SOURCES = tests/scale/mkstore.c tests/scale/files.c tests/scale/files.h
tests_scale_mkstore_LDADD = src/format/libformat.a $(CJSON_LIBS) src/base/libbase.a \
	$(UTF8PROC_LIBS) $(CRYPTO_LIBS)
check_PROGRAMS += tests/scale/latency
tests_scale_latency_SOURCES = tests/scale/latency.c tests/tty.c tests/tty.h tests/vt.c tests/vt.h
tests_scale_latency_LDADD = src/base/libbase.a $(UTF8PROC_LIBS) $(CRYPTO_LIBS)
EXTRA_DIST += tests/scale/bench.sh tests/scale/session tests/scale/session-busy \
	tests/scale/hoard.py
bench-scale: tbtui tests/scale/mkstore tests/scale/headread tests/scale/latency tests/ti/stamp
	BUILD=$(abs_top_builddir) TBTUI_SRC=$(abs_top_srcdir) $(SHELL) $(srcdir)/tests/scale/bench.sh
.PHONY: bench-scale

# A pull beside curl, from a registry on loopback.
EXTRA_DIST += tests/net/bench_pull.sh
bench-net: tbtui
	TBTUI=$(abs_builddir)/tbtui srcdir=$(srcdir) $(SHELL) $(srcdir)/tests/net/bench_pull.sh
.PHONY: bench-net
tests_scale_headread_SOURCES = tests/scale/headread.c
tests_scale_headread_LDADD = src/base/libbase.a $(UTF8PROC_LIBS) $(CRYPTO_LIBS)

# What fails: calls, one after another; kills; writers beside one another.  "make check" does
# some of each, "make check-faults" every call ("FAULTS=long", the better part of an hour) or
# what FAULTS names: calls, kills, pairs, an operation of tests/faults/faults.py.  A storm of
# several programs in one store lasts some seconds, with "make check-storm" STORM of them.
FAULTS = long
STORM = 60
check_DATA += tests/faults/shim.so
EXTRA_DIST += tests/faults/shim.c tests/faults/faults.py tests/faults/storm.py
CLEANFILES += tests/faults/shim.so
dist_check_SCRIPTS += tests/faults/storm.sh tests/soak/chat.sh
EXTRA_DIST += tests/soak/chat.py
dist_check_SCRIPTS += tests/cli/prune_big.sh

# downloads that did not end
dist_check_SCRIPTS += tests/cli/pull_left.sh

# What doc/CLUSTER.md says: with GNU parallel in "make check", on a Slurm of its own with
# "make check-slurm".
dist_check_SCRIPTS += tests/cluster/parallel.sh
EXTRA_DIST += tests/cluster/lib.sh tests/cluster/slurm.sh
check-slurm: tbtui tests/faults/shim.so
	TBTUI='$(abs_top_builddir)/tbtui' SHIM='$(abs_top_builddir)/tests/faults/shim.so' \
		srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/cluster/slurm.sh
.PHONY: check-slurm
tests/faults/shim.so: tests/faults/shim.c
	$(AM_V_CC)$(MKDIR_P) tests/faults && $(CC) -std=gnu11 $(WARN_CFLAGS) -O1 -fPIC -shared \
		-o $@ $(srcdir)/tests/faults/shim.c
check-faults: tbtui tests/faults/shim.so
	TBTUI='$(abs_top_builddir)/tbtui' SHIM='$(abs_top_builddir)/tests/faults/shim.so' \
		$(SHELL) $(srcdir)/tests/faults/faults.sh $(FAULTS)
.PHONY: check-faults
check-storm: tbtui
	TBTUI='$(abs_top_builddir)/tbtui' srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/faults/storm.sh \
		$(STORM)
.PHONY: check-storm
SOAK = 1800 1 750
check-soak: tbtui
	TBTUI='$(abs_top_builddir)/tbtui' srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/soak/chat.sh $(SOAK)
.PHONY: check-soak

# Registries that break off, kills in the middle of pulls, and what means harm.
EXTRA_DIST += tests/net/bed.py tests/net/faults.py \
	tests/net/kills.py tests/net/hostile.py tests/net/beside.py
dist_check_SCRIPTS += tests/net/faults.sh tests/net/kills.sh tests/net/hostile.sh \
	tests/net/beside.sh
# Some faults and kills in "make check", as many as these with "make check-net" (half an hour).
NET_FAULTS = 1000
NET_KILLS = 200
check-net: tbtui
	TBTUI='$(abs_top_builddir)/tbtui' srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/net/kills.sh \
		$(NET_KILLS) $(SEED)
	TBTUI='$(abs_top_builddir)/tbtui' srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/net/faults.sh \
		$(NET_FAULTS) $(SEED)
.PHONY: check-net

# the demo's model
check_PROGRAMS += tests/unit/test_demo_net
TESTS += tests/unit/test_demo_net
tests_unit_test_demo_net_SOURCES = tests/unit/test_demo_net.c data/demo/net.c data/demo/net_back.c
tests_unit_test_demo_net_CFLAGS = $(AM_CFLAGS) $(BLAS_CFLAGS)
tests_unit_test_demo_net_LDADD = $(BLAS_LIBS) $(TEST_BASE)
dist_check_SCRIPTS += tests/cli/against.sh tests/cli/demo_runs.sh tests/cli/schema.sh
EXTRA_DIST += tests/cli/schema.py
dist_check_SCRIPTS += tests/cli/demo_answers.sh
EXTRA_DIST += tests/cli/demo_encode.py

dist_check_SCRIPTS += tests/cli/pull.sh tests/cli/pull_beside.sh tests/cli/pull_images.sh \
	tests/cli/pull_mirror.sh tests/cli/pull_ollama.sh
dist_check_SCRIPTS += tests/cli/push.sh tests/cli/registry_auth.sh tests/cli/copy.sh
EXTRA_DIST += tests/cli/copy_images.py
dist_check_SCRIPTS += tests/cli/heal_remote.sh

# Registries: what the tests of pull, push and their like talk to.
EXTRA_DIST += tests/net/lib.sh tests/net/put.py tests/net/frame.py tests/net/ed25519.py \
	tests/net/ollama_registry.py tests/net/proxy.py tests/net/far_store.py \
	tests/net/hub.py tests/net/hub_hf.py
dist_check_SCRIPTS += tests/cli/hub_pull.sh
