/* tok_write.c - the tokenizer of a GGUF file as tokenizer.json and tokenizer_config.json.
 *
 * What merges by score there is pairs here: each way to put a piece together from two
 * others, the best piece first.  How a text is cut into words is written out. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/text/tok.h"
#include "src/text/tok_pre.h"

static cJSON *
typed(const char *type)
{
	cJSON *o = json_object();

	json_set_str(o, "type", type);
	return o;
}

/* ---- what is found as a whole ---- */

static void
set_added(cJSON *o, const struct tokenizer *t, const struct tok_added *a)
{
	json_set_str(o, "content", t->vocab.piece[a->id].s);
	json_set_bool(o, "single_word", a->single_word);
	json_set_bool(o, "lstrip", a->lstrip);
	json_set_bool(o, "rstrip", a->rstrip);
	json_set_bool(o, "normalized", false);
	json_set_bool(o, "special", a->special);
}

static cJSON *
added_list(const struct tokenizer *t)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < t->raw.n; i++) {
		cJSON *o = json_object();

		json_set_u64(o, "id", t->raw.v[i].id);
		set_added(o, t, &t->raw.v[i]);
		json_push(list, o);
	}
	return list;
}

/* ---- before and behind the merging ---- */

static cJSON *
replace(const char *from, const char *to)
{
	cJSON *o = typed("Replace"), *pattern = json_object();

	json_set_str(pattern, "String", from);
	json_set(o, "pattern", pattern);
	json_set_str(o, "content", to);
	return o;
}

static cJSON *
sequence(const char *key, cJSON *list)
{
	cJSON *o = typed("Sequence");

	json_set(o, key, list);
	return o;
}

/* Without one "null" stands for it: a part that is NULL is one that had no room. */
static bool
has_normalizer(const struct tokenizer *t)
{
	return !t->pre || t->pre->blanks;
}

static cJSON *
normalizer(const struct tokenizer *t)
{
	cJSON *list, *prepend;

	if (!t->prefix)
		return replace(" ", TOK_MARK);
	list = json_array();
	prepend = typed("Prepend");
	json_set_str(prepend, "prepend", TOK_MARK);
	json_push(list, prepend);
	json_push(list, replace(" ", TOK_MARK));
	return sequence("normalizers", list);
}

static cJSON *
byte_level(bool regex)
{
	cJSON *o = typed("ByteLevel");

	json_set_bool(o, "add_prefix_space", regex);
	json_set_bool(o, "trim_offsets", true);
	json_set_bool(o, "use_regex", regex);
	return o;
}

/* A script is \p{sc:Han} to the one library of patterns and \p{Han} to the other. */
static cJSON *
split(const char *regex)
{
	cJSON *o = typed("Split"), *pattern = json_object();
	struct tb_buf text = TB_BUF(1u << 20);
	const char *hit;

	while ((hit = strstr(regex, "\\p{sc:"))) {
		tb_buf_add(&text, regex, (size_t)(hit - regex));
		tb_buf_str(&text, "\\p{");
		regex = hit + strlen("\\p{sc:");
	}
	tb_buf_str(&text, regex);
	json_set_buf(pattern, "Regex", &text);
	tb_buf_free(&text);
	json_set(o, "pattern", pattern);
	json_set_str(o, "behavior", "Isolated");
	json_set_bool(o, "invert", false);
	return o;
}

static cJSON *
pre_tokenizer(const struct tokenizer *t)
{
	cJSON *list = json_array();

	for (size_t i = 0; i < TOK_PRE_STAGES && t->pre->stage[i]; i++)
		json_push(list, split(t->pre->stage[i]));
	if (!t->pre->raw)
		json_push(list, byte_level(false));
	return sequence("pretokenizers", list);
}

static cJSON *
decoder(const struct tokenizer *t)
{
	cJSON *list, *strip;

	if (t->pre && !t->pre->raw)
		return byte_level(true);
	list = json_array();
	json_push(list, replace(TOK_MARK, " "));
	json_push(list, typed("ByteFallback"));
	json_push(list, typed("Fuse"));
	if (t->prefix) {
		strip = typed("Strip");
		json_set_str(strip, "content", " ");
		json_set_u64(strip, "start", 1);
		json_set_u64(strip, "stop", 0);
		json_push(list, strip);
	}
	return sequence("decoders", list);
}

