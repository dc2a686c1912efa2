/* window.h - a stretch of a tensor's elements on their way from one scheme to
 * another, in buffers of bounded size.  One thread at a time a window. */
#ifndef TBTUI_OPS_WINDOW_H
#define TBTUI_OPS_WINDOW_H

#include "src/model/values.h"

#define WINDOW_ELEMS (256u << 10)	/* a multiple of every group and of 8 */

struct window {
	uint8_t *src;		/* elements in the source dtype */
	float *f32;
	struct quant_parts in;	/* packed, as read */
	struct quant_parts out;	/* packed (or plain: codes alone), as made */
};
enum tb_status window_init(struct window *w, struct tb_err *err) TB_MUST_USE;
void window_free(struct window *w);
/* One a worker; NULL is fine. */
enum tb_status windows_new(struct window **out, unsigned n, struct tb_err *err) TB_MUST_USE;
void windows_free(struct window *w, unsigned n);

/* w->src: n elements from `first` on (both multiples of the group) of a tensor opened with
 * values_open(), in the dtype values_dtype(), as MLX gives them back; of what is
 * quantized also w->f32, where nothing is rounded.  A value that is not finite is an
 * error. */
enum tb_status window_read(struct window *w, const struct values *v, uint64_t first, size_t n,
			   struct tb_err *err) TB_MUST_USE;
/* The same without a look at the values. */
enum tb_status window_load(struct window *w, const struct values *v, uint64_t first, size_t n,
			   struct tb_err *err) TB_MUST_USE;
/* How a stretch is encoded; all but `flavour` may be 0. */
struct encode_how {
	enum flavour flavour;
	uint64_t cols;		/* of a row */
	const float *weights;	/* how much each of the cols columns counts; NULL: all alike */
	unsigned search;	/* for scales that are better than the usual ones; 0: none */
};
/* Elements that are encoded together: of a row that is weighted or searched all, and a
 * stretch begins where a row does; else a group of any scheme. */
uint64_t encode_unit(const struct encode_how *how);

/* w->out: w->src as `to`, or w->f32 if t is quantized and `to` keeps what is not rounded
 * (plain numbers, blocks).  An F16 that overflows is an error naming `t` and index. */
enum tb_status window_encode(struct window *w, const struct tensor *t, const struct scheme *to,
			     const struct encode_how *how, uint64_t first, size_t n,
			     struct tb_err *err) TB_MUST_USE;
/* w->f32: w->out back again. */
void window_decode(struct window *w, const struct tensor *t, const struct scheme *from, size_t n);
#endif
