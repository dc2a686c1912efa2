/* bundle_write.c - models become an archive. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/tar.h"
#include "src/ops/bundle/bundle_parts.h"

struct writer {
	const struct bundle_request *req;
	struct gather g;
	int64_t now_ns;
};

static enum tb_status
put_padded(struct writer *w, const char *path, const char *data, size_t len, struct tb_err *err)
{
	static const char zeros[TAR_BLOCK];
	struct tb_buf head = TB_BUF(2 * TAR_PAX_MAX);
	enum tb_status status;

	tar_put(&head, path, len, w->now_ns / 1000000000);
	status = tb_buf_status(&head, path, err);
	if (!status)
		status = w->req->put(w->req->arg, head.p, head.len, err);
	if (!status)
		status = w->req->put(w->req->arg, data, len, err);
	if (!status)
		status = w->req->put(w->req->arg, zeros, tar_padding(len), err);
	tb_buf_free(&head);
	return status;
}

static enum tb_status
put_member(struct writer *w, const struct bundle_file *s, char *buf, struct tb_err *err)
{
	static const char zeros[TAR_BLOCK];
	struct tb_buf head = TB_BUF(2 * TAR_PAX_MAX);
	enum tb_status status;

	tar_put(&head, s->m.path, s->m.size, w->now_ns / 1000000000);
	status = tb_buf_status(&head, s->m.path, err);
	if (!status)
		status = w->req->put(w->req->arg, head.p, head.len, err);
	if (!status)
		status = bundle_copy(s, buf, w->req->put, w->req->arg, w->g.job, err);
	if (!status)
		status = w->req->put(w->req->arg, zeros, tar_padding(s->m.size), err);
	tb_buf_free(&head);
	return status;
}

static enum tb_status
put_members(struct writer *w, struct tb_err *err)
{
	char *buf = malloc(BUNDLE_CHUNK);
	enum tb_status status = buf ? TB_OK : tb_nomem(err);

	tb_job_total(w->g.job, w->g.b->bytes, w->g.n);
	for (size_t i = 0; i < w->g.n && !status; i++)
		status = put_member(w, &w->g.sources[i], buf, err);
	free(buf);
	return status;
}

static enum tb_status
put_archive(struct writer *w, struct tb_err *err)
{
	static const char end[2 * TAR_BLOCK];
	struct tb_buf list = TB_BUF(BUNDLE_LIST_MAX), sums = TB_BUF(BUNDLE_LIST_MAX);
	char digest[TB_DIGEST_MAX];
	enum tb_status status = bundle_print(w->g.b, &list, err);

	if (!status)
		status = tb_sha256_bytes(list.p, list.len, digest, err);
	if (!status) {
		bundle_sums(w->g.b, digest, &sums);
		status = tb_buf_status(&sums, BUNDLE_SUMS, err);
	}
	if (!status)
		status = put_padded(w, BUNDLE_LIST, list.p, list.len, err);
	if (!status)
		status = put_members(w, err);
	if (!status)
		status = put_padded(w, BUNDLE_SUMS, sums.p, sums.len, err);
	if (!status)
		status = w->req->put(w->req->arg, end, sizeof(end), err);
	tb_buf_free(&list);
	tb_buf_free(&sums);
	return status;
}

enum tb_status
op_bundle(const struct op_ctx *ctx, const struct bundle_request *req, struct tb_job *job,
	  struct bundle *out, struct tb_err *err)
{
	struct writer w = { .req = req, .g = { .job = job, .b = out }, .now_ns = tb_now_ns() };
	enum tb_status status = TB_OK;
	char made[32];

	*out = (struct bundle){ .made_by = tb_strdup(PACKAGE_STRING),
				.made = tb_strdup(tb_time_rfc3339(w.now_ns, made)) };
	if (!out->made_by || !out->made)
		status = tb_nomem(err);
	if (!status)
		status = bundle_gather(&w.g, ctx, req->refs, req->nrefs, err);
	if (!status)
		status = put_archive(&w, err);
	gather_free(&w.g);
	if (status)
		bundle_free(out);
	return status;
}
