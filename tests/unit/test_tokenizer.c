/* Tokenizers made by hand, so that every id below can be checked on paper. */
#include "config.h"

#include <stdio.h>
#include <utf8proc.h>

#include "src/base/buf.h"
#include "src/text/tok_regex.h"
#include "src/text/tok_vocab.h"
#include "src/text/tokenizer.h"
#include "tests/unit/unit.h"

#define MARK "\xe2\x96\x81"

/* SentencePiece style: ids 3.. are bytes where the text says so. */
#define SPM_MODEL \
	"\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true," \
	"\"byte_fallback\":true,\"vocab\":{\"<unk>\":0,\"<s>\":1,\"</s>\":2,\"<0xC3>\":3," \
	"\"<0xA9>\":4,\"<0xFF>\":5,\"" MARK "\":6,\"a\":7,\"b\":8,\"" MARK "a\":9,\"ab\":10," \
	"\"" MARK "ab\":11,\"bb\":12,\"<0x0A>\":13},\"merges\":[\"" MARK " a\",\"a b\"," \
	"[\"" MARK "a\",\"b\"],\"b b\"]}"
#define SPM_NORM \
	"\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\"," \
	"\"prepend\":\"" MARK "\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"}," \
	"\"content\":\"" MARK "\"}]}"
#define SPM_DECODER \
	"\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":" \
	"{\"String\":\"" MARK "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":" \
	"\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]}"
