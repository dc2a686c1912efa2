/* mem.h - allocation that cannot overflow, and arrays that grow.
 * Everything returned here is released with free(). NULL means out of memory. */
#ifndef TBTUI_BASE_MEM_H
#define TBTUI_BASE_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* n zeroed items of `size` bytes; NULL also when n * size overflows. */
void *tb_calloc(size_t n, size_t size) __attribute__((malloc));

/* Makes room for `need` items in *p (now *cap items of `size` bytes), growing by
 * half at least; new items are zeroed.  False leaves *p and *cap as they were. */
bool tb_grow(void *p, size_t *cap, size_t need, size_t size)
	__attribute__((warn_unused_result));

char *tb_strdup(const char *s) __attribute__((malloc));
char *tb_strndup(const char *s, size_t n) __attribute__((malloc));

/* printf into fresh memory; NULL on failure. */
char *tb_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), malloc));
char *tb_vasprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0), malloc));

/* 64-byte aligned, `n` bytes, not zeroed (tensors, tiles); free() it. */
void *tb_aligned(size_t n) __attribute__((malloc));
#endif
