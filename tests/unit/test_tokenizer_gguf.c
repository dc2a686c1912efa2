/* Tokenizers from GGUF files and SentencePiece's models made by hand, so that every id
 * below can be checked on paper. */
#include "config.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/format/gguf.h"
#include "src/text/tok_pre.h"
#include "src/text/tokenizer.h"
#include "tests/unit/gguf_make.h"
#include "tests/unit/unit.h"

#define MARK "\xe2\x96\x81"

enum { U32 = 4, I32, F32, BOOL, STRING, ARRAY };

/* What a file says; what is NULL or 0 is left out. */
struct vocab {
	const char *model, *pre, *name;
	const char *const *pieces;		/* ended by NULL */
	const char *types;			/* a digit each */
	const float *scores;
	const char *const *merges;
	struct { const char *key; unsigned type, value; } more[6];
};

static void
put_strings(struct tb_buf *b, const char *key, const char *const *v)
{
	size_t n = 0;

	while (v[n])
		n++;
	make_key(b, key, ARRAY);
	make_num(b, STRING, 4);
	make_num(b, n, 8);
	for (size_t i = 0; i < n; i++)
		make_str(b, v[i]);
}

static void
put_numbers(struct tb_buf *b, const struct vocab *v)
{
	size_t n = strlen(v->types);

	make_key(b, "tokenizer.ggml.token_type", ARRAY);
	make_num(b, I32, 4);
	make_num(b, n, 8);
	for (size_t i = 0; i < n; i++)
		make_num(b, (uint64_t)(v->types[i] - '0'), 4);
	if (!v->scores)
		return;
	make_key(b, "tokenizer.ggml.scores", ARRAY);
	make_num(b, F32, 4);
	make_num(b, n, 8);
	for (size_t i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, &v->scores[i], 4);
		make_num(b, bits, 4);
	}
}

static void
put_text(struct tb_buf *b, const char *key, const char *value)
{
	make_key(b, key, STRING);
	make_str(b, value);
}

static const char *
file_of(const struct vocab *v)
{
	uint64_t keys = 3 + (v->pre != NULL) + (v->name != NULL) + (v->scores != NULL) +
			(v->merges != NULL);
	struct tb_buf b;
	const char *path;
	size_t more = 0;

	while (more < 6 && v->more[more].key)
		more++;
	b = make_head(0, keys + more);
	put_text(&b, "tokenizer.ggml.model", v->model);
	if (v->pre)
		put_text(&b, "tokenizer.ggml.pre", v->pre);
	if (v->name)
		put_text(&b, "general.name", v->name);
	put_strings(&b, "tokenizer.ggml.tokens", v->pieces);
	put_numbers(&b, v);
	if (v->merges)
		put_strings(&b, "tokenizer.ggml.merges", v->merges);
	for (size_t i = 0; i < more; i++) {
		char key[64];

		snprintf(key, sizeof(key), "tokenizer.ggml.%s", v->more[i].key);
		make_key(&b, key, v->more[i].type);
		make_num(&b, v->more[i].value, v->more[i].type == BOOL ? 1 : 4);
	}
	assert_false(tb_buf_failed(&b));
	path = unit_write("vocab.gguf", b.p, b.len);
	tb_buf_free(&b);
	return path;
}

static enum tb_status
load(const struct vocab *v, struct tokenizer **t, struct tb_err *err)
{
	enum tb_status status;
	struct tb_err why = { 0 };
	struct tb_file f;
	struct gguf g;

	assert_ok(tb_file_open(&f, file_of(v), &why), why);
	assert_ok(gguf_read(&g, &f, &why), why);
	status = tokenizer_from_gguf(t, &g, &f, err);
	gguf_free(&g);
	tb_file_close(&f);
	return status;
}

static struct tokenizer *
loaded(const struct vocab *v)
{
	struct tb_err err = { 0 };
	struct tokenizer *t;

	assert_ok(load(v, &t, &err), err);
	return t;
}

