/* hosts.h - the models that are served: which of them are in memory, and who waits for one.
 *
 * A thread of its own loads what is asked for.  Where the weights of all would be too many, what
 * was asked for longest ago makes room as soon as nobody is answered by it any more; what is
 * asked of it meanwhile waits, so that each gets its turn. */
#ifndef TBTUI_OPS_SERVE_HOSTS_H
#define TBTUI_OPS_SERVE_HOSTS_H

#include "src/ops/serve/exchange.h"
#include "src/ops/serve/serve.h"

struct hosts;

/* Knows all of o->refs, and loads as many as there is room for.  Borrowed until hosts_free();
 * done(arg) hears of each exchange that is over. */
enum tb_status hosts_new(struct hosts **out, const struct op_ctx *ctx, const struct serve_opts *o,
			 exchange_done_fn *done, void *arg, struct tb_job *job,
			 struct tb_err *err) TB_MUST_USE;
/* Nothing more is answered: what is under way ends as if it were cancelled. */
void hosts_stop(struct hosts *h);
void hosts_free(struct hosts *h);		/* NULL is fine */

/* The number of that model; NULL: the first.  false: it is not served. */
bool hosts_find(const struct hosts *h, const char *name, size_t *i);
/* Answers now, or when the model is there.  Takes over `ask` and the answering of http.  On the
 * server's thread alone. */
void hosts_ask(struct hosts *h, size_t i, struct httpd_request *http, struct serve_request *ask);
/* false: there are no more. */
bool hosts_model(struct hosts *h, size_t i, struct serve_model *out);
/* Of all models together. */
void hosts_load(struct hosts *h, unsigned *speaking, unsigned *waiting);
#endif
