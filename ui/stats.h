/* stats.h - statistics of tensors, computed by a worker, remembered by position. */
#ifndef TBTUI_UI_STATS_H
#define TBTUI_UI_STATS_H

#include "src/ops/inspect/inspect.h"
#include "src/store/model.h"

struct db;
struct view;

struct tensor_stats {
	struct stats_row {
		uint64_t ord;
		bool none;		/* nothing is kept, nothing was computed */
		struct value_stats s;
	} *row;				/* by ord; owned */
	size_t n, cap;
	bool any;			/* is something known of any tensor? */
};

/* Is something kept of the model's tensors? */
void stats_start(struct tensor_stats *st, struct db *db, int64_t model);
/* What was computed, else what is kept; NULL: neither. */
const struct value_stats *stats_get(struct tensor_stats *st, struct db *db, int64_t model,
				      uint64_t ord);
void stats_put(struct tensor_stats *st, uint64_t ord, const struct value_stats *s);
void stats_free(struct tensor_stats *st);

/* Which tensors. */
struct stats_job {
	struct op_ctx *ctx;
	struct model_loc loc;		/* owned */
	struct stats_want { uint64_t ord; const char *name; } *want;
	struct tb_arena mem;		/* has the names */
	size_t n, cap;
	void (*found)(struct view *v, uint64_t ord, const struct value_stats *s);
};
struct stats_job *stats_job_new(struct view *v);	/* of v->loc */
bool stats_job_add(struct stats_job *j, uint64_t ord, const char *name);
void stats_job_free(void *job);	/* NULL is fine */
/* Takes j; found() is called for each tensor as it is done. */
void stats_job_start(struct view *v, struct stats_job *j);
#endif
