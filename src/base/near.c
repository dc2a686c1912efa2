#include "config.h"

#include "src/base/near.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define LONGEST 255

static unsigned char
lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Three rows of the table are enough: swapping two looks two rows up. */
unsigned
tb_distance(const char *a, const char *b, unsigned limit)
{
	unsigned row[3][LONGEST + 1];
	size_t na = strlen(a), nb = strlen(b);

	if (na > LONGEST || nb > LONGEST || (na > nb ? na - nb : nb - na) > limit)
		return limit + 1;
	for (size_t j = 0; j <= nb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *now = row[i % 3], *up = row[(i - 1) % 3], *upper = row[(i + 1) % 3];
		unsigned best = now[0] = (unsigned)i;

		for (size_t j = 1; j <= nb; j++) {
			bool same = lower(a[i - 1]) == lower(b[j - 1]);

			now[j] = least(least(up[j], now[j - 1]) + 1, up[j - 1] + !same);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				now[j] = least(now[j], upper[j - 2] + 1);
			best = least(best, now[j]);
		}
		if (best > limit)
			return limit + 1;
	}
	return least(row[na % 3][nb], limit + 1);
}

void
tb_near_try(struct tb_near *n, const char *name)
{
	size_t len = strlen(n->word), at;
	/* a slip in a short word makes another word; long ones bear some */
	unsigned limit = len < 3 ? 0 : len < 5 ? 1 : len < 9 ? 2 : 3, far;
	char *copy;

	if (!limit || !*name)
		return;
	far = tb_distance(n->word, name, limit);
	/* What was left out at an end is a guess, too: "q_proj", "llama3". */
	if (far > limit && !tb_contains(name, n->word))
		return;
	for (at = 0; at < n->n && n->far[at] <= far; at++)
		;
	for (size_t i = 0; i < n->n; i++)
		if (!strcmp(n->hit[i], name))
			return;
	copy = at < TB_NEAR_MAX ? tb_strdup(name) : NULL;
	if (!copy)
		return;
	if (n->n == TB_NEAR_MAX)
		free(n->hit[--n->n]);
	memmove(&n->hit[at + 1], &n->hit[at], (n->n - at) * sizeof(*n->hit));
	memmove(&n->far[at + 1], &n->far[at], (n->n - at) * sizeof(*n->far));
	n->hit[at] = copy;
	n->far[at] = far;
	n->n++;
}

void
tb_near_free(struct tb_near *n)
{
	while (n->n)
		free(n->hit[--n->n]);
}

const char *
tb_near_text(struct tb_near *n, char *out, size_t outlen)
{
	size_t used = 0;

	*out = 0;
	for (size_t i = 0; i < n->n; i++) {
		const char *before = i == 0 ? "; did you mean " : i + 1 < n->n ? ", " : " or ";

		if (used < outlen)
			used += (size_t)snprintf(out + used, outlen - used, "%s\"%s\"%s", before,
						 n->hit[i], i + 1 < n->n ? "" : "?");
	}
	if (used >= outlen)		/* half a name helps nobody */
		*out = 0;
	tb_near_free(n);
	return out;
}
