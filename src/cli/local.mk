noinst_LIBRARIES += src/cli/libcli.a
src_cli_libcli_a_CFLAGS = $(AM_CFLAGS) $(READLINE_CFLAGS)
src_cli_libcli_a_SOURCES = \
	src/cli/cli.c \
	src/cli/cli.h \
	src/cli/cmd_import.c \
	src/cli/commands.def \
	src/cli/print.c \
	src/cli/progress.c
