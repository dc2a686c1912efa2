/* stream.h - bytes of tokens as text that may be shown already.
 *
 * Held back are: a UTF-8 character that is not whole yet, and what may turn out to
 * be the beginning of a stop string. */
#ifndef TBTUI_OPS_STREAM_H
#define TBTUI_OPS_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buf.h"

struct stream {
	struct tb_buf raw;		/* all bytes so far */
	struct tb_buf text;		/* all text let through so far, UTF-8 */
	size_t done;			/* bytes of raw that were dealt with */
	const char *const *stops;	/* borrowed */
	size_t nstops;
};

#define STREAM_MAX (64u << 20)
#define STREAM(stops_, n_) ((struct stream){ .raw = TB_BUF(STREAM_MAX), \
			    .text = TB_BUF(3ul * STREAM_MAX), .stops = stops_, .nstops = n_ })
void stream_free(struct stream *s);

/* Looks at what was appended to raw and lets through what it can: text.p from the
 * returned offset on.  true in *stopped: a stop string was found; nothing behind it
 * comes through.  `last`: nothing more will come, so nothing is held back. */
size_t stream_pass(struct stream *s, bool last, bool *stopped);
#endif
