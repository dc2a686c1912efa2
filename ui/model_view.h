/* model_view.h - the Model screen's panes. Private to ui/view_model.c and model_*.c. */
#ifndef TBTUI_UI_MODEL_VIEW_H
#define TBTUI_UI_MODEL_VIEW_H

#include "src/base/err.h"
#include "src/ops/metadata/metadata.h"
#include "src/ops/vocab/vocab.h"
#include "src/store/model.h"
#include "ui/opened.h"
#include "ui/view.h"

/* id, title, what it says when there is nothing. */
#define PANE_LIST(X) \
	X(PANE_FILES, "Files", "") \
	X(PANE_PROBLEMS, "Problems", "") \
	X(PANE_METADATA, "Metadata", "") \
	X(PANE_TEMPLATE, "Template", "No chat template.") \
	X(PANE_LICENCE, "Licence", "No licence.") \
	X(PANE_SETTINGS, "Settings", "No settings: those of the program that runs it apply.") \
	X(PANE_PARAMETERS, "Parameters", "No tensors.") \
	X(PANE_TOKENIZER, "Tokenizer", "") \
	X(PANE_MEMORY, "Memory", "No tensors.")
#define X(id, title, none) id,
enum pane { PANE_LIST(X) PANE_COUNT };
#undef X

/* The vocabulary: read when its pane is opened for the first time. */
struct tokens {
	struct vocab *vocab;	/* owned; NULL until it is there */
	bool asked;
	char error[512];	/* why there is none */
	uint32_t *ids;		/* those that the filter finds; owned */
	size_t n;
	char *text;		/* tried; owned; NULL: none, pieces are listed */
	struct vocab_span *spans;	/* of the text; owned */
	size_t nspans;
};

struct model_view {
	struct opened *o;	/* a reference; NULL while it is being opened */
	struct model *m;	/* of o */
	enum pane pane;
	struct list kept[PANE_COUNT];	/* of the tables that do not show */
	struct pager text[PANE_COUNT];
	struct metadata meta;	/* owned */
	char *value_key;	/* owned: whose value is shown in full; NULL: none */
	struct pager value;
	struct tokens tok;
	char error[512];	/* why there is no m */
	char state[64];		/* what the last verify said; "" = nothing */
	bool damaged;		/* said so */
};

/* model_load.c: opens the model and makes the texts, on a worker. */
void model_load(struct view *v);

/* Tables; their arg is the view. */
extern const struct table model_files_table, model_keys_table, model_tokens_table,
	model_spans_table;

/* model_keys.c: shows the value under the cursor in full. */
void model_open_value(struct view *v);

/* model_tokens.c */
void model_tokens_need(struct view *v);
void model_tokens_free(struct tokens *t);
/* Asks for a text and shows its tokens; "": all pieces again. */
void model_tokens_ask(struct view *v);
void model_tokens_try(struct view *v, const char *text);
void model_tokens_summary(const struct model_view *s, struct tb_buf *out);
/* What became of the text: drawn above its tokens. */
void model_tokens_draw(struct area *a, const struct model_view *s);
#endif
