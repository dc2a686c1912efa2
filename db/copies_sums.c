/* copies_sums.c - tensors that are in several places, as the sums say that verify keeps of each
 * file's pieces: they begin where tensors do, so that the same tensor has the same ones. */
#include "config.h"

#include "db/copies_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/sums.h"
#include "src/base/mem.h"
#include "src/base/search.h"

/* What lies between two cuts of a file.  A tensor in one part is one of these. */
struct stretch {
	uint64_t file, off, len;
	uint64_t dev, ino;
	uint8_t key[TB_SUM_LEN];
};

struct stretches { struct stretch *v; size_t n, cap; };

static bool
stretch_key(const struct tb_sums *s, size_t first, size_t end, uint8_t key[TB_SUM_LEN])
{
	char digest[TB_DIGEST_MAX];
	uint8_t bytes[TB_SHA256_LEN];

	if (end - first == 1) {
		memcpy(key, s->sum[first], TB_SUM_LEN);
		return true;
	}
	if (tb_sha256_bytes(s->sum[first], (end - first) * TB_SUM_LEN, digest, NULL) ||
	    !tb_digest_bytes(digest, bytes))
		return false;
	memcpy(key, bytes, TB_SUM_LEN);
	return true;
}

/* All of a file; the pieces of one lie end to end up to the next cut. */
static bool
add_stretches(struct stretches *to, const struct tb_sums *s, const struct stretch *of)
{
	struct tb_piece p = { 0 };
	bool more = tb_sums_next(s, &p);

	while (more) {
		struct stretch x = *of;
		size_t first = p.i, cut = p.cut;

		x.off = p.off;
		while ((more = tb_sums_next(s, &p)) && p.cut == cut)
			;
		x.len = p.off - x.off;
		if (!stretch_key(s, first, p.i, x.key) ||
		    !tb_grow(&to->v, &to->cap, to->n + 1, sizeof(*to->v)))
			return false;
		to->v[to->n++] = x;
	}
	return true;
}

static enum tb_status
read_stretches(struct db *db, struct stretches *to, struct tb_err *err)
{
	struct tb_arena mem = { 0 };
	enum tb_status status = TB_OK, ended;
	struct db_rows r;

	rows_open(&r, db, &mem, true, err, "SELECT f.id, h.digest, f.dev, f.ino FROM main.files f"
		  " JOIN audit.hashes h ON h.path = f.path AND h.dev = f.dev AND h.ino = f.ino"
		  " AND h.size = f.size AND h.mtime_ns = f.mtime_ns AND h.ok"
		  " WHERE NOT f.missing AND h.digest IN (SELECT digest FROM audit.sums)", "");
	while (!status && rows_next(&r)) {
		const struct stretch of = { .file = rows_u64(&r, 0), .dev = rows_u64(&r, 2),
					    .ino = rows_u64(&r, 3) };
		const char *digest = rows_digest(&r, 1);
		struct tb_sums s;

		status = db_sums_get(db, digest, &s, err);
		if (!status && !add_stretches(to, &s, &of))
			status = tb_nomem(err);
		tb_sums_free(&s);
	}
	ended = rows_end(&r);
	tb_arena_free(&mem);
	return status ? status : ended;
}

#define ORDER(a, b) if ((a) != (b)) return (a) < (b) ? -1 : 1

static int
by_key(const void *x, const void *y)
{
	const struct stretch *a = x, *b = y;
	int d = memcmp(a->key, b->key, TB_SUM_LEN);

	if (d)
		return d;
	ORDER(a->len, b->len);
	ORDER(a->dev, b->dev);
	ORDER(a->ino, b->ino);
	ORDER(a->off, b->off);
	return 0;
}

static int
by_place(const void *x, const void *y)
{
	const struct stretch *a = x, *b = y;

	ORDER(a->file, b->file);
	ORDER(a->off, b->off);
	return 0;
}

/* Those that are in two places or more, by place. */
static void
keep_twice(struct stretches *s)
{
	size_t kept = 0;

	if (s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), by_key);
	for (size_t i = 0, end; i < s->n; i = end) {
		bool twice = false;

		for (end = i + 1; end < s->n && s->v[end].len == s->v[i].len &&
		     !memcmp(s->v[end].key, s->v[i].key, TB_SUM_LEN); end++)
			twice |= by_key(&s->v[end], &s->v[i]) != 0;
		for (size_t k = i; twice && k < end; k++)
			s->v[kept++] = s->v[k];
	}
	s->n = kept;
	if (s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), by_place);
}

