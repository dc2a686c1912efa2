/* verify_files.c - every distinct file once, whoever uses it: largest first, so that
 * no core is left with a large one at the end. */
#include "config.h"

#include "src/ops/verify/verify_scan.h"
#include "src/ops/verify/verify_sums.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/sums.h"
#include "src/base/mem.h"
#include "src/base/sha256_files.h"
#include "src/base/text.h"

#define FLUSH_SECONDS 2.0

static const struct verify_file *
file_of(const struct verify_run *r, struct verify_use u)
{
	return &r->models[u.model].files[u.file];
}

static int
use_cmp(const void *a, const void *b, void *arg)
{
	const struct verify_use *x = a, *y = b;
	int order = strcmp(file_of(arg, *x)->path, file_of(arg, *y)->path);

	return order ? order : x->model < y->model ? -1 : x->model > y->model;
}

static int
largest_first(const void *a, const void *b)
{
	const struct verify_target *x = a, *y = b;

	if (x->file->id.size != y->file->id.size)
		return x->file->id.size < y->file->id.size ? 1 : -1;
	return strcmp(x->file->path, y->file->path);
}

static enum tb_status
list_uses(struct verify_run *r, size_t *n, struct tb_err *err)
{
	size_t cap = 0;

	*n = 0;
	for (size_t m = 0; m < r->nmodels; m++)
		for (size_t f = 0; f < r->models[m].nfiles; f++) {
			const struct verify_file *file = &r->models[m].files[f];

			/* Blobs are hashed because their name says what comes out; other files are
			 * compared with their last hash. */
			if (file->missing || file->unread || (file->manifest && !*file->digest))
				continue;
			if (!tb_grow(&r->uses, &cap, *n + 1, sizeof(*r->uses)))
				return tb_nomem(err);
			r->uses[(*n)++] = (struct verify_use){ (uint32_t)m, (uint32_t)f };
		}
	if (*n)
		qsort_r(r->uses, *n, sizeof(*r->uses), use_cmp, r);
	return TB_OK;
}

/* The next target: f, with as many uses as are added to it. */
static struct verify_target *
add_target(struct verify_run *r, size_t *cap, const struct verify_file *f)
{
	if (!tb_grow(&r->targets, cap, r->ntargets + 1, sizeof(*r->targets)))
		return NULL;
	r->targets[r->ntargets] = (struct verify_target){ .file = f };
	return &r->targets[r->ntargets++];
}

static enum tb_status
list_targets(struct verify_run *r, struct tb_err *err)
{
	size_t n, cap = 0;
	struct verify_target *t = NULL;
	enum tb_status status = list_uses(r, &n, err);

	for (size_t i = 0; !status && i < n; i++) {
		const struct verify_file *f = file_of(r, r->uses[i]);

		if (!t || strcmp(t->file->path, f->path)) {
			t = add_target(r, &cap, f);
			if (!t)
				return tb_nomem(err);
			t->uses = &r->uses[i];
		}
		t->nuses++;
		t->unsized |= f->sized && f->want_size != t->file->id.size;
	}
	for (size_t i = 0; !status && i < r->norphans; i++)
		if (!add_target(r, &cap, &r->orphans[i]))
			status = tb_nomem(err);
	return status;
}

/* Under another name, before it was renamed: else damage would be recorded as what it should
 * be.  Inodes are used again, so one without a time of birth says nothing. */
static enum tb_status
recall_moved(struct verify_run *r, struct verify_target *t, struct tb_err *err)
{
	const struct tb_ident *id = &t->file->id;
	struct statx now;

	if (statx(AT_FDCWD, t->file->path, 0, STATX_INO | STATX_BTIME, &now) ||
	    !(now.stx_mask & STATX_BTIME) || now.stx_ino != id->ino)
		return TB_OK;
	return db_hash_moved(r->db, id, now.stx_btime.tv_sec * INT64_C(1000000000) +
			     now.stx_btime.tv_nsec, &t->was, &t->known, err);
}

