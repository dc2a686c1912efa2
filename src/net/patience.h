/* patience.h - how often a server is asked the same again where that may help, and how long is waited
 * before it: longer from try to try, not all at once, and as long as the server wants. */
#ifndef TBTUI_NET_PATIENCE_H
#define TBTUI_NET_PATIENCE_H

#include <stdbool.h>

#include "src/net/http.h"

/* id, tries in vain one after the other, seconds behind the first of them (twice as many behind each
 * next), at most so many, seconds that a server may want: of more it is said at once */
#define PATIENCE_LIST(X) \
	X(PATIENCE_SMALL, 4, 0.5, 8, 60)	/* manifests, lists: somebody sits and waits */ \
	X(PATIENCE_BYTES, 6, 0.25, 15, 300)	/* of files that come */ \
	X(PATIENCE_CARRY, 7, 0.5, 60, 300)	/* from here or there to a registry */
#define X(id, tries, first, most, wanted) id,
enum patience_kind { PATIENCE_LIST(X) };
#undef X

struct patience {
	enum patience_kind kind;
	unsigned tries;			/* in vain so far; 0 again where something came */
};
/* Behind a try in vain: is another one worth it, and after how many seconds? */
bool patience_left(struct patience *p, const struct http_fate *fate, double *seconds);
/* Waits; TB_ECANCEL soon after the job is cancelled. */
enum tb_status patience_wait(double seconds, const struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;

extern double patience_pace;		/* for tests: what our own seconds are multiplied with */
#endif
