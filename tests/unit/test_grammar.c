/* Which tokens a grammar allows: each token of a vocabulary is tried against a regular
 * expression that means the same, all along random texts; and what is refused. */
#include "config.h"

#include "tests/unit/unit.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/text/constraint.h"
#include "src/text/spelling.h"
#include "src/text/tok_uni.h"

#define WORDS 700
#define EOS 1000
#define ALPHABET " \n\"{}[],:.0123456789-+*ab\\nutréß€😀"

static struct tokenizer *tok;
static struct spelling *spelling;
static uint64_t seed = 1;

static size_t
lot(size_t n)
{
	return (size_t)(tb_splitmix(&seed) % n);
}

/* Puts the piece of these bytes into the list, unless it is there. */
static bool
is_new(struct tb_buf *list, struct tb_buf *piece, const char *word, size_t n)
{
	tb_buf_clear(piece);
	tb_buf_chr(piece, '\n');
	tok_bytes_put(piece, word, n);
	tb_buf_chr(piece, '\n');
	if (strstr(tb_buf_cstr(list), tb_buf_cstr(piece)))
		return false;
	tb_buf_add(list, piece->p, piece->len);
	return true;
}

/* All single bytes, then pieces of the alphabet's bytes, characters cut anywhere. */
static int
setup(void **state)
{
	static const char all[] = ALPHABET;
	struct tb_buf json = TB_BUF(1 << 20), list = TB_BUF(1 << 20), piece = TB_BUF(100);
	struct tb_err err;

	(void)state;
	tb_buf_str(&json, "{\"added_tokens\":[{\"id\":1000,\"content\":\"</s>\",\"special\":true},"
		   "{\"id\":1001,\"content\":\"<tool>\",\"special\":true}],\"pre_tokenizer\":{\"type\":"
		   "\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":{\"type\":\"ByteLevel\"},"
		   "\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{");
	for (unsigned id = 0; id < 256 + WORDS; id++) {
		char word[8] = { (char)id };
		size_t n = 1;

		do {
			size_t at = lot(sizeof(all) - 8), together = lot(2);

			for (n = id < 256 ? 1 : 0; id >= 256 && n < 2 + lot(5); n++)
				word[n] = together ? all[at + n] : all[lot(sizeof(all) - 1)];
		} while (!is_new(&list, &piece, word, n));
		tb_buf_str(&json, id ? ",\"" : "\"");
		for (const char *p = tb_buf_cstr(&piece) + 1; *p != '\n'; p++)
			tb_buf_printf(&json, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
		tb_buf_printf(&json, "\":%u", id);
	}
	tb_buf_str(&json, "}}}");
	assert_ok(tokenizer_new(&tok, json.p, json.len, NULL, 0, &err), err);
	assert_ok(spelling_new(&spelling, tok, false, &err), err);
	tb_buf_free(&json);
	tb_buf_free(&list);
	tb_buf_free(&piece);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	spelling_free(spelling);
	tokenizer_free(tok);
	return 0;
}

static struct grammar *
made(const char *text)
{
	struct grammar *g;
	struct tb_err err;

	assert_ok(grammar_gbnf(&g, text, strlen(text), "test", &err), err);
	return g;
}

static struct constraint *
begun(const struct grammar *g)
{
	static const uint32_t ends[] = { EOS };
	struct constraint *c;
	struct tb_err err;

	assert_ok(constraint_new(&c, g, tok, spelling, NULL, ends, 1, &err), err);
	return c;
}

static bool
allows(struct constraint *c, uint32_t id)
{
	const uint64_t *bits;
	struct tb_err err;

	assert_ok(constraint_allowed(c, SIZE_MAX, &bits, &err), err);
	return bits[id / 64] >> id % 64 & 1;
}

/* Can the text go on as the expression says?  *whole: it may end there. */
static bool
goes_on(pcre2_code *re, const struct tb_buf *text, bool *whole)
{
	static pcre2_match_data *data;
	int n;

	if (!data)
		data = pcre2_match_data_create(1, NULL);
	n = pcre2_match(re, (PCRE2_SPTR)tb_buf_cstr(text), text->len, 0, 0, data, NULL);
	*whole = n >= 0;
	n = pcre2_match(re, (PCRE2_SPTR)tb_buf_cstr(text), text->len, 0, PCRE2_PARTIAL_HARD, data, NULL);
	return n >= 0 || n == PCRE2_ERROR_PARTIAL;
}

/* One random text; at each place every token is tried. */
static void
walk(const struct grammar *g, pcre2_code *re, const char *name)
{
	struct constraint *c = begun(g);
	struct tb_buf text = TB_BUF(1 << 16);
	struct tb_err err;

	for (unsigned step = 0; step < 24; step++) {
		uint32_t can[EOS], n = 0;
		size_t len = text.len;
		bool whole;

		(void)goes_on(re, &text, &whole);
		if (whole != constraint_may_end(c) || whole != allows(c, EOS))
			fail_msg("%s: \"%s\" may%s end", name, tb_buf_cstr(&text), whole ? "" : " not");
		for (uint32_t id = 0; id < 256 + WORDS; id++) {
			bool yes;

			tokenizer_decode(tok, id, false, &text);
			yes = goes_on(re, &text, &whole);
			if (yes != allows(c, id))
				fail_msg("%s: \"%s\" may%s come with token %u", name,
					 tb_buf_cstr(&text), yes ? "" : " not", id);
			assert_int_equal(constraint_follows(c, &id, 1), yes);
			if (yes)
				can[n++] = id;
			text.len = len;
		}
		assert_int_equal(constraint_must_end(c), !n);
		assert_false(allows(c, EOS + 1));
		if (!n)
			break;
		can[0] = can[lot(n)];
		tokenizer_decode(tok, can[0], false, &text);
		assert_ok(constraint_take(c, can[0], &err), err);
	}
	tb_buf_free(&text);
	constraint_free(c);
}

#define UTF8_REST "[\\x80-\\xbf]"
/* Grammars and what they are as expressions over bytes. */
static const char *const pairs[][2] = {
	{ "root ::= \"ab\" [0-9]+ (\"\\n\" | \".\" [0-9]{2,4})? \"{\"", "ab[0-9]+(\\n|\\.[0-9]{2,4})?\\{" },
	{ "root ::= [^\"\\\\\\x00-\\x1f]* \"\\\"\"",
	  "([\\x20\\x21\\x23-\\x5b\\x5d-\\x7f]|[\\xc2-\\xdf]" UTF8_REST "|\\xe0[\\xa0-\\xbf]" UTF8_REST
	  "|[\\xe1-\\xec\\xee\\xef]" UTF8_REST UTF8_REST "|\\xed[\\x80-\\x9f]" UTF8_REST
	  "|\\xf0[\\x90-\\xbf]" UTF8_REST UTF8_REST "|[\\xf1-\\xf3]" UTF8_REST UTF8_REST UTF8_REST
	  "|\\xf4[\\x80-\\x8f]" UTF8_REST UTF8_REST ")*\"" },
	/* U+00E0 to U+20AC */
	{ "root ::= ([\xc3\xa0-\xe2\x82\xac] | \"a\")+ \"b\"",
	  "(\\xc3[\\xa0-\\xbf]|[\\xc4-\\xdf]" UTF8_REST "|\\xe0[\\xa0-\\xbf]" UTF8_REST "|\\xe1" UTF8_REST
	  UTF8_REST "|\\xe2(" "[\\x80\\x81]" UTF8_REST "|\\x82[\\x80-\\xac])|a)+b" },
	{ "root ::= x | y\nx ::= \"a\" x? \"b\"\ny ::= \"aa\" [0-9] | \"\\U0001F600\" # a face",
	  "((a(?2)?b)|aa[0-9]|\xf0\x9f\x98\x80)" },
	{ "root ::= (a b)* \"]\"\na ::= \"1\"? \"2\"?\nb ::= \"3\" | a \"4\"",
	  "(1?2?(3|1?2?4))*\\]" },
	{ "root ::= ((\"a\" | \"ab\") (\"b\" | \"\"))* \".\"", "((a|ab)b?)*\\." },
	{ "root ::= ((\"ab\" | [0-9] \".\" [0-9]){1,3} \"\\n\"){2}", "(((ab|[0-9]\\.[0-9]){1,3})\\n){2}" },
	{ "root ::= v\nv ::= \"[\" (v (\",\" v)*)? \"]\" | [0-9]+", "(\\[((?1)(,(?1))*)?\\]|[0-9]+)" },
	{ "root ::= .{3}", "([\\x00-\\x7f]|[\\xc2-\\xdf]" UTF8_REST "|\\xe0[\\xa0-\\xbf]" UTF8_REST
	  "|[\\xe1-\\xec\\xee\\xef]" UTF8_REST UTF8_REST "|\\xed[\\x80-\\x9f]" UTF8_REST
	  "|\\xf0[\\x90-\\xbf]" UTF8_REST UTF8_REST "|[\\xf1-\\xf3]" UTF8_REST UTF8_REST UTF8_REST
	  "|\\xf4[\\x80-\\x8f]" UTF8_REST UTF8_REST "){3}" },
	/* what ends with itself does not get deeper, however long it gets */
	{ "root ::= \"a\" root | \"b\" root | \".\"", "[ab]*\\." },
	/* many ways to read one text */
	{ "root ::= s \".\"\ns ::= \"a\" | \"a\" s \"a\" | \"a\" s", "a+\\." },
};

static void
test_masks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct grammar *g = made(pairs[i][0]);
		char pattern[2000];
		PCRE2_SIZE at;
		pcre2_code *re;
		int code;

		snprintf(pattern, sizeof(pattern), "\\A(?:%s)\\z", pairs[i][1]);
		re = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_DOTALL, &code, &at,
				   NULL);
		if (!re)
			fail_msg("%s: error %d at %zu", pattern, code, (size_t)at);
		for (unsigned again = 0; again < 12; again++)
			walk(g, re, pairs[i][0]);
		pcre2_code_free(re);
		grammar_free(g);
	}
}