static void
refused(const struct vocab *v, enum tb_status code, const char *part)
{
	struct tb_err err = { 0 };
	struct tokenizer *t;

	assert_fails(load(v, &t, &err), err, code, part);
	assert_null(t);
}

static void
ids_are(const struct tokenizer *t, const char *text, bool special, bool parse, const char *want)
{
	struct tb_buf got = TB_BUF(1 << 20);
	struct token_ids ids = { 0 };
	struct tb_err err = { 0 };

	assert_ok(tokenizer_encode(t, text, strlen(text), special, parse, &ids, &err), err);
	for (size_t i = 0; i < ids.n; i++)
		tb_buf_printf(&got, "%s%u", i ? " " : "", ids.v[i]);
	assert_string_equal(tb_buf_cstr(&got), want);
	tb_buf_free(&got);
	free(ids.v);
}

static void
text_is(const struct tokenizer *t, const uint32_t *ids, size_t n, const char *want)
{
	struct tb_buf got = TB_BUF(1 << 20);

	for (size_t i = 0; i < n; i++)
		tokenizer_decode(t, ids[i], i == 0, &got);
	assert_string_equal(tb_buf_cstr(&got), want);
	tb_buf_free(&got);
}

static void
ends_are(const struct tokenizer *t, const char *want)
{
	const struct token_ids *ends = tokenizer_ends(t);
	struct tb_buf got = TB_BUF(1 << 20);

	for (size_t i = 0; i < ends->n; i++)
		tb_buf_printf(&got, "%s%u", i ? " " : "", ends->v[i]);
	assert_string_equal(tb_buf_cstr(&got), want);
	tb_buf_free(&got);
}

/* ---- llama ---- */

static const char *const spm_pieces[] = {
	"<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", MARK, "a", "b", "c", "ab", "bc", MARK "a",
	"<u>", "<s", ">", "s", "<", NULL
};
static const float spm_scores[] = {
	0, 0, 0, 0, 0, -1, -2, -2, -2, -3, -3, -4, 0, -5, -2, -2, -2
};
static const struct vocab spm = {
	.model = "llama", .pieces = spm_pieces, .types = "23366111111141111",
	.scores = spm_scores,
};

static void
test_spm(void **state)
{
	struct tokenizer *t = loaded(&spm);
	float score;
	uint32_t id;

	(void)state;
	ids_are(t, "", true, true, "1");
	ids_are(t, "", false, true, "");
	ids_are(t, "abc", true, true, "1 5 9 8");	/* of equal scores the left one */
	ids_are(t, "a", false, true, "11");
	ids_are(t, "a a", false, true, "11 11");
	ids_are(t, "a\xc3\xa9", false, true, "11 3 4");
	ids_are(t, "z", false, true, "5 0");		/* no bytes for it */
	ids_are(t, "a<s>a", false, true, "11 1 11");	/* a blank behind special tokens, too */
	ids_are(t, "a<u>a", false, false, "11 12 11");	/* user-defined ones always count */
	ids_are(t, "a<s>a", false, false, "11 13 14 6");	/* never merged into a special one */
	assert_true(tokenizer_is_special(t, 1) && !tokenizer_is_special(t, 12));
	assert_true(tokenizer_score(t, 9, &score) && score == -3);
	assert_true(tokenizer_bos(t, &id) && id == 1);
	assert_int_equal(tokenizer_type(t, 4), TOKEN_BYTE);
	assert_int_equal(tokenizer_type(t, 99), TOKEN_UNDEFINED);
	text_is(t, (uint32_t[]){ 11, 3, 4, 5, 12 }, 5, "a\xc3\xa9 <u>");
	ends_are(t, "2");
	tokenizer_free(t);
}

