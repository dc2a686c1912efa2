/* tok_uni.h - private to src/text: classes of characters as tokenizers mean them,
 * and the byte-level alphabet (a printable character for each byte). */
#ifndef TBTUI_TEXT_TOK_UNI_H
#define TBTUI_TEXT_TOK_UNI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool tok_class(uint32_t cp);

bool tok_is_space(uint32_t cp);		/* White_Space */
bool tok_is_word(uint32_t cp);		/* letters, marks, digits, connectors */
bool tok_is_numeric(uint32_t cp);	/* Nd, Nl, No */
bool tok_is_punct(uint32_t cp);		/* ASCII punctuation and P* */

/* The last character of s[0..n), n > 0, and its length; U+FFFD if it is none. */
size_t tok_utf8_last(const char *s, size_t n, uint32_t *cp);
/* Bytes at the start of s that are UTF-8. */
size_t tok_utf8_run(const char *s, size_t n);

/* "<0x0A>" */
bool tok_byte_piece(const char *s, size_t len, uint8_t *byte);

struct tb_buf;
void tok_bytes_put(struct tb_buf *out, const char *s, size_t len);	/* in that alphabet */
uint32_t tok_byte_cp(uint8_t byte);			/* byte -> its character */
bool tok_cp_byte(uint32_t cp, uint8_t *byte);		/* and back */
#endif
