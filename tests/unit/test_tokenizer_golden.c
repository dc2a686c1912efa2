/* Real vocabularies against the ids that other programs gave for the same texts. */
#include "config.h"

#include <stdio.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/gguf.h"
#include "src/format/json.h"
#include "src/text/tokenizer.h"
#include "tests/unit/unit.h"

#define SEPARATOR "\n__ggml_vocab_test__\n"

static char *
slurped(const char *rel, size_t *len)
{
	const char *path = unit_shared(rel);
	struct tb_err err = { 0 };
	char *text;

	assert_ok(tb_file_slurp(path, 1u << 30, &text, len, &err), err);
	return text;
}

static struct tokenizer *
tokenizer_of(const char *rel, const char *config_rel)
{
	size_t len, config_len = 0;
	char *json = slurped(rel, &len);
	char *config = config_rel ? slurped(config_rel, &config_len) : NULL;
	struct tb_err err = { 0 };
	struct tokenizer *t;

	assert_ok(tokenizer_new(&t, json, len, config, config_len, &err), err);
	free(json);
	free(config);
	return t;
}

/* Encodes, compares with want[], and decodes back to the same bytes (not where text
 * is changed before it is cut). */
static bool
agrees(const struct tokenizer *t, const char *text, size_t len, bool add_special,
       const struct token_ids *want)
{
	struct token_ids got = { 0 };
	struct tb_buf back = TB_BUF(1u << 20);
	struct tb_err err = { 0 };
	bool same;

	assert_ok(tokenizer_encode(t, text, len, add_special, true, &got, &err), err);
	same = got.n == want->n && (!got.n || !memcmp(got.v, want->v, got.n * sizeof(*got.v)));
	for (size_t i = add_special; i < got.n; i++)
		tokenizer_decode(t, got.v[i], i == add_special, &back);
	same = same && (!strcmp(tokenizer_kind(t), "WordPiece") ||
			(back.len == len && !memcmp(tb_buf_cstr(&back), text, len)));
	tb_buf_free(&back);
	free(got.v);
	return same;
}

static void
read_line(char **p, struct token_ids *ids)
{
	char *end = strchr(*p, '\n');

	ids->n = 0;
	while (*p < end) {
		char *next;
		unsigned long id = strtoul(*p, &next, 10);

		if (next == *p || next > end)
			break;
		assert_true(tb_grow(&ids->v, &ids->cap, ids->n + 1, sizeof(*ids->v)));
		ids->v[ids->n++] = (uint32_t)id;
		*p = next;
	}
	*p = end + 1;
}

/* 47 texts in NAME.inp, a line of ids each in NAME.out, without BOS. */
static void
check_pairs(const struct tokenizer *t, const char *name)
{
	char *rel = tb_asprintf("data/tokenizers/llama.cpp-vocab/ggml-vocab-%s.gguf.inp", name);
	size_t len;
	char *inp = slurped(rel, &len), *out, *lines, *text = inp;
	struct token_ids want = { 0 };
	unsigned n = 0;

	memcpy(rel + strlen(rel) - 3, "out", 3);
	lines = out = slurped(rel, &len);
	for (char *end = inp; end; text = end + strlen(SEPARATOR), n++) {
		end = strstr(text, SEPARATOR);
		read_line(&lines, &want);
		if (!agrees(t, text, end ? (size_t)(end - text) : strlen(text), false, &want))
			fail_msg("%s: text %u is not as expected", name, n);
	}
	assert_int_equal(n, 47);
	free(want.v);
	free(inp);
	free(out);
	free(rel);
}

static void
test_pairs(void **state)
{
	static const struct { const char *name, *rel; } row[] = {
		{ "llama-spm", "data/tokenizers/hf/llama2/tokenizer.json" },
		{ "phi-3", "data/tokenizers/hf/phi-3/tokenizer.json" },
		{ "falcon", "data/tokenizers/hf/falcon-tokenizer/tokenizer.json" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct tokenizer *t = tokenizer_of(row[i].rel, NULL);

		check_pairs(t, row[i].name);
		tokenizer_free(t);
	}
}

static struct tokenizer *
tokenizer_of_gguf(const char *rel)
{
	struct tb_err err = { 0 };
	struct tokenizer *t;
	struct tb_file f;
	struct gguf g;

	assert_ok(tb_file_open(&f, unit_shared(rel), &err), err);
	assert_ok(gguf_read(&g, &f, &err), err);
	assert_ok(tokenizer_from_gguf(&t, &g, &f, &err), err);
	gguf_free(&g);
	tb_file_close(&f);
	return t;
}

static void
test_gguf_pairs(void **state)
{
	static const char *const names[] = { "bert-bge", "deepseek-llm", "falcon", "gpt-2",
					     "llama-spm", "phi-3", "starcoder" };

	(void)state;
	unit_shared("");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *rel = tb_asprintf("data/tokenizers/llama.cpp-vocab/ggml-vocab-%s.gguf",
					names[i]);
		struct tokenizer *t = tokenizer_of_gguf(rel);

		check_pairs(t, names[i]);
		tokenizer_free(t);
		free(rel);
	}
}

