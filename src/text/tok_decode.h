/* tok_decode.h - private to src/text: what a token's piece stands for ("decoder"). */
#ifndef TBTUI_TEXT_TOK_DECODE_H
#define TBTUI_TEXT_TOK_DECODE_H

#include "src/base/buf.h"
#include "src/format/json.h"

enum tok_dec_kind { DEC_REPLACE, DEC_FALLBACK, DEC_BYTES, DEC_STRIP };

struct tok_dec {
	enum tok_dec_kind kind;
	char *from;		/* DEC_REPLACE: what; DEC_STRIP: what is taken off in front; owned */
	char *to;		/* DEC_REPLACE; owned */
	bool drop_first;	/* DEC_REPLACE: by nothing in the first token */
	bool only_first;	/* DEC_STRIP: only off the first token */
};

struct tok_decoder {
	struct tok_dec *v;	/* owned; in order */
	size_t n, cap;
	bool fused;		/* what follows sees the text as a whole */
	bool blanks;		/* pieces are joined by blanks: there is no decoder */
};

enum tb_status tok_decoder_new(struct tok_decoder *d, const cJSON *spec, struct tb_err *err)
	TB_MUST_USE;
/* Single stages behind those that are there (on {0} for the first): SentencePiece's
 * (mark becomes ' ', "<0x0A>" its byte; prefix: a blank that begins the text is not of
 * it), and GPT-2's bytes. */
enum tb_status tok_decoder_blanks(struct tok_decoder *d, const char *mark, bool prefix,
				  struct tb_err *err) TB_MUST_USE;
enum tb_status tok_decoder_bytes(struct tok_decoder *d, struct tb_err *err) TB_MUST_USE;
void tok_decoder_free(struct tok_decoder *d);
void tok_decode(const struct tok_decoder *d, const char *piece, size_t len, bool first,
		struct tb_buf *out);
#endif
