/* tok_pre.c - the patterns are those that the models were published with, in two points
 * written otherwise.  Where they fold case ((?i:...)), the letters are written out, so
 * that nothing but ASCII folds.  And where they would try each blank of a megabyte of
 * blanks, or need a stack for each letter, they say the same in a way that does not. */
#include "config.h"

#include "src/text/tok_pre.h"

#include <string.h>

#define ENDINGS "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
#define LETTERS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SIGNS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
/* to the last newline of a run of blanks, if it has one */
#define NEWLINES "(?=[^\\S\\r\\n]*+[\\r\\n])\\s*[\\r\\n]"
#define BLANKS NEWLINES "|\\s+(?!\\S)|\\s+"
#define WITH_DIGITS(digits) ENDINGS "|" LETTERS "|" digits "|" SIGNS "|" BLANKS

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define LLAMA3 WITH_DIGITS("\\p{N}{1,3}")
#define QWEN2 WITH_DIGITS("\\p{N}")

/* Words whose capitals stand in front. */
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(ending) "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" ending \
		      "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" ending
#define SIGNS_SLASH " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"
#define GPT4O CASED("(?:" ENDINGS ")?") "|\\p{N}{1,3}|" SIGNS_SLASH "|" BLANKS

#define ASCII_SIGNS "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"
#define DEEPSEEK3(signs, blanks) ASCII_SIGNS "[A-Za-z]+" \
	"|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+" signs "|" blanks
#define KANA "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"

/* DeepSeek LLM lists the letters of alphabets with capitals. */
#define ALPHABETS "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf" \
	"\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386" \
	"\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f" \
	"\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf" \
	"\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45" \
	"\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4" \
	"\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb" \
	"\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115" \
	"\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f" \
	"\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2" \
	"\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e" \
	"\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a" \
	"\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb" \
	"\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df" \
	"\U0001e900-\U0001e943"
#define CJK "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"

/* The same, but not Chinese characters: whatever is in no other category. */
#define NOT_LETTERS "\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}\\p{sc:Han}"
#define UPPER_ELSE "[^\\p{Ll}" NOT_LETTERS "]"
#define LOWER_ELSE "[^\\p{Lu}\\p{Lt}" NOT_LETTERS "]"
#define KIMI "\\p{sc:Han}+|[^\\r\\n\\p{L}\\p{N}]?" UPPER_ELSE "*" LOWER_ELSE "+(?:" ENDINGS ")?" \
	"|[^\\r\\n\\p{L}\\p{N}]?" UPPER_ELSE "+" LOWER_ELSE "*(?:" ENDINGS ")?" \
	"|\\p{N}{1,3}|" SIGNS "|" BLANKS
#define MARKED "\\p{L}[\\p{L}\\p{M}]*+"
#define YOUTU "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a" \
	"\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|" KANA
#define BLOOM " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
#define LINES "[^\\n]+|[\\n]+"

