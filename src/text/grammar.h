/* grammar.h - which texts are allowed, as rules say.
 *
 * From GBNF, the notation of llama.cpp, or from a JSON schema.  Inside it is a machine over
 * bytes, so that a token may end in the middle of a character.  It never changes once it is
 * made, and may serve many constraints (constraint.h) at a time. */
#ifndef TBTUI_TEXT_GRAMMAR_H
#define TBTUI_TEXT_GRAMMAR_H

#include <stddef.h>

#include "src/base/err.h"

struct grammar;
struct tb_buf;

#define GRAMMAR_FILE_MAX (4u << 20)	/* bytes of a text in GBNF, or of a schema */

/* `what` names the text in errors, which have its line and column.  Refused are rules that
 * call themselves before anything was read, rules that no text can match, and what would
 * take too much memory. */
enum tb_status grammar_gbnf(struct grammar **out, const char *text, size_t len, const char *what,
			    struct tb_err *err) TB_MUST_USE;
/* Of a JSON schema: what is written is valid by it, properties in their order on one line.
 * What it says and this does not understand is refused by its JSON pointer. */
enum tb_status grammar_schema(struct grammar **out, const char *json, size_t len, const char *what,
			      struct tb_err *err) TB_MUST_USE;
/* Any JSON object. */
enum tb_status grammar_json(struct grammar **out, struct tb_err *err) TB_MUST_USE;
/* "json", or a file with a schema or with GBNF. */
enum tb_status grammar_read(struct grammar **out, const char *what, struct tb_err *err) TB_MUST_USE;
/* What it was made from, as servers elsewhere want to have it: GBNF, the schema, or nothing but
 * that it is JSON. */
enum grammar_form { GRAMMAR_GBNF, GRAMMAR_SCHEMA, GRAMMAR_JSON };
const char *grammar_source(const struct grammar *g, enum grammar_form *form);
/* One more that keeps it; any thread, as the next one. */
struct grammar *grammar_ref(struct grammar *g);
void grammar_free(struct grammar *g);		/* when the last one has let it go */
#endif
