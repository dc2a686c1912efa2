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

/* The same vocabulary as tokenizer.json gives the same ids. */
static struct tokenizer *
written_again(const struct tokenizer *from)
{
	struct tb_err err = { 0 };
	struct tokenizer *t;
	char *json;

	assert_ok(tokenizer_write(from, &json, &err), err);
	assert_ok(tokenizer_new(&t, json, strlen(json), NULL, 0, &err), err);
	free(json);
	return t;
}

static void
test_written(void **state)
{
	static const char *const names[] = { "deepseek-llm", "falcon", "gpt-2", "llama-spm",
					     "phi-3", "starcoder" };
	size_t len;
	char *book;
	struct tb_err err = { 0 };

	(void)state;
	book = slurped("data/text/war-and-peace.txt", &len);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *rel = tb_asprintf("data/tokenizers/llama.cpp-vocab/ggml-vocab-%s.gguf",
					names[i]);
		struct tokenizer *from = tokenizer_of_gguf(rel), *t = written_again(from);
		struct token_ids want = { 0 };

		check_pairs(t, names[i]);
		assert_ok(tokenizer_encode(from, book, 300000, false, true, &want, &err), err);
		assert_true(agrees(t, book, 300000, false, &want));
		free(want.v);
		tokenizer_free(t);
		tokenizer_free(from);
		free(rel);
	}
	free(book);
}

/* Other files of the same vocabularies. */
static void
test_spm(void **state)
{
	size_t len;
	char *model = slurped("data/tokenizers/spm/llama2-32k.tokenizer.model", &len);
	struct tb_err err = { 0 };
	struct tokenizer *t;
	uint32_t id;

	(void)state;
	assert_ok(tokenizer_from_spm(&t, model, len, NULL, 0, &err), err);
	check_pairs(t, "llama-spm");
	assert_true(tokenizer_bos(t, &id) && id == 1);
	assert_true(tokenizer_eos(t, &id) && id == 2);
	assert_int_equal(tokenizer_type(t, 0), TOKEN_UNKNOWN);
	assert_int_equal(tokenizer_type(t, 13), TOKEN_BYTE);
	tokenizer_free(t);
	for (size_t cut = 0; cut < len; cut += len / 64) {	/* never more than is there */
		char *part = malloc(cut ? cut : 1);

		memcpy(part, model, cut);
		if (!tokenizer_from_spm(&t, part, cut, NULL, 0, &err))
			tokenizer_free(t);
		free(part);
	}
	free(model);
}

static void
test_unigram(void **state)
{
	size_t len;
	char *model = slurped("data/tokenizers/spm/google-test_model.model", &len);
	struct tb_err err = { 0 };
	struct tokenizer *t;

	(void)state;
	assert_fails(tokenizer_from_spm(&t, model, len, NULL, 0, &err), err, TB_EUNSUP,
		     "unigram");
	free(model);
}

static void
test_tiktoken(void **state)
{
	static const struct { const char *list, *pre, *pairs; } row[] = {
		{ "data/tokenizers/tiktoken/qwen.tiktoken", "qwen2", "qwen2" },
		{ "data/tokenizers/tiktoken/gpt2.tiktoken", NULL, "gpt-2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		size_t len;
		char *list = slurped(row[i].list, &len);
		struct tb_err err = { 0 };
		struct tokenizer *t;

		assert_ok(tokenizer_from_tiktoken(&t, list, len, row[i].pre, NULL, 0, &err), err);
		check_pairs(t, row[i].pairs);
		tokenizer_free(t);
		free(list);
	}
}

static void
test_merges(void **state)
{
	size_t len, merges_len;
	char *vocab = slurped("data/tokenizers/llama3.2-bpe/encoder.json", &len);
	char *merges = slurped("data/tokenizers/llama3.2-bpe/vocab.bpe", &merges_len);
	struct tb_err err = { 0 };
	struct tokenizer *t;

	(void)state;
	assert_ok(tokenizer_from_merges(&t, vocab, len, merges, merges_len, "llama-bpe", NULL, 0,
					&err), err);
	check_pairs(t, "llama-bpe");
	tokenizer_free(t);
	free(vocab);
	free(merges);
}

/* GPT-2's vocabulary is its bytes in the order of their characters, then what its
 * merges make. */
static void
test_gpt2(void **state)
{
	unsigned id = 0, other = 188;
	size_t merges_len;
	char *merges, *rest, *line, *json;
	struct tb_err err = { 0 };
	struct tokenizer *t;
	cJSON *vocab;

	(void)state;
	merges = slurped("data/tokenizers/hf/gpt2/merges.txt", &merges_len);
	vocab = json_object();
	for (unsigned byte = 0; byte < 256; byte++) {
		bool plain = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
		char s[5] = "";

		s[tb_utf8_put(plain ? byte : 256 + other - 188, s)] = 0;
		json_set_u64(vocab, s, plain ? id++ : other++);
	}
	id = 256;
	rest = line = tb_strdup(merges);
	for (char *one; (one = strsep(&rest, "\n"));) {
		char *blank = strchr(one, ' ');

		if (!blank || tb_starts(one, "#version"))
			continue;
		memmove(blank, blank + 1, strlen(blank));
		json_set_u64(vocab, one, id++);
	}
	json = json_print(vocab);
	assert_ok(tokenizer_from_merges(&t, json, strlen(json), merges, merges_len, NULL, NULL, 0,
					&err), err);
	check_pairs(t, "gpt-2");
	tokenizer_free(t);
	json_free(vocab);
	free(json);
	free(line);
	free(merges);
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
check_reference(const struct tokenizer *t)
{
	size_t len;
	char *ppl = slurped("data/prompts/ppl.txt", &len);
	char *json = slurped("data/reference/stories260K-f32.json", NULL);
	struct token_ids want = { 0 };
	struct tb_err err = { 0 };
	unsigned n = 0;
	cJSON *doc;

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
}

static void
test_reference(void **state)
{
	struct tokenizer *t = tokenizer_of("data/models/stories260K/hf-f32/tokenizer.json",
					   "data/models/stories260K/hf-f32/tokenizer_config.json");
	struct tokenizer *again;
	struct tb_err err = { 0 };
	char *model, *config;
	size_t len, config_len;

	(void)state;
	check_reference(t);
	tokenizer_free(t);
	t = tokenizer_of_gguf("data/models/stories260K/stories260K-f32.gguf");
	check_reference(t);
	again = written_again(t);
	check_reference(again);
	tokenizer_free(again);
	tokenizer_free(t);
	model = slurped("data/models/stories260K/hf-f32/tokenizer.model", &len);
	config = slurped("data/models/stories260K/hf-f32/tokenizer_config.json", &config_len);
	assert_ok(tokenizer_from_spm(&t, model, len, config, config_len, &err), err);
	check_reference(t);
	tokenizer_free(t);
	free(model);
	free(config);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_gguf_pairs),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_gpt2),
		cmocka_unit_test(test_merges),
		cmocka_unit_test(test_spm),
		cmocka_unit_test(test_unigram),
		cmocka_unit_test(test_tiktoken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
