noinst_LIBRARIES += src/text/libtext.a
src_text_libtext_a_CFLAGS = $(AM_CFLAGS) $(PCRE2_CFLAGS) $(UTF8PROC_CFLAGS)
src_text_libtext_a_SOURCES = \
	src/text/chat_template.c \
	src/text/chat_template.h \
	src/text/jinja.h \
	src/text/jinja_eval.c \
	src/text/jinja_expr.c \
	src/text/jinja_filter.c \
	src/text/jinja_lex.c \
	src/text/jinja_method.c \
	src/text/jinja_ops.h \
	src/text/jinja_parse.c \
	src/text/jinja_print.c \
	src/text/jinja_run.c \
	src/text/jinja_test.c \
	src/text/jinja_value.c \
	src/text/jinja_value.h \
	src/text/tok.h \
	src/text/tok_added.c \
	src/text/tok_added.h \
	src/text/tok_bpe.c \
	src/text/tok_bpe.h \
	src/text/tok_bpe_read.c \
	src/text/tok_decode.c \
	src/text/tok_decode.h \
	src/text/tok_encode.c \
	src/text/tok_merge.c \
	src/text/tok_normalize.c \
	src/text/tok_normalize.h \
	src/text/tok_read_added.c \
	src/text/tok_read_ends.c \
	src/text/tok_regex.c \
	src/text/tok_regex.h \
	src/text/tok_split.c \
	src/text/tok_split.h \
	src/text/tok_split_read.c \
	src/text/tok_translate.c \
	src/text/tok_uni.c \
	src/text/tok_uni.h \
	src/text/tok_vocab.c \
	src/text/tok_vocab.h \
	src/text/tokenizer.c \
	src/text/tokenizer.h