#define SPM_POST \
	"\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":" \
	"{\"id\":\"<s>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}]," \
	"\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[1],\"tokens\":[\"<s>\"]}}}"
#define SPM_ADDED \
	"\"added_tokens\":[{\"id\":1,\"content\":\"<s>\",\"special\":true},{\"id\":2," \
	"\"content\":\"</s>\",\"special\":true,\"normalized\":false},{\"id\":20,\"content\":" \
	"\"<x>\",\"special\":false,\"normalized\":false,\"lstrip\":true,\"rstrip\":true}," \
	"{\"id\":21,\"content\":\"word\",\"single_word\":true,\"normalized\":false}]"
#define SPM "{" SPM_ADDED "," SPM_NORM "," SPM_DECODER "," SPM_POST "," SPM_MODEL "}"

/* Byte level: "Ġ" is U+0120, a blank. */
#define BYTES_VOCAB \
	"\"vocab\":{\"h\":0,\"e\":1,\"l\":2,\"o\":3,\"\\u0120\":4,\"he\":5,\"ll\":6," \
	"\"hell\":7,\"hello\":8,\"\\u0120h\":9,\"1\":10,\"\\u00c3\":11,\"\\u00a9\":12," \
	"\"\\u00c3\\u00a9\":13,\"!\":14,\"\\u010a\":15,\"lo\":16}"
#define BYTES_MERGES \
	"\"merges\":[\"h e\",\"l l\",\"he ll\",\"hell o\",\"\\u0120 h\"," \
	"\"\\u00c3 \\u00a9\",\"l o\"]"
#define BYTES_WITH(pre) \
	"{\"added_tokens\":[{\"id\":30,\"content\":\"<|end|>\",\"special\":true}]," \
	"\"pre_tokenizer\":" pre ",\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":" \
	"\"BPE\"," BYTES_VOCAB "," BYTES_MERGES "}}"
#define GPT2 "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"

static struct tokenizer *
loaded(const char *json, const char *config)
{
	struct tb_err err = { 0 };
	struct tokenizer *t;

	assert_ok(tokenizer_new(&t, json, strlen(json), config, config ? strlen(config) : 0, &err),
		  err);
	return t;
}

static void
list(const struct token_ids *ids, struct tb_buf *out)
{
	for (size_t i = 0; i < ids->n; i++)
		tb_buf_printf(out, i ? " %u" : "%u", ids->v[i]);
}

static void
ids_are(const struct tokenizer *t, const char *text, size_t len, bool add, bool parse,
	const char *want)
{
	struct tb_buf got = TB_BUF(65536);
	struct token_ids ids = { 0 };
	struct tb_err err = { 0 };

	assert_ok(tokenizer_encode(t, text, len, add, parse, &ids, &err), err);
	list(&ids, &got);
	assert_string_equal(tb_buf_cstr(&got), want);
	tb_buf_free(&got);
	free(ids.v);
}

#define IDS(t, text, want) ids_are(t, text, sizeof(text) - 1, false, true, want)

static void
decodes_to(const struct tokenizer *t, const char *text, const char *want)
{
	struct tb_buf got = TB_BUF(65536);
	struct token_ids ids = { 0 };
	struct tb_err err = { 0 };

	assert_ok(tokenizer_encode(t, text, strlen(text), false, true, &ids, &err), err);
	for (size_t i = 0; i < ids.n; i++)
		tokenizer_decode(t, ids.v[i], i == 0, &got);
	assert_string_equal(tb_buf_cstr(&got), want);
	tb_buf_free(&got);
	free(ids.v);
}

static void
test_sentencepiece(void **state)
{
	struct tokenizer *t = loaded(SPM, NULL);

	(void)state;
	IDS(t, "", "");
	IDS(t, "a", "9");
	IDS(t, "ab ab", "11 11");
	IDS(t, "abb", "11 8");
	IDS(t, "bbb", "6 12 8");
	IDS(t, "  a", "6 6 9");
	IDS(t, "a\xc3\xa9\n", "9 3 4 13");
	IDS(t, "azzb", "9 0 8");		/* unknown characters are fused */
	decodes_to(t, " ab  a", " ab  a");
	decodes_to(t, "a\xc3\xa9", "a\xc3\xa9");
	tokenizer_free(t);
}

static void
test_added_tokens(void **state)
{
	struct tokenizer *t = loaded(SPM, NULL);
	uint32_t id;

	(void)state;
	ids_are(t, "ab", 2, true, true, "1 11");
	IDS(t, "<s>ab</s>", "1 11 2");
	ids_are(t, "</s>", 4, false, false, "6 0");	/* what a user typed is text */
	IDS(t, "a  <x>  b", "9 20 6 8");		/* takes the blanks around it */
	IDS(t, "word a", "21 6 9");
	IDS(t, "words", "6 0");				/* not a word of its own */
	assert_true(tokenizer_is_special(t, 2));
	assert_false(tokenizer_is_special(t, 20));
	assert_true(tokenizer_bos(t, &id));
	assert_int_equal(id, 1);
	assert_false(tokenizer_eos(t, &id));
	assert_int_equal(tokenizer_size(t), 22);
	assert_null(tokenizer_piece(t, 15));
	assert_null(tokenizer_piece(t, 4000000000u));
	assert_string_equal(tokenizer_piece(t, 11), MARK "ab");
	tokenizer_free(t);
}

static void
test_broken_utf8(void **state)
{
	struct tokenizer *t = loaded(SPM, NULL), *b = loaded(BYTES_WITH(GPT2), NULL);

	(void)state;
	IDS(t, "a\xff", "9 5");
	IDS(t, "a\xc3", "9 3");				/* cut in mid-character */
	IDS(t, "a\xff" "b", "9 5 8");			/* no blank is put in */
	IDS(b, "he\xc3", "5 11");
	IDS(b, "\xa9\xc3\xa9", "12 13");
	tokenizer_free(t);
	tokenizer_free(b);
}

static void
test_byte_level(void **state)
{
	struct tokenizer *t = loaded(BYTES_WITH(GPT2), NULL);

	(void)state;
	IDS(t, "hello", "8");
	IDS(t, "hello hello", "8 4 8");
	IDS(t, "hello  h\xc3\xa9!", "8 4 9 13 14");
	IDS(t, "hello<|end|>\nh", "8 30 15 0");
	decodes_to(t, "hello  h\xc3\xa9!\n<|end|>", "hello  h\xc3\xa9!\n<|end|>");
	tokenizer_free(t);
}

#define SPLIT(rx, behavior) \
	"{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" \
	rx "\"},\"behavior\":\"" behavior "\"},{\"type\":\"ByteLevel\",\"add_prefix_space\":" \
	"false,\"use_regex\":false}]}"

static void
split_is(const char *json, const char *text, const char *want)
{
	struct tokenizer *t = loaded(json, NULL);

	ids_are(t, text, strlen(text), false, true, want);
	tokenizer_free(t);
}

static void
test_split_behaviors(void **state)
{
	(void)state;
	/* "hel" + "lo", cut around the first l */
	split_is(BYTES_WITH(SPLIT("h", "Isolated")), "hello", "0 1 6 3");
	split_is(BYTES_WITH(SPLIT("h", "Removed")), "hello", "1 6 3");
	split_is(BYTES_WITH(SPLIT("l", "Isolated")), "hello", "5 2 2 3");
	split_is(BYTES_WITH(SPLIT("l", "Contiguous")), "hello", "5 6 3");
	split_is(BYTES_WITH(SPLIT("l", "MergedWithPrevious")), "hello", "5 2 2 3");
	split_is(BYTES_WITH(SPLIT("l", "MergedWithNext")), "hello", "5 2 16");
	split_is(BYTES_WITH(SPLIT("(?=l)", "Isolated")), "hello", "5 2 16");
	split_is(BYTES_WITH("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\","
			    "\"individual_digits\":true},{\"type\":\"ByteLevel\","
			    "\"add_prefix_space\":true,\"use_regex\":false}]}"),
		 "he1", "4 5 4 10");
}

/* A script is its own characters: U+3002 is common to several. */
static void
test_scripts(void **state)
{
	(void)state;
	split_is("{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{Han}+\"},"
		 "\"behavior\":\"Removed\"},\"model\":{\"type\":\"BPE\","
		 "\"vocab\":{\"\\u4e2d\":0,\"\\u3002\":1,\"a\":2},\"merges\":[]}}",
		 "a\u4e2d\u3002a", "2 1 2");
}

static void
test_metaspace(void **state)
{
#define METASPACE(scheme) \
	"{\"added_tokens\":[{\"id\":1,\"content\":\"<s>\",\"special\":true}]," \
	"\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK "\"," \
	"\"prepend_scheme\":\"" scheme "\",\"split\":true},\"decoder\":{\"type\":\"Metaspace\"," \
	"\"replacement\":\"" MARK "\",\"prepend_scheme\":\"" scheme "\"}," SPM_MODEL "}"
	struct tokenizer *t;

	(void)state;
	split_is(METASPACE("always"), "a<s>a a", "9 1 9 9");
	split_is(METASPACE("first"), "a<s>a a", "9 1 7 9");
	split_is(METASPACE("never"), "a<s>a a", "7 1 7 9");
	t = loaded(METASPACE("always"), NULL);
	decodes_to(t, "ab a", "ab a");
	tokenizer_free(t);
}

static void
test_normalizers(void **state)
{
#define NORM(n) "{\"normalizer\":" n "," SPM_MODEL "}"
	(void)state;
	split_is(NORM("{\"type\":\"NFC\"}"), "e\xcc\x81", "3 4");
	split_is(NORM("{\"type\":\"NFKC\"}"), "\xef\xbd\x81", "7");	/* full-width a */
	split_is(NORM("{\"type\":\"Lowercase\"}"), "AB", "10");
	split_is(NORM("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}"),
		 " \t ab\n ", "10");
	split_is(NORM("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"z+\"},\"content\":\"b\"}"),
		 "azzz", "10");
	split_is(NORM("null"), "ab", "10");
}

static void
test_config(void **state)
{
	struct tokenizer *t = loaded(SPM, "{\"tokenizer_class\":\"LlamaTokenizer\","
				     "\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":\"</s>\","
				     "\"add_bos_token\":false,\"add_eos_token\":true,"
				     "\"model_max_length\":Infinity,"
				     "\"added_tokens_decoder\":{\"40\":{\"content\":\"<y>\","
				     "\"special\":true}}}");
	uint32_t id;

	(void)state;
	ids_are(t, "a<y>", 4, true, true, "9 40 2");
	assert_true(tokenizer_eos(t, &id));
	assert_int_equal(id, 2);
	tokenizer_free(t);
}

/* Long words take the heap, short ones do not; both must agree. */
static void
test_long_words(void **state)
{
	struct tokenizer *t = loaded(BYTES_WITH("{\"type\":\"ByteLevel\",\"add_prefix_space\":"
						"false,\"use_regex\":false}"), NULL);
	struct token_ids ids = { 0 };
	struct tb_err err = { 0 };
	struct tb_buf text = TB_BUF(1u << 20);

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		tb_buf_str(&text, i % 3 ? "hello" : "helllo");
	assert_ok(tokenizer_encode(t, text.p, text.len, false, false, &ids, &err), err);
	for (size_t i = 0, at = 0; i < 1000; i++) {
		if (i % 3) {
			assert_int_equal(ids.v[at++], 8);
		} else {		/* he ll l o -> hell lo */
			assert_int_equal(ids.v[at++], 7);
			assert_int_equal(ids.v[at++], 16);
		}
	}
	free(ids.v);
	tb_buf_free(&text);
	tokenizer_free(t);
}

static void
test_ignore_merges(void **state)
{
	(void)state;
	split_is("{\"pre_tokenizer\":" GPT2 ",\"decoder\":{\"type\":\"ByteLevel\"},\"model\":"
		 "{\"type\":\"BPE\",\"ignore_merges\":true," BYTES_VOCAB ",\"merges\":[]}}",
		 "hello hell", "8 4 0 1 2 2");
}

static void
refused(const char *json, enum tb_status code, const char *part)
{
	struct tb_err err = { 0 };
	struct tokenizer *t;

	assert_fails(tokenizer_new(&t, json, strlen(json), NULL, 0, &err), err, code, part);
	assert_null(t);
}

static void
test_refusals(void **state)
{
#define MODEL(rest) "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}," rest "}}"
	(void)state;
	refused("", TB_EFORMAT, "tokenizer.json");
	refused("[]", TB_EFORMAT, "no vocabulary");
	refused("{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", TB_EUNSUP, "Unigram");
	refused("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", TB_EUNSUP, "WordPiece");
	refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1}}}", TB_EFORMAT, "no id");
	refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1000000000}}}", TB_EFORMAT, "too large");
	refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1,\"b\":1}}}", TB_EFORMAT, "taken");
	refused(MODEL("\"merges\":[\"ab\"]"), TB_EFORMAT, "merge 0 is no pair");
	refused(MODEL("\"merges\":[[\"a\"]]"), TB_EFORMAT, "merge 0 is no pair");
	refused(MODEL("\"merges\":[\"a c\"]"), TB_EFORMAT, "\"c\" is not in");
	refused(MODEL("\"merges\":[\"b a\"]"), TB_EFORMAT, "\"ba\" is not in");
	refused(MODEL("\"merges\":[],\"dropout\":0.1"), TB_EUNSUP, "dropout");
	refused(MODEL("\"merges\":[],\"end_of_word_suffix\":\"</w>\""), TB_EUNSUP, "suffix");
	refused(MODEL("\"merges\":[],\"unk_token\":\"?\""), TB_EFORMAT, "unk_token");
	refused(NORM("{\"type\":\"Precompiled\"}"), TB_EUNSUP, "Precompiled");
	refused(NORM("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(\"},\"content\":\"\"}"),
		TB_EFORMAT, "regular expression");
	refused(BYTES_WITH("{\"type\":\"UnicodeScripts\"}"), TB_EUNSUP, "UnicodeScripts");
	refused(BYTES_WITH(SPLIT("a", "Sideways")), TB_EUNSUP, "Sideways");
	refused(BYTES_WITH(SPLIT("[a&&b]", "Isolated")), TB_EUNSUP, "intersection");
	refused(BYTES_WITH(SPLIT("(*LIMIT_MATCH=1)a", "Isolated")), TB_EUNSUP, "verb");
	refused(BYTES_WITH(SPLIT("a{1,3}+", "Isolated")), TB_EUNSUP, "plus behind");
	refused("{\"decoder\":{\"type\":\"CTC\"}," SPM_MODEL "}", TB_EUNSUP, "CTC");
	refused("{\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"x\",1],\"sep\":"
		"[\"x\",0]},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":2}}}",
		TB_EFORMAT, "cannot be a token");	/* no token has the id 1 */
	refused("{\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"x\",999],\"sep\":"
		"[\"y\",0]}," SPM_MODEL "}", TB_EFORMAT, "cannot be a token");
}

