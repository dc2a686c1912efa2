/* vocab.h - looking into a model's vocabulary: its pieces, what becomes of a text,
 * what ids stand for.
 *
 * Opening reads the whole vocabulary (a quarter of a second for the largest); the
 * rest is quick enough for every key that is pressed. */
#ifndef TBTUI_OPS_VOCAB_H
#define TBTUI_OPS_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"
#include "src/text/tokenizer.h"

struct model;
struct vocab;

#define VOCAB_NONE UINT32_MAX

/* m is borrowed for the call only. */
enum tb_status vocab_open(struct vocab **out, const struct model *m, struct tb_err *err)
	TB_MUST_USE;
void vocab_free(struct vocab *v);

struct vocab_info {
	const char *source;		/* "tokenizer.json", "GGUF", "tokenizer.model", … */
	const char *kind;		/* "byte-level BPE", "SentencePiece BPE", … */
	const char *note;		/* what somebody should know about it; "" */
	size_t size;			/* ids are < size; not all of them need exist */
	size_t pieces;			/* that exist */
	uint32_t bos, eos;		/* VOCAB_NONE: none */
};
struct vocab_info vocab_info(const struct vocab *v);	/* texts live as long as v */

struct vocab_row {
	uint32_t id;
	const char *piece;		/* as in the file; borrowed; NULL: there is no such id */
	const char *text;		/* the bytes it stands for; borrowed */
	size_t text_len;
	enum token_type type;
	bool ends;			/* generation stops there */
	bool has_score;
	float score;
};
void vocab_row(const struct vocab *v, uint32_t id, struct vocab_row *row);

/* The ids, in order, whose piece or text contains `needle` (ASCII letters of either
 * case); "" finds all that exist.  free() *ids; rows are asked for as they are shown. */
enum tb_status vocab_search(const struct vocab *v, const char *needle, uint32_t **ids, size_t *n,
			    struct tb_err *err) TB_MUST_USE;

/* A token and the bytes of the text it came from (of a character split over tokens
 * each has its own).  len 0: it was added, or the text was rewritten before it was cut
 * so that its place is not known. */
struct vocab_span { uint32_t id; size_t off, len; };

/* free() *spans. */
enum tb_status vocab_encode(const struct vocab *v, const char *text, size_t len, bool add_special,
			    bool parse_special, struct vocab_span **spans, size_t *n,
			    struct tb_err *err) TB_MUST_USE;

/* Appends what ids stand for as one text.  TB_EUSAGE: an id that does not exist. */
enum tb_status vocab_decode(const struct vocab *v, const uint32_t *ids, size_t n,
			    struct tb_buf *out, struct tb_err *err) TB_MUST_USE;
#endif
