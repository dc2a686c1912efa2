/* show.h - the parts of "tbtui show". */
#ifndef TBTUI_CLI_SHOW_H
#define TBTUI_CLI_SHOW_H

#include "src/cli/far.h"
#include "src/face/figures.h"
#include "src/format/json.h"
#include "src/store/model.h"

/* What opening one model brought together. */
struct show {
	const struct cli *cli;		/* borrowed */
	const struct model *m;		/* borrowed */
	const struct cli_far *far;	/* borrowed */
	struct look_facts facts;	/* of a far one */
	struct figures figures;
};

/* A text from outside as lines on standard output. */
void show_lines(const char *text);
/* Why a text is not shown. */
void show_no_text(const struct show *s, const struct tb_err *err);

cJSON *show_json(const struct show *s);

/* show_sizes.c */
bool show_params(const struct show *s);
void show_set_params(const struct show *s, cJSON *o);
bool show_memory(const struct show *s);
cJSON *show_memory_json(const struct show *s);

/* show_far.c: of a far one, what pulling it takes and whether it would run here */
bool show_far(const struct show *s);
cJSON *show_far_json(const struct show *s);
/* Where the model is. */
const char *show_place(const struct model *m);

/* show_meta.c: the table of keys; one key in full. */
bool show_metadata(const struct show *s);
enum cli_exit show_key(const struct show *s, const char *key);
void show_set_metadata(const struct show *s, cJSON *o);
#endif