/* ---- the ends of a text ---- */

static cJSON *
template_part(const char *kind, const char *id, unsigned type_id)
{
	cJSON *o = json_object(), *in = json_object();

	json_set_str(in, "id", id);
	json_set_u64(in, "type_id", type_id);
	json_set(o, kind, in);
	return o;
}

static void
push_ends(const struct tokenizer *t, const struct token_ids *ids, unsigned type_id, cJSON *list)
{
	for (size_t i = 0; i < ids->n; i++)
		json_push(list, template_part("SpecialToken", t->vocab.piece[ids->v[i]].s, type_id));
}

static void
define_ends(const struct tokenizer *t, const struct token_ids *ids, cJSON *all)
{
	for (size_t i = 0; i < ids->n; i++) {
		const char *piece = t->vocab.piece[ids->v[i]].s;
		cJSON *o = json_object(), *list = json_array(), *tokens = json_array();

		json_set_str(o, "id", piece);
		json_push_u64(list, ids->v[i]);
		json_set(o, "ids", list);
		json_push_str(tokens, piece);
		json_set(o, "tokens", tokens);
		if (json_get(all, piece))
			json_free(o);
		else
			json_set(all, piece, o);
	}
}

static bool
has_ends(const struct tokenizer *t)
{
	return t->before.n || t->after.n;
}

static cJSON *
post_processor(const struct tokenizer *t)
{
	cJSON *o = typed("TemplateProcessing"), *single = json_array(), *pair = json_array();
	cJSON *special = json_object();

	push_ends(t, &t->before, 0, single);
	json_push(single, template_part("Sequence", "A", 0));
	push_ends(t, &t->after, 0, single);
	for (unsigned i = 0; i < 2; i++) {
		push_ends(t, &t->before, i, pair);
		json_push(pair, template_part("Sequence", i ? "B" : "A", i));
		push_ends(t, &t->after, i, pair);
	}
	define_ends(t, &t->before, special);
	define_ends(t, &t->after, special);
	json_set(o, "single", single);
	json_set(o, "pair", pair);
	json_set(o, "special_tokens", special);
	return o;
}

/* ---- pieces and merges ---- */

static int
merge_cmp(const void *va, const void *vb)
{
	const struct tok_merge *a = va, *b = vb;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->left > b->left) - (a->left < b->left);
}

struct merges { struct tok_merge *v; size_t n, cap; };

static bool
merges_push(struct merges *m, const struct tok_merge *one)
{
	if (!tb_grow(&m->v, &m->cap, m->n + 1, sizeof(*m->v)))
		return false;
	m->v[m->n++] = *one;
	return true;
}

/* All ways to put a piece together from two that texts can become. */
static bool
halves_of(const struct tokenizer *t, uint32_t id, struct merges *out)
{
	const struct tok_piece *p = &t->vocab.piece[id];
	const uint32_t *rank = t->bpe.piece_rank;
	struct tok_merge m = { .rank = rank[id], .id = id };

	for (size_t n = 1; n < p->len; n++)
		if ((p->s[n] & 0xc0) != 0x80 &&
		    tok_vocab_find(&t->vocab, p->s, n, &m.left) && rank[m.left] != TOK_NONE &&
		    tok_vocab_find(&t->vocab, p->s + n, p->len - n, &m.right) &&
		    rank[m.right] != TOK_NONE && !merges_push(out, &m))
			return false;
	return true;
}

static bool
collect_merges(const struct tokenizer *t, struct merges *out)
{
	const struct tok_merges *pairs = &t->bpe.merges;
	bool ok = true;

	for (uint32_t id = 0; t->bpe.piece_rank && id < t->vocab.n && ok; id++)
		if (t->bpe.piece_rank[id] != TOK_NONE)
			ok = halves_of(t, id, out);
	for (size_t i = 0; !t->bpe.piece_rank && pairs->slot && i <= pairs->mask && ok; i++)
		if (pairs->slot[i].rank != TOK_NONE)
			ok = merges_push(out, &pairs->slot[i]);
	if (ok && out->n > 1)
		qsort(out->v, out->n, sizeof(*out->v), merge_cmp);
	return ok;
}