static void
test_spm_flags(void **state)
{
	struct vocab v = spm;
	struct tokenizer *t;

	(void)state;
	v.more[0].key = "add_space_prefix", v.more[0].type = BOOL;
	v.more[1].key = "add_bos_token", v.more[1].type = BOOL;
	v.more[2].key = "add_eos_token", v.more[2].type = BOOL, v.more[2].value = 1;
	v.more[3].key = "eos_token_id", v.more[3].type = U32, v.more[3].value = 14;
	t = loaded(&v);
	ids_are(t, "a a", true, true, "6 11 14");
	ends_are(t, "2 14");		/* </s> by its spelling */
	tokenizer_free(t);
	v.name = "My Phi-3 mini";	/* its special tokens take the blanks behind them */
	v.more[3].value = 99;		/* no such token: as if nothing was said */
	t = loaded(&v);
	ids_are(t, "</s>  a<s> a", true, true, "2 6 1 11 2");
	tokenizer_free(t);
}

/* Long texts are cut where no piece lies across, and merged on a heap where not. */
static void
test_long(void **state)
{
	struct tokenizer *t = loaded(&spm);
	struct tb_buf text = TB_BUF(1 << 20);
	struct token_ids ids = { 0 };
	struct tb_err err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 20000; i++)
		tb_buf_str(&text, "abc");
	assert_ok(tokenizer_encode(t, text.p, text.len, false, true, &ids, &err), err);
	assert_int_equal(ids.n, 40001);
	for (size_t i = 1; i < ids.n; i++)
		assert_int_equal(ids.v[i], i % 2 ? 9 : 8);
	tb_buf_free(&text);
	free(ids.v);
	tokenizer_free(t);
}

/* Ollama's list of ends, beside what the pieces say. */
static void
test_ends(void **state)
{
	struct tb_buf b = make_head(0, 3);
	struct tb_err err = { 0 };
	struct tokenizer *t;
	struct tb_file f;
	struct gguf g;

	(void)state;
	put_text(&b, "tokenizer.ggml.model", "llama");
	put_strings(&b, "tokenizer.ggml.tokens", spm_pieces);
	make_key(&b, "tokenizer.ggml.eos_token_ids", ARRAY);
	make_num(&b, I32, 4);
	make_num(&b, 3, 8);
	make_num(&b, 7, 4);
	make_num(&b, 6, 4);
	make_num(&b, 99, 4);
	assert_ok(tb_file_open(&f, unit_write("ends.gguf", b.p, b.len), &err), err);
	assert_ok(gguf_read(&g, &f, &err), err);
	assert_ok(tokenizer_from_gguf(&t, &g, &f, &err), err);
	ends_are(t, "2 6 7");
	tokenizer_free(t);
	gguf_free(&g);
	tb_file_close(&f);
	tb_buf_free(&b);
}

/* ---- gpt2 ---- */

#define G "\xc4\xa0"			/* a blank */
static const char *const bpe_pieces[] = {
	"h", "e", "l", "o", G, "he", "ll", "hell", "hello", G "h", "1", "2", "12", "<|im_end|>",
	"\xc3\x83", "\xc2\xa9", "<u>", "<|end|>", "<|call|>", "<|return|>", NULL
};
static const char *const bpe_merges[] = {
	"h e", "l l", "he ll", "hell o", G " h", "1 2", "l l", NULL
};
static const struct vocab bpe = {
	.model = "gpt2", .pre = "gpt-2", .pieces = bpe_pieces, .types = "11111111111113114311",
	.merges = bpe_merges, .more = { { "bos_token_id", U32, 8 }, { "eos_token_id", U32, 13 } },
};

