#include "config.h"

#include "src/ops/digest/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/facts.h"
#include "db/write.h"
#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/model/values.h"
#include "src/ops/blobdir/blobdir.h"

#define CHUNK (4u << 20)	/* bytes between two looks at the cancel flag */

struct run {
	const struct digest_request *req;
	struct tb_job *job;
	struct digest_item **todo;	/* owned; largest first */
	size_t n;
};

/* ---- one tensor ---- */

/* The line in front of a part. */
static void
put_line(struct tb_buf *out, const struct tensor *t, enum values_part p)
{
	static const char *const names[PART_COUNT] = { "weight", "scale", "bias", "global", "order" };
	const struct tensor_part *part = values_part_of(t, p);
	unsigned bits = dtype_bits(part->dtype);
	char name[SCHEME_NAME_MAX];

	tb_buf_printf(out, "%s%s ", names[p],
		      p == PART_GLOBAL && t->global_inverse ? "_inverse" : "");
	if (p != PART_WEIGHT) {
		tb_buf_printf(out, "%s %ju\n", dtype_name(part->dtype),
			      (uintmax_t)(bits ? part->len * 8 / bits : 0));
		return;
	}
	tb_buf_printf(out, "%s ", scheme_name(&t->scheme, name));
	for (unsigned i = 0; i < t->ndim; i++)
		tb_buf_printf(out, "%s%ju", i ? "," : "", (uintmax_t)t->dim[i]);
	tb_buf_chr(out, '\n');
}

static enum tb_status
add_part(struct run *r, struct tb_sha256 *sha, const struct tb_map *map, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t at = 0; !status && at < map->len; at += CHUNK) {
		size_t n = map->len - at < CHUNK ? map->len - at : CHUNK;

		status = tb_job_check(r->job, err);
		if (!status)
			tb_sha256_add(sha, map->p + at, n);
		tb_map_forget(map, at, n);
		tb_job_step(r->job, n, 0);
	}
	return status;
}

static enum tb_status
add_parts(struct run *r, struct tb_sha256 *sha, const struct tensor *t, struct tb_err *err)
{
	bool several = t->has_scale || t->has_bias || t->has_global || t->has_order;
	struct values v;
	enum tb_status status = values_open_parts(&v, r->req->model, t, err);

	if (status)
		return status;
	for (enum values_part p = 0; p < PART_COUNT && !status; p++) {
		struct tb_buf line = TB_BUF(512);

		if (!values_part_of(t, p))
			continue;
		put_line(&line, t, p);
		if (several)
			tb_sha256_add(sha, tb_buf_cstr(&line), line.len);
		status = tb_buf_failed(&line) ? tb_nomem(err) : add_part(r, sha, &v.part[p], err);
		tb_buf_free(&line);
	}
	if (!status)
		status = values_check(&v, err);
	values_close(&v);
	return status;
}

static void
run_item(void *arg, size_t i, unsigned worker)
{
	struct run *r = arg;
	struct digest_item *item = r->todo[i];
	struct tb_sha256 sha = { 0 };
	enum tb_status status = tb_job_check(r->job, &item->err);

	(void)worker;
	tb_job_what(r->job, "%s", item->t->name);
	if (!status)
		status = tb_sha256_init(&sha, &item->err);
	if (!status)
		status = add_parts(r, &sha, item->t, &item->err);
	if (status)
		tb_sha256_free(&sha);
	else
		tb_sha256_done(&sha, item->digest);
	tb_job_step(r->job, 0, 1);
}

/* ---- all of them ---- */

static enum tb_status
digest_recall(struct db *db, const struct model *m, struct digest_item *item, struct tb_err *err)
{
	struct db_facts facts;
	enum tb_status status = db_facts_get(db, m, item->t, &facts, err);

	if (status)
		return status;
	item->kept = facts.n && facts.rows[0].has_digest;
	if (item->kept)
		tb_digest_text("sha256:", facts.rows[0].digest, TB_SHA256_LEN, item->digest);
	tb_arena_free(&facts.mem);
	return TB_OK;
}

static int
largest_first(const void *a, const void *b)
{
	const struct digest_item *x = *(struct digest_item *const *)a;
	const struct digest_item *y = *(struct digest_item *const *)b;

	return (x->t->bytes < y->t->bytes) - (x->t->bytes > y->t->bytes);
}

static enum tb_status
digest_choose(struct op_ctx *ctx, struct run *r, struct digest_result *out, struct tb_err *err)
{
	struct db *db = NULL;
	enum tb_status status = r->req->again ? TB_OK : db_open_read(&db, ctx->db_path, err);

	for (size_t i = 0; i < r->req->n && !status; i++) {
		struct digest_item *item = &r->req->items[i];

		*item->digest = 0;
		item->kept = false;
		item->err = (struct tb_err){ 0 };
		if (db)
			status = digest_recall(db, r->req->model, item, err);
		if (item->kept)
			continue;
		r->todo[r->n++] = item;
		out->bytes += item->t->bytes;
	}
	db_close(db);
	if (r->n > 1)
		qsort(r->todo, r->n, sizeof(*r->todo), largest_first);
	tb_job_total(r->job, out->bytes, r->n);
	return status;
}

static enum tb_status
digest_put_all(struct db *db, const struct run *r, struct tb_err *err)
{
	uint64_t stamp = model_stamp(r->req->model);
	enum tb_status status = db_begin(db, err);

	if (status)
		return status;
	for (size_t i = 0; i < r->n && !status; i++) {
		uint8_t raw[TB_SHA256_LEN];

		if (tb_digest_bytes(r->todo[i]->digest, raw))
			status = db_facts_put_digest(db, r->req->model, r->todo[i]->t, stamp, raw,
						     tb_now_ns(), err);
	}
	return db_end(db, status, err);
}

/* A disk that takes nothing is no reason to withhold what was found out. */
static void
digest_keep(struct op_ctx *ctx, const struct run *r, struct digest_result *out)
{
	struct db *db = NULL;
	struct tb_err err = { 0 };

	if (r->n && (db_facts_open(&db, ctx->db_path, &err) || digest_put_all(db, r, &err)))
		snprintf(out->notice, sizeof(out->notice), "the digests are not kept: %.200s",
			 err.msg);
	db_close(db);
}

enum tb_status
op_digest(struct op_ctx *ctx, const struct digest_request *req, struct tb_job *job,
	  struct digest_result *out, struct tb_err *err)
{
	struct run r = { .req = req, .job = job, .todo = tb_calloc(req->n, sizeof(*r.todo)) };
	double start = tb_monotonic();
	enum tb_status status = r.todo ? TB_OK : tb_nomem(err);

	*out = (struct digest_result){ 0 };
	if (!status)
		status = digest_choose(ctx, &r, out, err);
	if (!status) {
		tb_pool_each(ctx->pool, r.n, run_item, &r);
		digest_keep(ctx, &r, out);
		status = tb_job_check(job, err);
	}
	out->seconds = tb_monotonic() - start;
	free(r.todo);
	return status;
}
