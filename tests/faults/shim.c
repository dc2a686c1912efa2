/* shim.c - preloaded into the program: counts calls and lets one of them fail.
 *
 *	FAULT_FN=NAME     which: a name of FN_LIST
 *	FAULT_AT=N        the N-th such call after main() has begun; 0 or unset: none
 *	FAULT_ERRNO=N     with this errno; 0: a short write; -1: the program is killed instead
 *	FAULT_ON=1        and all that follow: a disk that is full stays full
 *	FAULT_UNDER=PATH  only calls on files below PATH count (malloc: all)
 *	FAULT_COUNT=FILE  a file of 8 bytes a function, where the calls are counted
 *	FAULT_SLOW=MS     each fsync takes so long, whatever FAULT_FN is
 *	FAULT_NAMED=1     the file system has no files without a name (O_TMPFILE)
 *	FAULT_PLAIN=1     the file system neither exchanges names nor refuses those that are taken */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FN_LIST(X) X(open) X(pwrite) X(write) X(fsync) X(rename) X(linkat) X(mkdir) X(readdir) \
	X(unlink) X(rmdir) X(ftruncate) X(ioctl) X(malloc)
#define X(name) FN_##name,
enum fn { FN_LIST(X) FN_COUNT };
#undef X
#define X(name) #name,
static const char *const names[] = { FN_LIST(X) };
#undef X

static bool active, stays, named, plain;
static int wanted = -1, code;
static uint64_t at, own[FN_COUNT], *count = own;
static const char *under;
static long slow_ms;

static void
setup(void)
{
	const char *fn = getenv("FAULT_FN"), *n = getenv("FAULT_AT"), *e = getenv("FAULT_ERRNO");
	const char *file = getenv("FAULT_COUNT"), *slow = getenv("FAULT_SLOW");
	int fd = file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR) : -1;

	under = getenv("FAULT_UNDER");
	stays = getenv("FAULT_ON") != NULL;
	named = getenv("FAULT_NAMED") != NULL;
	plain = getenv("FAULT_PLAIN") != NULL;
	at = n ? strtoull(n, NULL, 10) : 0;
	code = e ? (int)strtol(e, NULL, 10) : EIO;
	slow_ms = slow ? strtol(slow, NULL, 10) : 0;
	for (int i = 0; fn && i < FN_COUNT; i++)
		if (!strcmp(names[i], fn))
			wanted = i;
	if (fd >= 0) {
		void *p = mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (p != MAP_FAILED)
			count = p;
		close(fd);
	}
	active = true;
}

static bool
below(const char *path)
{
	size_t n = strlen(under);

	return !strncmp(path, under, n) && (!path[n] || path[n] == '/');
}

/* Is it a call on one of the files that count? */
static bool
concerns(int fd, const char *path, const char *other)
{
	char self[64], target[PATH_MAX];
	ssize_t n;

	if (!under)
		return true;
	if (path)
		return below(path) || (other && below(other));
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = 0;
	return below(target);
}

/* Counts the call; true: it is to fail, errno is set. */
static bool
fails(enum fn fn)
{
	uint64_t n = __atomic_add_fetch(&count[fn], 1, __ATOMIC_RELAXED);

	if ((int)fn != wanted || !at || (stays ? n < at : n != at))
		return false;
	if (code < 0)
		kill(getpid(), SIGKILL);
	errno = code;
	return true;
}

static bool
fails_on(enum fn fn, int fd, const char *path, const char *other)
{
	return active && concerns(fd, path, other) && fails(fn);
}

/* ---- memory: glibc's own names, since dlsym() itself needs memory ---- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static bool
no_memory(void)
{
	if (!active || !fails(FN_malloc))
		return false;
	errno = ENOMEM;
	return true;
}

void *
malloc(size_t n)
{
	return no_memory() ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return no_memory() ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return no_memory() ? NULL : __libc_realloc(p, n);
}

void *
aligned_alloc(size_t align, size_t n)
{
	return no_memory() ? NULL : __libc_memalign(align, n);
}

/* ---- files ---- */