/* When tokens get few the text comes to its end, and not one token too late. */
static void
test_end(void **state)
{
	static const char *const grammars[] = {
		"root ::= v\nv ::= \"[\" v (\",\" v)* \"]\" | [0-9]+ | \"{\" .* \"}\"",
		"root ::= \"\\\"\" [^\"]* \"\\\": [\" [0-9]{3,40} \"]\"",
		"root ::= \"a\"* \"b\" [0-9]{6} | root2\nroot2 ::= \"{\" root2? \"}{}\"",
	};

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		struct grammar *g = made(grammars[i % 3]);
		struct constraint *c = begun(g);
		size_t left = 16 + lot(30);
		struct tb_err err;

		for (; left && !constraint_must_end(c); left--) {
			const uint64_t *bits;
			uint32_t can[EOS + 1], n = 0;

			assert_ok(constraint_allowed(c, left, &bits, &err), err);
			for (uint32_t id = 0; id < EOS; id++)
				if (bits[id / 64] >> id % 64 & 1)
					can[n++] = id;
			assert_true(n || constraint_may_end(c));
			if (!n)
				break;
			assert_ok(constraint_take(c, can[lot(n)], &err), err);
		}
		assert_true(constraint_may_end(c));
		constraint_free(c);
		grammar_free(g);
	}
}

