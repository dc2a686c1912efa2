#include "config.h"

#include "tests/unit/unit.h"

#include "src/base/buf.h"
#include "src/format/manifest.h"

#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define LAYER(rest) "{\"mediaType\":\"application/vnd.ollama.image.tensor\"," \
	"\"digest\":\"sha256:" HEX64 "\",\"size\":12" rest "}"
#define DOC(layers) "{\"schemaVersion\":2,\"layers\":[" layers "]}"

/* With an escape in it a manifest is read by way of a tree: the same must come out as of
 * the quick way. */
static void
both_ways(const char *text, enum tb_status status, const struct manifest *m)
{
	struct tb_buf twin = TB_BUF(1 << 20), a = TB_BUF(1 << 20), b = TB_BUF(1 << 20);
	struct manifest t;

	for (const char *p = text; *p; )
		if (!strncmp(p, "\"layers\"", 8)) {
			tb_buf_str(&twin, "\"\\u006cayers\"");
			p += 8;
		} else {
			tb_buf_chr(&twin, *p++);
		}
	assert_int_equal(manifest_parse(&t, tb_buf_cstr(&twin), twin.len, "FILE", NULL), status);
	if (!status) {
		manifest_print(m, &a);
		manifest_print(&t, &b);
		assert_string_equal(tb_buf_cstr(&a), tb_buf_cstr(&b));
		manifest_free(&t);
	}
	tb_buf_free(&a);
	tb_buf_free(&b);
	tb_buf_free(&twin);
}

static enum tb_status
parse(struct manifest *m, const char *text, struct tb_err *err)
{
	enum tb_status status;

	*err = (struct tb_err){ 0 };
	status = manifest_parse(m, text, strlen(text), "FILE", err);
	both_ways(text, status, m);
	return status;
}

static void
test_round_trip(void **state)
{
	static const char text[] = "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.docker."
		"distribution.manifest.v2+json\",\"config\":{\"mediaType\":\"application/vnd.docker."
		"container.image.v1+json\",\"digest\":\"sha256:" HEX64 "\",\"size\":485},\"layers\":["
		LAYER(",\"from\":\"x\\u003cy\",\"name\":\"a.weight\"") ","
		"{\"mediaType\":\"foreign/type\",\"digest\":\"sha256:" HEX64 "\",\"size\":0}]}\n";
	struct tb_buf b = TB_BUF(1 << 20);
	struct tb_err err;
	struct manifest m;

	(void)state;
	assert_ok(parse(&m, text, &err), err);
	assert_int_equal(m.nlayers, 2);
	assert_int_equal(m.config.size, 485);
	assert_int_equal(media_parse(m.config.media_type), MEDIA_CONFIG);
	assert_int_equal(media_parse(m.layers[0].media_type), MEDIA_TENSOR);
	assert_int_equal(media_parse(m.layers[1].media_type), MEDIA_UNKNOWN);
	assert_string_equal(m.layers[0].name, "a.weight");
	assert_string_equal(m.layers[0].from, "x<y");
	assert_string_equal(m.layers[0].digest, "sha256:" HEX64);
	assert_null(m.layers[1].name);
	manifest_print(&m, &b);
	assert_string_equal(tb_buf_cstr(&b), text);
	tb_buf_free(&b);
	manifest_free(&m);
}

static const struct { const char *text, *part; } refusals[] = {
	{ "", "too early" },
	{ "[]", "has no schemaVersion" },
	{ "{}", "has no schemaVersion" },
	{ "{\"schemaVersion\":1,\"layers\":[]}", "only 2 is known" },
	{ "{\"schemaVersion\":2}", "has no layers" },
	{ "{\"schemaVersion\":2,\"layers\":{}}", "has no layers" },
	{ "{\"schemaVersion\":2,\"layers\":[1]}", "layer 0: not an object" },
	{ "{\"schemaVersion\":2,\"config\":7,\"layers\":[]}", "config: not an object" },
	{ "{\"schemaVersion\":2,\"mediaType\":7,\"layers\":[]}", "mediaType is not a string" },
	{ DOC(LAYER("") "," LAYER(",\"size\":13")), "\"size\" is there twice" },
	{ DOC(LAYER(",\"name\":1")), "layer 0: name is not a string" },
	{ DOC("{\"digest\":\"sha256:" HEX64 "\",\"size\":1}"), "has no mediaType" },
	{ DOC("{\"mediaType\":\"a\",\"size\":1}"), "bad digest" },
	{ DOC("{\"mediaType\":\"a\",\"size\":1,\"digest\":\"sha256:../../x\"}"), "bad digest" },
	{ DOC("{\"mediaType\":\"a\",\"size\":1,\"digest\":\"sha256:" HEX64 "0\"}"), "bad digest" },
	{ DOC("{\"mediaType\":\"a\",\"digest\":\"sha256:" HEX64 "\"}"), "size is no exact" },
	{ DOC("{\"mediaType\":\"a\",\"digest\":\"sha256:" HEX64 "\",\"size\":-1}"), "size is no" },
};

static void
test_refusals(void **state)
{
	struct tb_err err;
	struct manifest m;

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		if (!parse(&m, refusals[i].text, &err))
			fail_msg("%s: accepted", refusals[i].text);
		if (!strstr(err.msg, refusals[i].part) || !strstr(err.msg, "FILE"))
			fail_msg("%s: \"%s\"", refusals[i].text, err.msg);
		assert_null(m.layers);
	}
}

static void
test_add(void **state)
{
	struct tb_buf b = TB_BUF(1 << 20);
	struct manifest m = { 0 };
	struct tb_err err = { 0 };

	(void)state;
	assert_ok(manifest_add(&m, MEDIA_TENSOR, "sha256-" HEX64, 7, "a", &err), err);
	assert_ok(manifest_add(&m, MEDIA_CONFIG, "sha256:" HEX64, 9, NULL, &err), err);
	assert_fails(manifest_add(&m, MEDIA_JSON, "sha256:12", 7, "a", &err), err, TB_EFORMAT, "digest");
	manifest_print(&m, &b);
	assert_string_equal(tb_buf_cstr(&b), "{\"schemaVersion\":2,\"mediaType\":\"application/"
		"vnd.docker.distribution.manifest.v2+json\",\"config\":{\"mediaType\":\"application/"
		"vnd.docker.container.image.v1+json\",\"digest\":\"sha256:" HEX64 "\",\"size\":9},"
		"\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.tensor\",\"digest\":"
		"\"sha256:" HEX64 "\",\"size\":7,\"name\":\"a\"}]}\n");
	tb_buf_free(&b);
	manifest_free(&m);
}

static void
test_digests(void **state)
{
	char out[TB_DIGEST_MAX];

	(void)state;
	assert_true(digest_parse("sha256-00112233445566778899AABBCCDDEEFF"
				 "00112233445566778899aabbccddeeff", out));
	assert_string_equal(out, "sha256:" HEX64);
	assert_false(digest_parse("sha256", out));
	assert_false(digest_parse("sha256:", out));
	assert_false(digest_parse("sha512:" HEX64, out));
	assert_false(digest_parse("sha256:" HEX64 " ", out));
	assert_false(digest_parse("sha256/" HEX64, out));
	for (enum media k = 0; k < MEDIA_UNKNOWN; k++)
		assert_int_equal(media_parse(media_type(k)), k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
