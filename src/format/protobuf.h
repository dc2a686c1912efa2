/* protobuf.h - walking over the fields of a protobuf message in memory.
 *
 * Only the wire format: what fields mean is the caller's.  Nothing is copied, and no
 * length is believed that goes beyond the message. */
#ifndef TBTUI_FORMAT_PROTOBUF_H
#define TBTUI_FORMAT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

/* Numbers as the wire has them. */
enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_message {
	const uint8_t *p;		/* borrowed */
	size_t len, at;
	size_t base;			/* where it begins in the file, for messages */
	const char *what;		/* "tokenizer.model"; borrowed */
};

struct pb_field {
	uint64_t number;
	enum pb_wire wire;
	uint64_t bits;			/* of all but PB_BYTES, zero-extended */
	const uint8_t *p;		/* of PB_BYTES; borrowed */
	size_t len, off;		/* off: from the start of the file */
};

struct pb_message pb_open(const void *p, size_t len, const char *what);
/* The message that a field of bytes holds. */
struct pb_message pb_inside(const struct pb_message *m, const struct pb_field *f);
/* false: there are no more, or it is damaged; then *status says so. */
bool pb_next(struct pb_message *m, struct pb_field *f, enum tb_status *status,
	     struct tb_err *err);
float pb_float(const struct pb_field *f);	/* of PB_FIXED32 */
#endif
