/* tidy_oci.c - a model of an OCI layout. */
#include "config.h"

#include "src/ops/tidy/tidy_parts.h"

enum tb_status
tidy_oci_rm(struct tidy *t, const struct model_loc *loc, struct tb_err *err)
{
	(void)t;
	return tb_fail(err, TB_EUNSUP, "%s: nothing is taken out of an OCI layout", loc->path);
}