/* What a file was does not depend on how somebody came to it. */
static enum tb_status
recall(struct verify_run *r, struct verify_target *t, struct tb_err *err)
{
	enum tb_status status = db_hash_get(r->db, t->file->path, &t->was, &t->known, err);
	struct db_hash other;
	bool known;
	char *real;

	if (status || *t->file->digest)
		return status;
	real = realpath(t->file->path, NULL);
	if (real && strcmp(real, t->file->path))
		t->real = tb_arena_str(&r->mem, real);
	free(real);
	if (!t->real)
		return t->known ? TB_OK : recall_moved(r, t, err);
	status = db_hash_get(r->db, t->real, &other, &known, err);
	if (!status && known && (!t->known || other.when_ns > t->was.when_ns)) {
		t->was = other;
		t->known = true;
	}
	return status || t->known ? status : recall_moved(r, t, err);
}

/* Largest first, with what is known of them. */
static enum tb_status
prepare_targets(struct verify_run *r, struct tb_err *err)
{
	enum tb_status status = list_targets(r, err);

	for (size_t i = 0; !status && i < r->ntargets; i++) {
		struct verify_target *t = &r->targets[i];

		status = recall(r, t, err);
		if (!status && verify_good_digest(t))
			status = db_sums_known(r->db, verify_good_digest(t), &t->summed, err);
	}
	if (r->ntargets)
		qsort(r->targets, r->ntargets, sizeof(*r->targets), largest_first);
	return status;
}

/* ---- one file ---- */

void
verify_find_for_all(struct verify_run *r, struct verify_target *t, enum finding_code code,
		    struct verify_where at, const char *message)
{
	const char *blob = verify_label(t->file);
	bool damage = finding_severity(code) == SEV_ERROR;

	at.blob = blob;
	if (!t->nuses)
		verify_find(r, code, &at, "%s, which belongs to no model%s, %s", blob,
			    unread_uses(&r->unread, t->file->path) ? " whose manifest can be read"
			    : "", message);
	for (size_t i = 0; i < t->nuses; i++) {
		struct verify_where mine = at;
		char name[VERIFY_NAME_MAX];

		if (i && t->uses[i - 1].model == t->uses[i].model)
			continue;
		mine.model = &r->models[t->uses[i].model];
		verify_name(damage ? file_of(r, t->uses[i]) : NULL, &mine, name);
		verify_find(r, code, &mine, "%s: %s %s%s", mine.model->loc.name, blob, message, name);
	}
	t->bad |= damage;
}

/* Each manifest says a size of its own: is it that of all? */
static enum tb_status
check_sizes(struct verify_run *r, struct verify_target *t, const struct tb_file *file,
	    bool digest_right, struct tb_err *err)
{
	uint64_t size = file->id.size;
	enum tb_status status = TB_OK;

	t->unsized = false;
	for (size_t i = 0; !status && i < t->nuses; i++) {
		const struct verify_model *m = &r->models[t->uses[i].model];
		const struct verify_file *f = file_of(r, t->uses[i]);
		char want[24], have[24], name[VERIFY_NAME_MAX];
		struct verify_where at = { .model = m, .blob = f->digest, .expected = want,
					   .actual = have };
		struct verify_cut cut;

		*name = 0;
		if (!f->sized || f->want_size == size)
			continue;
		snprintf(want, sizeof(want), "%ju", (uintmax_t)f->want_size);
		snprintf(have, sizeof(have), "%ju", (uintmax_t)size);
		if (!digest_right)
			status = verify_cut_off(file, f->want_size, &cut, &at, name, err);
		if (!*name)
			verify_name(f, &at, name);
		verify_find(r, F_SIZE_MISMATCH, &at, "%s: %s has %s bytes, the manifest says %s%s%s",
			    m->loc.name, f->digest, have, want, digest_right
			    ? "; its digest is right, so the manifest is wrong" : "", name);
		t->unsized = true;
	}
	t->bad |= t->unsized;
	return status;
}

static enum tb_status
judge_digest(struct verify_run *r, struct verify_target *t, const struct tb_file *f,
	     const char *digest, struct tb_err *err)
{
	bool right = !strcmp(digest, t->file->digest);
	enum tb_status status = check_sizes(r, t, f, right, err);
	char text[200];

	t->equal = right;
	if (status || right)
		return status;
	if (t->file->sums)
		snprintf(text, sizeof(text), "does not have the bytes that %.150s says", t->file->sums);
	return verify_find_damage(r, t, f, F_DIGEST_MISMATCH, t->file->digest, digest, t->file->sums
				  ? text : "does not have the bytes that its name says", err);
}

/* Files of directories: nobody says what their bytes are, but we know what they were.  A
 * copy that was put in their place is no excuse: whoever keeps the time of a file keeps
 * its bytes. */
