#include "config.h"

#include "src/base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *
tb_calloc(size_t n, size_t size)
{
	/* calloc checks the product; never NULL for an empty array */
	return calloc(n ? n : 1, size ? size : 1);
}

bool
tb_grow(void *p, size_t *cap, size_t need, size_t size)
{
	size_t want = *cap + *cap / 2, bytes;
	void *old, *fresh;

	if (need <= *cap)
		return true;
	if (want < need)
		want = need < 8 ? 8 : need;
	if (__builtin_mul_overflow(want, size, &bytes))
		return false;
	memcpy(&old, p, sizeof(old));	/* p is a T **, whatever T */
	fresh = realloc(old, bytes);
	if (!fresh)
		return false;
	memset((char *)fresh + *cap * size, 0, bytes - *cap * size);
	memcpy(p, &fresh, sizeof(fresh));
	*cap = want;
	return true;
}

char *
tb_strdup(const char *s)
{
	return tb_strndup(s, strlen(s));
}

char *
tb_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = 0;
	return copy;
}

char *
tb_vasprintf(const char *fmt, va_list ap)
{
	char *out;

	return vasprintf(&out, fmt, ap) < 0 ? NULL : out;
}

char *
tb_asprintf(const char *fmt, ...)
{
	char *out;
	va_list ap;

	va_start(ap, fmt);
	out = tb_vasprintf(fmt, ap);
	va_end(ap);
	return out;
}

void *
tb_aligned(size_t n)
{
	if (n > SIZE_MAX - 63)
		return NULL;
	return aligned_alloc(64, (n + 63) / 64 * 64 + (n ? 0 : 64));
}
