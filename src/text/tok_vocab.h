/* tok_vocab.h - private to src/text: pieces by id and ids by piece. */
#ifndef TBTUI_TEXT_TOK_VOCAB_H
#define TBTUI_TEXT_TOK_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/text/tokenizer.h"

#define TOK_MARK "\xe2\x96\x81"	/* U+2581, SentencePiece's blank */
#define TOK_ID_MAX (1u << 22)		/* ids are below; the largest vocabularies have 2^18 */

struct tok_piece {
	const char *s;			/* NUL-terminated, in the arena; NULL: no such id */
	uint32_t len;
	bool special;			/* an added token marked so */
	uint8_t type;			/* enum token_type */
};

struct tok_vocab {
	struct tok_piece *piece;	/* owned */
	size_t n, cap;			/* ids are < n */
	float *score;			/* owned; by id */
	size_t nscores;
	uint32_t *slot;			/* owned: id + 1, 0 = free; open addressing */
	size_t nslots, used;
	struct tb_arena arena;
};

/* Room for n pieces, so that nothing is moved while they come. */
enum tb_status tok_vocab_reserve(struct tok_vocab *v, size_t n, struct tb_err *err) TB_MUST_USE;
/* Two ids for one piece or two pieces for one id: TB_EFORMAT; the same again is fine. */
enum tb_status tok_vocab_add(struct tok_vocab *v, const char *s, size_t len, uint64_t id,
			     struct tb_err *err) TB_MUST_USE;
bool tok_vocab_find(const struct tok_vocab *v, const char *s, size_t len, uint32_t *id);
void tok_vocab_free(struct tok_vocab *v);

bool tok_ids_push(struct token_ids *out, uint32_t id);	/* false: no memory */
#endif
