/* human.c - numbers as people read them. */
#include "config.h"

#include <stdio.h>

#include "src/base/text.h"

/* One decimal below 10 of a unit's hundreds, none above: "1.9", "58.0", "470". */
static const char *
scaled(double x, const char *const *units, size_t nunits, const char *gap, char out[16])
{
	size_t u = 0;

	while (x >= 999.5 && u + 1 < nunits) {
		x /= 1000;
		u++;
	}
	snprintf(out, 16, "%.*f%s%s", u && x < 99.95 ? 1 : 0, x, gap, units[u]);
	return out;
}

const char *
tb_human_bytes(uint64_t n, char out[16])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };

	return scaled((double)n, units, sizeof(units) / sizeof(*units), " ", out);
}

const char *
tb_human_count(uint64_t n, char out[16])
{
	static const char *const units[] = { "", "K", "M", "B", "T" };

	return scaled((double)n, units, sizeof(units) / sizeof(*units), "", out);
}

const char *
tb_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *
tb_human_time(double seconds, char out[16])
{
	unsigned long s = seconds > 0 && seconds < 1e9 ? (unsigned long)(seconds + 0.5) : 0;

	if (s < 3600)
		snprintf(out, 16, "%lu:%02lu", s / 60, s % 60);
	else
		snprintf(out, 16, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
	return out;
}
