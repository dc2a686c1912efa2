/* gguf_array.h - the elements of an array in a GGUF file, front to back, in memory
 * that does not grow with the array.
 *
 *	if ((status = gguf_array_open(&a, kv, f, err)))
 *		return status;
 *	while (gguf_array_next(a, &item))
 *		…
 *	return gguf_array_close(a); */
#ifndef TBTUI_FORMAT_GGUF_ARRAY_H
#define TBTUI_FORMAT_GGUF_ARRAY_H

#include "src/format/gguf.h"

#define GGUF_ITEM_MAX (16u << 20)	/* bytes of one string; more is TB_ELIMIT */

struct gguf_array;

struct gguf_item {
	uint64_t bits;		/* of a number: its bytes, zero-extended */
	const char *s;		/* of a string: len bytes and a NUL, any bytes among them;
				 * borrowed until the next call; NULL for numbers */
	size_t len;
};

/* kv and f are borrowed until it is closed; err is where next() and close() leave
 * their reason.  TB_EFORMAT if kv is no array. */
enum tb_status gguf_array_open(struct gguf_array **out, const struct gguf_kv *kv,
			       const struct tb_file *f, struct tb_err *err) TB_MUST_USE;
/* false: that was the last one, or it failed. */
bool gguf_array_next(struct gguf_array *a, struct gguf_item *out);
/* Did everything that was asked for come? */
enum tb_status gguf_array_close(struct gguf_array *a) TB_MUST_USE;

/* A number or bool of any kind; false for strings and arrays. */
bool gguf_number_f64(enum gguf_value type, uint64_t bits, double *out);
/* A whole number of any kind, if it is not negative. */
bool gguf_number_u64(enum gguf_value type, uint64_t bits, uint64_t *out);
#endif
