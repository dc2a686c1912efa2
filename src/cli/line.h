/* line.h - a line typed at a prompt: readline on a terminal, plain reading elsewhere. */
#ifndef TBTUI_CLI_LINE_H
#define TBTUI_CLI_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum line_end {
	LINE_TEXT,		/* a line */
	LINE_EOF,		/* end of input, ^D */
	LINE_INTERRUPTED,	/* ^C: what was typed is gone from the line, Up brings it back */
};

void line_init(void);
/* *out without its newline, the caller's to free; NULL unless LINE_TEXT. */
enum line_end line_read(const char *prompt, char **out);

/* For messages: ^J is a new line, ^G the editor, Tab completes (the i-th of the lines that one
 * can become, NULL at the end; borrowed).  From here to line_give() the terminal is ours: what
 * is typed or pasted while nobody reads it is not shown, and not lost.  Nothing of it is done
 * without a terminal. */
typedef const char *line_complete_fn(void *arg, const char *line, size_t i);
void line_take(line_complete_fn *complete, void *arg);
void line_give(void);
/* A message: a line, or all lines between """ and """.  *out as above. */
enum line_end line_read_block(char **out);
/* The next line begins with it. */
void line_preset(const char *text);
void line_remember(const char *text);	/* Up brings it back */
#endif
