/* hub_there.c - what of a model the cache has already, and whether that is right. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "db/audit.h"
#include "src/base/dir.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/home/home.h"
#include "src/ops/hub_pull/hub_pull_parts.h"

/* ---- by names and sizes ---- */

/* A verify that found it right compared it with its name, a SHA-1 of git's as well. */
static enum tb_status
is_known(struct db *db, const struct hub_blob *b, bool *sure, struct tb_err *err)
{
	struct db_hash was;
	bool found;
	enum tb_status status = db_hash_get(db, b->path, &was, &found, err);

	*sure = !status && found && was.ok && !was.recorded && tb_ident_equal(&was.id, &b->was) &&
		(!tb_starts(b->file->digest, "sha256:") || !strcmp(was.digest, b->file->digest));
	return status;
}

static enum tb_status
find_blob(struct hub_blob *b, struct db *db, struct tb_err *err)
{
	const struct tb_ident before = b->was;
	enum tb_status status = TB_OK;
	bool sure = b->there == HUB_SURE;

	b->was = (struct tb_ident){ 0 };
	if (tb_absent(b->path))
		b->there = HUB_ABSENT;
	else if (tb_file_ident(b->path, &b->was, NULL) || b->was.size != b->file->size)
		b->there = HUB_DAMAGED;
	else {
		sure = sure && tb_ident_equal(&before, &b->was);
		status = db && !sure ? is_known(db, b, &sure, err) : TB_OK;
		b->there = sure ? HUB_SURE : HUB_UNSURE;
	}
	return status;
}

/* "HEX.incomplete" and "HEX.XXXXXXXX.incomplete": the longest that `hf` has left. */
static enum tb_status
find_begun(struct hub_pull *p, struct tb_err *err)
{
	char *dir = tb_path_join(p->repo, "blobs");
	struct tb_names names = { 0 };
	enum tb_status status = dir ? TB_OK : tb_nomem(err);

	if (status || tb_names_read(&names, dir, NULL)) {
		free(dir);
		return status;
	}
	for (size_t i = 0; i < p->n && !status; i++) {
		struct hub_blob *b = &p->blobs[i];
		const char *hex = hub_file_hex(b->file);
		uint64_t most = 0;

		free(b->begun);
		b->begun = NULL;
		for (size_t k = 0; b->there == HUB_ABSENT && k < names.n && !status; k++) {
			char *path = tb_starts(names.v[k], hex) && tb_ends(names.v[k], ".incomplete")
				   ? tb_path_join(dir, names.v[k]) : NULL;
			struct tb_ident id;

			if (path && !tb_file_ident(path, &id, NULL) && id.size > most &&
			    id.size <= b->file->size) {
				most = id.size;
				free(b->begun);
				b->begun = path;
				path = NULL;
			}
			free(path);
		}
	}
	tb_names_free(&names);
	free(dir);
	return status;
}

enum tb_status
hub_find(struct hub_pull *p, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	struct db *db = NULL;

	if (tb_exists(p->ctx->db_path))
		(void)!db_open_read(&db, p->ctx->db_path, NULL);	/* all has to be hashed then */
	for (size_t i = 0; !status && i < p->n; i++)
		status = find_blob(&p->blobs[i], db, err);
	db_close(db);
	return status ? status : find_begun(p, err);
}

bool
hub_is_current(const struct hub_pull *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->blobs[i].there == HUB_ABSENT || p->blobs[i].there == HUB_DAMAGED)
			return false;
	for (size_t i = 0; i < p->files.n; i++)
		if (p->take[i] && !snapshot_leads(p, &p->files.v[i]))
			return false;
	return true;
}

/* ---- by their bytes ---- */

static enum tb_status
check_blob(struct hub_blob *b, struct tb_job *job, struct tb_err *err)
{
	char digest[TB_DIGEST_MAX] = "";
	struct tb_file f = { .fd = -1 };
	struct tb_ident now = { 0 };
	enum tb_status status = tb_file_open(&f, b->path, NULL);

	tb_job_what(job, "checking %.100s, which is there", b->file->path);
	if (!status)
		status = tb_starts(b->file->digest, "sha256:")
		       ? tb_sha256_file(&f, job, NULL, digest, NULL)
		       : tb_gitsha1_file(&f, job, digest, NULL);
	if (!status)
		status = tb_file_now(&f, &now, NULL);
	b->there = !status && !strcmp(digest, b->file->digest) && tb_ident_equal(&now, &f.id)
		 ? HUB_SURE : HUB_DAMAGED;
	b->was = status ? b->was : now;
	tb_file_close(&f);
	return tb_job_check(job, err);
}

enum tb_status
hub_check(struct hub_pull *p, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	uint64_t bytes = 0, n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->blobs[i].there == HUB_UNSURE) {
			bytes += p->blobs[i].file->size;
			n++;
		}
	if (n)
		tb_job_total(job, bytes, n);
	for (size_t i = 0; i < p->n && !status; i++)
		if (p->blobs[i].there == HUB_UNSURE) {
			status = check_blob(&p->blobs[i], job, err);
			tb_job_step(job, 0, 1);
		}
	return status;
}
