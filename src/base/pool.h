/* pool.h - a fixed set of workers that share out the parts of an operation. */
#ifndef TBTUI_BASE_POOL_H
#define TBTUI_BASE_POOL_H

#include <signal.h>
#include <stddef.h>

#include "src/base/err.h"

struct tb_pool;
struct tb_job;

/* threads counts the caller: 1 = no thread is made. 0 = tb_cpus(). NULL on failure. */
struct tb_pool *tb_pool_new(unsigned threads);
void tb_pool_free(struct tb_pool *pool);
unsigned tb_pool_size(const struct tb_pool *pool);	/* workers incl. the caller */

typedef void tb_pool_fn(void *arg, size_t i, unsigned worker);

/* Calls fn(arg, i, worker) once for each i < n, worker < size; returns when all
 * have ended.  Parts are taken one by one, so they may be unequal.  Several
 * threads may call at once; a part may not call it again on the same pool.
 * pool == NULL runs everything in the caller. */
void tb_pool_each(struct tb_pool *pool, size_t n, tb_pool_fn *fn, void *arg);

/* The same of parts that can fail: behind the first failure, and when the job is
 * cancelled, no other begins.  That failure, or TB_ECANCEL. */
typedef enum tb_status tb_try_fn(void *arg, size_t i, unsigned worker, struct tb_err *err);
enum tb_status tb_pool_try(struct tb_pool *pool, size_t n, tb_try_fn *fn, void *arg,
			   struct tb_job *job, struct tb_err *err) TB_MUST_USE;

/* For threads that are made until *before is put back: a signal for the program must
 * interrupt the thread that waits for it; one that an instruction raises is for the
 * thread itself. */
void tb_signals_block(sigset_t *before);

unsigned tb_cpus(void);		/* cores that this process may use, >= 1 */
#endif
