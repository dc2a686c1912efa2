/* bench_walk.h - the matrices of a 1.1B llama, made from a seed in memory: 22 layers of
 * 2048, feed-forward 5632, 32 heads on 4, a vocabulary of 32000.  155 in all. */
#ifndef TBTUI_OPS_BENCH_WALK_H
#define TBTUI_OPS_BENCH_WALK_H

#include <stddef.h>

#include "src/engine/matrix.h"

struct team;
struct walk;

enum tb_status walk_new(struct walk **out, const struct scheme *scheme, struct team *team,
			struct tb_err *err) TB_MUST_USE;
void walk_free(struct walk *w);

size_t walk_bytes(const struct walk *w);	/* codes and scales, read once a walk */
double walk_read(const struct walk *w);		/* seconds to read them and do nothing */
/* Seconds for products with m vectors, as an engine asks for them.  With the head (the last
 * matrix) where all of them may be guesses that are looked at; of a prompt only the last
 * token needs it. */
#define WALK_GUESSED 8
enum tb_status walk_passes(struct walk *w, size_t m, double *seconds, struct tb_err *err) TB_MUST_USE;
#endif
