#include "config.h"

#include "src/ops/inspect/inspect_run.h"

#include <string.h>

#include "db/facts.h"
#include "src/base/buf.h"
#include "src/base/text.h"
#include "src/ops/blobdir/blobdir.h"
#include "src/ops/home/home.h"

/* The distribution as bytes: PACKED_VERSION, exact, counted, the quantiles as little-endian
 * doubles, then the counts of the bins.  Numbers are in groups of seven bits, lowest
 * first. */
#define PACKED_VERSION 1
#define PACKED_MAX (16u + 8 * INSPECT_QUANTILES + 10 * INSPECT_DIST_BINS)

struct db *
inspect_facts(const struct op_ctx *ctx)
{
	struct db *db;

	return db_facts_open(&db, ctx->db_path, NULL) ? NULL : db;
}

static void
put_number(struct tb_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		tb_buf_chr(b, (char)(v | 0x80));
	tb_buf_chr(b, (char)v);
}

struct input { const uint8_t *p, *end; bool bad; };

static uint64_t
get_byte(struct input *in)
{
	in->bad |= in->p == in->end;
	return in->bad ? 0 : *in->p++;
}

static uint64_t
get_number(struct input *in)
{
	uint64_t v = 0, byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && shift < 64; shift += 7) {
		byte = get_byte(in);
		v |= (byte & 0x7f) << shift;
	}
	return v;
}

static bool
unpack(const struct db_stats *s, struct inspect_dist *d)
{
	struct input in = { s->sketch, (const uint8_t *)s->sketch + s->sketch_len, !s->sketch };

	*d = (struct inspect_dist){ .hist = { s->of.min, s->of.max, INSPECT_DIST_BINS, { 0 } } };
	in.bad |= get_byte(&in) != PACKED_VERSION;
	d->exact = get_byte(&in) != 0;
	d->counted = get_number(&in);
	for (unsigned i = 0; i < INSPECT_QUANTILES; i++) {
		uint64_t u = 0;

		for (unsigned k = 0; k < 8; k++)
			u |= get_byte(&in) << 8 * k;
		memcpy(&d->quantile[i], &u, 8);
	}
	for (unsigned i = 0; i < INSPECT_DIST_BINS; i++)
		d->hist.count[i] = get_number(&in);
	return !in.bad && in.p == in.end;
}

bool
kept_get(const struct inspect_request *req, struct inspect_result *out)
{
	struct db_facts f;
	bool found;

	if (!req->facts || db_facts_get(req->facts, req->model, req->tensor, &f, NULL))
		return false;
	found = f.n && f.rows[0].has_stats && f.rows[0].stats.of.count == req->tensor->elems &&
		unpack(&f.rows[0].stats, &out->dist);
	if (found) {
		out->stats = f.rows[0].stats.of;
		out->kept_ns = f.rows[0].stats.when_ns;
	}
	tb_arena_free(&f.mem);
	return found;
}

void
kept_put(const struct inspect_request *req, const struct inspect_result *r)
{
	struct tb_buf b = TB_BUF(PACKED_MAX);
	struct db_stats row = { .of = r->stats, .when_ns = tb_now_ns() };

	if (!req->facts)
		return;
	tb_buf_chr(&b, PACKED_VERSION);
	tb_buf_chr(&b, r->dist.exact);
	put_number(&b, r->dist.counted);
	for (unsigned i = 0; i < 8 * INSPECT_QUANTILES; i++) {
		uint64_t u;

		memcpy(&u, &r->dist.quantile[i / 8], 8);
		tb_buf_chr(&b, (char)(u >> i % 8 * 8));
	}
	for (unsigned i = 0; i < INSPECT_DIST_BINS; i++)
		put_number(&b, r->dist.hist.count[i]);
	row.sketch = b.p;
	row.sketch_len = b.len;
	if (!tb_buf_failed(&b) &&
	    db_facts_put_stats(req->facts, req->model, req->tensor, model_stamp(req->model),
			       &row, NULL))
		tb_buf_clear(&b);	/* computed again next time */
	tb_buf_free(&b);
}
