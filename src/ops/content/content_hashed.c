/* content_hashed.c - what others than a verify have hashed is noted as a verify notes it. */
#include "config.h"

#include "src/ops/content/content.h"

#include <string.h>

#include "db/audit.h"
#include "db/write.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/blobdir/blobdir.h"
#include "src/store/hub.h"

#define SECOND_HASH_MAX (64u << 20)	/* bytes of a file that git's SHA-1 was made of */

/* The SHA-256, which is what the index has, of a file that is called by another digest. */
static bool
second_hash(const char *path, char digest[TB_DIGEST_MAX])
{
	struct tb_file f = { .fd = -1 };
	bool well = !tb_file_open(&f, path, NULL) && f.id.size <= SECOND_HASH_MAX &&
		    !tb_sha256_file(&f, NULL, NULL, digest, NULL);

	tb_file_close(&f);
	return well;
}

/* What is another file by now was not hashed.  Its time alone changes when it gets its name. */
static bool
is_still(const struct content_hashed *h, const struct tb_ident *now)
{
	struct tb_ident was = h->was;

	if (h->placed)
		was.mtime_ns = now->mtime_ns;
	return tb_ident_equal(&was, now);
}

static enum tb_status
note_file(struct db *db, const struct content_hashed *h, struct tb_err *err)
{
	struct db_hash hash = { .ok = true, .when_ns = tb_now_ns() };
	bool known;
	enum tb_status status;

	if (tb_file_ident(h->path, &hash.id, NULL) || !is_still(h, &hash.id))
		return TB_OK;
	status = db_hash_known(db, h->path, &hash.id, h->digest, &known, err);
	if (status || known)
		return status;
	if (tb_starts(h->digest, "sha256:"))
		memcpy(hash.digest, h->digest, sizeof(hash.digest));
	else if (!second_hash(h->path, hash.digest))
		return TB_OK;
	return db_hash_put(db, h->path, &hash, err);
}

/* Is every byte of it known to be right?  A manifest without a digest has those of all others. */
static bool
is_all_known(struct db *db, const struct model *m)
{
	bool known = true, any = false;

	for (size_t i = 0; i < m->nfiles && known; i++) {
		const struct model_file *f = &m->files[i];
		char digest[TB_DIGEST_MAX];

		memcpy(digest, f->digest, sizeof(digest));
		if (!*digest && !hub_digest(f->path, digest))
			*digest = 0;
		if (f->is_manifest && !*digest)
			continue;
		any = true;
		known = *digest && !f->missing && !db_hash_known(db, f->path, &f->id, digest, &known, NULL) &&
			known;
	}
	return known && any;
}

/* It is opened before the others have to wait. */
static void
note_model(struct db *db, const struct op_ctx *ctx, const char *ref)
{
	struct model_loc loc = { 0 };
	struct model *m = NULL;

	if (!store_resolve(&ctx->roots, ref, &loc, NULL) && !model_open(&m, &loc, NULL) &&
	    is_all_known(db, m) && !db_begin(db, NULL))
		(void)!db_end(db, db_model_hashed(db, loc.path, model_stamp(m), tb_now_ns(), NULL), NULL);
	model_free(m);
	model_loc_free(&loc);
}

void
content_note_hashed(const struct op_ctx *ctx, const struct content_hashed *v, size_t n,
		    const char *const *models, size_t nmodels)
{
	struct db *db = NULL;
	enum tb_status status = db_open_write(&db, ctx->db_path, NULL);

	if (!status)
		status = db_begin(db, NULL);
	if (!status) {
		for (size_t i = 0; i < n && !status; i++)
			status = note_file(db, &v[i], NULL);
		status = db_end(db, status, NULL);
	}
	for (size_t i = 0; i < nmodels && !status; i++)
		note_model(db, ctx, models[i]);
	db_close(db);
}
