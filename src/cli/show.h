/* show.h - the parts of "tbtui show". */
#ifndef TBTUI_CLI_SHOW_H
#define TBTUI_CLI_SHOW_H

#include "src/cli/cli.h"
#include "src/format/json.h"
#include "src/ops/about/memory.h"
#include "src/ops/about/params.h"
#include "src/store/model.h"

#define SHOW_TEXT_MAX (16u << 20)

/* What opening one model brought together. */
struct show {
	const struct cli *cli;		/* borrowed */
	const struct model *m;		/* borrowed */
	struct params params;
	struct memory memory;
};

/* Texts of a model: where each layout keeps them. */
struct show_text {
	const char *key, *title;	/* in JSON, in text */
	enum media media;		/* layer, or MEDIA_UNKNOWN */
	const char *file;		/* file of that name, or NULL */
	const char *gguf;		/* key of that name, or NULL */
	bool json;
};
extern const struct show_text show_texts[];	/* ended by key NULL */
/* NULL: the model has none; the caller frees it. */
char *show_text_read(const struct model *m, const struct show_text *t);
/* A text from outside as lines on standard output. */
void show_lines(const char *text);

cJSON *show_json(const struct show *s);

/* show_sizes.c */
bool show_params(const struct show *s);
void show_set_params(const struct show *s, cJSON *o);
bool show_memory(const struct show *s);
cJSON *show_memory_json(const struct show *s);

/* show_meta.c: the table of keys; one key in full. */
bool show_metadata(const struct show *s);
enum cli_exit show_key(const struct show *s, const char *key);
void show_set_metadata(const struct show *s, cJSON *o);
#endif
