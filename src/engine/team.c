/* team.c - fork and join within a fraction of a microsecond.
 *
 * A thread reads its own contiguous range of chunks from the front, so that it
 * walks through one piece of memory; whoever runs dry steals from another's back.
 * Waiting is a short spin, then a futex: the spin covers the gaps between the
 * matrices of a token, the futex gives the core back when the engine is idle. */
#include "config.h"

#include "src/engine/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/base/pool.h"

#define SPIN_NS 150000		/* 5 to 200 us behave alike on a loaded machine */
#define PAUSES 16		/* between two looks at the clock */
#define MAX_THREADS 256
#define MAX_CHUNKS 0xfffffu	/* what a range can count */
#define LINE 128		/* two cache lines: the neighbour is prefetched, too */

#if defined(__x86_64__)
#define relax() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define relax() __asm__ volatile("yield" ::: "memory")
#else
#define relax() atomic_signal_fence(memory_order_seq_cst)
#endif

/* gen:24 | first:20 | end:20. The generation makes a late comer's exchange fail. */
struct range { _Alignas(LINE) _Atomic uint64_t word; };

struct team {
	unsigned n;
	team_fn *fn;			/* fn, arg: valid while left > 0 */
	void *arg;
	_Atomic bool quit;
	_Alignas(LINE) _Atomic uint32_t gen;
	_Alignas(LINE) _Atomic uint32_t left;		/* chunks not done */
	_Alignas(LINE) _Atomic uint32_t sleepers;
	_Atomic uint32_t caller_sleeps;
	struct range range[MAX_THREADS];
	pthread_t thread[MAX_THREADS];
};

struct member { struct team *team; unsigned id; };

static void
futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
	syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, NULL, NULL, 0);
}

static void
futex_wake(_Atomic uint32_t *word, unsigned n)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n, NULL, NULL, 0);
}

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t
range_first(uint64_t word)
{
	return (uint32_t)(word >> 20) & MAX_CHUNKS;
}

static uint32_t
range_end(uint64_t word)
{
	return (uint32_t)word & MAX_CHUNKS;
}

/* One chunk of a range, from its front when it is one's own, else from its back. */
static bool
take_chunk(struct range *r, bool own, uint32_t *chunk)
{
	uint64_t seen = atomic_load_explicit(&r->word, memory_order_acquire), next;

	while (range_first(seen) < range_end(seen)) {
		next = own ? seen + (UINT64_C(1) << 20) : seen - 1;
		if (atomic_compare_exchange_weak_explicit(&r->word, &seen, next,
							  memory_order_acq_rel,
							  memory_order_acquire)) {
			*chunk = own ? range_first(seen) : range_end(seen) - 1;
			return true;
		}
	}
	return false;
}

/* A chunk that was taken proves that its job is alive: `left` cannot reach 0 before
 * it is done.  So fn and arg, published by the store of the range, belong to it even
 * when this thread comes late from an earlier job. */
static void
team_work(struct team *t, unsigned id)
{
	uint32_t chunk;

	for (unsigned k = 0; k < t->n; k++) {
		unsigned victim = id + k < t->n ? id + k : id + k - t->n;

		while (take_chunk(&t->range[victim], k == 0, &chunk)) {
			t->fn(t->arg, chunk, id);
			if (atomic_fetch_sub(&t->left, 1) == 1 && id != 0 &&
			    atomic_load(&t->caller_sleeps))
				futex_wake(&t->left, 1);
		}
	}
}

static uint32_t
await_job(struct team *t, uint32_t seen)
{
	uint64_t end = now_ns() + SPIN_NS;
	uint32_t gen;

	do {
		for (unsigned i = 0; i < PAUSES; i++) {
			gen = atomic_load_explicit(&t->gen, memory_order_acquire);
			if (gen != seen)
				return gen;
			relax();
		}
	} while (now_ns() < end);
	while ((gen = atomic_load(&t->gen)) == seen) {
		atomic_fetch_add(&t->sleepers, 1);
		futex_wait(&t->gen, seen);
		atomic_fetch_sub(&t->sleepers, 1);
	}
	return gen;
}

static void *
member_main(void *arg)
{
	struct member m = *(struct member *)arg;
	uint32_t seen = 0;

	free(arg);
	for (;;) {
		seen = await_job(m.team, seen);
		if (atomic_load(&m.team->quit))
			return NULL;
		team_work(m.team, m.id);
	}
}

static void
await_end(struct team *t)
{
	uint64_t end = now_ns() + SPIN_NS;
	uint32_t left;

	do {
		for (unsigned i = 0; i < PAUSES; i++) {
			if (!atomic_load_explicit(&t->left, memory_order_acquire))
				return;
			relax();
		}
	} while (now_ns() < end);
	while ((left = atomic_load(&t->left))) {
		atomic_store(&t->caller_sleeps, 1);
		futex_wait(&t->left, left);	/* returns at once when a chunk has ended */
		atomic_store(&t->caller_sleeps, 0);
	}
}

static void
run_shared(struct team *t, unsigned n)
{
	uint32_t gen = atomic_load_explicit(&t->gen, memory_order_relaxed) + 1;

	atomic_store_explicit(&t->left, n, memory_order_relaxed);
	for (unsigned i = 0; i < t->n; i++) {
		uint64_t first = (uint64_t)n * i / t->n, end = (uint64_t)n * (i + 1) / t->n;

		atomic_store_explicit(&t->range[i].word,
				      (uint64_t)gen << 40 | first << 20 | end,
				      memory_order_release);
	}
	atomic_store(&t->gen, gen);
	if (atomic_load(&t->sleepers))
		futex_wake(&t->gen, t->n);
	team_work(t, 0);
	await_end(t);
}

struct shifted { team_fn *fn; void *arg; unsigned first; };

static void
run_shifted(void *arg, unsigned chunk, unsigned thread)
{
	struct shifted *s = arg;

	s->fn(s->arg, s->first + chunk, thread);
}

void
team_run(struct team *t, team_fn *fn, void *arg, unsigned n)
{
	struct shifted s = { fn, arg, 0 };

	if (t->n == 1 || n == 1) {
		for (unsigned i = 0; i < n; i++)
			fn(arg, i, 0);
		return;
	}
	while (n > MAX_CHUNKS) {
		t->fn = run_shifted;
		t->arg = &s;
		run_shared(t, MAX_CHUNKS);
		s.first += MAX_CHUNKS;
		n -= MAX_CHUNKS;
	}
	if (!n)
		return;
	t->fn = s.first ? run_shifted : fn;
	t->arg = s.first ? &s : arg;
	run_shared(t, n);
}

static bool
start_member(struct team *t, unsigned id)
{
	struct member *m = malloc(sizeof(*m));

	if (!m)
		return false;
	*m = (struct member){ t, id };
	if (!pthread_create(&t->thread[id], NULL, member_main, m))
		return true;
	free(m);
	return false;
}

struct team *
team_new(unsigned threads)
{
	struct team *t = aligned_alloc(LINE, sizeof(*t));
	unsigned want = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
	sigset_t old;

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->n = 1;
	tb_signals_block(&old);
	while (t->n < want && start_member(t, t->n))
		t->n++;			/* fewer threads, same result */
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return t;
}

unsigned
team_size(const struct team *t)
{
	return t->n;
}

void
team_free(struct team *t)
{
	if (!t)
		return;
	atomic_store(&t->quit, true);
	atomic_fetch_add(&t->gen, 1);
	futex_wake(&t->gen, t->n);
	for (unsigned i = 1; i < t->n; i++)
		pthread_join(t->thread[i], NULL);
	free(t);
}