/* "a b", as every reader takes it, unless there is a blank in one of them. */
static void
push_merge(cJSON *list, const char *left, const char *right)
{
	struct tb_buf both = TB_BUF(1u << 26);
	cJSON *two;

	if (!strchr(left, ' ') && !strchr(right, ' ')) {
		tb_buf_printf(&both, "%s %s", left, right);
		json_set_buf(list, NULL, &both);
		tb_buf_free(&both);
		return;
	}
	two = json_array();
	json_push_str(two, left);
	json_push_str(two, right);
	json_push(list, two);
}

static cJSON *
merges_json(const struct tokenizer *t)
{
	struct merges m = { 0 };
	cJSON *list = json_array();

	if (!collect_merges(t, &m))
		json_push(list, NULL);		/* notes that it is not whole */
	for (size_t i = 0; i < m.n; i++)
		push_merge(list, t->vocab.piece[m.v[i].left].s, t->vocab.piece[m.v[i].right].s);
	free(m.v);
	return list;
}

static cJSON *
tokens_json(const struct tokenizer *t)
{
	cJSON *o = typed("BPE"), *vocab = json_object();
	const char *unk = t->bpe.unk != TOK_NONE ? t->vocab.piece[t->bpe.unk].s : NULL;

	json_set_str(o, "dropout", NULL);
	json_set_str(o, "unk_token", unk);
	json_set_str(o, "continuing_subword_prefix", NULL);
	json_set_str(o, "end_of_word_suffix", NULL);
	json_set_bool(o, "fuse_unk", false);
	json_set_bool(o, "byte_fallback", t->bpe.byte_fallback);
	json_set_bool(o, "ignore_merges", t->bpe.ignore_merges);
	for (size_t id = 0; id < t->vocab.n; id++)
		if (t->vocab.piece[id].s)
			json_set_u64(vocab, t->vocab.piece[id].s, id);
	json_set(o, "vocab", vocab);
	json_set(o, "merges", merges_json(t));
	return o;
}

/* Longer ones than any tokenizer has; to halve one takes the square of its length. */
#define PIECE_MAX 4096

/* JSON has UTF-8 alone, and a piece that is not itself any more is another. */
static enum tb_status
check_pieces(const struct tokenizer *t, struct tb_err *err)
{
	if (t->wordpiece || (!t->pre && !t->bpe.piece_rank))
		return tb_fail(err, TB_EUNSUP, "a tokenizer of the kind %s is not written as "
			       "tokenizer.json", t->kind);
	for (size_t id = 0; id < t->vocab.n; id++) {
		const struct tok_piece *p = &t->vocab.piece[id];

		if (p->s && (strlen(p->s) != p->len || !tb_utf8_valid(p->s, p->len)))
			return tb_fail(err, TB_EUNSUP, "token %zu is no text, which tokenizer.json "
				       "could not hold", id);
		if (p->s && p->len > PIECE_MAX)
			return tb_fail(err, TB_EUNSUP, "token %zu is %u bytes long, which is none that"
				       " texts are cut into", id, (unsigned)p->len);
	}
	return TB_OK;
}

static void
set_part(cJSON *doc, const char *key, bool has, cJSON *(*part)(const struct tokenizer *t),
	 const struct tokenizer *t)
{
	if (has)
		json_set(doc, key, part(t));
	else
		json_set_str(doc, key, NULL);
}

enum tb_status
tokenizer_write(const struct tokenizer *t, char **out, struct tb_err *err)
{
	enum tb_status status = check_pieces(t, err);
	cJSON *doc;

	*out = NULL;
	if (status)
		return status;
	doc = json_object();
	json_set_str(doc, "version", "1.0");
	json_set_str(doc, "truncation", NULL);
	json_set_str(doc, "padding", NULL);
	json_set(doc, "added_tokens", added_list(t));
	set_part(doc, "normalizer", has_normalizer(t), normalizer, t);
	set_part(doc, "pre_tokenizer", t->pre != NULL, pre_tokenizer, t);
	set_part(doc, "post_processor", has_ends(t), post_processor, t);
	json_set(doc, "decoder", decoder(t));
	json_set(doc, "model", tokens_json(t));
	*out = json_print(doc);
	json_free(doc);
	return *out ? TB_OK : tb_nomem(err);
}
