/* exchange.h - one request for text and its answer. */
#ifndef TBTUI_OPS_SERVE_EXCHANGE_H
#define TBTUI_OPS_SERVE_EXCHANGE_H

#include "src/ops/serve/batch.h"
#include "src/ops/serve/request.h"

struct httpd_request;

/* A model that is served. */
struct hosted {
	const char *name;		/* as clients call it; borrowed */
	struct chat_model *model;	/* owned by hosts.c, as is … */
	struct batch *batch;
	uint64_t made;			/* answers so far: of the server, for their names */
	size_t number;			/* of hosts.c */
};

struct exchange_end {
	const struct hosted *on;
	const char *model;
	unsigned status;
	const char *how;		/* static */
	const struct gen_figures *figures;	/* NULL: nothing was generated */
};
/* When all of an answer is on its way; on any thread. */
typedef void exchange_done_fn(void *arg, struct httpd_request *http,
			      const struct exchange_end *end, double began);

/* Takes over `ask` and the answering of http, now or later.  It was asked for at `since`, and may
 * take so many seconds (0: any).  One at a time of each model, until it returns. */
void exchange_begin(struct hosted *h, struct httpd_request *http, struct serve_request *ask,
		    double since, double seconds, exchange_done_fn *done, void *arg);
/* It cannot be answered: such an error instead, in the words of its API.  code: may be NULL. */
void exchange_refuse(struct hosted *h, struct httpd_request *http, struct serve_request *ask,
		     unsigned status, const char *message, const char *code,
		     exchange_done_fn *done, void *arg);
#endif
