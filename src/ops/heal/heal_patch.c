/* heal_patch.c - a file whose damage lies in a tensor, put together from the damaged file and
 * another model's tensor of that name, if that gives the digest that the file should have. */
#include "config.h"

#include "src/ops/heal/heal_run.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"

#define PIECE (1u << 20)
#define FEW 8		/* tensors that are tried one by one; more differ in another model */

/* ---- a file with its patches ---- */

static enum tb_status
open_patches(struct heal_whole *w, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < w->n; i++)
		w->files[i].fd = -1;
	for (size_t i = 0; !status && i < w->n; i++)
		if (!i || strcmp(w->patches[i].path, w->patches[i - 1].path) != 0)
			status = tb_file_open(&w->files[i], w->patches[i].path, err);
	return status;
}

enum tb_status
heal_whole_open(struct heal_whole *w, const char *path, uint64_t size,
		const struct heal_patch *patches, size_t n, struct tb_err *err)
{
	enum tb_status status;

	*w = (struct heal_whole){ .patches = patches, .n = n, .size = size };
	status = tb_file_open(&w->base, path, err);
	if (!status && !(w->files = tb_calloc(n + 1, sizeof(*w->files))))
		status = tb_nomem(err);
	if (!status)
		status = open_patches(w, err);
	if (status)
		heal_whole_close(w);
	return status;
}

void
heal_whole_close(struct heal_whole *w)
{
	for (size_t i = 0; w->files && i < w->n; i++)
		tb_file_close(&w->files[i]);
	free(w->files);
	tb_file_close(&w->base);
	w->files = NULL;
}

enum tb_status
heal_whole_read(const struct heal_whole *w, uint64_t off, void *buf, size_t len, struct tb_err *err)
{
	uint64_t size = w->base.id.size, end = off + len;
	size_t have = off >= size ? 0 : size - off < len ? (size_t)(size - off) : len, file = 0;
	enum tb_status status = tb_file_read(&w->base, off, buf, have, err);

	memset((char *)buf + have, 0, len - have);	/* behind the end of a file that was cut */
	for (size_t i = 0; !status && i < w->n; i++) {
		const struct heal_patch *p = &w->patches[i];
		uint64_t from = p->off > off ? p->off : off;
		uint64_t to = p->off + p->len < end ? p->off + p->len : end;

		if (w->files[i].fd >= 0)
			file = i;
		if (from < to)
			status = tb_file_read(&w->files[file], p->from + (from - p->off),
					      (char *)buf + (from - off), (size_t)(to - from), err);
	}
	return status;
}

/* Would the file have its digest with these patches? */
static enum tb_status
would_heal(struct heal_run *r, const struct heal_item *item, const struct heal_patch *patches,
	   size_t n, bool *yes, struct tb_err *err)
{
	char *buf = malloc(PIECE), digest[TB_DIGEST_MAX] = "";
	struct heal_whole w = { 0 };
	struct tb_sha256 s = { 0 };
	enum tb_status status = buf ? tb_sha256_init(&s, err) : tb_nomem(err);

	if (!status)
		status = heal_whole_open(&w, item->path, item->size, patches, n, err);
	for (uint64_t off = 0; !status && off < item->size; off += PIECE) {
		size_t len = item->size - off < PIECE ? (size_t)(item->size - off) : PIECE;

		status = tb_job_check(r->job, err);
		if (!status)
			status = heal_whole_read(&w, off, buf, len, err);
		if (!status)
			tb_sha256_add(&s, buf, len);
	}
	if (status)
		tb_sha256_free(&s);
	else
		tb_sha256_done(&s, digest);
	*yes = !status && !strcmp(digest, item->digest);
	heal_whole_close(&w);
	free(buf);
	return status;
}

/* ---- the tensors of an item, and those of another model ---- */

static const struct tensor_part *
part_of(const struct tensor *t, unsigned which)
{
	switch (which) {
	case 0: return &t->weight;
	case 1: return t->has_scale ? &t->scale : NULL;
	case 2: return t->has_bias ? &t->bias : NULL;
	case 3: return t->has_global ? &t->global : NULL;
	default: return t->has_order ? &t->order : NULL;
	}
}
#define PARTS 5

