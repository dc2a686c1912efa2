/* verify_state.c - how far was it looked, and what came out: the states of db/db.h for a
 * model, those of db/audit.h for a run.  Whoever shows a state shows what is decided
 * here. */
#include "config.h"

#include "src/ops/verify/verify_run.h"

enum db_state
verify_model_state(const struct verify_model *m)
{
	uint64_t want = 0;

	/* A manifest that has no digest of its own is what has those of all others. */
	for (size_t i = 0; i < m->nfiles; i++)
		want += !m->files[i].manifest || *m->files[i].digest;
	if (m->errors)
		return m->errors == m->incomplete ? DB_INCOMPLETE : DB_DAMAGED;
	if (m->failure)		/* not even its list of files could be looked at */
		return DB_NEVER;
	return want && m->equal == want ? DB_HASHED : DB_STRUCTURE;
}

enum run_state
verify_run_state(const struct verify_result *out, enum tb_status status)
{
	if (status)
		return status == TB_ECANCEL ? RUN_CANCELLED : RUN_FAILED;
	if (out->errors)
		return RUN_DAMAGE;
	if (!out->bytes && !out->resumed)	/* headers alone say nothing about the rest */
		return out->skipped ? RUN_SKIPPED : RUN_EMPTY;
	if (out->recorded || out->resumed > out->resumed_compared)
		return RUN_RECORDED;
	return out->compared + out->resumed_compared ? RUN_CLEAN : RUN_RECORDED;
}
