/* verify_moved.c - models that are taken away, or come back, while they are verified.
 *
 * Who takes something away holds its store alone.  What was not there is looked for once more
 * while nobody can: then it is missing, or its model is gone as well, which is no damage. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

#include <string.h>

void
verify_hold(const struct verify_model *m, struct store_lock *l)
{
	*l = STORE_UNLOCKED;
	if (*m->loc.root)
		store_lock_look(l, m->loc.root);
}

/* Is the model no longer there, or written again since it was read? */
static bool
verify_moved(const struct verify_model *m)
{
	const struct verify_file *f = m->files;
	struct tb_ident now;

	if (!kind_lists_itself(m->loc.kind))
		return false;
	if (!m->nfiles || !f->manifest)
		return tb_absent(m->loc.path);
	if (tb_file_ident(f->path, &now, NULL))
		return tb_absent(f->path);
	return !tb_ident_equal(&now, &f->id);
}

enum tb_status
verify_open_again(struct verify_run *r, const struct verify_target *t, struct tb_file *f,
		  bool *gone, struct tb_err *err)
{
	struct store_lock lock = STORE_UNLOCKED;
	enum tb_status status;

	if (t->nuses)
		verify_hold(&r->models[t->uses->model], &lock);
	status = tb_file_open(f, t->file->path, err);
	*gone = status == TB_ENOENT;
	for (size_t i = 0; i < t->nuses && *gone; i++)
		*gone = verify_moved(&r->models[t->uses[i].model]);
	store_unlock(&lock);
	return status;
}