/* Two models side by side, for one item of the first. */
struct beside {
	struct heal_run *r;
	struct heal_item *item;
	const struct model *mine, *other;
	bool given;
	struct heal_patch *v;		/* owned: what differs */
	size_t n, cap, matched, unmatched;
	char *a, *b;			/* owned: PIECE bytes each */
};

static enum tb_status
differs(struct beside *s, const struct heal_patch *p, bool *yes, struct tb_err *err)
{
	struct tb_file a, b;
	enum tb_status status = tb_file_open(&a, s->item->path, err);

	*yes = false;
	if (status)
		return status;
	status = tb_file_open(&b, p->path, err);
	for (uint64_t at = 0; !status && !*yes && at < p->len; at += PIECE) {
		size_t n = p->len - at < PIECE ? (size_t)(p->len - at) : PIECE;

		status = tb_job_check(s->r->job, err);
		if (!status && p->off + at + n > a.id.size)
			*yes = true;	/* it was cut there */
		else if (!status)
			status = tb_file_read(&a, p->off + at, s->a, n, err);
		if (!status && !*yes)
			status = tb_file_read(&b, p->from + at, s->b, n, err);
		if (!status && !*yes)
			*yes = memcmp(s->a, s->b, n) != 0;
	}
	tb_file_close(&a);
	tb_file_close(&b);
	return status;
}

static enum tb_status
lay_beside(struct beside *s, const struct tensor *t, const struct tensor_part *p,
	   const struct tensor_part *q, struct tb_err *err)
{
	const struct model_file *from = q ? &s->other->files[q->file] : NULL;
	struct heal_patch patch = { .tensor = t->name, .off = p->off, .len = p->len };
	enum tb_status status;
	bool yes;

	if (!q || q->len != p->len || q->dtype != p->dtype || from->missing || from->unread ||
	    !strcmp(from->path, s->item->path)) {
		s->unmatched++;
		return TB_OK;
	}
	s->matched++;
	patch.path = from->path;
	patch.from = q->off;
	status = differs(s, &patch, &yes, err);
	if (status || !yes)
		return status;
	if (!tb_grow(&s->v, &s->cap, s->n + 1, sizeof(*s->v)))
		return tb_nomem(err);
	s->v[s->n++] = patch;
	return TB_OK;
}

/* What differs between the tensors of the item's file and those that are called so there. */
static enum tb_status
compare_tensors(struct beside *s, unsigned file, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; !status && i < s->mine->ntensors; i++) {
		const struct tensor *t = &s->mine->tensors[i], *o = NULL;

		for (unsigned k = 0; !status && k < PARTS; k++) {
			const struct tensor_part *p = part_of(t, k);

			if (!p || p->file != file || !p->len)
				continue;
			o = o ? o : model_tensor(s->other, t->name);
			status = lay_beside(s, t, p, o ? part_of(o, k) : NULL, err);
			/* by itself a model is asked only if it has all, or nearly */
			if (!s->given && (s->unmatched || s->n > FEW))
				return status;
		}
	}
	return status;
}

