/* run.h - what engine, session and forward pass share; private to the engine. */
#ifndef TBTUI_ENGINE_RUN_H
#define TBTUI_ENGINE_RUN_H

#include <pthread.h>

#include "src/engine/attention.h"
#include "src/engine/engine.h"
#include "src/engine/hparams.h"
#include "src/engine/kv.h"
#include "src/engine/scan.h"
#include "src/engine/state.h"
#include "src/engine/vec.h"
#include "src/engine/watch.h"
#include "src/engine/weights.h"

struct attn_bf16;
struct attn_ops;
struct matmul;
struct team;

/* Rows of activations for one block of tokens; all pointers into one memory. */
struct work {
	float *memory;			/* owned */
	size_t rows;			/* how many tokens there is room for */
	float *x, *h;			/* [rows][dim]: residual stream, normed */
	/* Each as wide as the widest layer needs: */
	float *q, *att;			/* [rows][heads * head_dim], [rows][heads * value_dim] */
	float *k, *v;			/* [rows][kv_heads * head_dim], … value_dim] */
	float *gate, *up;		/* [rows][ffn], [experts_used][expert_ffn] */
	float *scratch;			/* [rows][…]: of mixers, see mixer.h */
	float *per_layer;		/* [rows][layers][per_layer] */
	float *out;			/* [rows][dim]: what is added to x */
	/* Experts: tokens gathered for one, router's numbers, who chose whom. */
	float *gather;			/* [max(rows, experts_used)][dim] */
	float *router;			/* [rows][experts] */
	float *weight;			/* [rows][experts_used] */
	uint32_t *chosen;		/* [rows][experts_used]; owned */
	float *attn;			/* what attention() works in; owned */
	size_t attn_cap;
};

struct engine {
	struct hparams hp;
	struct weights weights;
	bool gguf;			/* weights lie as GGUF files have them */
	struct team *team;
	struct matmul *mm;
	const struct vec_ops *vec;
	const struct scan_ops *scan;
	const struct attn_ops *attn;
	const struct attn_bf16 *attn_bf16;	/* NULL: products of attention are F32 */
	enum kv_type kv;		/* of sessions */
	float *low;			/* what run_lowrank() works in; owned */
	size_t low_cap;
	struct work work;		/* owned */
	pthread_mutex_t lock;		/* team, mm and work serve one evaluation at a time */
};


struct session {
	struct engine *e;
	struct kv kv;
	struct state state;
	uint32_t pos;
	float *logits;			/* owned */
	size_t logits_cap;
	watch_fn *watch;		/* NULL: nobody */
	void *watch_arg;
};

/* Rows [first, first + n) of a block follow each other in a session, from its position on. */
struct run_seq {
	struct session *s;
	size_t first, n;
};

/* One evaluation: what every step of the forward pass needs.  What happens between tokens
 * asks whose a row is; everything else is done with all rows at once. */
struct run {
	struct run_seq seq[SESSION_ROWS];	/* of a single one, [0], only the session counts */
	size_t nseq;
	struct engine *e;
	const struct hparams *hp;
	struct tb_job *job;
	struct tb_err *err;
	watch_fn *watch;		/* NULL: nobody */
	void *watch_arg;
	/* The model's: with the mean taken away, or not. */
	void (*norm)(float *out, const float *x, const float *w, size_t n, float eps);
};

/* Tokens in one pass through the layers: enough that a matrix is unpacked for many,
 * few enough that activations stay in the caches. */
#define RUN_BLOCK 512

/* The rows of session i, of m in all. */
static inline struct run_seq
run_seq_at(const struct run *run, size_t i, size_t m)
{
	return run->nseq > 1 ? run->seq[i] : (struct run_seq){ run->seq[0].s, 0, m };
}

/* Whose a row is, and its position there. */
static inline struct session *
run_session(const struct run *run, size_t row, uint32_t *pos)
{
	const struct run_seq *q = run->seq;

	if (run->nseq > 1)
		while (row >= q->first + q->n)
			q++;
	*pos = q->s->pos + (uint32_t)(row - (run->nseq > 1 ? q->first : 0));
	return q->s;
}

/* Makes x [m][dim] of the block's last rows pass all layers; m <= RUN_BLOCK.  `want`
 * rows at the end matter afterwards: they are left, normed, in work.h. */
enum tb_status forward(struct run *run, const uint32_t *ids, size_t m, size_t want) TB_MUST_USE;

void run_work_free(struct work *w);

/* Logits [m][vocab] of the rows that forward() left. */
enum tb_status run_logits(struct run *run, size_t m, float *logits) TB_MUST_USE;

/* Feed-forward parts of a layer, from work.h, m rows, to work.out, before the norms behind
 * them.  What comes before is in mixer.h. */
enum tb_status run_ffn(struct run *run, const struct layer *l, size_t m) TB_MUST_USE;
enum tb_status run_experts(struct run *run, const struct layer *l, size_t m) TB_MUST_USE;

/* out = down (act(gate x) * (up x)), m rows; out may be x. */
enum tb_status run_gated(struct run *run, const struct matrix *gate, const struct matrix *up,
			 const struct matrix *down, const float *x, size_t m, float *out) TB_MUST_USE;

/* The same of an expert of a layer that has experts with biases, or woven ones. */
bool expert_biased(const struct layer *l);
enum tb_status run_expert_biased(struct run *run, const struct layer *l, uint32_t e, const float *x,
				 size_t m, float *out) TB_MUST_USE;

/* The two steps of experts: choose them by x, then ask them about work.h. */
enum tb_status run_router(struct run *run, const struct layer *l, const float *x,
			  size_t m) TB_MUST_USE;
enum tb_status run_chosen(struct run *run, const struct layer *l, size_t m) TB_MUST_USE;
/* FFN_BOTH; x: rows of the stream itself. */
enum tb_status run_beside(struct run *run, const struct layer *l, const float *x, size_t m)
	TB_MUST_USE;
size_t beside_scratch(const struct hparams *hp);	/* floats a token of work.scratch */

/* Rows of numbers for all layers, made from work.x as embeddings are; what a layer adds of
 * them to rows [first, first + m) of work.x. */
enum tb_status per_layer_begin(struct run *run, const uint32_t *ids, size_t m) TB_MUST_USE;
enum tb_status per_layer_add(struct run *run, const struct layer *l, uint32_t layer, size_t first,
			     size_t m) TB_MUST_USE;
size_t per_layer_floats(const struct hparams *hp);	/* a token, also of work.scratch */

/* y[i] = w[i] h, after a look at the job. */
enum tb_status run_matmul(struct run *run, const struct matrix *const *w, size_t n, const float *x,
			  size_t m, float *const *y) TB_MUST_USE;

/* Tells who watches. */
void run_watch(struct run *run, const struct matrix *const *w, size_t n, const float *x, size_t m);

/* Calls fn(arg, row) for m rows, on the team when that pays: `work` elements a row. */
typedef void row_fn(void *arg, size_t row);
void run_rows(struct run *run, row_fn *fn, void *arg, size_t m, size_t work);
#endif
