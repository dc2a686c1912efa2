# What both faces tell a person: no curses, no readline, no printing.
noinst_LIBRARIES += src/face/libface.a
src_face_libface_a_SOURCES = \
	src/face/after.c \
	src/face/after.h \
	src/face/clipboard.c \
	src/face/clipboard.h \
	src/face/columns.c \
	src/face/columns.h \
	src/face/editor.c \
	src/face/editor.h \
	src/face/figures.c \
	src/face/figures.h \
	src/face/markdown.c \
	src/face/markdown.h \
	src/face/markdown_block.c \
	src/face/markdown_block.h \
	src/face/markdown_rows.c \
	src/face/markdown_rows.h \
	src/face/markdown_table.c \
	src/face/history.c \
	src/face/history.h \
	src/face/talk.c \
	src/face/talk.h \
	src/face/talk_files.c \
	src/face/talk_format.c \
	src/face/talk_kept.c \
	src/face/talk_model.c \
	src/face/talk_rows.c \
	src/face/talk_rows.h \
	src/face/talk_sessions.c \
	src/face/talk_set.c \
	src/face/talk_show.c \
	src/face/talk_tools.c \
	src/face/talk_turns.c \
	src/face/texts.c \
	src/face/texts.h \
	src/face/words.c \
	src/face/words.h
