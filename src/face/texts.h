/* texts.h - what a model has as text beside its tensors, wherever its layout keeps it:
 * a layer of a store, a file, a key of GGUF. */
#ifndef TBTUI_FACE_TEXTS_H
#define TBTUI_FACE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"

struct model;

/* id, key in JSON, title, is it JSON */
#define TEXT_LIST(X) \
	X(TEXT_CONFIG, "config", "Config", true) \
	X(TEXT_STORE_CONFIG, "store_config", "Config blob", true) \
	X(TEXT_SETTINGS, "parameters_set", "Settings", true) \
	X(TEXT_TEMPLATE, "template", "Template", false) \
	X(TEXT_SYSTEM, "system", "System", false) \
	X(TEXT_MESSAGES, "messages", "Messages", true) \
	X(TEXT_LICENCE, "license", "Licence", false)
#define X(id, key, title, json) id,
enum text_kind { TEXT_LIST(X) TEXT_COUNT };
#undef X
struct text_info { const char *key, *title; bool json; };
extern const struct text_info text_info[TEXT_COUNT];

#define TEXT_MAX (16u << 20)	/* bytes; longer ones are no texts */

/* The first of a kind, the one that counts; the caller frees *out, NULL: it has none.
 * Where one before it could not be read it fails, with *out set nevertheless. */
enum tb_status text_first(const struct model *m, enum text_kind kind, char **out,
			  struct tb_err *err) TB_MUST_USE;
/* Calls fn for all of some kinds (1u << kind | …) in turn; false: it has seen enough.  What is
 * missing is no error; of what cannot be read the first is, and those behind it follow. */
typedef bool text_fn(void *arg, enum text_kind kind, const char *name, const char *text);
enum tb_status texts_each(const struct model *m, unsigned kinds, text_fn *fn, void *arg,
			  struct tb_err *err) TB_MUST_USE;
/* JSON as people read it, the caller's to free; *out NULL: it is not sound.  Fails only
 * when memory runs out. */
enum tb_status text_lay_out(const char *json, char **out, struct tb_err *err) TB_MUST_USE;

/* All of some kinds one after the other, each under a heading; blocks.
 * *out is the caller's to free, NULL when the model has none. */
enum tb_status texts_page(const struct model *m, unsigned kinds, char **out, struct tb_err *err)
	TB_MUST_USE;
#endif
