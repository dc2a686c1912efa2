/* ggml_fields.h - what a block of ggml's types is made of, field by field: one row a
 * field, in the order in which they lie. */
#ifndef TBTUI_QUANT_GGML_FIELDS_H
#define TBTUI_QUANT_GGML_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

/* How the bytes of a field are numbers. */
enum ggml_field_kind {
	FIELD_F16,
	FIELD_I8,
	FIELD_U8,		/* codes, or indices of a code book */
	FIELD_NIBBLES,		/* two a byte, the low one first */
	FIELD_PAIRS,		/* four of two bits, the lowest first */
	FIELD_BITS,		/* eight of one, the lowest first */
	FIELD_U16,
	FIELD_U32,
	FIELD_E8M0,		/* 2^(byte - 127) */
	FIELD_UE4M3,
	FIELD_SCALES_6,		/* 12 bytes: eight scales of 6 bits, among eight minima */
	FIELD_MINS_6,		/* the same 12 bytes: the minima */
	FIELD_SCALES_32,	/* 12 bytes: sixteen scales of 6 bits, less 32 */
	FIELD_D_SPREAD		/* F16 in the high nibbles of four words */
};

struct ggml_field {
	unsigned type;		/* enum ggml_type */
	const char *name;	/* as ggml calls it */
	enum ggml_field_kind kind;
	unsigned off, len;	/* bytes in the block */
};

#define GGML_FIELD_NUMBERS 256	/* of a field, at most */

/* Field number i of a type, NULL behind the last (and for types that have no rows). */
const struct ggml_field *ggml_field(unsigned type, unsigned i);
/* Its numbers in a block; how many. */
unsigned ggml_field_read(const struct ggml_field *f, const uint8_t *block,
			 double out[GGML_FIELD_NUMBERS]);
/* Are they whole numbers? */
bool ggml_field_whole(const struct ggml_field *f);
#endif
