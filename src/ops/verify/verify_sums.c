/* verify_sums.c - what a file is summed with while it is hashed, so that a later run can say
 * where its bytes are not what they were. */
#include "config.h"

#include "src/ops/verify/verify_sums.h"

#include <stdlib.h>
#include <string.h>

#include "db/sums.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/format.h"
#include "src/ops/verify/verify_tensors.h"

const char *
verify_good_digest(const struct verify_target *t)
{
	if (tb_starts(t->file->digest, "sha256:"))
		return t->file->digest;
	/* what a blob of git was when it was found bad is no good digest */
	return t->known && (!*t->file->digest || t->was.ok) ? t->was.digest : NULL;
}

/* Worth it where a piece is not the whole file; and not again while its bytes should be
 * those that were summed. */
static bool
sums_wanted(const struct verify_run *r, const struct verify_target *t, const struct tb_file *f)
{
	bool written = !*t->file->digest && t->known && !tb_ident_equal(&t->was.id, &f->id);

	return !r->out->unkept && (!t->summed || written) &&
	       (t->file->ntensors || f->id.size > TB_SUMS_PIECE);
}

/* Each tensor begins a piece, and what follows it another. */
static enum tb_status
cut_at_tensors(struct verify_summing *s, const struct tb_file *f, struct tb_err *err)
{
	struct verify_tensors list;
	enum tb_status status = verify_tensors_read(&list, f, err);
	uint64_t *cut = NULL;

	if (status)
		return status;
	s->parts = list.n > 0;
	cut = tb_calloc(list.n, 2 * sizeof(*cut));
	for (size_t i = 0; cut && i < list.n; i++) {
		cut[2 * i] = list.v[i].off;
		cut[2 * i + 1] = list.v[i].off + list.v[i].len;
	}
	status = cut ? tb_sums_cut(&s->sums, f->id.size, cut, 2 * list.n, err) : tb_nomem(err);
	free(cut);
	verify_tensors_free(&list);
	return status;
}

enum tb_status
verify_sums_begin(struct verify_summing *s, const struct verify_run *r,
		  const struct verify_target *t, const struct tb_file *f, struct tb_err *err)
{
	enum tb_status status;

	*s = (struct verify_summing){ .seen = { tb_summing_add, &s->run } };
	if (!sums_wanted(r, t, f))
		return TB_OK;
	status = cut_at_tensors(s, f, err);
	if (!status)
		status = tb_summing_start(&s->run, &s->sums, err);
	s->on = !status;
	if (status)
		verify_sums_free(s);
	return status;
}

const struct tb_seen *
verify_sums_seen(const struct verify_summing *s)
{
	return s->on ? &s->seen : NULL;
}

/* A file that lost its tensors is no reason to forget where they were. */
static bool
better_than_before(const struct verify_summing *s, const struct verify_target *t)
{
	return s->parts || !format_of_name(t->file->path);
}

enum tb_status
verify_sums_end(struct verify_summing *s, struct verify_run *r, const struct verify_target *t,
		const char *digest, struct tb_err *err)
{
	struct tb_buf packed = TB_BUF(SIZE_MAX);
	const char *was = verify_good_digest(t);
	enum tb_status status = TB_OK;

	if (s->on && tb_summing_end(&s->run) && !t->bad && better_than_before(s, t)) {
		status = tb_sums_pack(&s->sums, &packed, err);
		if (!status)
			verify_keep_sums(r, digest, was && strcmp(was, digest) ? was : "",
					 packed.p, packed.len);
		tb_buf_free(&packed);
	}
	verify_sums_free(s);
	return status;
}

void
verify_sums_free(struct verify_summing *s)
{
	(void)tb_summing_end(&s->run);
	tb_sums_free(&s->sums);
	s->on = false;
}

enum tb_status
verify_sums_recall(const struct verify_run *r, const struct verify_target *t, struct tb_sums *out,
		   struct tb_err *err)
{
	const char *digest = verify_good_digest(t);
	struct db *db = NULL;
	enum tb_status status;

	*out = (struct tb_sums){ 0 };
	if (!digest)
		return TB_OK;
	status = db_open_read(&db, r->ctx->db_path, err);
	if (!status)
		status = db_sums_get(db, digest, out, err);
	db_close(db);
	/* What cannot be read now is as if it had not been kept: the damage is told all the same. */
	return status == TB_EDB || status == TB_EIO ? TB_OK : status;
}