/* What has to come, and no further than where a longer token might stand. */
static void
test_forced(void **state)
{
	struct grammar *g = made("root ::= \"utr: \" [0-9] \"ab.\"");
	struct constraint *c = begun(g);
	struct token_ids must = { 0 };
	struct tb_buf text = TB_BUF(100);
	struct tb_err err;

	(void)state;
	for (unsigned part = 0; part < 2; part++) {
		tb_buf_clear(&text);
		assert_ok(constraint_forced(c, SIZE_MAX, &must, &err), err);
		for (size_t i = 0; i < must.n; i++) {
			assert_true(allows(c, must.v[i]));
			assert_ok(constraint_take(c, must.v[i], &err), err);
			tokenizer_decode(tok, must.v[i], false, &text);
		}
		assert_true(text.len > 1);
		if (part)
			break;
		assert_memory_equal("utr: ", text.p, text.len);
		for (uint32_t id = '0', at = (uint32_t)text.len; at < 6; at++)
			assert_ok(constraint_take(c, at < 5 ? (uint32_t)"utr: "[at] : id, &err), err);
	}
	assert_string_equal(tb_buf_cstr(&text), "ab.");
	assert_true(constraint_must_end(c));
	assert_ok(constraint_forced(c, SIZE_MAX, &must, &err), err);
	assert_int_equal(must.n, 0);
	assert_fails(constraint_take(c, 'a', &err), err, TB_EUSAGE, "does not allow token 97");
	constraint_begin(c, false);
	assert_ok(constraint_forced(c, 5, &must, &err), err);
	assert_int_equal(must.n, 0);	/* no room for all that comes behind it */
	free(must.v);
	tb_buf_free(&text);
	constraint_free(c);
	grammar_free(g);
}

