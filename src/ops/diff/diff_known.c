/* diff_known.c - what is the same without reading it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "db/audit.h"
#include "db/facts.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/ops/diff/diff_run.h"

struct known {
	const struct diff_request *req;
	struct db *db;
	bool *bad[2];		/* owned: files of A, of B, that do not hold what they should */
};

static enum tb_status
find_bad(struct known *k, unsigned side, const struct model *m, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	k->bad[side] = tb_calloc(m->nfiles + 1, sizeof(bool));
	if (!k->bad[side])
		return tb_nomem(err);
	for (size_t i = 0; i < m->nfiles && !status; i++) {
		const struct model_file *f = &m->files[i];
		struct db_hash was;
		bool found = false;

		if (!f->missing && *f->digest)
			status = db_hash_get(k->db, f->path, &was, &found, err);
		k->bad[side][i] = f->missing ||
				  (found && !was.ok && tb_ident_equal(&was.id, &f->id));
	}
	return status;
}

/* One file, or two that are called by the digest of one content, and no verify has found
 * anything else in them. */
static bool
same_file(const struct known *k, unsigned i, unsigned j)
{
	const struct model_file *a = &k->req->a->files[i], *b = &k->req->b->files[j];

	if (a->missing || b->missing)
		return false;
	return tb_ident_equal(&a->id, &b->id) ||
	       (*a->digest && !strcmp(a->digest, b->digest) && a->id.size == b->id.size &&
		!k->bad[0][i] && !k->bad[1][j]);
}

static bool
same_places(const struct known *k, const struct diff_row *row)
{
	const struct tensor *a = row->a.t, *b = row->b.t;
	bool same = row->a.first == row->b.first && a->elems == b->elems;

	for (enum values_part p = 0; p < PART_COUNT && same; p++) {
		const struct tensor_part *x = values_part_of(a, p), *y = values_part_of(b, p);

		same = !x || (x->off == y->off && x->len == y->len &&
			      same_file(k, x->file, y->file));
	}
	return same;
}

/* The digest that was kept of a side, as long as its files are those of that time. */
static bool
kept_digest(struct db *db, const struct model *m, const struct diff_side *s,
	    uint8_t out[TB_SHA256_LEN])
{
	struct db_facts facts;
	bool found;

	if (s->expert != DIFF_WHOLE || db_facts_get(db, m, s->t, &facts, NULL))
		return false;
	found = facts.n && facts.rows[0].has_digest;
	if (found)
		memcpy(out, facts.rows[0].digest, TB_SHA256_LEN);
	tb_arena_free(&facts.mem);
	return found;
}

static void
mark_known(const struct known *k, struct diff_result *out)
{
	for (size_t i = 0; i < out->n; i++) {
		struct diff_row *row = &out->rows[i];
		uint8_t a[TB_SHA256_LEN], b[TB_SHA256_LEN];

		if (row->verdict != DIFF_VALUES || !diff_same_coding(row))
			continue;
		if (!same_places(k, row) &&
		    (!kept_digest(k->db, k->req->a, &row->a, a) ||
		     !kept_digest(k->db, k->req->b, &row->b, b) || memcmp(a, b, TB_SHA256_LEN)))
			continue;
		row->verdict = DIFF_SAME;
		row->known = true;
		out->spared += diff_side_bytes(&row->a, row->a.elems) +
			       diff_side_bytes(&row->b, row->b.elems);
	}
}

enum tb_status
diff_known(struct op_ctx *ctx, const struct diff_request *req, struct diff_result *out,
	   struct tb_err *err)
{
	struct known k = { .req = req };
	enum tb_status status;

	if (req->reread)
		return TB_OK;
	status = db_open_read(&k.db, ctx->db_path, err);
	if (!status)
		status = find_bad(&k, 0, req->a, err);
	if (!status)
		status = find_bad(&k, 1, req->b, err);
	if (!status)
		mark_known(&k, out);
	free(k.bad[0]);
	free(k.bad[1]);
	db_close(k.db);
	return status;
}
