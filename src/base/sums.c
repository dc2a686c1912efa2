#include "config.h"

#include "src/base/sums.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#ifdef HAVE_XXH_DISPATCH
#include <immintrin.h>
#include <xxh_x86dispatch.h>
#endif

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"

/* ---- pieces ---- */

static uint64_t
stretch_end(const struct tb_sums *s, size_t cuts)
{
	return cuts < s->ncuts ? s->cut[cuts] : s->size;
}

bool
tb_sums_next(const struct tb_sums *s, struct tb_piece *p)
{
	uint64_t left;

	if (p->begun) {
		p->off += p->len;
		p->i++;
	}
	p->begun = true;
	p->len = 0;
	if (p->off >= s->size)
		return false;
	while (p->cut < s->ncuts && s->cut[p->cut] <= p->off)
		p->cut++;
	left = stretch_end(s, p->cut) - p->off;
	p->len = left < TB_SUMS_PIECE ? left : TB_SUMS_PIECE;
	return true;
}

/* Without walking over them: the numbers may be a stranger's. */
static uint64_t
count_pieces(const struct tb_sums *s)
{
	uint64_t n = 0, from = 0;

	for (size_t i = 0; i <= s->ncuts; i++) {
		uint64_t len = stretch_end(s, i) - from;

		n += len / TB_SUMS_PIECE + (len % TB_SUMS_PIECE != 0);
		from += len;
	}
	return n;
}

static int
by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

enum tb_status
tb_sums_cut(struct tb_sums *out, uint64_t size, const uint64_t *cut, size_t n,
	    struct tb_err *err)
{
	struct tb_sums s = { .size = size, .cut = tb_calloc(n + 1, sizeof(*s.cut)) };
	size_t k = 0;

	*out = (struct tb_sums){ 0 };
	if (!s.cut)
		return tb_nomem(err);
	if (n) {
		memcpy(s.cut, cut, n * sizeof(*cut));
		qsort(s.cut, n, sizeof(*s.cut), by_value);
	}
	for (size_t i = 0; i < n; i++)
		if (s.cut[i] && s.cut[i] < size && (!k || s.cut[i] != s.cut[k - 1]))
			s.cut[k++] = s.cut[i];
	s.ncuts = k;
	s.n = (size_t)count_pieces(&s);
	s.sum = tb_calloc(s.n + 1, sizeof(*s.sum));
	if (!s.sum) {
		tb_sums_free(&s);
		return tb_nomem(err);
	}
	*out = s;
	return TB_OK;
}

void
tb_sums_free(struct tb_sums *s)
{
	free(s->cut);
	free(s->sum);
	*s = (struct tb_sums){ 0 };
}

/* ---- making ---- */

/* The library's code for AVX leaves the upper halves of registers in use, and all code for
 * SSE that follows, SHA instructions among it, takes four times as long until they are clean. */
#ifdef HAVE_XXH_DISPATCH
static void __attribute__((target("avx"), noinline))
clean_upper_halves(void)
{
	_mm256_zeroupper();
}
#endif

static void
leave_library(void)
{
#ifdef HAVE_XXH_DISPATCH
	if (__builtin_cpu_supports("avx"))
		clean_upper_halves();
#endif
}

static void
put_sum(uint8_t out[TB_SUM_LEN], XXH128_hash_t h)
{
	XXH128_canonical_t c;

	XXH128_canonicalFromHash(&c, h);
	_Static_assert(sizeof(c.digest) == TB_SUM_LEN, "a sum has 128 bits");
	memcpy(out, c.digest, TB_SUM_LEN);
}

enum tb_status
tb_summing_start(struct tb_summing *m, struct tb_sums *s, struct tb_err *err)
{
	*m = (struct tb_summing){ .s = s, .state = XXH3_createState() };
	if (!m->state)
		return tb_nomem(err);
	(void)tb_sums_next(s, &m->piece);
	return TB_OK;
}

/* A piece that came in one is summed in one; else it is collected. */
static void
add_piece(struct tb_summing *m, const uint8_t *p, size_t len)
{
	const struct tb_piece *piece = &m->piece;
	bool first = m->at == piece->off, last = m->at + len == piece->off + piece->len;

	if (first && last) {
		put_sum(m->s->sum[piece->i], XXH3_128bits(p, len));
		return;
	}
	if (first)
		XXH3_128bits_reset(m->state);
	XXH3_128bits_update(m->state, p, len);
	if (last)
		put_sum(m->s->sum[piece->i], XXH3_128bits_digest(m->state));
}

void
tb_summing_add(void *summing, uint64_t off, const uint8_t *p, size_t len)
{
	struct tb_summing *m = summing;

	if (off != m->at)	/* something is missing: it will never be whole */
		return;
	while (len && m->piece.len) {
		uint64_t left = m->piece.off + m->piece.len - m->at;
		size_t n = len < left ? len : (size_t)left;

		add_piece(m, p, n);
		m->at += n;
		p += n;
		len -= n;
		if (m->at == m->piece.off + m->piece.len)
			(void)tb_sums_next(m->s, &m->piece);
	}
	leave_library();
}

bool
tb_summing_end(struct tb_summing *m)
{
	bool whole = m->state && m->at == m->s->size;

	XXH3_freeState(m->state);
	m->state = NULL;
	return whole;
}

/* ---- comparing ---- */

void
tb_places_free(struct tb_places *p)
{
	free(p->v);
	*p = (struct tb_places){ 0 };
}