/* Tokens by their names: what no text can say. */
static void
test_tokens(void **state)
{
	struct grammar *g = made("root ::= <tool> \"ab\" (!<[98]>){2} <[49]>");
	struct constraint *c = begun(g);
	struct tb_err err;

	(void)state;
	assert_true(allows(c, EOS + 1));
	assert_false(allows(c, '<'));
	assert_false(allows(c, 'a'));
	assert_ok(constraint_take(c, EOS + 1, &err), err);
	assert_false(allows(c, EOS + 1));
	assert_ok(constraint_take(c, 'a', &err), err);
	assert_ok(constraint_take(c, 'b', &err), err);
	assert_true(allows(c, 'a'));
	assert_true(allows(c, 0xff));
	assert_false(allows(c, 'b'));
	assert_false(allows(c, EOS));
	assert_ok(constraint_take(c, 300, &err), err);
	assert_ok(constraint_take(c, 'a', &err), err);
	assert_true(allows(c, '1'));
	assert_false(allows(c, '2'));
	assert_ok(constraint_take(c, '1', &err), err);
	assert_true(constraint_must_end(c));
	constraint_free(c);
	grammar_free(g);
	g = made("root ::= <nobody>");
	assert_fails(constraint_new(&c, g, tok, spelling, NULL, NULL, 0, &err), err, TB_EUSAGE,
		     "<nobody>");
	grammar_free(g);
}

/* Much is read, much is forgotten: the text goes on as if nothing had been. */
static void
test_long(void **state)
{
	struct grammar *g = made("root ::= v\nv ::= \"[\" v \"]\" | \"{\" (\"a\" | \"b\"){0,60000} "
				 "\"}\"");
	struct constraint *c = begun(g);
	struct tb_err err;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_ok(constraint_take(c, '[', &err), err);
	assert_ok(constraint_take(c, '{', &err), err);
	for (unsigned i = 0; i < 60000; i++) {
		if (i % 1000 == 0)
			assert_true(allows(c, 'b') && allows(c, '}') && !allows(c, ']'));
		assert_ok(constraint_take(c, lot(2) ? 'a' : 'b', &err), err);
	}
	assert_false(allows(c, 'a'));
	assert_ok(constraint_take(c, '}', &err), err);
	for (unsigned i = 0; i < 100; i++)
		assert_ok(constraint_take(c, ']', &err), err);
	assert_true(constraint_must_end(c));
	constraint_free(c);
	grammar_free(g);
}