static void
test_bpe(void **state)
{
	struct tokenizer *t = loaded(&bpe);

	(void)state;
	ids_are(t, "hello he h", true, true, "8 4 5 9");
	ids_are(t, "hello12", true, true, "8 12");
	ids_are(t, "\xc3\xa9", true, true, "14 15");
	ids_are(t, "h<u>h<|im_end|>", true, true, "0 16 0 13");
	ids_are(t, "zhz", true, true, "0");	/* what has no token is left out */
	text_is(t, (uint32_t[]){ 8, 9, 14, 15, 16 }, 5, "hello h\xc3\xa9<u>");
	ends_are(t, "13 18 19");		/* where calls end, <|end|> does not */
	assert_int_equal(tokenizer_type(t, 18), TOKEN_CONTROL);
	assert_int_equal(tokenizer_type(t, 17), TOKEN_USER);
	assert_string_equal(tokenizer_kind(t), "byte-level BPE");
	assert_string_equal(tokenizer_note(t), "");
	tokenizer_free(t);
}

static void
test_pre(void **state)
{
	struct vocab v = bpe;
	struct tokenizer *t;

	(void)state;
	v.pre = "starcoder";		/* digits one by one */
	t = loaded(&v);
	ids_are(t, "12", true, true, "10 11");
	tokenizer_free(t);
	v.pre = "llama-bpe";		/* begins texts, and takes words as they are */
	t = loaded(&v);
	ids_are(t, "hello", true, true, "8 8");
	tokenizer_free(t);
	v.pre = NULL;
	t = loaded(&v);
	assert_non_null(strstr(tokenizer_note(t), "pre-tokenizer"));
	tokenizer_free(t);
	v.pre = "no-such";
	refused(&v, TB_EUNSUP, "\"no-such\"");
	v.pre = "gpt-2 phi-2";		/* two names are none */
	refused(&v, TB_EUNSUP, "\"gpt-2 phi-2\"");
	v.pre = "glm4";
	v.more[0].key = "add_bos_token";
	v.more[0].type = BOOL;
	v.more[0].value = 1;
	refused(&v, TB_EFORMAT, "no bos_token_id");
}

static void
cut_is(const char *name, const char *text, const char *want)
{
	struct tok_matcher *m = tok_matcher_new();
	struct tok_words w = { .first = true };
	struct tb_buf got = TB_BUF(1 << 20);
	struct tok_splitter s = { 0 };
	struct tb_err err = { 0 };

	assert_ok(tok_pre_stages(tok_pre_find(name), &s, &err), err);
	w.text = TB_BUF(1 << 20);
	tb_buf_str(&w.text, text);
	assert_ok(tok_split_run(&s, m, &w, &err), err);
	for (size_t i = 0; i < w.n; i++) {
		tb_buf_str(&got, i ? "|" : "");
		tb_buf_add(&got, w.text.p + w.v[i].off, w.v[i].len);
	}
	assert_string_equal(tb_buf_cstr(&got), want);
	tb_buf_free(&got);
	tb_buf_free(&w.text);
	free(w.v);
	tok_splitter_free(&s);
	tok_matcher_free(m);
}

/* Words of the families, as their patterns are meant. */
static void
test_words(void **state)
{
	(void)state;
	cut_is("gpt-2", "I've 1234 \n\n x!", "I|'ve| 1234| \n\n| x|!");
	cut_is("llama-bpe", "I'VE 12345 \n\n x!\n", "I|'VE| |123|45| \n\n| x|!\n");
	cut_is("qwen2", "ab123  c \n  \n  d", "ab|1|2|3| | c| \n  \n| | d");
	cut_is("falcon", "a=b 12345", "a|=|b| |123|45");
	cut_is("default", "a=b 12345", "a|=|b| |123|45");
	cut_is("command-r", "ab 12", "ab| |1|2");
	cut_is("deepseek-llm", "ab\u4e2d\u6587 12\nx", "ab|\u4e2d\u6587| |12|\n|x");
	cut_is("deepseek-coder", "ab, 12", "ab|,| |1|2");
	cut_is("deepseek-v3", "a1234\u4e2db!", "a|123|4|\u4e2d|b|!");
	cut_is("gpt-4o", "HelloWorld's //\n", "Hello|World's| //\n");
	cut_is("tekken", "HelloWorld's 12", "Hello|World|'s| |1|2");
	cut_is("kimi-k2", "ab\u4e2d\u6587cd's", "ab|\u4e2d\u6587|cd's");
	cut_is("superbpe", "a b 1234567", "a b |1|234|567");
	cut_is("bloom", "ab, cd", "ab|,| cd");
	cut_is("viking", "ab1", "ab|1");
	cut_is("exaone-moe", "ab cd 1", "ab cd| |1");
	cut_is("gemma4", "a b\n\nc", "a b|\n\n|c");
	cut_is("jais-2", "a    b", "a|  | | b");
	cut_is("seed-coder", "a!\n12", "a|!|\n|1|2");
	cut_is("bailingmoe", "a \n\nb", "a| \n\n|b");
	cut_is("minicpm5", "ab1234", "ab|123|4");
	cut_is("tiny_aya", "a1234567", "a|1|234|567");
}