static int
by_offset(const void *a, const void *b)
{
	const struct heal_patch *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

static enum tb_status
accept(struct beside *s, const struct heal_patch *v, size_t n, struct tb_err *err)
{
	struct tb_arena *mem = &s->r->plan->mem;
	struct heal_patch *kept = tb_arena_get(mem, n * sizeof(*kept));

	for (size_t i = 0; kept && i < n; i++) {
		kept[i] = v[i];
		kept[i].tensor = tb_arena_str(mem, v[i].tensor);
		kept[i].path = tb_arena_str(mem, v[i].path);
		if (!kept[i].tensor || !kept[i].path)
			return tb_nomem(err);
	}
	if (!kept)
		return tb_nomem(err);
	s->item->patches = kept;
	s->item->npatches = n;
	s->item->from = s->given ? "given" : "model";
	return TB_OK;
}

/* All that differs; else each alone, for the other model may have other tensors, or be damaged
 * elsewhere itself. */
static enum tb_status
try_patches(struct beside *s, struct tb_err *err)
{
	enum tb_status status;
	bool yes;

	qsort(s->v, s->n, sizeof(*s->v), by_offset);
	status = would_heal(s->r, s->item, s->v, s->n, &yes, err);
	if (!status && yes)
		return accept(s, s->v, s->n, err);
	for (size_t i = 0; !status && s->n > 1 && s->n <= FEW && i < s->n; i++) {
		status = would_heal(s->r, s->item, &s->v[i], 1, &yes, err);
		if (!status && yes)
			return accept(s, &s->v[i], 1, err);
	}
	return status;
}

/* Of the item's model, the file that is the item. */
static unsigned
file_of(const struct model *m, const char *path)
{
	unsigned i = 0;

	while (i < m->nfiles && strcmp(m->files[i].path, path) != 0)
		i++;
	return i;
}

static enum tb_status
try_twin(struct beside *s, struct tb_err *err)
{
	struct tb_err why;
	enum tb_status status;

	s->n = s->matched = s->unmatched = 0;
	status = compare_tensors(s, file_of(s->mine, s->item->path), &why);
	if (!status && s->matched && s->n && (s->given || (!s->unmatched && s->n <= FEW)))
		status = try_patches(s, &why);
	/* what cannot be read is no source */
	return status == TB_ENOMEM || status == TB_ECANCEL ? tb_pass(err, &why) : TB_OK;
}

static bool
is_pending(const struct heal_item *item)
{
	return !item->source && !item->why && !item->npatches &&
	       tb_starts(item->digest, "sha256:") &&
	       (item->wrong == HEAL_BYTES || item->wrong == HEAL_SIZE);
}

/* Each model that is damaged, opened once: by its number. */
static enum tb_status
open_damaged(struct heal_run *r, struct model **mine, size_t *pending, struct tb_err *err)
{
	struct tb_err why;

	*pending = 0;
	for (size_t i = 0; i < r->plan->n; i++) {
		struct heal_item *item = &r->plan->items[i];
		uint32_t at = r->of[i]->model;

		if (!is_pending(item))
			continue;
		if (!item->size)
			item->size = item->was.size;
		++*pending;
		if (!mine[at] && model_open(&mine[at], &r->content.models[at].loc, &why))
			mine[at] = NULL;
		if (!mine[at] && why.code == TB_ENOMEM)
			return tb_pass(err, &why);
	}
	return TB_OK;
}

/* One other model beside all that are damaged. */
static enum tb_status
ask_twin(struct beside *s, const struct heal_twin *twin, struct model *const *mine, size_t *pending,
	 struct tb_err *err)
{
	struct heal_run *r = s->r;
	struct model *other = NULL;
	struct tb_err why;
	enum tb_status status = model_open(&other, &twin->loc, &why);

	if (status)
		return status == TB_ENOMEM ? tb_pass(err, &why) : TB_OK;
	tb_job_what(r->job, "%s", twin->loc.name);
	s->other = other;
	s->given = twin->given;
	for (size_t i = 0; !status && i < r->plan->n; i++) {
		s->item = &r->plan->items[i];
		s->mine = mine[r->of[i]->model];
		if (!is_pending(s->item) || !s->mine ||
		    !strcmp(twin->loc.path, s->mine->loc.path))
			continue;
		status = try_twin(s, err);
		*pending -= s->item->npatches > 0;
	}
	model_free(other);
	return status;
}

enum tb_status
heal_find_patches(struct heal_run *r, struct tb_err *err)
{
	struct model **mine = tb_calloc(r->content.nmodels + 1, sizeof(*mine));
	struct beside s = { .r = r, .a = malloc(PIECE), .b = malloc(PIECE) };
	enum tb_status status = s.a && s.b && mine ? TB_OK : tb_nomem(err);
	size_t pending = 0;

	if (!status)
		status = open_damaged(r, mine, &pending, err);
	for (size_t i = 0; !status && pending && i < r->ntwins; i++)
		status = ask_twin(&s, &r->twins[i], mine, &pending, err);
	for (size_t i = 0; mine && i < r->content.nmodels; i++)
		model_free(mine[i]);
	free(mine);
	free(s.v);
	free(s.a);
	free(s.b);
	return status;
}