/* cut: nothing is joined over it. */
static enum tb_status
add_place(struct tb_places *to, const struct tb_piece *p, bool cut, struct tb_err *err)
{
	struct tb_place *last = to->n ? &to->v[to->n - 1] : NULL;

	if (last && last->off + last->len == p->off && !cut) {
		last->len += p->len;
		return TB_OK;
	}
	if (!tb_grow(&to->v, &to->cap, to->n + 1, sizeof(*to->v)))
		return tb_nomem(err);
	to->v[to->n++] = (struct tb_place){ p->off, p->len };
	return TB_OK;
}

enum tb_status
tb_sums_compare(const struct tb_sums *was, const struct tb_file *f, struct tb_job *job,
		struct tb_places *out, struct tb_err *err)
{
	uint8_t *window = malloc(TB_SUMS_PIECE), sum[TB_SUM_LEN];
	enum tb_status status = window ? TB_OK : tb_nomem(err);
	struct tb_piece p = { 0 };

	*out = (struct tb_places){ 0 };
	while (!status && tb_sums_next(was, &p) && p.off + p.len <= f->id.size) {
		status = tb_job_check(job, err);
		if (!status)
			status = tb_file_read(f, p.off, window, (size_t)p.len, err);
		if (status)
			break;
		put_sum(sum, XXH3_128bits(window, (size_t)p.len));
		leave_library();
		if (memcmp(sum, was->sum[p.i], TB_SUM_LEN) != 0)
			status = add_place(out, &p, p.cut && was->cut[p.cut - 1] == p.off, err);
	}
	free(window);
	if (status)
		tb_places_free(out);
	return status;
}

/* ---- keeping ----
 *
 * Numbers of seven bits a byte, the lowest first: size, how many cuts, and each less the
 * one before; the sums; XXH3 of all that, 64 bits. */

#define CHECK_LEN 8

static void
put_number(struct tb_buf *out, uint64_t v)
{
	for (; v > 127; v >>= 7)
		tb_buf_chr(out, (char)((v & 127) | 128));
	tb_buf_chr(out, (char)v);
}

enum tb_status
tb_sums_pack(const struct tb_sums *s, struct tb_buf *out, struct tb_err *err)
{
	XXH64_canonical_t check;

	put_number(out, s->size);
	put_number(out, s->ncuts);
	for (size_t i = 0; i < s->ncuts; i++)
		put_number(out, s->cut[i] - (i ? s->cut[i - 1] : 0));
	tb_buf_add(out, s->sum, s->n * TB_SUM_LEN);
	XXH64_canonicalFromHash(&check, tb_sum_quick(tb_buf_cstr(out), out->len));
	tb_buf_add(out, check.digest, CHECK_LEN);
	return tb_buf_status(out, "sums", err);
}

struct reader { const uint8_t *p; size_t left; bool bad; };

static uint64_t
get_number(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; r->left && shift < 63; shift += 7) {
		uint8_t byte = *r->p++;

		r->left--;
		v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return v;
	}
	r->bad = true;
	return 0;
}

static bool
is_whole(const void *packed, size_t len)
{
	XXH64_canonical_t check;

	if (len < CHECK_LEN)
		return false;
	XXH64_canonicalFromHash(&check, tb_sum_quick(packed, len - CHECK_LEN));
	return !memcmp(check.digest, (const uint8_t *)packed + len - CHECK_LEN, CHECK_LEN);
}

/* What is checked here is never asked again: cuts ascend inside the file, and there are as
 * many sums as pieces. */
static bool
read_cuts(struct tb_sums *s, struct reader *r)
{
	uint64_t at = 0;

	for (size_t i = 0; i < s->ncuts; i++) {
		uint64_t step = get_number(r);

		if (r->bad || !step || step >= s->size - at)
			return false;
		s->cut[i] = at += step;
	}
	return r->left % TB_SUM_LEN == 0 && count_pieces(s) == r->left / TB_SUM_LEN;
}

enum tb_status
tb_sums_unpack(struct tb_sums *out, const void *packed, size_t len, struct tb_err *err)
{
	struct reader r = { packed, is_whole(packed, len) ? len - CHECK_LEN : 0, false };
	struct tb_sums s = { .size = get_number(&r) };
	uint64_t ncuts = get_number(&r);

	*out = (struct tb_sums){ 0 };
	if (r.bad || ncuts > r.left)
		return tb_fail(err, TB_EFORMAT, "what was kept of a file's sums is damaged");
	s.ncuts = (size_t)ncuts;
	s.cut = tb_calloc(s.ncuts + 1, sizeof(*s.cut));
	if (!s.cut)
		return tb_nomem(err);
	if (!read_cuts(&s, &r)) {
		tb_sums_free(&s);
		return tb_fail(err, TB_EFORMAT, "what was kept of a file's sums is damaged");
	}
	s.n = r.left / TB_SUM_LEN;
	s.sum = tb_calloc(s.n + 1, sizeof(*s.sum));
	if (!s.sum) {
		tb_sums_free(&s);
		return tb_nomem(err);
	}
	memcpy(s.sum, r.p, s.n * TB_SUM_LEN);
	*out = s;
	return TB_OK;
}

uint64_t
tb_sum_quick(const void *data, size_t len)
{
	uint64_t sum = XXH3_64bits(data, len);

	leave_library();
	return sum;
}