/* Every family cuts every text into words that make the text again. */
static void
test_families(void **state)
{
	static const char text[] = "I'm  he'LL \t\n\r\n 12345.678 \u00fcber \u4e2d\u6587\u3042 "
				   "<sentinel:12>  \U0001f680 e\u0301 HTMLParser//x\n   ";

	(void)state;
	for (size_t i = 0; tok_pre_row(i); i++) {
		char *names = strdup(tok_pre_row(i)->names), *rest = names, *name;

		while ((name = strsep(&rest, " "))) {
			struct tok_matcher *m = tok_matcher_new();
			struct tok_words w = { .first = true };
			struct tok_splitter s = { 0 };
			struct tb_err err = { 0 };
			size_t at = 0;

			assert_ptr_equal(tok_pre_find(name), tok_pre_row(i));
			assert_ok(tok_pre_stages(tok_pre_row(i), &s, &err), err);
			w.text = TB_BUF(1 << 20);
			tb_buf_str(&w.text, text);
			assert_ok(tok_split_run(&s, m, &w, &err), err);
			assert_true(w.n > 4);
			for (size_t k = 0; k < w.n; at += w.v[k++].len)
				assert_int_equal(w.v[k].off, at);
			assert_int_equal(at, sizeof(text) - 1);
			tb_buf_free(&w.text);
			free(w.v);
			tok_splitter_free(&s);
			tok_matcher_free(m);
		}
		free(names);
	}
	assert_null(tok_pre_find(""));
	assert_null(tok_pre_find("gpt"));
}

static void
test_gemma4(void **state)
{
	static const char *const pieces[] = { "<bos>", "<eos>", "a", MARK, "b", "a" MARK, "\n",
					      "\n\n", "<0xC3>", "<0xA9>", NULL };
	static const char *const merges[] = { "a " MARK, NULL };
	const struct vocab v = { .model = "gemma4", .pieces = pieces, .types = "3311111166",
				 .merges = merges,
				 .more = { { "bos_token_id", U32, 0 }, { "eos_token_id", U32, 1 },
					   { "add_bos_token", BOOL, 0 } } };
	struct tokenizer *t = loaded(&v);

	(void)state;
	ids_are(t, "a b", true, true, "0 5 4");
	ids_are(t, "a\n\nb\n\n\n", false, true, "2 7 4 6 6 6");
	ids_are(t, "\xc3\xa9", false, true, "8 9");
	text_is(t, (uint32_t[]){ 3, 5, 8, 9 }, 4, " a \xc3\xa9");
	tokenizer_free(t);
}

/* ---- bert ---- */

