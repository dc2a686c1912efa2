/* exchange.h - one request for text and its answer. */
#ifndef TBTUI_OPS_SERVE_EXCHANGE_H
#define TBTUI_OPS_SERVE_EXCHANGE_H

#include "src/ops/serve/batch.h"
#include "src/ops/serve/request.h"

struct httpd_request;

/* A model that is served. */
struct hosted {
	const char *name;		/* as clients call it; borrowed */
	struct chat_model *model;	/* owned by serve.c, as is … */
	struct batch *batch;
	uint64_t made;			/* answers so far: of the server, for their names */
};

struct exchange_end {
	const char *model;
	unsigned status;
	const char *how;		/* static */
	const struct gen_figures *figures;	/* NULL: nothing was generated */
};
/* When all of an answer is on its way; on any thread. */
typedef void exchange_done_fn(void *arg, struct httpd_request *http,
			      const struct exchange_end *end, double began);

/* Takes over `ask` and the answering of http, now or later. */
void exchange_begin(struct hosted *h, struct httpd_request *http, struct serve_request *ask,
		    double seconds, exchange_done_fn *done, void *arg);
#endif