static enum tb_status
judge_change(struct verify_run *r, struct verify_target *t, const struct tb_file *f,
	     const char *digest, struct tb_err *err)
{
	const struct db_hash *was = &t->was;

	t->equal = t->known && !strcmp(was->digest, digest);
	if (!t->known || t->equal)
		return TB_OK;
	t->rotten = was->id.size == f->id.size && was->id.mtime_ns == f->id.mtime_ns;
	if (t->rotten)
		return verify_find_damage(r, t, f, F_CONTENT_CHANGED, was->digest, digest, "has other "
				   "bytes than at the last verify, but the same size and time (if "
				   "that was on purpose, touch it and verify again)", err);
	verify_find_for_all(r, t, F_CHANGED_SINCE, (struct verify_where){ .expected = was->digest,
		     .actual = digest }, "was written since the last verify");
	return TB_OK;
}

/* Others than they were, and the model cannot be read with them: what they were is still
 * what they should be, and "heal" can look for it. */
static bool
broke_model(const struct verify_run *r, const struct verify_target *t)
{
	bool broke = false;

	for (size_t i = 0; i < t->nuses && t->known && !*t->file->digest && !t->equal; i++) {
		const struct verify_model *m = &r->models[t->uses[i].model];

		for (size_t k = 0; k < m->nproblems; k++)
			broke |= strstr(m->problems[k].message, tb_path_name(t->file->path)) != NULL;
	}
	return broke;
}

/* Its bytes have that SHA-256. */
static enum tb_status
judge_file(struct verify_run *r, struct verify_target *t, const struct tb_file *f,
	   const char *sha256, struct tb_err *err)
{
	struct db_hash h = { .id = f->id, .when_ns = tb_now_ns(), .run = r->out->run };
	enum tb_status status = TB_OK;
	char git[TB_DIGEST_MAX] = "";

	memcpy(h.digest, sha256, sizeof(h.digest));
	if (tb_starts(t->file->digest, "gitsha1:"))
		status = tb_gitsha1_file(f, NULL, git, err);
	if (status)
		return status;
	memcpy(t->found, h.digest, sizeof(t->found));
	if (*t->file->digest)
		status = judge_digest(r, t, f, *git ? git : h.digest, err);
	else
		status = judge_change(r, t, f, h.digest, err);
	if (!status)
		status = verify_sums_end(t->sums, r, t, h.digest, err);
	if (!status && t->scan)
		status = verify_values(r, t, f, t->scan, err);
	if (t->rotten)	/* damage is not what the next run compares with */
		memcpy(h.digest, t->was.digest, sizeof(h.digest));
	h.ok = !t->bad;
	h.recorded = !*t->file->digest && !t->equal && !t->rotten;
	if (!status && !t->rotten && broke_model(r, t))
		return TB_OK;
	if (!status)
		verify_remember(r, t->file->path, &h);
	if (!status && t->real)
		verify_remember(r, t->real, &h);
	return status;
}

static bool
found_good(const struct verify_run *r, const struct verify_target *t)
{
	return t->known && r->req->since_ns > 0 && t->was.ok &&
	       t->was.when_ns >= r->req->since_ns &&
	       tb_ident_equal(&t->was.id, &t->file->id) && !t->unsized;
}

static void
count_file(struct verify_run *r, const struct verify_target *t, const struct tb_file *f)
{
	bool compared = *t->file->digest || t->equal || t->rotten;

	pthread_mutex_lock(&r->lock);
	r->out->blobs++;
	r->out->bytes += f->id.size;
	r->out->compared += compared;
	r->out->recorded += !compared;
	pthread_mutex_unlock(&r->lock);
}

/* ---- all of them ---- */

static enum tb_status
file_begun(void *arg, size_t i, const struct tb_file *f, struct tb_seen *seen, struct tb_err *err)
{
	struct verify_run *r = arg;
	struct verify_target *t = r->hashed[i];
	enum tb_status status;

	tb_job_what(r->job, "%s", t->nuses ? r->models[t->uses->model].loc.name : "orphans");
	t->sums = tb_calloc(1, sizeof(*t->sums));
	if (!t->sums)
		return tb_nomem(err);
	status = verify_sums_begin(t->sums, r, t, f, err);
	if (!status && verify_sums_seen(t->sums))
		*seen = *verify_sums_seen(t->sums);
	if (status || !r->req->deep || !t->nuses)
		return status;
	t->scan = tb_calloc(1, sizeof(*t->scan));
	status = t->scan ? verify_scan_begin(t->scan, t, f, verify_sums_seen(t->sums), err)
			 : tb_nomem(err);
	if (!status)
		*seen = t->scan->seen;
	return status;
}