static void
test_refused(void **state)
{
	static const struct { const char *text, *part; enum tb_status code; } cases[] = {
		{ "a ::= \"x\"", "no rule \"root\"", TB_EFORMAT },
		{ "root ::= other", "no rule \"other\"", TB_EFORMAT },
		{ "root ::= root \"x\" | \"y\"", "begins with itself", TB_EUNSUP },
		{ "root ::= a \"x\" | \"y\"\na ::= b? root\nb ::= \"b\"", "rule \"root\" begins",
		  TB_EUNSUP },
		{ "root ::= \"x\" root", "no text can ever match", TB_EFORMAT },
		{ "root ::= [z-a]", "1:11: this range", TB_EFORMAT },
		{ "root ::= \"x", "1:12: the text ends here", TB_EFORMAT },
		{ "root ::= \"\\q\"", "1:11: no such escape", TB_EFORMAT },
		{ "root ::= \"\\x4\"", "2 hexadecimal", TB_EFORMAT },
		{ "root ::= \"\\ud800\"", "no character", TB_EFORMAT },
		{ "root ::= \"a\"{3,2}", "fewer at most", TB_EFORMAT },
		{ "root ::= \"a\"{70000}", "over 65536", TB_EFORMAT },
		{ "root ::= (\"abcdef\"{60000}){60000}", "no text can ever match", TB_EFORMAT },
		{ "root ::= (((((\"\"{99}){99}){99}){99}){99}){99}", "too large", TB_ELIMIT },
		{ "root ::= \"a\" )", "1:14: nothing that belongs", TB_EFORMAT },
		{ "root ::= (\"a\"", "a ) is missing", TB_EFORMAT },
		{ "root ::= \"a\"\n\nroot ::= \"b\"", "3:1: the rule \"root\" is here for the second",
		  TB_EFORMAT },
		{ "root = \"a\"", "::= is missing", TB_EFORMAT },
		{ "root ::= !x", "in < >", TB_EFORMAT },
		{ "root ::= \"\xff\"", "not UTF-8", TB_EFORMAT },
		{ "root ::= []", "no text can ever match", TB_EFORMAT },
	};
	struct tb_buf deep = TB_BUF(1 << 20);
	struct grammar *g;
	struct tb_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_fails(grammar_gbnf(&g, cases[i].text, strlen(cases[i].text), "test", &err), err,
			     cases[i].code, cases[i].part);
	tb_buf_str(&deep, "root ::= ");
	for (unsigned i = 0; i < 100000; i++)
		tb_buf_chr(&deep, '(');
	assert_fails(grammar_gbnf(&g, deep.p, deep.len, "test", &err), err, TB_EFORMAT,
		     "parentheses in one another");
	tb_buf_clear(&deep);
	tb_buf_str(&deep, "root ::= \"a\"");
	for (unsigned i = 0; i < 20; i++)
		tb_buf_str(&deep, " \"a\"{0,60000}");
	assert_fails(grammar_gbnf(&g, deep.p, deep.len, "test", &err), err, TB_ELIMIT, "too large");
	tb_buf_free(&deep);
}

static void
refuse_schema(struct tb_buf *text, const char *part)
{
	struct grammar *g;
	struct tb_err err;

	assert_false(tb_buf_failed(text));
	assert_fails(grammar_schema(&g, text->p, text->len, "test", &err), err, TB_EUNSUP, part);
	tb_buf_free(text);
}

/* Schemas that lead through very many others, or that would be compared and merged for
 * minutes: whoever sends one to a server must not end it, nor keep it from others. */
static void
test_endless_schemas(void **state)
{
	struct tb_buf text = TB_BUF(4 << 20);

	(void)state;
	tb_buf_str(&text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
	for (unsigned i = 0; i < 19000; i++)
		tb_buf_printf(&text, "\"%u\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/%u\"}}},", i,
			      i + 1);
	tb_buf_str(&text, "\"19000\":{}}}");
	refuse_schema(&text, "in one another");

	text = TB_BUF(4 << 20);
	tb_buf_str(&text, "{\"oneOf\":[{\"const\":0}");
	for (unsigned i = 1; i < 20000; i++)
		tb_buf_printf(&text, ",{\"const\":%u}", i);
	tb_buf_str(&text, "]}");
	refuse_schema(&text, "too many values");

	text = TB_BUF(4 << 20);
	tb_buf_str(&text, "{\"required\":[\"\"");
	for (unsigned i = 0; i < 100000; i++)
		tb_buf_printf(&text, ",\"%u\"", i);
	tb_buf_str(&text, "]}");
	refuse_schema(&text, "too many values");

	text = TB_BUF(4 << 20);
	tb_buf_str(&text, "{\"$ref\":\"#/$defs/a\",\"$defs\":{"
		   "\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/b\"},{\"$ref\":\"#/$defs/b\"}]},"
		   "\"b\":{\"properties\":{\"x\":{\"$ref\":\"#/$defs/a\"}}}}}");
	refuse_schema(&text, "too many values");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks), cmocka_unit_test(test_end),
		cmocka_unit_test(test_forced), cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_long), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_endless_schemas),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
