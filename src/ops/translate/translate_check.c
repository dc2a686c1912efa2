/* translate_check.c - do a model's tensors have the shapes that its numbers make them?  What
 * lies in one of the two formats would lie in the other, and nobody could load it. */
#include "config.h"

#include "src/engine/slots.h"
#include "src/ops/translate/translate.h"
#include "src/store/model.h"

static enum tb_status
refuse(void *arg, const struct slot_wrong *w, struct tb_err *err)
{
	const struct model *m = arg;

	return w->fault != SLOT_MISSHAPEN ? TB_OK
		: tb_fail(err, TB_EFORMAT, "%.200s: %s", m->loc.path, w->why->msg);
}

enum tb_status
translate_check(const struct model *m, struct tb_err *err)
{
	const struct slot_visitor v = { NULL, refuse, (void *)m };
	struct hparams hp;
	enum tb_status status = hparams_model(&hp, m, err);

	/* Nobody here knows what they should be: some leave to others what is usual. */
	if (status == TB_EUNSUP || status == TB_ENOENT || status == TB_EFORMAT)
		return TB_OK;
	if (status)
		return status;
	status = slots_visit(&hp, m, &v, err);
	hparams_free(&hp);
	return status;
}
