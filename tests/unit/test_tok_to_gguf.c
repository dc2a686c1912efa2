/* A tokenizer written as keys of a GGUF gives the same ids. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/file.h"
#include "src/format/gguf_write.h"
#include "src/text/tokenizer.h"

#define TEXT_MAX (64u << 20)

static char *
slurp(const char *rel, size_t *len)
{
	struct tb_err err;
	char *text;

	assert_ok(tb_file_slurp(unit_shared(rel), TEXT_MAX, &text, len, &err), err);
	return text;
}

static struct tokenizer *
from_json(const char *rel)
{
	struct tokenizer *t;
	struct tb_err err;
	size_t len;
	char *json = slurp(rel, &len);

	assert_ok(tokenizer_new(&t, json, len, NULL, 0, &err), err);
	free(json);
	return t;
}

/* Through a file. */
static struct tokenizer *
written(const struct tokenizer *t)
{
	struct gguf_keys keys = GGUF_KEYS();
	struct tb_buf head = TB_BUF(GGUF_HEAD_MAX);
	struct tokenizer *out;
	struct tb_file f;
	struct tb_err err;
	struct gguf g;
	uint64_t size;
	const char *path;

	assert_ok(tokenizer_to_gguf(t, 0, NULL, &keys, &err), err);
	assert_ok(gguf_layout(&keys, NULL, 0, &head, &size, &err), err);
	path = unit_write("vocab.gguf", head.p, head.len);
	assert_ok(tb_file_open(&f, path, &err), err);
	assert_ok(gguf_read(&g, &f, &err), err);
	assert_ok(tokenizer_from_gguf(&out, &g, &f, &err), err);
	gguf_free(&g);
	tb_file_close(&f);
	tb_buf_free(&head);
	gguf_keys_free(&keys);
	return out;
}

static void
same_ids(const struct tokenizer *a, const struct tokenizer *b, const char *text, size_t len)
{
	struct token_ids was = { .n = 0 }, is = { .n = 0 };
	struct tb_err err;

	assert_ok(tokenizer_encode(a, text, len, true, false, &was, &err), err);
	assert_ok(tokenizer_encode(b, text, len, true, false, &is, &err), err);
	for (size_t i = 0; i < was.n && i < is.n; i++)
		if (was.v[i] != is.v[i])
			fail_msg("%.*s: id %zu is %u, not %u", (int)(len < 60 ? len : 60), text, i, is.v[i],
				 was.v[i]);
	assert_int_equal(is.n, was.n);
	free(was.v);
	free(is.v);
}

/* Texts of other programs, each on its own. */
static void
same_on_texts(const struct tokenizer *a, const struct tokenizer *b)
{
	static const char cut[] = "\n__ggml_vocab_test__\n";
	size_t len;
	char *all = slurp("data/tokenizers/llama.cpp-vocab/ggml-vocab-qwen2.gguf.inp", &len), *at = all;

	for (char *end; at; at = end ? end + strlen(cut) : NULL) {
		end = strstr(at, cut);
		same_ids(a, b, at, end ? (size_t)(end - at) : strlen(at));
	}
	free(all);
}

static void
check(struct tokenizer *t)
{
	struct tokenizer *is = written(t);

	assert_int_equal(tokenizer_size(is), tokenizer_size(t));
	same_on_texts(t, is);
	tokenizer_free(is);
	tokenizer_free(t);
}

static void
tokenizer_json_gives_the_same_ids(void **state)
{
	static const char *const files[] = {
		"llama2/tokenizer.json", "phi-3/tokenizer.json"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char rel[256];

		snprintf(rel, sizeof(rel), "data/tokenizers/hf/%s", files[i]);
		check(from_json(rel));
	}
	check(from_json("data/models/stories260K/hf-f32/tokenizer.json"));
}

static void
sentencepiece_gives_the_same_ids(void **state)
{
	static const char *const files[] = { "data/tokenizers/spm/llama2-32k.tokenizer.model",
					     "data/models/stories260K/hf-f32/tokenizer.model" };
	struct tokenizer *t;
	struct tb_err err;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *model = slurp(files[i], &len);

		assert_ok(tokenizer_from_spm(&t, model, len, NULL, 0, &err), err);
		free(model);
		check(t);
	}
}

static void
merges_give_the_same_ids(void **state)
{
	struct tokenizer *t;
	struct tb_err err;
	size_t nvocab, nmerges;
	char *vocab, *merges;

	(void)state;
	vocab = slurp("data/tokenizers/llama3.2-bpe/encoder.json", &nvocab);
	merges = slurp("data/tokenizers/llama3.2-bpe/vocab.bpe", &nmerges);
	assert_ok(tokenizer_from_merges(&t, vocab, nvocab, merges, nmerges, "llama-bpe", NULL, 0, &err),
		  err);
	free(vocab);
	free(merges);
	check(t);
}

static void
a_pre_tokenizer_that_nobody_knows_is_refused(void **state)
{
	static const char json[] =
		"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]},"
		"\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
		"\"pattern\":{\"Regex\":\"[aeiou]+\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\","
		"\"add_prefix_space\":false,\"use_regex\":false}]},\"decoder\":{\"type\":\"ByteLevel\"}}";
	struct gguf_keys keys = GGUF_KEYS();
	struct tokenizer *t;
	struct tb_err err;

	(void)state;
	assert_ok(tokenizer_new(&t, json, strlen(json), NULL, 0, &err), err);
	assert_fails(tokenizer_to_gguf(t, 0, NULL, &keys, &err), err, TB_EUNSUP, "--pre NAME");
	assert_ok(tokenizer_to_gguf(t, 0, "gpt-2", &keys, &err), err);
	assert_ok(tokenizer_to_gguf(t, 8, "gpt-2", &keys, &err), err);
	assert_fails(tokenizer_to_gguf(t, 2, "gpt-2", &keys, &err), err, TB_EFORMAT, "has 3 pieces");
	assert_fails(tokenizer_to_gguf(t, 4000000000, "gpt-2", &keys, &err), err, TB_ELIMIT,
		     "too many");
	gguf_keys_free(&keys);
	tokenizer_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokenizer_json_gives_the_same_ids),
		cmocka_unit_test(sentencepiece_gives_the_same_ids),
		cmocka_unit_test(merges_give_the_same_ids),
		cmocka_unit_test(a_pre_tokenizer_that_nobody_knows_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
