/* sse.h - server-sent events, as they come piece by piece. */
#ifndef TBTUI_NET_SSE_H
#define TBTUI_NET_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buf.h"
#include "src/base/err.h"

/* An event: all its data, lines joined by newlines, and a NUL behind it; what it is called, or
 * "".  What this returns ends the reading if it is not TB_OK. */
typedef enum tb_status sse_fn(void *arg, const char *event, const char *data, size_t len,
			      struct tb_err *err);

struct sse {
	struct tb_buf line, data, event;	/* what has come of a line, of an event */
	bool began;		/* is a byte-order mark behind us? */
	bool cr;		/* the last byte ended a line that \n may end, too */
	bool any;		/* has the event data? */
	size_t lines;		/* that were read, of any kind */
	sse_fn *fn;
	void *arg;
};

/* max: bytes of an event. */
void sse_init(struct sse *s, size_t max, sse_fn *fn, void *arg);
void sse_free(struct sse *s);
/* The next n bytes. */
enum tb_status sse_feed(struct sse *s, const char *p, size_t n, struct tb_err *err) TB_MUST_USE;
/* Nothing more comes: an event whose lines are whole counts also without the empty line behind
 * it; half a line does not. */
enum tb_status sse_end(struct sse *s, struct tb_err *err) TB_MUST_USE;
#endif
