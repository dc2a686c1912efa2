/* window.h - a stretch of a tensor's elements on their way from one scheme to
 * another, in buffers of bounded size.  One thread at a time a window. */
#ifndef TBTUI_OPS_WINDOW_H
#define TBTUI_OPS_WINDOW_H

#include "src/model/values.h"
#include "src/ops/plan/plan.h"

#define WINDOW_ELEMS (256u << 10)	/* a multiple of every group and of 8 */
#define WINDOW_ROW_MAX (16u << 20)	/* elements of a row that is encoded at once */

struct window {
	size_t elems;		/* there is room for; WINDOW_ELEMS or a row */
	uint8_t *src;		/* elements in the source dtype */
	float *f32;
	struct quant_parts in;	/* packed, as read */
	struct quant_parts out;	/* packed (or plain: codes alone), as made */
	bool decoded;		/* the numbers are in f32, too, and there nothing is rounded */
};
enum tb_status window_init(struct window *w, struct tb_err *err) TB_MUST_USE;
/* Room for n elements at least; what was in the window is gone. */
enum tb_status window_reserve(struct window *w, size_t n, struct tb_err *err) TB_MUST_USE;
void window_free(struct window *w);
/* One a worker; NULL is fine. */
enum tb_status windows_new(struct window **out, unsigned n, struct tb_err *err) TB_MUST_USE;
void windows_free(struct window *w, unsigned n);

/* w->src: n elements from `first` on (both multiples of the group) of a tensor opened with
 * values_open(), in the dtype values_dtype(), as MLX gives them back; of what is
 * quantized or changed also w->f32, where nothing is rounded.  c: what happens to them on
 * the way, of which `first` counts then; NULL: nothing.  A value that is not finite is an
 * error. */
enum tb_status window_read(struct window *w, const struct values *v, const struct change *c,
			   uint64_t first, size_t n, struct tb_err *err) TB_MUST_USE;
/* The same without a look at the values. */
enum tb_status window_load(struct window *w, const struct values *v, const struct change *c,
			   uint64_t first, size_t n, struct tb_err *err) TB_MUST_USE;
/* What they are stored as, moved but not changed, as values_read() has it. */
enum tb_status window_gather(const struct values *v, const struct change *c, uint64_t first,
			     size_t n, const struct quant_parts *room, struct tb_err *err)
	TB_MUST_USE;
/* window_walk.c: plain numbers of which neighbours do not stay so. */
enum tb_status window_walk(const struct values *v, const struct strided *k, uint64_t first, size_t n,
			   void *out, struct tb_err *err) TB_MUST_USE;
/* How a stretch is encoded; all but `flavour` may be 0. */
struct encode_how {
	enum flavour flavour;
	uint64_t cols;		/* of a row as it is written */
	bool known;		/* these are the source's columns, of that matrix of its stack */
	uint64_t matrix;
	const float *weights;	/* how much each of the cols columns counts; NULL: all alike */
	unsigned search;	/* for scales that are better than the usual; 0: none */
	const struct plan_care *care;	/* where these come from; NULL: from nowhere */
};
/* Of what becomes of a tensor in rows of `cols`, at element `first` of its change's walk if
 * that moves them.  NULL: no change. */
struct encode_how encode_how(enum flavour flavour, const struct plan_care *care,
			     const struct tensor *t, const struct change *c, uint64_t cols,
			     uint64_t first);
/* How many elements from `first` on are encoded at once, `most` if it can be: whole groups,
 * and where there are weights or a search whole rows of one matrix.  `first` is where a
 * stretch can begin. */
uint64_t encode_stretch(const struct encode_how *how, const struct tensor *t,
			const struct change *c, uint64_t first, uint64_t most);

/* w->out: w->src as `to`, or w->f32 if that has them and `to` keeps what is not rounded
 * (plain numbers, blocks).  An F16 that overflows is an error naming `t` and index. */
enum tb_status window_encode(struct window *w, const struct tensor *t, const struct scheme *to,
			     const struct encode_how *how, uint64_t first, size_t n,
			     struct tb_err *err) TB_MUST_USE;
/* w->f32: w->out back again. */
void window_decode(struct window *w, const struct tensor *t, const struct scheme *from, size_t n);
#endif
