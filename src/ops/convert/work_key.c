/* work_key.c - the name of a conversion's work: what it makes, and of what.  Equal names mean
 * that any finished file of one is, byte for byte, that of the other. */
#include "config.h"

#include <string.h>

#include "src/base/sha256.h"
#include "src/base/text.h"
#include "src/model/values.h"
#include "src/ops/convert/window.h"
#include "src/ops/convert/work.h"

/* To be raised when the same plan comes to give other bytes. */
#define WORK_FORMAT 1

static void
add_u64(struct tb_sha256 *sha, uint64_t v)
{
	tb_sha256_add(sha, &v, sizeof(v));
}

static void
add_text(struct tb_sha256 *sha, const char *s)
{
	tb_sha256_add(sha, s, strlen(s) + 1);
}

/* The same on every machine that sees it: devices have other numbers there.  The time of a
 * blob is that of its last use. */
static void
add_file_ident(struct tb_sha256 *sha, const struct model_file *f)
{
	add_text(sha, *f->digest ? f->digest : tb_path_name(f->path));
	add_u64(sha, f->id.ino);
	add_u64(sha, f->id.size);
	add_u64(sha, *f->digest ? 0 : (uint64_t)f->id.mtime_ns);
}

static void
add_scheme(struct tb_sha256 *sha, const struct scheme *s)
{
	char name[SCHEME_NAME_MAX];

	add_text(sha, scheme_name(s, name));
	add_u64(sha, s->kind);
	add_u64(sha, s->dtype);
	add_u64(sha, s->ggml);
	add_u64(sha, s->bits);
	add_u64(sha, s->group);
}

/* What each of its columns counts, matrix by matrix. */
static void
add_care(struct tb_sha256 *sha, const struct plan *p, const struct tensor *t)
{
	uint64_t matrix = t->ndim > 1 ? t->dim[t->ndim - 1] * t->dim[t->ndim - 2] : t->elems;

	add_u64(sha, p->care.search);
	add_u64(sha, p->care.feedback ? p->care.key : 0);
	for (uint64_t first = 0; p->care.weights && matrix && first < t->elems; first += matrix) {
		struct encode_how how = encode_how(p->flavour, &p->care, t, NULL,
						   t->ndim ? t->dim[t->ndim - 1] : 1, first);

		add_u64(sha, how.weights != NULL);
		if (how.weights)
			tb_sha256_add(sha, how.weights, how.cols * sizeof(*how.weights));
	}
}

static void
add_row(struct tb_sha256 *sha, const struct plan *p, const struct plan_row *r)
{
	const struct model *m = p->model;

	add_text(sha, r->src->name);
	add_scheme(sha, &r->src->scheme);
	add_scheme(sha, &r->target);
	add_u64(sha, r->src->global_inverse);
	add_u64(sha, r->dtype);
	add_u64(sha, r->repack);
	if (!scheme_equal(&r->target, &r->src->scheme))
		add_care(sha, p, r->src);
	for (enum values_part i = 0; i < PART_COUNT; i++) {
		const struct tensor_part *part = values_part_of(r->src, i);

		add_u64(sha, part != NULL);
		if (!part)
			continue;
		add_file_ident(sha, &m->files[part->file]);
		add_u64(sha, part->off);
		add_u64(sha, part->len);
		add_u64(sha, part->dtype);
		add_u64(sha, part->ndim);
		tb_sha256_add(sha, part->dim, part->ndim * sizeof(*part->dim));
	}
}

/* Field by field: what lies between them is not always the same. */
static void
add_change(struct tb_sha256 *sha, const struct change *c)
{
	add_u64(sha, c->what);
	tb_sha256_add(sha, &c->number, sizeof(c->number));
	add_u64(sha, c->moved);
	if (!c->moved)
		return;
	add_u64(sha, c->walk.first);
	add_u64(sha, c->walk.ndim);
	tb_sha256_add(sha, c->walk.dim, c->walk.ndim * sizeof(*c->walk.dim));
	tb_sha256_add(sha, c->walk.step, c->walk.ndim * sizeof(*c->walk.step));
}

static void
add_out(struct tb_sha256 *sha, const struct plan *p, const struct plan_out *o)
{
	add_text(sha, o->name);
	add_u64(sha, o->blob);
	add_u64(sha, o->ndim);
	tb_sha256_add(sha, o->dim, o->ndim * sizeof(*o->dim));
	add_u64(sha, o->npieces);
	for (size_t i = 0; i < o->npieces; i++) {
		const struct plan_piece *piece = &p->parts->pieces[o->piece + i];

		add_u64(sha, piece->row);
		add_u64(sha, piece->first);
		add_u64(sha, piece->elems);
		add_u64(sha, piece->change);
		if (piece->change)
			add_change(sha, &p->parts->changes[piece->change]);
	}
}

enum tb_status
work_key(const struct plan *p, char out[WORK_KEY_MAX], struct tb_err *err)
{
	char digest[TB_DIGEST_MAX];
	struct tb_sha256 sha;
	enum tb_status status = tb_sha256_init(&sha, err);

	if (status)
		return status;
	add_text(&sha, PACKAGE_VERSION);
	add_u64(&sha, WORK_FORMAT);
	add_u64(&sha, p->dest);
	add_u64(&sha, p->flavour);
	add_u64(&sha, p->nblobs);
	for (size_t i = 0; i < p->nrows; i++)
		add_row(&sha, p, &p->rows[i]);
	for (size_t i = 0; i < p->parts->nouts; i++)
		add_out(&sha, p, &p->parts->outs[i]);
	tb_sha256_done(&sha, digest);
	memcpy(out, digest + strlen("sha256:"), WORK_KEY_MAX - 1);
	out[WORK_KEY_MAX - 1] = 0;
	return TB_OK;
}
