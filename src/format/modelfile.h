/* modelfile.h - Ollama's Modelfile: what a model is made from, as commands in a text.
 *
 * Read as Ollama reads it, with its oddities: a command is a word and a space, a value goes to
 * the end of the line, or from a quote or three to the next that ends a line; there are no
 * escapes, and what cannot be printed is dropped. */
#ifndef TBTUI_FORMAT_MODELFILE_H
#define TBTUI_FORMAT_MODELFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/arena.h"
#include "src/base/err.h"

#define MODELFILE_MAX (64u << 20)	/* bytes of one */

/* id, word */
#define MODELFILE_LIST(X) \
	X(MODELFILE_FROM, "FROM") \
	X(MODELFILE_LICENSE, "LICENSE") \
	X(MODELFILE_TEMPLATE, "TEMPLATE") \
	X(MODELFILE_SYSTEM, "SYSTEM") \
	X(MODELFILE_ADAPTER, "ADAPTER") \
	X(MODELFILE_DRAFT, "DRAFT") \
	X(MODELFILE_RENDERER, "RENDERER") \
	X(MODELFILE_PARSER, "PARSER") \
	X(MODELFILE_PARAMETER, "PARAMETER") \
	X(MODELFILE_MESSAGE, "MESSAGE") \
	X(MODELFILE_REQUIRES, "REQUIRES")
#define X(id, word) id,
enum modelfile_word { MODELFILE_LIST(X) MODELFILE_WORDS };
#undef X
const char *modelfile_word(enum modelfile_word w);

struct modelfile_command {
	enum modelfile_word word;
	const char *name;	/* of a PARAMETER, the role of a MESSAGE; else "" */
	const char *value;
	unsigned line;		/* where it begins */
};

struct modelfile {
	struct modelfile_command *commands;	/* owned; strings in `texts` */
	size_t n, cap;
	struct tb_arena texts;
};

struct tb_buf;

/* UTF-8, or UTF-16 where a mark says so. `what` names it in errors, which say the line. */
enum tb_status modelfile_parse(struct modelfile *m, const char *text, size_t len, const char *what,
			       struct tb_err *err) TB_MUST_USE;
void modelfile_free(struct modelfile *m);

/* The line of a command as Ollama prints it.  That does not always read back: */
void modelfile_print(struct tb_buf *out, const struct modelfile_command *c);
/* The same with quotes such that it does; false: the language has no way to say the value,
 * and nothing is added. */
bool modelfile_say(struct tb_buf *out, const struct modelfile_command *c);
#endif