/* A list of merges, a line each, and the vocabulary as a tokenizer.json; numbered:
 * the vocabulary is only the bytes, and the merges go on from there. */
static cJSON *
from_merges(const char *rel, cJSON *vocab, bool numbered, const char *regex)
{
	cJSON *doc = json_object(), *model = json_object(), *merges = json_array();
	cJSON *pre = json_object(), *split = json_object(), *list = json_array();
	cJSON *pattern = json_object(), *bytes = json_object(), *decoder = json_object();
	size_t len, id = 256;
	char *text = slurped(rel, &len), *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		char *blank = strchr(line, ' ');

		if (!blank || tb_starts(line, "#version"))
			continue;
		json_push_str(merges, line);
		memmove(blank, blank + 1, strlen(blank));
		if (numbered)
			json_set_u64(vocab, line, id++);
	}
	json_set_str(model, "type", "BPE");
	json_set_bool(model, "ignore_merges", !numbered);
	json_set(model, "vocab", vocab);
	json_set(model, "merges", merges);
	json_set_str(pattern, "Regex", regex);
	json_set_str(split, "type", "Split");
	json_set_str(split, "behavior", "Isolated");
	json_set(split, "pattern", pattern);
	json_set_str(bytes, "type", "ByteLevel");
	json_set_bool(bytes, "add_prefix_space", false);
	json_set_bool(bytes, "use_regex", false);
	json_push(list, split);
	json_push(list, bytes);
	json_set_str(pre, "type", "Sequence");
	json_set(pre, "pretokenizers", list);
	json_set_str(decoder, "type", "ByteLevel");
	json_set(doc, "model", model);
	json_set(doc, "pre_tokenizer", pre);
	json_set(doc, "decoder", decoder);
	free(text);
	return doc;
}

static struct tokenizer *
loaded(cJSON *doc)
{
	struct tb_err err = { 0 };
	struct tokenizer *t;
	char *json = json_print(doc);

	assert_non_null(json);
	assert_ok(tokenizer_new(&t, json, strlen(json), NULL, 0, &err), err);
	free(json);
	json_free(doc);
	return t;
}

static void
test_gpt2(void **state)
{
	unsigned id = 0, other = 188;
	struct tokenizer *t;
	cJSON *vocab;

	(void)state;
	unit_shared("");	/* skips before anything is allocated */
	vocab = json_object();
	for (unsigned byte = 0; byte < 256; byte++) {
		bool plain = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
		char s[5] = "";

		s[tb_utf8_put(plain ? byte : 256 + other - 188, s)] = 0;
		json_set_u64(vocab, s, plain ? id++ : other++);
	}
	t = loaded(from_merges("data/tokenizers/hf/gpt2/merges.txt", vocab, true,
			       "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| "
			       "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"));
	check_pairs(t, "gpt-2");
	tokenizer_free(t);
}

static void
test_llama3(void **state)
{
	struct tb_err err = { 0 };
	struct tokenizer *t;
	cJSON *vocab;
	size_t len;
	char *json = slurped("data/tokenizers/llama3.2-bpe/encoder.json", &len);

	(void)state;
	assert_ok(json_parse(&vocab, json, len, "encoder.json", &err), err);
	free(json);
	t = loaded(from_merges("data/tokenizers/llama3.2-bpe/vocab.bpe", vocab, false,
			       "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
			       "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
			       "\\s+(?!\\S)|\\s+"));
	check_pairs(t, "llama-bpe");
	tokenizer_free(t);
}

static void
read_ids(const cJSON *list, struct token_ids *ids)
{
	uint64_t id = 0;

	ids->n = 0;
	for (const cJSON *c = json_first(list); c; c = json_next(c)) {
		assert_true(json_u64(c, &id));
		assert_true(tb_grow(&ids->v, &ids->cap, ids->n + 1, sizeof(*ids->v)));
		ids->v[ids->n++] = (uint32_t)id;
	}
}

/* The prompts of the reference runs, and the text of the perplexity. */
static void
test_reference(void **state)
{
	struct tokenizer *t = tokenizer_of("data/models/stories260K/hf-f32/tokenizer.json",
					   "data/models/stories260K/hf-f32/tokenizer_config.json");
	size_t len;
	char *ppl = slurped("data/prompts/ppl.txt", &len);
	char *json = slurped("data/reference/stories260K-f32.json", NULL);
	struct token_ids want = { 0 };
	struct tb_err err = { 0 };
	unsigned n = 0;
	cJSON *doc;

	(void)state;
	assert_ok(json_parse(&doc, json, strlen(json), "reference", &err), err);
	read_ids(json_path(doc, "perplexity.ids"), &want);
	assert_true(agrees(t, ppl, len, true, &want));
	for (const cJSON *c = json_first(json_get(doc, "prompts")); c; c = json_next(c), n++) {
		const char *prompt = json_str(json_get(c, "prompt"));

		read_ids(json_get(c, "prompt_ids"), &want);
		assert_true(agrees(t, prompt, strlen(prompt), true, &want));
	}
	assert_true(n > 0);
	json_free(doc);
	free(want.v);
	free(json);
	free(ppl);
	tokenizer_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_gguf_pairs),
		cmocka_unit_test(test_gpt2),
		cmocka_unit_test(test_llama3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