/* A pattern that backtracks without end stops at a limit. */
static void
test_hostile_pattern(void **state)
{
	const char *json = BYTES_WITH(SPLIT("(h|hh)+!!", "Isolated"));
	struct tokenizer *t = loaded(json, NULL);
	struct token_ids ids = { 0 };
	struct tb_err err = { 0 };
	char text[65];

	(void)state;
	memset(text, 'h', 64);
	text[64] = '!';
	assert_fails(tokenizer_encode(t, text, 65, false, false, &ids, &err), err, TB_ELIMIT,
		     "regular expression");
	assert_int_equal(ids.n, 0);
	free(ids.v);
	tokenizer_free(t);
}

/* Characters that came with Unicode 15 are what they are, also where PCRE2's tables are
 * older: Kawi, Nag Mundari, an ideograph of extension H, a digit of Kawi. */
static void
test_newer_unicode(void **state)
{
#define KAWI "\xf0\x91\xbc\x84"
#define NAG "\xf0\x9e\x93\x90"
#define EXT_H "\xf0\xb1\x8d\x90"
#define DIGIT "\xf0\x91\xbd\x90"
	static const struct { const char *pattern, *text; size_t start, end; } rows[] = {
		{ "\\p{L}+", "1a" KAWI "b" NAG "1", 1, 11 }, { "\\pL+", "1a" KAWI "1", 1, 6 },
		{ "[\\p{Ll}\\p{Lo}]+", "1a" KAWI EXT_H "1", 1, 10 },
		{ "[^\\s\\p{L}\\p{N}]+", KAWI "!" DIGIT, 4, 5 }, { "\\P{L}+", KAWI "!" NAG, 4, 5 },
		{ "\\p{^L}+", KAWI "!" NAG, 4, 5 }, { "\\P{^L}+", "!" KAWI "!", 1, 5 },
		{ "\\p{Han}+", KAWI "\xe4\xbd\xa0" EXT_H "a", 4, 11 },
		{ "[\\p{Han}]+", KAWI EXT_H "a", 4, 8 },
		{ "\\p{N}{1,3}", "a1" DIGIT "2", 1, 7 }, { "\\d+", KAWI DIGIT "!", 4, 8 },
		{ "\\D+", DIGIT "a" DIGIT, 4, 5 }, { "\\w+", "!" KAWI DIGIT "_!", 1, 10 },
		{ "\\W+", KAWI "!" KAWI, 4, 5 }, { "[\\w.]+", "!" NAG ".!", 1, 6 },
		{ "\\x{11f04}", "a" KAWI, 1, 5 },
	};
	struct tok_matcher *matcher = tok_matcher_new();
	struct tb_err err;

	(void)state;
	if (utf8proc_category(0x11f04) == UTF8PROC_CATEGORY_CN)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tok_pattern p = { 0 };
		struct tok_match m = { 0 };

		assert_ok(tok_regex_new(&p.regex, rows[i].pattern, &err), err);
		assert_ok(tok_pattern_next(&p, matcher, rows[i].text, strlen(rows[i].text), &m, &err),
			  err);
		if (!m.found || m.start != rows[i].start || m.end != rows[i].end)
			fail_msg("%s finds %zu-%zu, not %zu-%zu", rows[i].pattern, m.start, m.end,
				 rows[i].start, rows[i].end);
		tok_pattern_free(&p);
	}
	tok_matcher_free(matcher);
}

/* A piece lies in the middle of a file: what follows it is not said. */
static void
test_pieces_without_end(void **state)
{
	struct tok_vocab v = { 0 };
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(tok_vocab_add(&v, "abXYZ", 2, 0, &err), err);
	assert_int_equal(tok_vocab_add(&v, "abXYZ", 2, 1, &err), TB_EFORMAT);
	assert_non_null(strstr(err.msg, "token \"ab\" with id 1"));
	assert_int_equal(tok_vocab_add(&v, "cdXYZ", 2, UINT64_MAX, &err), TB_EFORMAT);
	assert_non_null(strstr(err.msg, "token \"cd\": id"));
	tok_vocab_free(&v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentencepiece),
		cmocka_unit_test(test_added_tokens),
		cmocka_unit_test(test_broken_utf8),
		cmocka_unit_test(test_byte_level),
		cmocka_unit_test(test_split_behaviors),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_metaspace),
		cmocka_unit_test(test_normalizers),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_long_words),
		cmocka_unit_test(test_ignore_merges),
		cmocka_unit_test(test_newer_unicode),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_pieces_without_end),
		cmocka_unit_test(test_hostile_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
