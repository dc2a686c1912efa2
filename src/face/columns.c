#include "config.h"

#include "src/face/columns.h"

#include "src/base/text.h"

static int
columns_sum(const struct column *cols, size_t n, const short *w)
{
	int sum = 0;

	for (size_t i = 0; i < n; i++)
		if (w[i] && cols[i].min)
			sum += w[i] + (sum ? COLUMNS_GAP : 0);
	return sum;
}

/* The shown column that goes first; n when only those with priority 0 are left. */
static size_t
columns_least(const struct column *cols, size_t n, const short *w)
{
	size_t worst = n;

	for (size_t i = 0; i < n; i++)
		if (w[i] && cols[i].priority &&
		    (worst == n || cols[i].priority >= cols[worst].priority))
			worst = i;
	return worst;
}

/* Columns that a column's texts need more than it has; a name is given any number. */
static int
column_lacks(const struct column *c, int want, int has)
{
	int most = c->middle ? want : c->max > c->min ? c->max : c->min;

	return (want < most ? want : most) - has;
}

/* What the columns can do without when their texts are short; the title stays.  A sign beside
 * it has room in the gap. */
static int
column_spare(const struct column *c, int want, int has)
{
	int title = (int)tb_width(c->title);

	return has - (want > title ? want : title);
}

/* Gives what the texts need: of what is left, and of what others do not need. */
static int
columns_fit_texts(const struct column *cols, size_t n, const short *want, int left, short *out)
{
	int need = -left;

	for (size_t i = 0; i < n; i++)
		if (out[i] && !cols[i].head && column_lacks(&cols[i], want[i], out[i]) > 0)
			need += column_lacks(&cols[i], want[i], out[i]);
	for (size_t i = 0; i < n && need > 0; i++) {
		int less = out[i] ? column_spare(&cols[i], want[i], out[i]) : 0;

		less = less > need ? need : less;
		if (less <= 0)
			continue;
		out[i] = (short)(out[i] - less);
		left += less;
		need -= less;
	}
	for (int names = 1; names >= 0; names--)
		for (size_t i = 0; i < n && left > 0; i++) {
			int more = out[i] && cols[i].middle == names
				 ? column_lacks(&cols[i], want[i], out[i]) : 0;

			more = more > left ? left : more;
			if (more <= 0)
				continue;
			out[i] = (short)(out[i] + more);
			left -= more;
		}
	return left;
}

void
columns_fit(const struct column *cols, size_t n, int w, const short *want, short *out)
{
	size_t drop;
	int left;

	for (size_t i = 0; i < n; i++)
		out[i] = cols[i].min;
	while (columns_sum(cols, n, out) > w && (drop = columns_least(cols, n, out)) < n)
		out[drop] = 0;
	left = w - columns_sum(cols, n, out);
	if (want && left >= 0)
		left = columns_fit_texts(cols, n, want, left, out);
	for (size_t i = 0; i < n && left > 0; i++) {
		int more = cols[i].max - out[i];

		if (!out[i] || more <= 0)
			continue;
		if (more > left)
			more = left;
		out[i] = (short)(out[i] + more);
		left -= more;
	}
	/* Not even what must stay fits: the first ones that may be cut get what there is. */
	for (size_t i = 0; i < n && left < 0; i++)
		if (out[i] && !cols[i].whole) {
			int less = out[i] - 1 < -left ? out[i] - 1 : -left;

			out[i] = (short)(out[i] - less);
			left += less;
		}
}