static void
test_bert(void **state)
{
	static const char *const pieces[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", MARK "ab", "c",
					      MARK "!", MARK "\u4e2d", MARK "e", NULL };
	const struct vocab v = { .model = "bert", .pieces = pieces, .types = "333311111",
				 .more = { { "unknown_token_id", U32, 1 },
					   { "cls_token_id", U32, 2 },
					   { "seperator_token_id", U32, 3 } } };
	struct tokenizer *t = loaded(&v);
	char word[300];

	(void)state;
	ids_are(t, "ABc \u4e2dab! x", true, true, "2 4 5 7 4 6 1 3");
	ids_are(t, "\u00c9 e\u0301 [SEP]", false, true, "8 8 3");
	memset(word, 'c', 299);
	memcpy(word, "ab", 2);
	word[299] = 0;
	ids_are(t, word, false, true, "1");	/* over a hundred characters */
	text_is(t, (uint32_t[]){ 4, 5, 6 }, 3, "abc !");
	tokenizer_free(t);
}

/* ---- what is refused ---- */

static void
test_refusals(void **state)
{
	static const char *const twice[] = { "a", "b", "a", NULL }, *const none[] = { NULL };
	static const char *const bad_merge[] = { "h x", NULL }, *const half[] = { "he", NULL };
	static const float nan_score[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
					   (float)__builtin_nan("") };
	struct vocab v = spm;

	(void)state;
	v.model = "t5";
	refused(&v, TB_EUNSUP, "\"t5\"");
	v = spm;
	v.scores = nan_score;
	refused(&v, TB_EFORMAT, "score of token 16");
	v = spm;
	v.types = "233";
	v.scores = NULL;
	refused(&v, TB_EFORMAT, "not one for each");
	v.pieces = none;
	refused(&v, TB_EFORMAT, "no vocabulary");
	v.pieces = twice;
	refused(&v, TB_EFORMAT, "taken");
	v = bpe;
	v.merges = bad_merge;
	refused(&v, TB_EFORMAT, "\"x\" is not in");
	v.merges = half;
	refused(&v, TB_EFORMAT, "merge 0 is no pair");
	v.merges = NULL;
	refused(&v, TB_EFORMAT, "no merges");
}

/* ---- tokenizer.model ---- */

/* A field of bytes: its number and length are below 128. */
static void
put_field(struct tb_buf *b, unsigned number, const void *p, size_t len)
{
	tb_buf_chr(b, (char)(number << 3 | 2));
	tb_buf_chr(b, (char)len);
	tb_buf_add(b, p, len);
}

static struct tb_buf
spm_model(char kind, const char *charsmap)
{
	struct tb_buf b = TB_BUF(1 << 20);
	const char trainer[] = { 3 << 3, kind }, prefix[] = { 4 << 3, 0 };

	for (size_t i = 0; spm_pieces[i]; i++) {
		struct tb_buf p = TB_BUF(1 << 20);

		put_field(&p, 1, spm_pieces[i], strlen(spm_pieces[i]));
		tb_buf_chr(&p, 2 << 3 | 5);
		tb_buf_add(&p, &spm_scores[i], 4);
		tb_buf_chr(&p, 3 << 3);
		tb_buf_chr(&p, (char)(spm.types[i] - '0'));
		put_field(&b, 1, p.p, p.len);
		tb_buf_free(&p);
	}
	put_field(&b, 2, trainer, 2);
	put_field(&b, 3, prefix, 2);		/* blanks are kept */
	if (charsmap)
		put_field(&b, 3, charsmap, strlen(charsmap));
	return b;
}

