/* space.h - is there room for what is to be written? */
#ifndef TBTUI_OPS_SPACE_H
#define TBTUI_OPS_SPACE_H

#include <stdint.h>

#include "src/base/err.h"

/* TB_ELIMIT: the file system of `dir` has not that many bytes free, and some more for what
 * belongs to them.  A folder that is not there yet is made on that of its parents. */
enum tb_status space_check(const char *dir, uint64_t bytes, struct tb_err *err) TB_MUST_USE;
#endif
