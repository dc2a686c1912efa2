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
#include "src/store/store_kind.h"

/* ---- by names and sizes ---- */

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
		if (!sure)
			status = db_hash_known(db, b->path, &b->was, b->file->digest, &sure, err);
		b->there = sure ? HUB_SURE : HUB_UNSURE;
	}
	return status;
}

/* A file that may have a blob's first bytes, or all of them; the longest is kept.  Takes `path`,
 * NULL: no memory. */
static enum tb_status
begun_as(struct hub_blob *b, uint64_t *most, char *path, struct tb_err *err)
{
	struct tb_ident id;

	if (!path)
		return tb_nomem(err);
	if (tb_file_ident(path, &id, NULL) || id.size <= *most || id.size > b->file->size) {
		free(path);
		return TB_OK;
	}
	*most = id.size;
	free(b->begun);
	b->begun = path;
	return TB_OK;
}

/* Other stores have files that are called by their SHA-256, too: those of Ollama, and the
 * repositories of this cache. */
static enum tb_status
begun_elsewhere(const struct hub_pull *p, const struct tb_names *repos, struct hub_blob *b,
		uint64_t *most, struct tb_err *err)
{
	const struct store_roots *r = &p->ctx->roots;
	const char *hex = hub_file_hex(b->file);
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < r->n && !status; i++)
		status = begun_as(b, most, tb_asprintf("%s/blobs/sha256-%s", r->path[i], hex), err);
	for (size_t i = 0; i < repos->n && !status; i++)
		if (store_hub.is(repos->v[i]))
			status = begun_as(b, most, tb_asprintf("%s/%s/blobs/%s", p->root, repos->v[i], hex), err);
	return status;
}

/* names: of blobs/.  `hf` leaves "HEX.incomplete" and "HEX.XXXXXXXX.incomplete". */
static enum tb_status
begun_here(const struct hub_pull *p, const struct tb_names *names, struct hub_blob *b,
	   uint64_t *most, struct tb_err *err)
{
	const char *hex = hub_file_hex(b->file);
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < names->n && !status; i++)
		if (tb_starts(names->v[i], hex) && tb_ends(names->v[i], ".incomplete"))
			status = begun_as(b, most, tb_asprintf("%s/blobs/%s", p->repo, names->v[i]), err);
	return status;
}

/* What need not come over the network, if its bytes are right. */
static enum tb_status
find_begun(struct hub_pull *p, struct tb_err *err)
{
	char *dir = tb_path_join(p->repo, "blobs");
	struct tb_names here = { 0 }, repos = { 0 };
	enum tb_status status = dir ? TB_OK : tb_nomem(err);

	if (!status) {			/* what cannot be read has nothing for us */
		(void)!tb_names_read(&here, dir, NULL);
		(void)!tb_names_read(&repos, p->root, NULL);
	}
	for (size_t i = 0; i < p->n && !status; i++) {
		struct hub_blob *b = &p->blobs[i];
		uint64_t most = 0;

		free(b->begun);
		b->begun = NULL;
		if (b->there != HUB_ABSENT)
			continue;
		status = begun_here(p, &here, b, &most, err);
		if (!status && tb_starts(b->file->digest, "sha256:"))
			status = begun_elsewhere(p, &repos, b, &most, err);
	}
	tb_names_free(&here);
	tb_names_free(&repos);
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
