#include "config.h"

#include "src/store/split.h"

#include <string.h>

#include "src/base/mem.h"

#define NUMBERS "-00001-of-00001"
#define DIGITS 5

/* Exactly five digits. */
static bool
split_number(const char *s, unsigned *out)
{
	*out = 0;
	for (int i = 0; i < DIGITS; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		*out = *out * 10 + (unsigned)(s[i] - '0');
	}
	return true;
}

bool
split_parse_as(const char *name, const char *ending, struct split *out)
{
	size_t n = strlen(name), numbers = strlen(NUMBERS), tail = numbers + strlen(ending);
	const char *end;

	if (n <= tail)
		return false;
	out->base = n - tail;
	end = name + out->base;
	return *end == '-' && split_number(end + 1, &out->no) && !strncmp(end + 6, "-of-", 4) &&
	       split_number(end + 10, &out->count) && !strcmp(end + numbers, ending) && out->no >= 1 &&
	       out->no <= out->count && out->count <= SPLIT_MAX;
}

bool
split_parse(const char *name, struct split *out)
{
	return split_parse_as(name, ".gguf", out);
}

bool
split_same(const char *a, const char *b)
{
	struct split x, y;

	return split_parse(a, &x) && split_parse(b, &y) && x.count == y.count &&
	       x.base == y.base && !strncmp(a, b, x.base);
}

char *
split_path(const char *name, const struct split *s, unsigned no)
{
	return tb_asprintf("%.*s-%05u-of-%05u.gguf", (int)s->base, name, no, s->count);
}

char *
split_name(const char *path, unsigned no, unsigned count)
{
	const struct split s = { .base = strlen(path) - strlen(".gguf"), .count = count };

	return split_path(path, &s, no);
}
