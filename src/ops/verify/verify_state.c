/* verify_state.c - how far was it looked, and what came out: the states of db/db.h for a
 * model, those of db/audit.h for a run.  Whoever shows a state shows what is decided
 * here. */
#include "config.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/ops/verify/verify_run.h"

/* A manifest that has no digest of its own is what has those of all others. */
static bool
has_bytes(const struct verify_file *f)
{
	return !f->manifest || *f->digest;
}

enum tb_status
verify_hashed(const struct verify_run *r, bool **hashed, struct tb_err *err)
{
	size_t *left = tb_calloc(r->nmodels + 1, sizeof(*left));

	*hashed = tb_calloc(r->nmodels + 1, sizeof(**hashed));
	if (!left || !*hashed) {
		free(left);
		free(*hashed);
		*hashed = NULL;
		return tb_nomem(err);
	}
	for (size_t i = 0; i < r->nmodels; i++)
		for (size_t k = 0; k < r->models[i].nfiles; k++) {
			(*hashed)[i] |= has_bytes(&r->models[i].files[k]);
			left[i] += has_bytes(&r->models[i].files[k]);
		}
	for (size_t i = 0; i < r->ntargets; i++)
		for (size_t k = 0; r->targets[i].equal && k < r->targets[i].nuses; k++)
			left[r->targets[i].uses[k].model]--;
	for (size_t i = 0; i < r->nmodels; i++)
		(*hashed)[i] &= !left[i];
	free(left);
	return TB_OK;
}

enum db_state
verify_model_state(const struct verify_model *m, bool hashed)
{
	if (m->errors)
		return m->errors == m->incomplete ? DB_INCOMPLETE : DB_DAMAGED;
	return hashed ? DB_HASHED : DB_STRUCTURE;
}

enum run_state
verify_run_state(const struct verify_result *out, enum tb_status status)
{
	if (status)
		return status == TB_ECANCEL ? RUN_CANCELLED : RUN_FAILED;
	if (out->errors)
		return RUN_DAMAGE;
	if (!out->bytes)	/* headers alone say nothing about the rest */
		return out->skipped ? RUN_SKIPPED : RUN_EMPTY;
	return out->compared ? RUN_CLEAN : RUN_RECORDED;
}
