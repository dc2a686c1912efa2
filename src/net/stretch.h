/* stretch.h - all of something whose size is known, or some bytes of it, as a server sends them.
 *
 * What can be seen of an answer is looked at: a part must be the one that was asked for, the size
 * the one that is known, and neither more comes than there should be nor less.  A server without
 * ranges sends all of it: what stands in front is left out if it is not much. */
#ifndef TBTUI_NET_STRETCH_H
#define TBTUI_NET_STRETCH_H

#include "src/net/http.h"

struct stretch {
	const char *host, *what;	/* for sentences; borrowed, as is the next */
	const char *said_by;		/* who says how large it is: "its manifest" */
	uint64_t size;			/* of it all */
	uint64_t off, len;		/* wanted of it; len > 0 */
	/* Gets the bytes of [off, off + len) in order, never others and never more; it may end it
	 * with *enough.  Whether they are right is not for this to know: hash them. */
	http_body_fn *fn;
	void *arg;

	/* Its own. */
	uint64_t given;			/* to fn, by all requests */
	uint64_t skip;			/* bytes that come before those wanted */
	bool exact;			/* nothing should come behind what is wanted */
	bool enough;			/* fn has */
	bool whole;			/* see struct http_fate */
	char range[64];
	const char *headers[3];
};

/* Before each request: what it asks for and who gets it.  `s` stays where it is until the end. */
void stretch_ask(struct stretch *s, struct http_ask *ask);
/* Behind each, which gave `status` and *a: what that means.  TB_OK also for a refusal, a status that
 * is not http_well(). */
enum tb_status stretch_end(const struct stretch *s, const struct http_answer *a,
			   enum tb_status status, struct http_fate *fate, struct tb_err *err)
	TB_MUST_USE;
#endif
