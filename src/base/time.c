/* time.c - clocks. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/base/text.h"

int64_t
tb_now_ns(void)
{
	const char *fixed = getenv("TBTUI_NOW");
	struct timespec ts;
	uint64_t s;

	if (fixed && tb_parse_u64(fixed, &s) && s < INT64_MAX / 1000000000)
		return (int64_t)s * 1000000000;
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

double
tb_monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int64_t
tb_age_unit(char unit)
{
	static const struct { char unit; int64_t seconds; } units[] = {
		{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (units[i].unit == unit)
			return units[i].seconds;
	return 0;
}

const char *
tb_time_rfc3339(int64_t ns, char out[32])
{
	time_t t = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(out, 32, "?");
	return out;
}
