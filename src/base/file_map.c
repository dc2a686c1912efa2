/* file_map.c - mapped files that survive being cut short.
 *
 * Touching a page that a shrinking file took away raises SIGBUS.  The handler puts
 * zeros there and as far as the mapping goes, and marks it as torn; whoever computes with
 * it goes on with zeros and asks tb_map_torn() before believing the result.  No
 * thread has to be armed for it, so compute kernels stay plain loops. */
#include "config.h"

#include "src/base/file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/partial.h"

#define SLOTS 65536	/* mappings at a time; a model has one a blob */

static struct slot {
	_Atomic uintptr_t base;		/* 0 = free, 1 = being filled */
	_Atomic size_t len;
	atomic_bool torn;
} slots[SLOTS];
static atomic_int slots_used;		/* highest slot ever used + 1 */
static atomic_int slot_hint;		/* where the next search starts */
static _Atomic uintptr_t page;
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;

static void
on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	int n = atomic_load(&slots_used), saved = errno;

	for (int i = 0; i < n; i++) {
		uintptr_t base = atomic_load(&slots[i].base), from = at & ~(page - 1);
		size_t len = atomic_load(&slots[i].len);

		if (base <= 1 || at < base || at - base >= len)
			continue;
		atomic_store(&slots[i].torn, true);
		/* To the end at once: page by page, a large file would use up the
		 * kernel's number of mappings a process. */
		if (mmap((void *)from, len - (from - base), PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
			 0) != MAP_FAILED) {
			errno = saved;
			return;
		}
	}
	/* Not ours: whatever was there before runs when the access repeats. */
	(void)context;
	sigaction(sig, &previous, NULL);
}

/* At each mapping, since a library may have put its own handler there since. */
static void
install(void)
{
	struct sigaction sa = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO }, now;

	pthread_mutex_lock(&installing);
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&sa.sa_mask);
	if (!sigaction(SIGBUS, NULL, &now) && now.sa_sigaction != on_sigbus) {
		previous = now;
		sigaction(SIGBUS, &sa, NULL);
	}
	pthread_mutex_unlock(&installing);
}

/* Thousands of mappings are made one after the other: the search starts where the
 * last one ended, and goes around once. */
static int
slot_take(uintptr_t base, size_t len)
{
	int first = atomic_load(&slot_hint);

	for (int k = 0; k < SLOTS; k++) {
		int i = (first + k) % SLOTS, used;
		uintptr_t none = 0;

		if (atomic_load(&slots[i].base) ||
		    !atomic_compare_exchange_strong(&slots[i].base, &none, 1))
			continue;
		atomic_store(&slot_hint, (i + 1) % SLOTS);
		atomic_store(&slots[i].len, len);
		atomic_store(&slots[i].torn, false);
		atomic_store(&slots[i].base, base);
		used = atomic_load(&slots_used);
		while (used <= i && !atomic_compare_exchange_weak(&slots_used, &used, i + 1))
			;
		return i;
	}
	return -1;
}

enum tb_status
tb_map_open(struct tb_map *m, const struct tb_file *f, uint64_t off, size_t len, struct tb_err *err)
{
	enum tb_status status;
	uint64_t start;

	install();
	start = off / page * page;
	*m = (struct tb_map){ .p = (const uint8_t *)"", .slot = -1 };
	if (off > f->id.size || len > f->id.size - off)
		return tb_fail(err, TB_EFORMAT, "%s: %zu bytes at %ju lie outside the file", f->path,
			       len, (uintmax_t)off);
	if (!len)
		return TB_OK;
	status = f->partial ? f->partial->need(f->partial->arg, off, len, err) : TB_OK;
	if (status)
		return status;
	m->base_len = len + (size_t)(off - start);
	m->base = mmap(NULL, m->base_len, PROT_READ, MAP_SHARED, f->fd, (off_t)start);
	if (m->base == MAP_FAILED) {
		m->base = NULL;
		return tb_fail_errno(err, "%s: cannot map %zu bytes", f->path, len);
	}
	m->slot = slot_take((uintptr_t)m->base, (m->base_len + page - 1) / page * page);
	if (m->slot < 0) {
		tb_map_close(m);
		return tb_fail(err, TB_ELIMIT, "%s: more than %d files mapped", f->path, SLOTS);
	}
	m->p = (const uint8_t *)m->base + (off - start);
	m->len = len;
	return TB_OK;
}

/* Only whole pages: the others have neighbours. */
void
tb_map_forget(const struct tb_map *m, size_t off, size_t len)
{
	uintptr_t base = (uintptr_t)m->base, from, end;

	if (!m->base || off > m->len || len > m->len - off)
		return;
	from = ((uintptr_t)m->p + off + page - 1) / page * page;
	end = ((uintptr_t)m->p + off + len) / page * page;
	if (from < end)
		(void)madvise((char *)m->base + (from - base), end - from, MADV_DONTNEED);
}

bool
tb_map_torn(const struct tb_map *m)
{
	return m->slot >= 0 && m->base && atomic_load(&slots[m->slot].torn);
}

void
tb_map_close(struct tb_map *m)
{
	if (m->base) {
		if (m->slot >= 0)
			atomic_store(&slots[m->slot].base, 0);
		munmap(m->base, m->base_len);
	}
	*m = (struct tb_map){ .slot = -1 };
}
