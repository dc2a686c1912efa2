/* diff_known.c - what is the same without reading it. */
#include "config.h"

#include <string.h>

#include "db/facts.h"
#include "src/base/file.h"
#include "src/ops/diff_run.h"

/* One file, or two that are called by the digest of one content. */
static bool
same_file(const struct model_file *a, const struct model_file *b)
{
	if (a->missing || b->missing)
		return false;
	return tb_ident_equal(&a->id, &b->id) ||
	       (*a->digest && !strcmp(a->digest, b->digest) && a->id.size == b->id.size);
}

static bool
same_place(const struct diff_request *req, const struct tensor_part *a,
	   const struct tensor_part *b)
{
	return a->off == b->off && a->len == b->len &&
	       same_file(&req->a->files[a->file], &req->b->files[b->file]);
}

static bool
same_places(const struct diff_request *req, const struct diff_row *row)
{
	const struct tensor *a = row->a.t, *b = row->b.t;

	return row->a.first == row->b.first && a->elems == b->elems &&
	       same_place(req, &a->weight, &b->weight) &&
	       (!a->has_scale || same_place(req, &a->scale, &b->scale)) &&
	       (!a->has_bias || same_place(req, &a->bias, &b->bias)) &&
	       (!a->has_order || same_place(req, &a->order, &b->order)) &&
	       (!a->has_global || same_place(req, &a->global, &b->global));
}

/* The digest that was kept of a side, as long as its files are those of that time. */
static bool
kept(struct db *db, const struct model *m, const struct diff_side *s,
     uint8_t out[TB_SHA256_LEN])
{
	struct db_facts facts;
	bool found;

	if (s->expert != DIFF_WHOLE || db_facts_get(db, m, s->t, &facts, NULL))
		return false;
	found = facts.n && facts.rows[0].has_digest;
	if (found)
		memcpy(out, facts.rows[0].digest, TB_SHA256_LEN);
	db_free(&facts.mem);
	return found;
}

static bool
same_digests(struct db *db, const struct diff_request *req, const struct diff_row *row)
{
	uint8_t a[TB_SHA256_LEN], b[TB_SHA256_LEN];

	return kept(db, req->a, &row->a, a) && kept(db, req->b, &row->b, b) &&
	       !memcmp(a, b, TB_SHA256_LEN);
}

enum tb_status
diff_known(struct op_ctx *ctx, const struct diff_request *req, struct diff_result *out,
	   struct tb_err *err)
{
	struct db *db;
	enum tb_status status;

	if (req->reread)
		return TB_OK;
	status = db_open_read(&db, ctx->db_path, err);
	if (status)
		return status;
	for (size_t i = 0; i < out->n; i++) {
		struct diff_row *row = &out->rows[i];

		if (row->verdict != DIFF_VALUES || !diff_same_coding(row))
			continue;
		if (!same_places(req, row) && !same_digests(db, req, row))
			continue;
		row->verdict = DIFF_SAME;
		row->known = true;
		out->spared += diff_side_bytes(&row->a, row->a.elems) +
			       diff_side_bytes(&row->b, row->b.elems);
	}
	db_close(db);
	return TB_OK;
}
