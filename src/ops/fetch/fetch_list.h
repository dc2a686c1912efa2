/* fetch_list.h - the lists in a folder of what is fetched, for who looks what is left there. */
#ifndef TBTUI_OPS_FETCH_LIST_H
#define TBTUI_OPS_FETCH_LIST_H

#include <stdbool.h>

#include "src/base/err.h"

#define FETCH_LIST_MAGIC "tbtui-fetch 1 "
#define FETCH_LIST_MAX (64u << 20)

/* Is whoever wrote it still at work? */
bool fetch_list_busy(int dir_fd, const char *name);
/* *text: owned by the caller; no error text: what is no list is none. */
enum tb_status fetch_list_read(int dir_fd, const char *name, char **text) TB_MUST_USE;
/* Does a line of that text name it?  As many as there are lines: for a few names. */
bool fetch_list_names(const char *lists, const char *name);
#endif
