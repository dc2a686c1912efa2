noinst_LIBRARIES += ui/libui.a
ui_libui_a_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS) $(READLINE_CFLAGS)
ui_libui_a_SOURCES = \
	ui/ui.c \
	ui/ui.h
