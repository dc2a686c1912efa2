/* setup.h - what people set: keys, colours and columns, from the configuration file. */
#ifndef TBTUI_UI_SETUP_H
#define TBTUI_UI_SETUP_H

#include "ui/keys.h"

struct config;
struct tb_buf;

/* Before the first screen; what is not understood joins config->wrong. */
void setup(struct config *config);
/* The columns that were chosen for a screen; NULL: all. */
const char *setup_columns(enum view_id id);
/* setup(), and everything as it is then, as lines of the file. */
void setup_print(struct config *config, struct tb_buf *out);
#endif
