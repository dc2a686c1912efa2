#include "config.h"

#include "src/ops/slice/slice.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/engine/slots.h"
#include "src/store/tensor_name.h"

static bool
fits_any(const char *const *patterns, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (tb_glob(patterns[i], name))
			return true;
	return false;
}

/* A pattern without a tensor is a mistake, and what it meant is not done. */
static enum tb_status
check_patterns(const struct model *m, const char *option, const char *const *patterns, size_t n,
	       struct tb_err *err)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < m->ntensors && !tb_glob(patterns[i], m->tensors[k].name))
			k++;
		if (k == m->ntensors)
			return tb_fail(err, TB_EUSAGE, "%s %s: no tensor is called so; \"tbtui tensors\" "
				       "lists them", option, patterns[i]);
	}
	return TB_OK;
}

static enum tb_status
take_out(struct model *m, const struct slice *s, struct tb_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < m->ntensors; i++) {
		const char *name = m->tensors[i].name;

		if ((!s->nkeep || fits_any(s->keep, s->nkeep, name)) &&
		    !fits_any(s->drop, s->ndrop, name))
			m->tensors[n++] = m->tensors[i];
	}
	m->ntensors = n;
	return n ? TB_OK : tb_fail(err, TB_EUSAGE, "no tensor is left");
}

/* One side of a renaming: what is before and behind its star. */
struct side { const char *head, *tail; size_t nhead, ntail; bool star; };

static struct side
side_of(const char *s, size_t n)
{
	const char *star = memchr(s, '*', n);
	size_t head = star ? (size_t)(star - s) : n;

	return (struct side){ s, star ? star + 1 : s + n, head, star ? n - head - 1 : 0, star };
}

static bool
side_fits(const struct side *f, const char *name)
{
	size_t n = strlen(name);

	return f->star ? n >= f->nhead + f->ntail && !memcmp(name, f->head, f->nhead) &&
			 !memcmp(name + n - f->ntail, f->tail, f->ntail)
		       : n == f->nhead && !memcmp(name, f->head, n);
}

static enum tb_status
renamed(struct model *m, struct tensor *t, const struct side *f, const struct side *to,
	struct tb_err *err)
{
	size_t middle = strlen(t->name) - f->nhead - f->ntail;
	struct tb_buf b = TB_BUF(65536);
	enum tb_status status;

	tb_buf_add(&b, to->head, to->nhead);
	if (to->star)
		tb_buf_add(&b, t->name + f->nhead, middle);
	tb_buf_add(&b, to->tail, to->ntail);
	status = tb_buf_status(&b, "a tensor's name", err);
	if (!status && (!b.len || !tname_room(b.p)))
		status = tb_fail(err, TB_EUSAGE, "%s would be called \"%.100s\": no name for a tensor",
				 t->name, tb_buf_cstr(&b));
	if (!status && !(t->name = tb_arena_str(&m->names, b.p)))
		status = tb_nomem(err);
	tb_buf_free(&b);
	return status;
}

static enum tb_status
rename_all(struct model *m, const char *text, struct tb_err *err)
{
	const char *eq = strchr(text, '=');
	struct side from, to;
	enum tb_status status = TB_OK;
	bool any = false;

	if (!eq || eq == text)
		return tb_fail(err, TB_EUSAGE, "--rename %s: FROM=TO, as model.*=*", text);
	from = side_of(text, (size_t)(eq - text));
	to = side_of(eq + 1, strlen(eq + 1));
	if (memchr(from.tail, '*', from.ntail) || memchr(to.tail, '*', to.ntail) ||
	    (to.star && !from.star))
		return tb_fail(err, TB_EUSAGE, "--rename %s: each side may have one *, that of TO the one "
			       "of FROM", text);
	for (size_t i = 0; i < m->ntensors && !status; i++) {
		if (!side_fits(&from, m->tensors[i].name))
			continue;
		any = true;
		status = renamed(m, &m->tensors[i], &from, &to, err);
	}
	return status || any ? status : tb_fail(err, TB_EUSAGE, "--rename %s: no tensor is called so",
						text);
}

static int
by_name(const void *a, const void *b)
{
	const char *x = ((const struct tensor *)a)->name, *y = ((const struct tensor *)b)->name;
	int d = tb_natural_cmp(x, y);

	return d ? d : strcmp(x, y);
}

/* What scales and biases of `t` would be called, in a folder or elsewhere, is no tensor. */
static enum tb_status
check_companions(const struct model *m, const struct tensor *t, struct tb_err *err)
{
	static const char *const endings[] = { ".scale", ".bias", ".global_scale", ".scales", ".biases" };
	size_t base = strlen(t->name) - (tb_ends(t->name, ".weight") ? strlen(".weight") : 0);

	for (size_t i = 0; t->has_scale && i < sizeof(endings) / sizeof(*endings); i++) {
		int n = i < 3 ? (int)strlen(t->name) : (int)base;
		char *name = tb_asprintf("%.*s%s", n, t->name, endings[i]);
		const struct tensor *other = name ? model_tensor(m, name) : NULL;

		free(name);
		if (!name)
			return tb_nomem(err);
		if (other)
			return tb_fail(err, TB_EUSAGE, "%s is what a part of %s is called", other->name,
				       t->name);
	}
	return TB_OK;
}

static enum tb_status
check_names(const struct model *m, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 1; i < m->ntensors; i++)
		if (!strcmp(m->tensors[i - 1].name, m->tensors[i].name))
			return tb_fail(err, TB_EUSAGE, "two tensors would be called %s",
				       m->tensors[i].name);
	for (size_t i = 0; i < m->ntensors && !status; i++)
		status = check_companions(m, &m->tensors[i], err);
	return status;
}

static void
count(struct model *m)
{
	m->params = m->draft_params = 0;
	for (size_t i = 0; i < m->ntensors; i++)
		*(m->tensors[i].draft ? &m->draft_params : &m->params) += m->tensors[i].elems;
}

enum tb_status
slice_model(struct model *m, const struct slice *s, struct tb_err *err)
{
	enum tb_status status = check_patterns(m, "--keep", s->keep, s->nkeep, err);

	if (!status)
		status = check_patterns(m, "--drop", s->drop, s->ndrop, err);
	if (!status)
		status = take_out(m, s, err);
	for (size_t i = 0; i < s->nrename && !status; i++)
		status = rename_all(m, s->rename[i], err);
	if (status)
		return status;
	if (s->nrename)
		qsort(m->tensors, m->ntensors, sizeof(*m->tensors), by_name);
	count(m);
	return check_names(m, err);
}

struct lack { size_t n, size; char *first; };

static enum tb_status
note_lack(void *arg, const struct slot_wrong *w, struct tb_err *err)
{
	struct lack *l = arg;

	(void)err;
	if (w->fault == SLOT_ABSENT && !l->n++)
		tb_text_clean(w->name, l->first, l->size);
	return TB_OK;
}

size_t
slice_lacks(const struct model *m, char *first, size_t size)
{
	struct lack l = { 0, size, first };
	const struct slot_visitor v = { NULL, note_lack, &l };
	struct hparams hp;

	if (hparams_model(&hp, m, NULL))
		return 0;
	if (slots_visit(&hp, m, &v, NULL))
		l.n = 0;
	hparams_free(&hp);
	return l.n;
}

bool
slice_size(const char *text, uint64_t *out)
{
	if (strcmp(text, "none") != 0)
		return tb_parse_bytes(text, out);
	*out = UINT64_MAX;
	return true;
}