#define REAL(ret, name, ...) \
	static ret (*real)(__VA_ARGS__); \
	if (!real) \
		real = (ret (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define MODE(flags, mode) do { \
		va_list ap_; \
		va_start(ap_, flags); \
		mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap_, mode_t) : 0; \
		va_end(ap_); \
	} while (0)

static bool
open_fails(const char *path, int flags)
{
	if (active && named && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return true;
	}
	return fails_on(FN_open, -1, path, NULL);
}

#define OPENAT(name) int \
name(int dir, const char *path, int flags, ...) \
{ \
	mode_t mode; \
	REAL(int, #name, int, const char *, int, ...); \
	MODE(flags, mode); \
	return open_fails(path, flags) ? -1 : real(dir, path, flags, mode); \
}
OPENAT(openat)
OPENAT(openat64)

#define OPEN(name) int \
name(const char *path, int flags, ...) \
{ \
	mode_t mode; \
	REAL(int, #name, const char *, int, ...); \
	MODE(flags, mode); \
	return open_fails(path, flags) ? -1 : real(path, flags, mode); \
}
OPEN(open)
OPEN(open64)

#define PWRITE(name) ssize_t \
name(int fd, const void *data, size_t n, off_t off) \
{ \
	REAL(ssize_t, #name, int, const void *, size_t, off_t); \
	if (!fails_on(FN_pwrite, fd, NULL, NULL)) \
		return real(fd, data, n, off); \
	return code ? -1 : real(fd, data, n / 2 + 1, off); \
}
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t
write(int fd, const void *data, size_t n)
{
	REAL(ssize_t, "write", int, const void *, size_t);
	if (!fails_on(FN_write, fd, NULL, NULL))
		return real(fd, data, n);
	return code ? -1 : real(fd, data, n / 2 + 1);
}

static void
take_time(void)
{
	struct timespec t = { slow_ms / 1000, slow_ms % 1000 * 1000000 };

	if (slow_ms)
		nanosleep(&t, NULL);
}

#define FSYNC(name) int \
name(int fd) \
{ \
	REAL(int, #name, int); \
	take_time(); \
	return fails_on(FN_fsync, fd, NULL, NULL) ? -1 : real(fd); \
}
FSYNC(fsync)
FSYNC(fdatasync)

int
rename(const char *from, const char *to)
{
	REAL(int, "rename", const char *, const char *);
	return fails_on(FN_rename, -1, from, to) ? -1 : real(from, to);
}

int
renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
	REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
	if (fails_on(FN_rename, -1, from, to))
		return -1;
	if (active && plain && flags) {
		errno = EINVAL;
		return -1;
	}
	return real(a, from, b, to, flags);
}

int
link(const char *from, const char *to)
{
	REAL(int, "link", const char *, const char *);
	return fails_on(FN_linkat, -1, from, to) ? -1 : real(from, to);
}

int
linkat(int a, const char *from, int b, const char *to, int flags)
{
	REAL(int, "linkat", int, const char *, int, const char *, int);
	return fails_on(FN_linkat, -1, from, to) ? -1 : real(a, from, b, to, flags);
}

int
mkdir(const char *path, mode_t mode)
{
	REAL(int, "mkdir", const char *, mode_t);
	return fails_on(FN_mkdir, -1, path, NULL) ? -1 : real(path, mode);
}

int
unlink(const char *path)
{
	REAL(int, "unlink", const char *);
	return fails_on(FN_unlink, -1, path, NULL) ? -1 : real(path);
}

int
unlinkat(int dir, const char *path, int flags)
{
	REAL(int, "unlinkat", int, const char *, int);
	return fails_on(FN_unlink, -1, path, NULL) ? -1 : real(dir, path, flags);
}

int
rmdir(const char *path)
{
	REAL(int, "rmdir", const char *);
	return fails_on(FN_rmdir, -1, path, NULL) ? -1 : real(path);
}

#define FTRUNCATE(name) int \
name(int fd, off_t size) \
{ \
	REAL(int, #name, int, off_t); \
	return fails_on(FN_ftruncate, fd, NULL, NULL) ? -1 : real(fd, size); \
}
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

/* Those alone that copy or share bytes of files. */
int
ioctl(int fd, unsigned long what, ...)
{
	REAL(int, "ioctl", int, unsigned long, ...);
	va_list ap;
	void *arg;

	va_start(ap, what);
	arg = va_arg(ap, void *);
	va_end(ap);
	if ((what == FICLONE || what == FICLONERANGE || what == FIDEDUPERANGE) &&
	    fails_on(FN_ioctl, fd, NULL, NULL))
		return -1;
	return real(fd, what, arg);
}

DIR *
opendir(const char *path)
{
	REAL(DIR *, "opendir", const char *);
	return fails_on(FN_open, -1, path, NULL) ? NULL : real(path);
}

#define READDIR(name, type) struct type * \
name(DIR *d) \
{ \
	REAL(struct type *, #name, DIR *); \
	return fails_on(FN_readdir, dirfd(d), NULL, NULL) ? NULL : real(d); \
}
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

/* ---- what happens before main() is not the program's ---- */

static int (*real_main)(int, char **, char **);

static int
begin(int argc, char **argv, char **env)
{
	setup();
	return real_main(argc, argv, env);
}

int __libc_start_main(int (*fn)(int, char **, char **), int argc, char **argv,
		      void (*init)(void), void (*fini)(void), void (*ld_fini)(void), void *end);

int
__libc_start_main(int (*fn)(int, char **, char **), int argc, char **argv, void (*init)(void),
		  void (*fini)(void), void (*ld_fini)(void), void *end)
{
	REAL(int, "__libc_start_main", int (*)(int, char **, char **), int, char **,
	     void (*)(void), void (*)(void), void (*)(void), void *);
	real_main = fn;
	return real(begin, argc, argv, init, fini, ld_fini, end);
}
