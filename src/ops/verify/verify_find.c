/* verify_find.c - findings on their way: to the job's owner at once, to the database
 * in portions. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/sums.h"
#include "src/base/mem.h"
#include "src/base/text.h"

static const struct { const char *word; enum severity severity; const char *meaning; } table[] = {
#define X(id, word, severity, meaning) [id] = { word, severity, meaning },
	FINDING_LIST(X)
#undef X
};

const char *
finding_word(enum finding_code c)
{
	return table[c].word;
}

enum severity
finding_severity(enum finding_code c)
{
	return table[c].severity;
}

const char *
finding_meaning(enum finding_code c)
{
	return table[c].meaning;
}

static const char *
note_text(struct verify_news *to, const char *s, bool *failed)
{
	const char *copy = s && *s ? tb_arena_str(&to->mem, s) : "";

	*failed |= !copy;
	return copy;
}

static bool
note_add(struct verify_news *to, enum finding_code code, const struct verify_where *at,
	 const char *message)
{
	struct verify_note *n = tb_arena_get(&to->mem, sizeof(*n));
	bool failed = false;

	if (!n)
		return false;
	n->f = (struct db_finding){
		.severity = table[code].severity, .code = table[code].word,
		.model = note_text(to, at->model ? at->model->loc.name : NULL, &failed),
		.model_path = note_text(to, at->model ? at->model->loc.path : NULL, &failed),
		.blob = note_text(to, at->blob, &failed),
		.tensor = note_text(to, at->tensor, &failed),
		.expected = note_text(to, at->expected, &failed),
		.actual = note_text(to, at->actual, &failed),
		.message = note_text(to, message, &failed),
		.rows = note_text(to, at->rows, &failed),
		.has_offset = at->offset, .offset = at->offset ? *at->offset : 0,
		.has_bytes = at->bytes, .bytes = at->bytes ? *at->bytes : 0,
	};
	if (failed)
		return false;
	*(to->last ? &to->last->next : &to->first) = n;
	to->last = n;
	return true;
}

void
verify_fail(struct verify_run *r, enum tb_status status, const struct tb_err *err)
{
	pthread_mutex_lock(&r->lock);
	if (!r->status) {
		r->status = status;
		r->err = *err;
	}
	pthread_mutex_unlock(&r->lock);
}

void
verify_find(struct verify_run *r, enum finding_code code, const struct verify_where *at,
	    const char *fmt, ...)
{
	uint64_t *const counts[] = { [SEV_NOTE] = &r->out->notes,
		[SEV_WARNING] = &r->out->warnings, [SEV_ERROR] = &r->out->errors };
	struct verify_model *m = (struct verify_model *)at->model;
	struct verify_event e = { .severity = table[code].severity, .code = code };
	struct tb_err err;
	char *message;
	bool told;
	va_list ap;

	va_start(ap, fmt);
	message = tb_vasprintf(fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&r->lock);
	told = message && note_add(&r->news, code, at, message);
	if (told) {
		++*counts[e.severity];
		if (m && e.severity == SEV_ERROR) {
			m->errors++;
			m->incomplete += code == F_INCOMPLETE;
		}
	}
	pthread_mutex_unlock(&r->lock);
	if (told) {
		snprintf(e.model, sizeof(e.model), "%s", m ? m->loc.name : "");
		snprintf(e.message, sizeof(e.message), "%s", message);
		tb_job_post(r->job, VERIFY_MSG_FINDING, &e, sizeof(e));
	} else {
		verify_fail(r, tb_nomem(&err), &err);
	}
	free(message);
}

void
verify_find_unread(struct verify_run *r, const struct unread_place *p)
{
	struct verify_where at = { .blob = p->path };

	verify_find(r, F_UNREADABLE, &at, "%s: what is in it is unknown", p->why);
}

void
verify_remember(struct verify_run *r, const char *path, const struct db_hash *h)
{
	struct verify_hash *item;
	struct tb_err err;
	bool kept;

	pthread_mutex_lock(&r->lock);
	item = tb_arena_get(&r->news.mem, sizeof(*item));
	kept = item && (item->path = tb_arena_str(&r->news.mem, path));
	if (kept) {
		item->h = *h;
		item->next = r->news.hashes;
		r->news.hashes = item;
	}
	pthread_mutex_unlock(&r->lock);
	if (!kept)
		verify_fail(r, tb_nomem(&err), &err);
}

void
verify_keep_sums(struct verify_run *r, const char *digest, const char *was, const void *packed,
		 size_t len)
{
	struct verify_sums *item;
	struct tb_err err;
	bool kept;

	pthread_mutex_lock(&r->lock);
	item = tb_arena_get(&r->news.mem, sizeof(*item));
	kept = item && (item->packed = tb_arena_get(&r->news.mem, len));
	if (kept) {
		snprintf(item->digest, sizeof(item->digest), "%s", digest);
		snprintf(item->was, sizeof(item->was), "%s", was);
		memcpy(item->packed, packed, item->len = len);
		item->next = r->news.sums;
		r->news.sums = item;
	}
	pthread_mutex_unlock(&r->lock);
	if (!kept)
		verify_fail(r, tb_nomem(&err), &err);
}

/* After the hashes, which say whether somebody needs the old ones. */
static enum tb_status
flush_sums(struct verify_run *r, const struct verify_sums *sums, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (const struct verify_sums *s = sums; s && !status; s = s->next)
		status = db_sums_put(r->db, s->digest, s->packed, s->len, err);
	for (const struct verify_sums *s = sums; s && !status; s = s->next)
		if (*s->was)
			status = db_sums_drop(r->db, s->was, err);
	return status;
}

enum tb_status
verify_flush(struct verify_run *r, struct tb_err *err)
{
	struct verify_news news;
	enum tb_status status = TB_OK;

	pthread_mutex_lock(&r->lock);
	news = r->news;
	r->news = (struct verify_news){ 0 };
	pthread_mutex_unlock(&r->lock);
	if (news.first || news.hashes || news.sums)
		status = db_begin(r->db, err);
	for (struct verify_note *n = news.first; n && !status; n = n->next) {
		n->f.run = r->out->run;
		status = db_finding_add(r->db, &n->f, err);
	}
	for (struct verify_hash *h = news.hashes; h && !status; h = h->next)
		status = db_hash_put(r->db, h->path, &h->h, err);
	if (!status)
		status = flush_sums(r, news.sums, err);
	if (news.first || news.hashes || news.sums || status)
		status = db_end(r->db, status, err);
	r->flushed = tb_monotonic();
	tb_arena_free(&news.mem);
	return status;
}

enum tb_status
verify_each(struct verify_run *r, size_t n, tb_pool_fn *fn, struct tb_err *err)
{
	enum tb_status status;

	tb_pool_each(r->ctx->pool, n, fn, r);
	status = tb_job_check(r->job, err);
	return status || !r->status ? status : tb_pass(err, &r->err);
}
