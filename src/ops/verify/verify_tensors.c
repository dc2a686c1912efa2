#include "config.h"

#include "src/ops/verify/verify_tensors.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/base/search.h"

static int
by_offset(const void *a, const void *b)
{
	const struct verify_tensor *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

enum tb_status
verify_tensors_read(struct verify_tensors *out, const struct tb_file *f, struct tb_err *err)
{
	struct verify_tensors t = { 0 };

	*out = t;
	for (const struct format *const *of = format_rows; *of; of++)
		if (!(*of)->read(&t.st, f, NULL))
			break;
	t.v = tb_calloc(t.st.ntensors, sizeof(*t.v));
	if (!t.v) {
		verify_tensors_free(&t);
		return tb_nomem(err);
	}
	for (size_t i = 0; i < t.st.ntensors; i++) {
		const struct st_tensor *s = &t.st.tensors[i];

		t.v[t.n++] = (struct verify_tensor){ s->name, s->blocks ? scheme_ggml(s->blocks - 1u)
						     : scheme_plain(s->dtype), s->off, s->len };
	}
	if (t.n)
		qsort(t.v, t.n, sizeof(*t.v), by_offset);
	*out = t;
	return TB_OK;
}

void
verify_tensors_free(struct verify_tensors *t)
{
	free(t->v);
	st_free(&t->st);
	*t = (struct verify_tensors){ 0 };
}

const struct verify_tensor *
verify_tensor_at(const struct verify_tensors *t, uint64_t off)
{
	size_t behind = TB_FIRST(t->n, i, t->v[i].off <= off);
	const struct verify_tensor *last = behind ? &t->v[behind - 1] : NULL;

	/* Empty ones begin where the next does. */
	return last && off - last->off < last->len ? last : NULL;
}