static const char sum_tensors_sql[] =
	"SELECT t.file_id, t.off, t.bytes, fi.path, r.path, fi.owners, fi.dev, fi.ino, m.name, t.name,"
	" f.digest FROM main.models m JOIN main.roots r ON r.id = m.root "
	"CROSS JOIN main.tensors t ON t.model = m.id JOIN main.files fi ON fi.id = t.file_id "
	"LEFT JOIN audit.fact_models fm ON fm.path = m.path "
	"LEFT JOIN audit.facts f ON f.model = fm.id AND f.tensor = t.name AND f.model_stamp = m.stamp";

/* A tensor that has a digest is called by that, for all that have its sums. */
struct summed { size_t row; const struct stretch *s; bool named; };

static int
by_summed(const void *x, const void *y)
{
	const struct summed *a = x, *b = y;
	int d = memcmp(a->s->key, b->s->key, TB_SUM_LEN);

	if (d)
		return d;
	ORDER(a->s->len, b->s->len);
	ORDER(b->named, a->named);
	return 0;
}

static bool
name_rows(struct copy_reading *in, struct summed *v, size_t n, struct tb_arena *mem)
{
	const char *digest = NULL;

	if (n > 1)
		qsort(v, n, sizeof(*v), by_summed);
	for (size_t i = 0; i < n; i++) {
		struct db_copy *row = &in->rows[v[i].row].row;
		char text[TB_DIGEST_MAX];
		bool same = i && v[i].s->len == v[i - 1].s->len &&
			    !memcmp(v[i].s->key, v[i - 1].s->key, TB_SUM_LEN);

		if (!same && v[i].named) {
			digest = row->digest;
		} else if (!same) {
			tb_digest_text("xxh3:", v[i].s->key, TB_SUM_LEN, text);
			digest = tb_arena_str(mem, text);
		}
		if (!v[i].named)
			row->digest = digest;
		if (!digest)
			return false;
	}
	return true;
}

static enum tb_status
read_tensors(struct db *db, const struct stretches *s, struct copy_reading *in,
	     struct tb_arena *mem, struct tb_err *err)
{
	struct summed *v = NULL;
	size_t n = 0, cap = 0;
	struct db_rows r;

	rows_open(&r, db, mem, true, err, sum_tensors_sql, "");
	while (rows_next(&r)) {
		const struct stretch want = { .file = rows_u64(&r, 0), .off = rows_u64(&r, 1) };
		size_t at = TB_FIRST(s->n, i, by_place(&s->v[i], &want) < 0);

		if (at == s->n || by_place(&s->v[at], &want) || s->v[at].len != rows_u64(&r, 2) ||
		    !db_among(in->roots, rows_text(&r, 4)))
			continue;
		if (!tb_grow(&in->rows, &in->cap, in->n + 1, sizeof(*in->rows)) ||
		    !tb_grow(&v, &cap, n + 1, sizeof(*v))) {
			r.failed = true;
			continue;
		}
		in->rows[in->n] = (struct copy_found){
			.row = { .digest = rows_digest(&r, 10), .path = rows_text(&r, 3),
				 .root = rows_text(&r, 4), .size = s->v[at].len,
				 .owners = rows_u64(&r, 5), .model = rows_text(&r, 8),
				 .tensor = rows_text(&r, 9) },
			.dev = rows_u64(&r, 6), .ino = rows_u64(&r, 7), .off = want.off,
		};
		v[n++] = (struct summed){ in->n, &s->v[at], *in->rows[in->n].row.digest };
		in->n++;
	}
	if (!rows_end(&r) && !name_rows(in, v, n, mem))
		r.status = tb_nomem(err);
	free(v);
	return r.status;
}

enum tb_status
copies_by_sum(struct db *db, struct copy_reading *in, struct tb_arena *mem, struct tb_err *err)
{
	struct stretches s = { 0 };
	enum tb_status status = read_stretches(db, &s, err);

	if (!status) {
		keep_twice(&s);
		if (s.n)
			status = read_tensors(db, &s, in, mem, err);
	}
	free(s.v);
	return status;
}
