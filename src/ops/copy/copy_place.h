/* copy_place.h - inside src/ops/copy: where from and where to, as a person says it. */
#ifndef TBTUI_OPS_COPY_PLACE_H
#define TBTUI_OPS_COPY_PLACE_H

#include "src/ops/copy/copy.h"

struct copy_place {
	struct site *site;		/* owned */
	char *reference;		/* what is read: a tag, a digest; "": the only one; owned */
	char *name;			/* the tag, without a digest; ""; owned */
	bool is_layout;
};
enum tb_status copy_place_open(struct copy_place *p, const struct op_ctx *ctx, const char *text,
			       const struct copy_request *req, bool dest, struct tb_err *err)
	TB_MUST_USE;
void copy_place_free(struct copy_place *p);	/* fine on zeros */
char *copy_place_text(const struct copy_place *p);	/* in fresh memory */
#endif
