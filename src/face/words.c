#include "config.h"


#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "db/audit.h"
#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/face/words.h"

#define NS 1000000000LL
#define DAY (24 * 60 * 60)

/* The time of day matters only while the day is near. */
static const char *
local_time(int64_t ns, bool hours, char out[WORD_MAX])
{
	time_t t = (time_t)(ns / NS);
	int64_t age = (tb_now_ns() - ns) / NS;
	bool recent = age >= 0 && age < 182 * DAY;
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
	    !(!recent ? strftime(out, WORD_MAX, "%Y-%m-%d", &tm)
	      : hours ? strftime(out, WORD_MAX, "%b %d %H:%M", &tm)
	      : strftime(out, WORD_MAX, "%b %d", &tm)))
		snprintf(out, WORD_MAX, "?");
	return out;
}

const char *
word_date(int64_t ns, char out[WORD_MAX])
{
	return local_time(ns, false, out);
}

const char *
word_time(int64_t ns, char out[WORD_MAX])
{
	return local_time(ns, true, out);
}

const char *
word_age(int64_t ns, char out[WORD_MAX])
{
	int64_t age = ns < 0 ? -1 : (tb_now_ns() - ns) / NS;	/* a kept number may be anything */

	if (age < 0 || age >= 60 * DAY)
		return word_date(ns, out);
	if (age < 60)
		snprintf(out, WORD_MAX, "now");
	else if (age < 60 * 60)
		snprintf(out, WORD_MAX, "%d min ago", (int)(age / 60));
	else if (age < DAY)
		snprintf(out, WORD_MAX, "%d h ago", (int)(age / (60 * 60)));
	else
		snprintf(out, WORD_MAX, "%d d ago", (int)(age / DAY));
	return out;
}

const char *
word_shape(const uint64_t *dim, unsigned ndim, const char *between, char out[WORD_MAX])
{
	size_t used = 0;

	snprintf(out, WORD_MAX, "scalar");
	for (unsigned i = 0; i < ndim && used < WORD_MAX; i++)
		used += (size_t)snprintf(out + used, WORD_MAX - used, "%s%ju",
					 i ? between : "", (uintmax_t)dim[i]);
	return out;
}

const char *
word_count(uint64_t n, const char *what, char out[WORD_MAX])
{
	char digits[24], grouped[32];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%ju", (uintmax_t)n), at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			grouped[at++] = ',';
		grouped[at++] = digits[i];
	}
	grouped[at] = 0;
	snprintf(out, WORD_MAX, "%s %s%s", grouped, what, tb_plural(n));
	return out;
}

const char *
word_percent(uint64_t part, uint64_t whole, char out[WORD_MAX])
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && share < 0.1)
		snprintf(out, WORD_MAX, "<0.1%%");
	else
		snprintf(out, WORD_MAX, "%.1f%%", share);
	return out;
}

const char *
word_number(double x, char out[WORD_MAX])
{
	double a = fabs(x);

	if (x == 0)
		snprintf(out, WORD_MAX, "0");
	else if (!isfinite(x))
		snprintf(out, WORD_MAX, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
	else if (a >= 1e5 || a < 1e-3)
		snprintf(out, WORD_MAX, "%.2e", x);
	else
		snprintf(out, WORD_MAX, "%.*f", a >= 1000 ? 1 : a >= 100 ? 2 : a >= 10 ? 3 : 4, x);
	return out;
}

void
word_path(const char *path, struct tb_buf *out)
{
	const char *home = getenv("HOME");
	size_t len = home ? strlen(home) : 0;
	bool inside = len > 1 && !strncmp(path, home, len) && (path[len] == '/' || !path[len]);

	tb_buf_printf(out, "%s%s", inside ? "~" : "", inside ? path + len : path);
}

void
word_place(const struct db_finding *f, struct tb_buf *out)
{
	tb_buf_printf(out, "%s%s%s", f->tensor, *f->rows ? ", " : "", f->rows);
	if (f->has_offset)
		tb_buf_printf(out, "%sbyte%s %ju", *f->tensor ? ", " : "",
			      f->has_bytes ? "s" : "", (uintmax_t)f->offset);
	if (f->has_bytes)
		tb_buf_printf(out, " to %ju", (uintmax_t)(f->offset + f->bytes - 1));
}
