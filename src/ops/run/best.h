/* best.h - private to src/ops/run: how likely tokens are by their logits. */
#ifndef TBTUI_OPS_BEST_H
#define TBTUI_OPS_BEST_H

#include "src/ops/run/run.h"

/* log(sum(exp)), in double: what turns logits into log-probabilities. */
double best_log_sum(const float *logits, size_t n);
/* The k likeliest of n, best first, of equals the lower id first; how many there are. */
size_t best_of(const float *logits, size_t n, size_t k, struct score_top *out);
/* How likely t->id is, and the k <= GEN_TOP likeliest. */
void best_beside(const float *logits, size_t n, size_t k, struct gen_token *t);
#endif
