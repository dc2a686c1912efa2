/* bundle_verify.c - is each byte of an archive what its list says? */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/bundle/bundle_parts.h"

static enum tb_status
note_wrong(void *arg, const char *member, const char *why, struct tb_err *err)
{
	struct bundle_damage *d = arg;
	struct bundle_wrong w = { tb_strdup(member), tb_strdup(why) };

	if (w.member && w.why && tb_grow(&d->v, &d->cap, d->n + 1, sizeof(w))) {
		d->v[d->n++] = w;
		return TB_OK;
	}
	free(w.member);
	free(w.why);
	return tb_nomem(err);
}

struct check {
	struct bundle_damage *damage;
	const struct bundle *b;
	struct tb_buf text;		/* of a manifest */
	bool manifest;
};

static enum tb_status
check_wrong(void *arg, const char *member, const char *why, struct tb_err *err)
{
	return note_wrong(((struct check *)arg)->damage, member, why, err);
}

static enum tb_status
check_list(void *arg, const struct bundle *b, struct tb_err *err)
{
	struct check *c = arg;

	(void)err;
	c->b = b;
	return TB_OK;
}

static enum tb_status
check_begin(void *arg, const struct bundle_member *m, struct tb_err *err)
{
	struct check *c = arg;

	(void)err;
	c->manifest = tb_starts(m->path, BUNDLE_MANIFESTS);
	tb_buf_clear(&c->text);
	return TB_OK;
}

static enum tb_status
check_bytes(void *arg, const void *data, size_t len, struct tb_err *err)
{
	struct check *c = arg;

	(void)err;
	if (c->manifest)
		tb_buf_add(&c->text, data, len);
	return TB_OK;
}

/* Its bytes are right; is what they say? */
static enum tb_status
check_end(void *arg, const struct bundle_member *m, struct tb_err *err)
{
	struct check *c = arg;
	struct manifest manifest;
	struct tb_err why;
	enum tb_status status = TB_OK;

	if (c->manifest)
		status = bundle_manifest(c->b, m->path, &c->text, &manifest, &why);
	if (status == TB_ENOMEM)
		return tb_pass(err, &why);
	if (status)	/* it begins with the member's name */
		return note_wrong(c->damage, m->path, tb_starts(why.msg, m->path)
				  ? why.msg + strlen(m->path) + 2 : why.msg, err);
	if (c->manifest)
		manifest_free(&manifest);
	c->damage->good++;
	return TB_OK;
}

enum tb_status
op_bundle_verify(const struct bundle_source *src, struct tb_job *job, struct bundle *out,
		 struct bundle_damage *damage, struct tb_err *err)
{
	struct check c = { .damage = damage, .text = TB_BUF(MANIFEST_MAX) };
	const struct bundle_sink sink = { check_list, check_begin, check_bytes, check_end, check_wrong,
					  &c };
	enum tb_status status;

	*damage = (struct bundle_damage){ 0 };
	status = bundle_walk(src, &sink, false, job, out, err);
	tb_buf_free(&c.text);
	if (status)
		bundle_damage_free(damage);
	return status;
}

enum tb_status
op_bundle_list(const struct bundle_source *src, struct bundle *out, struct tb_err *err)
{
	struct bundle_damage damage = { 0 };
	const struct bundle_sink sink = { .wrong = note_wrong, .arg = &damage };
	enum tb_status status = bundle_walk(src, &sink, true, NULL, out, err);

	bundle_damage_free(&damage);
	return status;
}

void
bundle_damage_free(struct bundle_damage *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].member);
		free(d->v[i].why);
	}
	free(d->v);
	*d = (struct bundle_damage){ 0 };
}