static const struct tok_pre rows[] = {
	{ .names = "default", .stage = { "[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+",
					 "[0-9][0-9][0-9]" } },
	{ .names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 "
		   "jina-v5-nano", .stage = { LLAMA3 }, .ignore_merges = true, .add_bos = true },
	{ .names = "dbrx smaug-bpe", .stage = { LLAMA3 } },
	{ .names = "glm4 chatglm-bpe", .stage = { LLAMA3 }, .no_bos = true },
	{ .names = "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open "
		   "grok-2", .stage = { QWEN2 } },
	{ .names = "qwen35", .stage = { ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
					" ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" BLANKS } },
	{ .names = "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum "
		   "modern-bert mpt olmo jais trillion granite-docling jina-v1-en jina-v2-code "
		   "roberta-bpe exaone4", .stage = { GPT2 } },
	{ .names = "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
	  .stage = { "\\p{N}", GPT2 } },
	{ .names = "falcon", .stage = { "[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]" } },
	{ .names = "deepseek-llm",
	  .stage = { "[\\r\\n]", "\\s?[" ALPHABETS "]+",
		     "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
		     "\\s+$", CJK, "\\p{N}+" } },
	{ .names = "deepseek-coder",
	  .stage = { "[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK, "\\p{N}" } },
	{ .names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
	  .stage = { "\\p{N}{1,3}", KANA, DEEPSEEK3("[\\r\\n]*", BLANKS) } },
	{ .names = "spark2_5",
	  .stage = { "\\p{N}{1,3}", KANA,
		     DEEPSEEK3("", "[\\r\\n]|\\s+(?!\\S)|\\s+"), "\\p{N}" } },
	{ .names = "gpt-4o llama4 kanana2 talkie minimax-m2", .stage = { GPT4O } },
	{ .names = "granite-embed-multi-97m", .stage = { GPT4O }, .ignore_merges = true },
	{ .names = "tiny_aya cohere2moe",
	  .stage = { "\\d{1,3}(?=(?:\\d{3})*(?!\\w))", GPT4O } },
	{ .names = "tekken", .stage = { CASED("") "|\\p{N}|" SIGNS_SLASH "|" BLANKS },
	  .ignore_merges = true, .add_bos = true },
	{ .names = "youtu",
	  .stage = { YOUTU, CASED("(?:" ENDINGS ")?") "|\\p{N}|" SIGNS_SLASH "|" BLANKS },
	  .ignore_merges = true },
	{ .names = "kimi-k2", .stage = { KIMI } },
	{ .names = "bloom poro-chat gpt3-finnish", .stage = { BLOOM } },
	{ .names = "viking", .stage = { BLOOM, "\\p{N}" } },
	{ .names = "chameleon",
	  .stage = { "<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
		     "([\\t\\n]|    |  )", "\\p{N}", "[\\p{P}!-/:-@\\[-`{-~]", GPT2 },
	  .add_bos = true },
	{ .names = "superbpe", .stage = { "\\p{N}+", "(?=(\\d{3})+(?!\\d))" } },
	{ .names = "bailingmoe bailingmoe2 llada-moe",
	  .stage = { ENDINGS "|" LETTERS "|\\p{N}|" SIGNS "|" BLANKS } },
	{ .names = "seed-coder",
	  .stage = { ENDINGS "|" LETTERS "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" BLANKS } },
	{ .names = "ufakzeka", .stage = { LETTERS "|\\p{N}|" SIGNS "|" BLANKS } },
	{ .names = "laguna", .stage = { LINES, QWEN2 } },
	{ .names = "exaone-moe",
	  .stage = { ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?" MARKED "(?: " MARKED ")*+|\\p{N}|"
		     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|" BLANKS } },
	{ .names = "jais-2",
	  .stage = { ENDINGS "|" LETTERS "|\\p{N}{1,3}|" SIGNS "|" NEWLINES "|\\s{512}(?!\\S)|"
		     "\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|"
		     "\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}" } },
	{ .names = "minicpm5", .stage = { "\\p{N}{1,3}", WITH_DIGITS("\\p{N}+") },
	  .ignore_merges = true },
	{ .names = "whitespace", .stage = { "\\S+" }, .raw = true },
	{ .names = "gemma4 granite-embed-multi-311m", .stage = { LINES }, .add_bos = true,
	  .raw = true, .blanks = true, .newlines = true },
	{ .names = "sarvam-moe", .stage = { LINES }, .raw = true, .blanks = true },
};

const struct tok_pre *
tok_pre_row(size_t i)
{
	return i < sizeof(rows) / sizeof(*rows) ? &rows[i] : NULL;
}

static bool
named(const char *names, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = names; n; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		if (!*p)
			break;
		if (!strncmp(p, name, n) && (!p[n] || p[n] == ' '))
			return true;
	}
	return false;
}

const struct tok_pre *
tok_pre_find(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strchr(name, ' ') && named(rows[i].names, name))
			return &rows[i];
	return NULL;
}

enum tb_status
tok_pre_stages(const struct tok_pre *pre, struct tok_splitter *t, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < TOK_PRE_STAGES && pre->stage[i] && !status; i++)
		status = tok_splitter_cut(t, pre->stage[i], err);
	if (!status && !pre->raw)
		status = tok_splitter_to_bytes(t, err);
	return status;
}
