/* line.h - a line typed at a prompt: readline on a terminal, plain reading elsewhere. */
#ifndef TBTUI_CLI_LINE_H
#define TBTUI_CLI_LINE_H

#include <stdbool.h>

enum line_end {
	LINE_TEXT,		/* a line */
	LINE_EOF,		/* end of input, ^D */
	LINE_INTERRUPTED,	/* ^C: what was typed is gone */
};

void line_init(void);
/* *out without its newline, the caller's to free; NULL unless LINE_TEXT. */
enum line_end line_read(const char *prompt, char **out);
/* A message: a line, or all lines between """ and """.  *out as above. */
enum line_end line_read_block(char **out);
#endif
