/* grammar_class.c - classes of characters as bytes of UTF-8. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/text/grammar_machine.h"

#define LAST 0x10ffff

/* A first byte of characters, and the state behind it. */
struct head {
	uint8_t set[32];
	uint32_t next;
};

struct class_maker {
	struct grammar *g;
	uint32_t next;
	struct head *heads;		/* owned */
	size_t n, cap;
	/* "a continuation byte from lo to hi, then next" that was made already */
	struct { uint8_t lo, hi; uint32_t next, at; } *tails;	/* owned */
	size_t ntails, tails_cap;
	bool failed;
};

static void
add_bytes(uint8_t set[32], unsigned lo, unsigned hi)
{
	for (unsigned b = lo; b <= hi; b++)
		set[b / 8] |= (uint8_t)(1u << b % 8);
}

static uint32_t
tail(struct class_maker *m, uint8_t lo, uint8_t hi, uint32_t next)
{
	uint8_t set[32] = { 0 };
	uint32_t id, at;

	for (size_t i = 0; i < m->ntails; i++)
		if (m->tails[i].lo == lo && m->tails[i].hi == hi && m->tails[i].next == next)
			return m->tails[i].at;
	add_bytes(set, lo, hi);
	if (!grammar_put_set(m->g, set, &id) || !grammar_put(m->g, STATE_BYTES, next, id, &at) ||
	    !tb_grow(&m->tails, &m->tails_cap, m->ntails + 1, sizeof(*m->tails))) {
		m->failed = true;
		return AT_END;
	}
	m->tails[m->ntails].lo = lo;
	m->tails[m->ntails].hi = hi;
	m->tails[m->ntails].next = next;
	m->tails[m->ntails++].at = at;
	return at;
}

static void
head(struct class_maker *m, uint8_t lo, uint8_t hi, uint32_t next)
{
	size_t i = 0;

	while (i < m->n && m->heads[i].next != next)
		i++;
	if (i == m->n) {
		if (!tb_grow(&m->heads, &m->cap, m->n + 1, sizeof(*m->heads))) {
			m->failed = true;
			return;
		}
		m->heads[m->n++] = (struct head){ .next = next };
	}
	add_bytes(m->heads[i].set, lo, hi);
}

static unsigned
put_utf8(uint32_t c, uint8_t out[4])
{
	unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (unsigned i = n; i-- > 1; c >>= 6)
		out[i] = (uint8_t)(0x80 | (c & 0x3f));
	out[0] = (uint8_t)(n == 1 ? c : (0xf00u >> n & 0xff) | c);
	return n;
}

/* Characters of one length whose bytes may be chosen one by one, cut out of the range. */
static void
put_range(struct class_maker *m, uint32_t lo, uint32_t hi)
{
	uint8_t a[4], b[4];
	unsigned n;

	while (lo <= hi && !m->failed) {
		uint32_t end = lo < 0x80 ? 0x7f : lo < 0x800 ? 0x7ff : lo < 0x10000 ? 0xffff : LAST;
		uint32_t next = m->next;

		end = end < hi ? end : hi;
		for (unsigned bits = 6; lo >= 0x80 && bits <= 18; bits += 6) {
			uint32_t low = (1u << bits) - 1;

			if ((lo & ~low) == (end & ~low))
				continue;
			if (lo & low) {
				end = lo | low;
				continue;
			}
			if ((end & low) != low)
				end = (end & ~low) - 1;
		}
		n = put_utf8(lo, a);
		put_utf8(end, b);
		for (unsigned i = n; i-- > 1;)
			next = tail(m, a[i], b[i], next);
		head(m, a[0], b[0], next);
		lo = end + 1;
	}
}

static int
by_lo(const void *a, const void *b)
{
	const struct part_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* No half of a surrogate pair is a character. */
static void
put_characters(struct class_maker *m, uint32_t lo, uint32_t hi)
{
	if (lo < 0xd800)
		put_range(m, lo, hi < 0xd7ff ? hi : 0xd7ff);
	if (hi > 0xdfff)
		put_range(m, lo > 0xe000 ? lo : 0xe000, hi);
}

bool
grammar_put_class(struct grammar *g, const struct rule_part *class, uint32_t next, uint32_t *at)
{
	struct class_maker m = { .g = g, .next = next };
	uint32_t from = 0, set, one;	/* from: the first that no range had yet */
	bool some = false;

	if (class->n)
		qsort(class->ranges, class->n, sizeof(*class->ranges), by_lo);
	for (size_t i = 0; i < class->n; i++) {
		struct part_range r = class->ranges[i];

		if (r.hi < from || r.lo > LAST)
			continue;
		r.lo = r.lo > from ? r.lo : from;
		r.hi = r.hi < LAST ? r.hi : LAST;
		if (!class->not)
			put_characters(&m, r.lo, r.hi);
		else if (r.lo > from)
			put_characters(&m, from, r.lo - 1);
		from = r.hi + 1;
	}
	if (class->not && from <= LAST)
		put_characters(&m, from, LAST);
	for (size_t i = m.n; i-- > 0 && !m.failed;) {
		m.failed = !grammar_put_set(g, m.heads[i].set, &set) ||
			   !grammar_put(g, STATE_BYTES, m.heads[i].next, set, &one) ||
			   (some && !grammar_put(g, STATE_SPLIT, one, *at, &one));
		*at = one;
		some = true;
	}
	if (!some && !m.failed) {	/* nothing is in it: a set without a byte */
		static const uint8_t none[32];

		m.failed = !grammar_put_set(g, none, &set) ||
			   !grammar_put(g, STATE_BYTES, next, set, at);
	}
	free(m.heads);
	free(m.tails);
	return !m.failed;
}
