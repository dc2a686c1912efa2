# The demo's model, which the program holds, and how it is made: "make demo-model" (python3, half
# an hour on one core) makes it afresh in demo-model/, to be compared, or copied here.
DEMO_MODEL = data/demo/config.json data/demo/generation_config.json data/demo/model.safetensors \
	data/demo/tokenizer.json data/demo/tokenizer_config.json
DEMO_CORPUS = data/demo/corpus/chat.txt data/demo/corpus/commands.txt data/demo/corpus/keys.txt \
	data/demo/corpus/prose.txt data/demo/corpus/things.txt
DEMO_TOOLS = data/demo/corpus.py data/demo/apart.py data/demo/bpe.py
EXTRA_DIST += $(DEMO_MODEL) $(DEMO_CORPUS) $(DEMO_TOOLS) data/demo/README.md \
	data/demo/questions.txt data/demo/heldout.txt

EXTRA_PROGRAMS += data/demo/train
data_demo_train_SOURCES = data/demo/train.c data/demo/net.c data/demo/net_back.c \
	data/demo/net.h data/demo/net_private.h
data_demo_train_CFLAGS = $(AM_CFLAGS) -O3 $(BLAS_CFLAGS)
data_demo_train_LDADD = src/text/libtext.a src/store/libstore.a $(QUANT_LIBS) \
	src/format/libformat.a src/base/libbase.a $(PCRE2_LIBS) $(CJSON_LIBS) $(BLAS_LIBS) \
	$(UTF8PROC_LIBS) $(CRYPTO_LIBS) $(XXHASH_LIBS)

demo-model: data/demo/train $(DEMO_CORPUS) $(DEMO_TOOLS)
	$(MKDIR_P) demo-model
	python3 $(srcdir)/data/demo/corpus.py -s 20261122 -n 62000 $(srcdir)/data/demo/corpus \
		>demo-model/texts
	python3 $(srcdir)/data/demo/apart.py $(srcdir)/data/demo/questions.txt demo-model/texts
	python3 $(srcdir)/data/demo/bpe.py -v 2048 demo-model/texts demo-model
	data/demo/train demo-model demo-model/texts $(srcdir)/data/demo/heldout.txt
.PHONY: demo-model
CLEANFILES += data/demo/train
src/ops/demo/libops_a-demo_files.$(OBJEXT) : $(DEMO_MODEL)
