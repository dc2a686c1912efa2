#include "config.h"

#include "db/usage.h"

#include <stdlib.h>

#include "db/pack.h"
#include "db/stmt.h"
#include "src/base/mem.h"
#include "src/base/search.h"

/* The paths of the index while it is read: id of a path -> its inode's place. */
struct paths {
	struct path { int64_t id; uint64_t dev, ino, size; uint32_t file; bool missing; } *v;
	size_t n, cap;
	uint64_t *ids;			/* of one model */
	size_t ids_cap, use_cap, models_cap;
};

static enum tb_status
read_paths(struct db *db, struct paths *p, struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, NULL, true, err,
		  "SELECT id, dev, ino, size, missing FROM files ORDER BY id", "");
	while (rows_next(&r)) {
		if (!tb_grow(&p->v, &p->cap, p->n + 1, sizeof(*p->v))) {
			r.failed = true;
			continue;
		}
		p->v[p->n++] = (struct path){
			.id = rows_i64(&r, 0), .dev = rows_u64(&r, 1), .ino = rows_u64(&r, 2),
			.size = rows_u64(&r, 3), .missing = rows_i64(&r, 4),
		};
	}
	return rows_end(&r);
}

static int
inode_cmp(const void *a, const void *b)
{
	const struct path *x = *(struct path *const *)a, *y = *(struct path *const *)b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return (x->dev > y->dev) - (x->dev < y->dev);
}

/* Two paths can be one file (links of a cache): it counts once. */
static enum tb_status
number_files(struct paths *p, struct db_usage *u, struct tb_err *err)
{
	struct path **by_inode = tb_calloc(p->n + 1, sizeof(*by_inode));

	u->file = tb_calloc(p->n + 1, sizeof(*u->file));
	if (!by_inode || !u->file) {
		free(by_inode);
		return tb_nomem(err);
	}
	for (size_t i = 0; i < p->n; i++)
		by_inode[i] = &p->v[i];
	qsort(by_inode, p->n, sizeof(*by_inode), inode_cmp);
	for (size_t i = 0; i < p->n; i++) {
		if (!i || inode_cmp(&by_inode[i - 1], &by_inode[i]))
			u->file[u->nfiles++].size = by_inode[i]->size;
		by_inode[i]->file = (uint32_t)(u->nfiles - 1);
	}
	free(by_inode);
	return TB_OK;
}

/* false: out of memory. */
static bool
add_model(struct paths *p, struct db_usage *u, int64_t id, const void *list, size_t len)
{
	size_t n = pack_count(list, len), nuse = u->nmodels ? u->model[u->nmodels - 1].first +
		   u->model[u->nmodels - 1].n : 0;
	struct db_usage_model m = { .id = id, .first = nuse };

	if (!tb_grow(&p->ids, &p->ids_cap, n + 1, sizeof(*p->ids)) ||
	    !tb_grow(&u->use, &p->use_cap, nuse + n + 1, sizeof(*u->use)) ||
	    !tb_grow(&u->model, &p->models_cap, u->nmodels + 1, sizeof(*u->model)))
		return false;
	if (!pack_read64(list, len, p->ids, n))
		n = 0;			/* damaged: the next scan puts it again */
	for (size_t i = 0; i < n; i++) {
		int64_t path = (int64_t)p->ids[i];
		size_t at = TB_FIRST(p->n, k, p->v[k].id < path);
		struct db_usage_file *f = at < p->n ? &u->file[p->v[at].file] : NULL;

		if (!f || p->v[at].id != path || p->v[at].missing ||
		    f->chosen == u->nmodels + 1)	/* by another path of this model */
			continue;
		f->chosen = (uint32_t)u->nmodels + 1;
		f->owners++;
		u->use[nuse + m.n++] = p->v[at].file;
	}
	u->model[u->nmodels++] = m;
	return true;
}

static enum tb_status
read_uses(struct db *db, struct paths *p, struct db_usage *u, struct tb_err *err)
{
	struct db_rows r;

	rows_open(&r, db, NULL, true, err, "SELECT model, files FROM contents ORDER BY model", "");
	while (rows_next(&r))
		r.failed |= !add_model(p, u, rows_i64(&r, 0), sqlite3_column_blob(r.st, 1),
				       (size_t)sqlite3_column_bytes(r.st, 1));
	for (size_t i = 0; i < u->nfiles; i++)
		u->file[i].chosen = 0;
	return rows_end(&r);
}

enum tb_status
db_usage_read(struct db *db, struct db_usage *out, struct tb_err *err)
{
	struct paths p = { 0 };
	enum tb_status status;

	*out = (struct db_usage){ 0 };
	status = read_paths(db, &p, err);
	if (!status)
		status = number_files(&p, out, err);
	if (!status)
		status = read_uses(db, &p, out, err);
	free(p.v);
	free(p.ids);
	if (status)
		db_usage_free(out);
	return status;
}

void
db_usage_free(struct db_usage *u)
{
	free(u->model);
	free(u->use);
	free(u->file);
	*u = (struct db_usage){ 0 };
}

static const struct db_usage_model *
model_of(const struct db_usage *u, uint64_t id)
{
	size_t at = TB_FIRST(u->nmodels, k, u->model[k].id < (int64_t)id);

	return at < u->nmodels && u->model[at].id == (int64_t)id ? &u->model[at] : NULL;
}

struct db_share
db_usage_of(struct db_usage *u, const uint64_t *ids, size_t n)
{
	struct db_share share = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct db_usage_model *m = model_of(u, ids[i]);

		for (size_t k = 0; m && k < m->n; k++)
			u->file[u->use[m->first + k]].chosen++;
	}
	for (size_t i = 0; i < n; i++) {
		const struct db_usage_model *m = model_of(u, ids[i]);

		for (size_t k = 0; m && k < m->n; k++) {
			struct db_usage_file *f = &u->file[u->use[m->first + k]];

			if (f->chosen && f->chosen == f->owners)
				share.alone += f->size;
			else if (f->chosen)
				share.shared += f->size;
			f->chosen = 0;		/* said once */
		}
	}
	return share;
}
