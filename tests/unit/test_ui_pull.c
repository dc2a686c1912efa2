/* The Pull dialogue's words: what somebody types, and what is said of what would come. */
#include "config.h"

#include "tests/unit/unit.h"

#include <string.h>

#include "src/base/buf.h"
#include "ui/offer.h"
#include "ui/pull.h"

static void
test_words(void **state)
{
	struct pull_words w;
	struct tb_err err;

	(void)state;
	assert_int_equal(pull_words_read(&w, "  llama3:8b ", &err), TB_OK);
	assert_string_equal(w.req.name, "llama3:8b");
	assert_null(w.req.as);
	assert_null(w.req.store);
	assert_false(w.req.insecure || w.req.skip_verify || w.req.replace);
	assert_int_equal(w.req.streams, 0);
	pull_words_free(&w);
	assert_int_equal(pull_words_read(&w, "--insecure host:5000/a/b:c mine --streams 3 --replace "
					 "-s /tmp/store --tls-skip-verify", &err), TB_OK);
	assert_string_equal(w.line, "--insecure host:5000/a/b:c mine --streams 3 --replace "
			    "-s /tmp/store --tls-skip-verify");
	assert_string_equal(w.req.name, "host:5000/a/b:c");
	assert_string_equal(w.req.as, "mine");
	assert_string_equal(w.req.store, "/tmp/store");
	assert_true(w.req.insecure && w.req.skip_verify && w.req.replace);
	assert_int_equal(w.req.streams, 3);
	assert_false(w.hub);
	pull_words_free(&w);
	assert_int_equal(pull_words_read(&w, "hf:a/b@v1 --include *.gguf --include x --exclude y", &err),
			 TB_OK);
	assert_true(w.hub);
	assert_string_equal(w.include.v[0], "*.gguf");
	assert_string_equal(w.include.v[1], "x");
	assert_null(w.include.v[2]);
	assert_string_equal(w.exclude.v[0], "y");
	assert_null(w.exclude.v[1]);
	pull_words_free(&w);
}

static void
test_wrong_words(void **state)
{
	static const struct { const char *line, *says; } wrong[] = {
		{ "", "Type the model's name" }, { "   ", "Type the model's name" },
		{ "--replace", "Type the model's name" }, { "a b c", "Type the model's name" },
		{ "a --insecur", "--insecur" }, { "a --streams", "--streams" },
		{ "a --streams 1000", "--streams is 64 at most" },
		{ "a --include x", "files of hf:ORG/NAME" }, { "hf:a/b c", "as it is there" },
		{ "hf:a/b --insecure", "HF_ENDPOINT" }, { "hf:a/b --replace", "side by side" },
		{ "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "Type the model's name" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct pull_words w;
		struct tb_err err = { 0 };

		assert_int_equal(pull_words_read(&w, wrong[i].line, &err), TB_EUSAGE);
		assert_non_null(strstr(err.msg, wrong[i].says));
		assert_null(w.line);
		pull_words_free(&w);	/* harmless */
	}
}

static void
says(const struct load_plan *p, bool steady, const char *want)
{
	struct tb_buf b = TB_BUF(1u << 16);

	offer_plan_text(p, steady, &b);
	if (!strstr(tb_buf_cstr(&b), want))
		fail_msg("\"%s\" is not in:\n%s", want, tb_buf_cstr(&b));
	tb_buf_free(&b);
}

static void
test_offer(void **state)
{
	char from[] = "registry.ollama.ai/library/llama3:8b", name[] = "llama3:8b", root[] = "/store";
	struct load_plan p = {
		.from = from, .name = name, .root = root,
		.files = 5, .come_files = 4, .bytes = 4700000000, .come = 4700000000,
		.room = 9000000000,
	};

	(void)state;
	says(&p, false, "llama3:8b\nfrom registry.ollama.ai/library/llama3:8b\n");
	says(&p, false, "Size      4.7 GB in 5 files\nTo load   4.7 GB in 4 files\n");
	says(&p, false, "Store     /store, 9.0 GB free\n");
	says(&p, true, "Store     /store, - free\n");
	says(&p, false, "Name      llama3:8b: no model is called so there yet\n");
	p.begun = 1700000000;
	says(&p, false, "To load   3.0 GB in 4 files; 1.7 GB are there from a pull that did not end\n");
	p.unsure = 2000000;
	says(&p, false, "; 2.0 MB that are there are checked first\n");
	p.room = 1000000000;
	says(&p, false, "1.0 GB free: that is too little\n");
	p.room = UINT64_MAX;
	says(&p, false, "Store     /store\n");
	p.taken = PULL_OTHER;
	says(&p, false, "it would be replaced, and kept\n");
	p.taken = PULL_SAME;
	p.come = p.begun = p.unsure = 0;
	says(&p, false, "To load   nothing: all of its files are there\n");
	says(&p, false, "this very model is there already\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words), cmocka_unit_test(test_wrong_words),
		cmocka_unit_test(test_offer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