static void
test_model_file(void **state)
{
	static const char config[] = "{\"add_bos_token\":true,\"added_tokens_decoder\":{\"17\":"
				     "{\"content\":\"<new>\",\"special\":true},\"18\":{\"content\":"
				     "\"q\",\"special\":false}},\"eos_token\":\"<new>\"}";
	struct tb_buf b = spm_model(2, NULL);
	struct tb_err err = { 0 };
	struct tokenizer *t;

	(void)state;
	assert_ok(tokenizer_from_spm(&t, b.p, b.len, NULL, 0, &err), err);
	ids_are(t, "abc<s>a", true, true, "1 5 9 8 1 11");
	ends_are(t, "2");
	tokenizer_free(t);
	assert_ok(tokenizer_from_spm(&t, b.p, b.len, config, strlen(config), &err), err);
	ids_are(t, "a<new>aqa", true, true, "1 11 17 11 18 11");
	ends_are(t, "17");
	tokenizer_free(t);
	/* ids that the file means, but does not have */
	assert_ok(tokenizer_from_spm(&t, "\x0a\3\x0a\1a\x12\2\x18\2\x1a\2\x20\0", 13, config,
				     strlen(config), &err), err);
	ids_are(t, "q", true, true, "18");
	tokenizer_free(t);
	for (size_t len = 0; len < b.len; len++)	/* whatever is missing */
		if (!tokenizer_from_spm(&t, b.p, len, NULL, 0, &err))
			tokenizer_free(t);
	tb_buf_free(&b);
}

static void
test_model_refusals(void **state)
{
	struct tb_buf b = spm_model(1, NULL);
	struct tb_err err = { 0 };
	struct tokenizer *t;

	(void)state;
	assert_fails(tokenizer_from_spm(&t, b.p, b.len, NULL, 0, &err), err, TB_EUNSUP, "unigram");
	assert_fails(tokenizer_from_spm(&t, b.p, b.len - 1, NULL, 0, &err), err, TB_EFORMAT,
		     "damaged at offset");
	assert_fails(tokenizer_from_spm(&t, "", 0, NULL, 0, &err), err, TB_EFORMAT, "no pieces");
	tb_buf_free(&b);
	b = spm_model(2, "\x12\1x");
	assert_fails(tokenizer_from_spm(&t, b.p, b.len, NULL, 0, &err), err, TB_EUNSUP,
		     "rewrites");
	tb_buf_free(&b);
}

/* ---- lists ---- */

static void
test_lists(void **state)
{
	static const char list[] = "aA== 0\nZQ== 1\r\nbA== 2\nbw== 3\nIA== 4\naGU= 5\nbGw= 6\n"
				   "aGVsbA== 7\n\n";
	static const char vocab[] = "{\"h\":0,\"e\":1,\"he\":2,\"\\u0120\":3}";
	static const char merges[] = "#version: 0.2\nh e\n";
	struct tb_err err = { 0 };
	struct tokenizer *t;

	(void)state;
	assert_ok(tokenizer_from_tiktoken(&t, list, strlen(list), NULL, NULL, 0, &err), err);
	ids_are(t, "hell hello lo", true, true, "7 4 7 3 4 2 3");
	tokenizer_free(t);
	assert_fails(tokenizer_from_tiktoken(&t, "aA== x", 6, NULL, NULL, 0, &err), err,
		     TB_EFORMAT, "offset 0");
	assert_fails(tokenizer_from_tiktoken(&t, "a!== 1", 6, NULL, NULL, 0, &err), err,
		     TB_EFORMAT, "offset 0");
	assert_fails(tokenizer_from_tiktoken(&t, "", 0, NULL, NULL, 0, &err), err, TB_EFORMAT,
		     "empty");
	assert_ok(tokenizer_from_merges(&t, vocab, strlen(vocab), merges, strlen(merges), NULL,
					NULL, 0, &err), err);
	ids_are(t, "he eh", true, true, "2 3 1 0");
	tokenizer_free(t);
	assert_fails(tokenizer_from_merges(&t, vocab, strlen(vocab), "he\n", 3, NULL, NULL, 0,
					   &err), err, TB_EFORMAT, "no pair");
	assert_fails(tokenizer_from_merges(&t, vocab, strlen(vocab), "", 0, "x", NULL, 0, &err),
		     err, TB_EUNSUP, "\"x\"");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spm),
		cmocka_unit_test(test_spm_flags),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_bpe),
		cmocka_unit_test(test_pre),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_gemma4),
		cmocka_unit_test(test_bert),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_model_file),
		cmocka_unit_test(test_model_refusals),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
