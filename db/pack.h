/* pack.h - lists of numbers as bytes: each the difference to the one before it, zigzag,
 * seven bits a byte, the lowest first.
 *
 * Whoever reads one checks nothing but the result: a list that is cut or too long gives
 * false, never a read beyond its end. */
#ifndef TBTUI_DB_PACK_H
#define TBTUI_DB_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buf.h"

struct pack_in { const uint8_t *p, *end; uint64_t last; };

void pack_put(struct tb_buf *b, uint64_t *last, uint64_t v);	/* *last is 0 at first */
bool pack_get(struct pack_in *in, uint64_t *v);			/* false: at its end, or cut */

/* How many numbers there are. */
uint64_t pack_count(const void *p, size_t len);
/* The first n as numbers of 32 bits; false when one does not fit or they are fewer. */
bool pack_read32(const void *p, size_t len, uint32_t *out, size_t n);
bool pack_read64(const void *p, size_t len, uint64_t *out, size_t n);
#endif
