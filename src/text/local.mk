noinst_LIBRARIES += src/text/libtext.a
src_text_libtext_a_CFLAGS = $(AM_CFLAGS) $(PCRE2_CFLAGS) $(UTF8PROC_CFLAGS)
src_text_libtext_a_SOURCES = \
	src/text/chat_template.h \
	src/text/tokenizer.h
