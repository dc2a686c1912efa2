/* model_text.h - the tokenizer and the chat template that a model comes with, and the
 * small files beside its tensors. */
#ifndef TBTUI_OPS_MODEL_TEXT_H
#define TBTUI_OPS_MODEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/err.h"
#include "src/format/json.h"
#include "src/store/model.h"

struct chat_template;
struct model;
struct tokenizer;

/* From what the model has, best first: tokenizer.json, a GGUF's own keys,
 * tokenizer.model, vocab.json and merges.txt, a list for tiktoken; each with
 * tokenizer_config.json if there is one.  TB_ENOENT: there is none of them. */
enum tb_status model_tokenizer(const struct model *m, struct tokenizer **out, struct tb_err *err)
	TB_MUST_USE;
/* The same, and which it was: "tokenizer.json", "GGUF", … (static). */
enum tb_status model_tokenizer_of(const struct model *m, struct tokenizer **out,
				  const char **source, struct tb_err *err) TB_MUST_USE;

/* Which template a model's conversations are written with, and why. */
#define TEMPLATE_OF_STORE "its TEMPLATE"
enum template_why {
	TEMPLATE_ONLY,		/* there is no other, or none at all */
	TEMPLATE_GIVEN,		/* somebody gave a file */
	TEMPLATE_OWN,		/* the TEMPLATE that its store has, in Go's language */
	/* A Jinja template in its place, since it … */
	TEMPLATE_BROKEN,	/* … cannot be run */
	TEMPLATE_PLAIN,		/* … says nothing of who speaks */
	TEMPLATE_MORE,		/* … knows less of tools and thinking */
	TEMPLATE_RENDERER,	/* … is code within Ollama, which is not here */
};
struct template_used {
	const char *source;	/* TEMPLATE_OF_STORE, "--template", "chat_template.jinja",
				 * "tokenizer_config.json", "GGUF": static; NULL: there is none
				 * that can be run */
	enum template_why why;
	bool go;		/* in Go's language; else Jinja */
	bool own;		/* its store has a TEMPLATE */
	char renderer[32];	/* what Ollama calls its own code for it; "": none */
};

/* The file `given` (NULL: none); else the TEMPLATE of its store; else chat_template.jinja, else
 * chat_template of tokenizer_config.json or of the GGUF; *used says why not the first of them.
 * *bos and *eos: the pieces that templates use, NULL if there are none; the caller
 * frees them, whatever is returned, and *used is set.  TB_ENOENT: the model has none. */
enum tb_status model_template(const struct model *m, const char *given, struct chat_template **out,
			      char **bos, char **eos, struct template_used *used,
			      struct tb_err *err) TB_MUST_USE;
/* The choice alone, also where the template cannot be used.  Fails only when memory runs
 * out. */
enum tb_status model_template_used(const struct model *m, struct template_used *used,
				   struct tb_err *err) TB_MUST_USE;
/* What a person should know of it before a conversation, "" when all is as usual; and in any
 * case which it is. */
#define TEMPLATE_NOTE_MAX 160
const char *template_note(const struct template_used *used, char out[TEMPLATE_NOTE_MAX]);
const char *template_said(const struct template_used *used, char out[TEMPLATE_NOTE_MAX]);

/* Small files that a model may have: without them something is left out, which must not
 * happen because they could not be read.
 * *out is the caller's to free; NULL: it has none, or one that is too long. */
enum tb_status optional_text(const struct model *m, const char *name, char **out,
			     struct tb_err *err) TB_MUST_USE;
/* *out is the caller's to json_free(); NULL: it has none, or one that is no JSON. */
enum tb_status optional_json(const struct model *m, const char *name, cJSON **out,
			     struct tb_err *err) TB_MUST_USE;
/* Of the layer of a kind instead of a file. */
enum tb_status optional_layer(const struct model *m, enum media kind, cJSON **out,
			      struct tb_err *err) TB_MUST_USE;

/* Where a run depends on it: one that is there and cannot be used is an error. */
enum tb_status strict_text(const struct model *m, const char *name, char **out, size_t *len,
			   struct tb_err *err) TB_MUST_USE;
enum tb_status strict_json(const struct model *m, const char *name, cJSON **out,
			   struct tb_err *err) TB_MUST_USE;
#endif
