/* page.h - the texts of a model, and which model a screen is about. */
#ifndef TBTUI_UI_PAGE_H
#define TBTUI_UI_PAGE_H

#include "src/base/err.h"
#include "src/store/model.h"

bool loc_same(const struct model_loc *a, const struct model_loc *b);

/* The texts of a model, read once; each owned, NULL when it has none. */
enum page { PAGE_TEMPLATE, PAGE_LICENCE, PAGE_SETTINGS };

/* Reads one; blocks (for a worker).  *out is the caller's to free, NULL when the
 * model has none. */
enum tb_status page_read(const struct model *m, enum page p, char **out, struct tb_err *err)
	TB_MUST_USE;
#endif