/* What came back when somebody undid that it was taken away. */
static enum tb_status
hash_again(struct verify_run *r, size_t i, struct tb_file *f, char sha256[TB_DIGEST_MAX],
	   bool *gone, struct tb_err *err)
{
	struct tb_seen seen = { 0 };
	enum tb_status status = verify_open_again(r, r->hashed[i], f, gone, err);

	if (!status)
		status = file_begun(r, i, f, &seen, err);
	return status ? status : tb_sha256_file(f, r->job, seen.fn ? &seen : NULL, sha256, err);
}

static void
file_done(void *arg, size_t i, const struct tb_file *f, enum tb_status status,
	  const char sha256[TB_DIGEST_MAX], struct tb_err *err)
{
	struct verify_run *r = arg;
	struct verify_target *t = r->hashed[i];
	struct tb_file back = { .fd = -1 };
	char digest[TB_DIGEST_MAX];
	bool gone = false;

	if (!f && status == TB_ENOENT) {
		status = hash_again(r, i, &back, digest, &gone, err);
		f = &back;
		sha256 = digest;
	}
	if (!status)
		status = judge_file(r, t, f, sha256, err);
	if (!status)
		count_file(r, t, f);
	else if (!gone && (status == TB_EIO || status == TB_ENOENT || status == TB_EFORMAT))
		verify_find_for_all(r, t, F_BLOB_UNREADABLE, (struct verify_where){
				    .expected = "", .actual = err->msg }, "cannot be read");
	else if (!gone && status != TB_ECANCEL)
		verify_fail(r, status, err);
	tb_file_close(&back);
	if (t->sums)
		verify_sums_free(t->sums);
	if (t->scan)
		verify_scan_free(t->scan);
	free(t->sums);
	free(t->scan);
	t->sums = NULL;
	t->scan = NULL;
	tb_job_step(r->job, 0, 1);
}

/* On the thread that called, which owns the connection. */
static void
flush_news(void *arg)
{
	struct verify_run *r = arg;
	struct tb_err err;
	enum tb_status status;

	if (tb_monotonic() - r->flushed <= FLUSH_SECONDS)
		return;
	status = verify_flush(r, &err);
	if (status)
		verify_fail(r, status, &err);
}

/* The targets that are read, and what else is known of the others. */
static enum tb_status
list_hashed(struct verify_run *r, struct tb_hash_file **files, size_t *n, struct tb_err *err)
{
	uint64_t bytes = 0;

	r->hashed = tb_calloc(r->ntargets + 1, sizeof(struct verify_target *));
	*files = tb_calloc(r->ntargets + 1, sizeof(**files));
	*n = 0;
	if (!r->hashed || !*files)
		return tb_nomem(err);
	for (size_t i = 0; i < r->ntargets; i++) {
		struct verify_target *t = &r->targets[i];
		const struct verify_file *f = t->file;
		bool good = found_good(r, t);

		r->out->skipped += good;
		if (good || verify_resume_skips(r, t)) {
			t->equal = !t->was.recorded;
			memcpy(t->found, t->was.digest, sizeof(t->found));
			continue;
		}
		bytes += f->id.size;
		(*files)[*n] = (struct tb_hash_file){ f->path, f->id.size, f->id.dev };
		r->hashed[(*n)++] = t;
	}
	tb_job_total(r->job, bytes, *n);
	return TB_OK;
}

enum tb_status
verify_files(struct verify_run *r, struct tb_err *err)
{
	struct tb_hash_files all = { .arg = r, .begun = file_begun,
				     .done = file_done, .now_and_then = flush_news };
	struct tb_hash_file *files = NULL;
	enum tb_status status = prepare_targets(r, err);

	if (!status)
		status = list_hashed(r, &files, &all.n, err);
	all.files = files;
	if (!status)
		status = tb_sha256_files(r->ctx->pool, &all, r->job, err);
	free(files);
	return status || !r->status ? status : tb_pass(err, &r->err);
}
