/* dtype.h - what one element of a tensor is stored as: one row a type. */
#ifndef TBTUI_FORMAT_DTYPE_H
#define TBTUI_FORMAT_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

/* id, name in a safetensors header, bits an element, is it a floating type */
#define DTYPE_LIST(X) \
	X(DT_BOOL, "BOOL", 8, false) \
	X(DT_U8, "U8", 8, false) \
	X(DT_I8, "I8", 8, false) \
	X(DT_U16, "U16", 16, false) \
	X(DT_I16, "I16", 16, false) \
	X(DT_U32, "U32", 32, false) \
	X(DT_I32, "I32", 32, false) \
	X(DT_U64, "U64", 64, false) \
	X(DT_I64, "I64", 64, false) \
	X(DT_F16, "F16", 16, true) \
	X(DT_BF16, "BF16", 16, true) \
	X(DT_F32, "F32", 32, true) \
	X(DT_F64, "F64", 64, true) \
	X(DT_C64, "C64", 64, true) \
	X(DT_F8_E4M3, "F8_E4M3", 8, true) \
	X(DT_F8_E5M2, "F8_E5M2", 8, true) \
	X(DT_F8_E4M3FNUZ, "F8_E4M3FNUZ", 8, true) \
	X(DT_F8_E5M2FNUZ, "F8_E5M2FNUZ", 8, true) \
	X(DT_F8_E8M0, "F8_E8M0", 8, true) \
	X(DT_F6_E2M3, "F6_E2M3", 6, true) \
	X(DT_F6_E3M2, "F6_E3M2", 6, true) \
	X(DT_F4, "F4", 4, true)

#define X(id, name, bits, floating) id,
enum dtype { DTYPE_LIST(X) DT_COUNT };
#undef X

const char *dtype_name(enum dtype d);
unsigned dtype_bits(enum dtype d);
bool dtype_floating(enum dtype d);
bool dtype_parse(const char *name, enum dtype *out);	/* exact, case-sensitive */

/* Bytes of n elements; false on overflow or when sub-byte elements do not fill
 * whole bytes. */
bool dtype_bytes(enum dtype d, uint64_t n, uint64_t *out);

/* n elements at src (any alignment) as F32, for people to look at: integers and
 * F64 are rounded, C64 gives its real parts.  src starts on a byte; n counts
 * elements. */
void dtype_to_f32(enum dtype d, const void *src, uint64_t n, float *dst);
#endif
