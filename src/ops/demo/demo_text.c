/* demo_text.c - tokenizer and chat template of the demo's models: 256 bytes, a few
 * merges, a few special tokens. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/out.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/demo/demo.h"

/* A byte-level tokenizer writes a blank as this. */
#define BLANK "\xc4\xa0"

static const char *const merges[][2] = {
	{ BLANK, "t" }, { BLANK, "a" }, { "h", "e" }, { "i", "n" }, { "r", "e" }, { "o", "n" },
	{ BLANK "t", "he" }, { "e", "r" }, { BLANK, "s" }, { "a", "t" }, { BLANK, "w" },
	{ "e", "n" }, { BLANK, "o" }, { "i", "t" }, { "o", "r" }, { "e", "s" }, { "i", "s" },
	{ BLANK, "b" }, { "e", "d" }, { BLANK, "f" }, { "in", "g" }, { BLANK, "p" },
	{ "o", "u" }, { BLANK "a", "n" }, { "a", "l" }, { "a", "r" }, { BLANK "o", "f" },
	{ BLANK, "in" }, { BLANK "an", "d" }, { BLANK, "c" }, { BLANK "t", "o" }, { "l", "l" },
};
#define NMERGES (sizeof(merges) / sizeof(*merges))

static const char *const specials[] = {
	"<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>",
};
#define NSPECIALS (sizeof(specials) / sizeof(*specials))
#define BYTES 256u
#define PADDED 320u		/* rows of the embedding: a multiple of 64 */

unsigned
demo_vocab(void)
{
	_Static_assert(BYTES + NMERGES + NSPECIALS <= PADDED, "vocabulary");
	return PADDED;
}

bool
demo_readable(unsigned id)
{
	return (id >= ' ' && id < 0x7f) || (id >= BYTES && id < BYTES + NMERGES);
}

/* Byte-level tokenizers write bytes as visible characters: printable Latin-1 as it
 * is, the rest from U+0100 on, in order. */
static void
byte_piece(unsigned byte, char out[8])
{
	uint32_t cp = 256;

	for (unsigned b = 0; b <= byte; b++) {
		bool visible = (b >= 33 && b <= 126) || (b >= 161 && b != 173);

		if (b == byte && visible)
			cp = b;
		else if (b < byte && !visible)
			cp++;
	}
	out[tb_utf8_put(cp, out)] = 0;
}

static cJSON *
model_json(void)
{
	cJSON *m = json_object(), *vocab = json_object(), *list = json_array();
	char piece[32];

	for (unsigned b = 0; b < BYTES; b++) {
		byte_piece(b, piece);
		json_set_u64(vocab, piece, b);
	}
	for (unsigned i = 0; i < NMERGES; i++) {
		char *joined = tb_asprintf("%s%s", merges[i][0], merges[i][1]);
		cJSON *pair = json_array();

		json_set_u64(vocab, joined ? joined : "", BYTES + i);
		json_push_str(pair, merges[i][0]);
		json_push_str(pair, merges[i][1]);
		json_push(list, pair);
		free(joined);
	}
	json_set_str(m, "type", "BPE");
	json_set(m, "vocab", vocab);
	json_set(m, "merges", list);
	return m;
}

static cJSON *
special_json(void)
{
	cJSON *list = json_array();

	for (unsigned i = 0; i < NSPECIALS; i++) {
		cJSON *t = json_object();

		json_set_u64(t, "id", BYTES + NMERGES + i);
		json_set_str(t, "content", specials[i]);
		json_set_bool(t, "single_word", false);
		json_set_bool(t, "lstrip", false);
		json_set_bool(t, "rstrip", false);
		json_set_bool(t, "normalized", false);
		json_set_bool(t, "special", true);
		json_push(list, t);
	}
	return list;
}

static cJSON *
byte_level(void)
{
	cJSON *o = json_object();

	json_set_str(o, "type", "ByteLevel");
	json_set_bool(o, "add_prefix_space", false);
	json_set_bool(o, "trim_offsets", true);
	json_set_bool(o, "use_regex", true);
	return o;
}

static cJSON *
tokenizer_json(void)
{
	cJSON *doc = json_object();

	json_set_str(doc, "version", "1.0");
	json_set(doc, "added_tokens", special_json());
	json_set_str(doc, "normalizer", NULL);
	json_set(doc, "pre_tokenizer", byte_level());
	json_set_str(doc, "post_processor", NULL);
	json_set(doc, "decoder", byte_level());
	json_set(doc, "model", model_json());
	return doc;
}

static cJSON *
tokenizer_config(void)
{
	cJSON *doc = json_object();

	json_set_str(doc, "bos_token", specials[0]);
	json_set_str(doc, "eos_token", specials[1]);
	json_set_str(doc, "tokenizer_class", "PreTrainedTokenizerFast");
	json_set_str(doc, "chat_template",
		"{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n"
		"{{ message['content'] }}<|end|>\n{% endfor %}"
		"{% if add_generation_prompt %}<|assistant|>\n{% endif %}");
	return doc;
}

static enum tb_status
write_json(const char *dir, const char *name, cJSON *doc, struct tb_err *err)
{
	char *text = json_print_pretty(doc), *path = tb_path_join(dir, name);
	enum tb_status status = text && path ? tb_out_file(path, text, strlen(text), false, err)
					     : tb_nomem(err);

	json_free(doc);
	free(text);
	free(path);
	return status;
}

enum tb_status
demo_write_text(const char *dir, struct tb_err *err)
{
	enum tb_status status = write_json(dir, "tokenizer.json", tokenizer_json(), err);

	return status ? status : write_json(dir, "tokenizer_config.json", tokenizer_config(), err);
}
