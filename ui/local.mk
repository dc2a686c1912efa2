noinst_LIBRARIES += ui/libui.a
ui_libui_a_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS) $(READLINE_CFLAGS)
ui_libui_a_SOURCES = \
	ui/action.def \
	ui/draw.c \
	ui/draw.h \
	ui/jobs.c \
	ui/jobs.h \
	ui/keys.c \
	ui/keys.h \
	ui/list.c \
	ui/list.h \
	ui/pager.c \
	ui/pager.h \
	ui/prompt.h \
	ui/table.c \
	ui/table.h \
	ui/theme.c \
	ui/theme.h \
	ui/ui.c \
	ui/ui.h \
	ui/view.h \
	ui/views.def
