/* registry_blob.c - the bytes of a blob, or some of them. */
#include "config.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/net/registry_parts.h"
#include "src/net/stretch.h"

static enum tb_status
blob_from(struct registry *r, struct registry_at *p, struct http *h, struct stretch *s,
	  const char *where, struct tb_job *job, struct http_fate *fate, struct tb_err *err)
{
	struct http_ask ask = { 0 };
	struct http_answer a = { 0 };
	enum tb_status status;

	s->host = p->host;
	stretch_ask(s, &ask);
	status = place_ask(r, p, h, where, "pull", &ask, job, &a, err);
	status = stretch_end(s, &a, status, fate, err);
	if (!status && !http_well(&a))
		status = place_error(p, &a, s->what, err);
	http_answer_free(&a);
	return status;
}

void
registry_leave_mirrors(struct registry *r)
{
	for (size_t i = 0; i + 1 < r->nplaces; i++)
		atomic_store(&r->places[i].down, true);
}

enum tb_status
registry_blob(struct registry *r, struct http *h, const struct registry_range *want,
	      http_body_fn *fn, void *arg, struct tb_job *job, struct http_fate *fate,
	      struct tb_err *err)
{
	struct stretch s = { .what = want->digest, .said_by = "its manifest", .size = want->size,
			     .off = want->off, .len = want->len, .fn = fn, .arg = arg };
	char *where = tb_asprintf("blobs/%s", want->digest);
	enum tb_status status = where ? TB_EIO : tb_nomem(err);

	*fate = (struct http_fate){ 0 };
	for (size_t i = 0; where && i < r->nplaces; i++) {
		struct registry_at *p = &r->places[i];

		if (i + 1 < r->nplaces && atomic_load(&p->down))
			continue;
		status = blob_from(r, p, h, &s, where, job, fate, err);
		/* what came counts; who asks goes on behind it */
		if (!status || status == TB_ECANCEL || s.given || i + 1 == r->nplaces)
			break;
		if (fate->again)
			atomic_store(&p->down, true);
	}
	free(where);
	return status;
}
