#include "config.h"

#include "ui/opened.h"

#include <stdlib.h>

#include "src/base/mem.h"

enum tb_status
opened_new(struct opened **out, const struct model_loc *loc, struct tb_err *err)
{
	struct opened *o = tb_calloc(1, sizeof(*o));

	*out = NULL;
	if (!o)
		return tb_nomem(err);
	atomic_init(&o->refs, 1);
	if (model_open(&o->m, loc, err)) {
		free(o);
		return err->code;
	}
	*out = o;
	return TB_OK;
}

struct opened *
opened_ref(struct opened *o)
{
	atomic_fetch_add(&o->refs, 1);
	return o;
}

void
opened_unref(struct opened *o)
{
	if (!o || atomic_fetch_sub(&o->refs, 1) != 1)
		return;
	model_free(o->m);
	free(o);
}
