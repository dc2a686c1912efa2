#include "config.h"

#include "db/list.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"

void
order_free(struct order *o)
{
	free(o->filter);
	free(o->sort);
	free(o->roots);
	*o = (struct order){ 0 };
}

static bool
same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* A writer's own changes do not show in the version: it asks afresh each time. */
enum tb_status
order_same(struct db *db, struct order *o, int64_t model, const struct db_query *q, bool *same,
	   struct tb_err *err)
{
	struct tb_buf list = TB_BUF(1 << 20);
	int64_t now = 0;
	enum tb_status status;
	char *roots;

	for (size_t i = 0; q->roots && i < q->roots->n; i++)
		tb_buf_printf(&list, "%s\n", q->roots->path[i]);
	tb_buf_chr(&list, q->roots ? '.' : '*');	/* none of them is not the same as all */
	roots = tb_buf_take(&list);
	status = roots ? db_version(db, &now, err) : tb_nomem(err);
	*same = !status && !db->writer && o->valid && o->model == model && o->version == now &&
		o->reverse == q->reverse && same_text(o->filter, q->filter) &&
		same_text(o->sort, q->sort) && same_text(o->roots, roots);
	if (*same || status) {
		free(roots);
		return status;
	}
	order_free(o);
	*o = (struct order){ .model = model, .version = now, .reverse = q->reverse,
			     .filter = tb_strdup(q->filter ? q->filter : ""),
			     .sort = tb_strdup(q->sort ? q->sort : ""), .roots = roots };
	return o->filter && o->sort ? TB_OK : tb_nomem(err);
}

bool
db_match(const char *filter, const char *text)
{
	return strpbrk(filter, "*?[") ? tb_glob(filter, text) : tb_contains(text, filter);
}

bool
rank_order(rank_fn *at, const void *arg, size_t n, size_t nranks, bool reverse, uint32_t *out)
{
	uint32_t *first = tb_calloc(nranks + 1, sizeof(*first));

	if (!first)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint32_t r = at(arg, i);

		first[(reverse ? (uint32_t)nranks - 1 - r : r) + 1]++;
	}
	for (size_t r = 0; r < nranks; r++)
		first[r + 1] += first[r];
	for (size_t i = 0; i < n; i++) {
		uint32_t r = at(arg, i);

		out[first[reverse ? (uint32_t)nranks - 1 - r : r]++] = (uint32_t)i;
	}
	free(first);
	return true;
}

size_t
window_of(const struct db_query *q, size_t total, size_t *offset)
{
	size_t left;

	*offset = q->offset < total ? (size_t)q->offset : total;
	left = total - *offset;
	return q->limit && q->limit < left ? (size_t)q->limit : left;
}

/* Bytes are blocks of a type of their own, which is the scheme, or U8, which is as well. */
bool
tensor_row(const struct dict *d, const struct contents *c, size_t ord, struct tb_arena *mem,
	   struct db_tensor *out)
{
	const struct form *f = dict_form(d, c->form[ord]);

	*out = (struct db_tensor){
		.ord = ord, .name = tb_arena_str(mem, dict_name(d, c->name[ord])),
		.scheme = tb_arena_str(mem, f->scheme),
		.elems = f->elems, .bytes = f->bytes, .off = c->off[ord],
		.file = "", .model_name = "",
	};
	for (const char *text = f->shape; *text && out->ndim < TB_MAX_DIMS; text += *text == ',') {
		char *end;

		out->dim[out->ndim++] = strtoull(text, &end, 10);	/* "4096,11008" */
		if (end == text)
			break;
		text = end;
	}
	out->dtype = f->dtype == DT_U8 ? out->scheme
		   : f->dtype < DT_COUNT ? dtype_name(f->dtype) : "?";
	return out->name && out->scheme;
}
