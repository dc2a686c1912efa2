/* markdown.h - Markdown as rows of styled text, while it is still being written.
 *
 * Text comes in pieces and may be anything.  What has ended is laid out once; only
 * the block that may go on (a paragraph, a table, an item of a list, a line of code) is laid
 * out again when more has come, and none is longer than MDOWN_BLOCK_MAX: so the time goes
 * with the bytes.  A fence that nobody has closed yet is code.
 *
 * What is read is CommonMark (by md4c) with tables, ~~struck~~ text and task lists.
 * Otherwise than there: a line end is one, HTML is text, a link by reference finds only
 * what its own block defines. */
#ifndef TBTUI_FACE_MARKDOWN_H
#define TBTUI_FACE_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MDOWN_BLOCK_MAX ((size_t)32 << 10)	/* bytes; a longer one is cut in two */

struct mdown;

enum mdown_flags {
	MDOWN_UTF8 = 1,		/* signs beyond ASCII may be used */
	MDOWN_VERBATIM = 2,	/* it is no Markdown: rows of whole words, nothing else */
};

/* Of a run; they may be added up. */
enum mdown_style {
	MDOWN_BOLD = 1,
	MDOWN_ITALIC = 2,
	MDOWN_CODE = 4,		/* inside a line */
	MDOWN_BLOCK = 8,	/* a line of code */
	MDOWN_HEAD = 16,
	MDOWN_DIM = 32,		/* bars, marks of lists, addresses, names of languages */
};

struct mdown_run {
	uint32_t len;		/* bytes */
	uint8_t style;
};

/* Valid until the next mdown_add() or mdown_lay().  Clean, and without tabs and line ends. */
struct mdown_row {
	const char *text;	/* not ended by a NUL */
	size_t len;
	const struct mdown_run *runs;	/* their lengths make `len` */
	size_t nruns;
};

/* NULL: no memory. */
struct mdown *mdown_new(unsigned flags);
void mdown_free(struct mdown *m);

/* Whole characters of UTF-8; what a terminal would obey is replaced. */
void mdown_add(struct mdown *m, const char *text, size_t len);
void mdown_end(struct mdown *m);	/* that was all */

/* Makes the rows for so many columns (fewer than 8 are not enough for all that there is).
 * Cheap when nothing has changed. */
void mdown_lay(struct mdown *m, int width);
size_t mdown_rows(const struct mdown *m);
struct mdown_row mdown_row(const struct mdown *m, size_t i);

/* All that came, clean; borrowed until the next mdown_add(). */
const char *mdown_text(const struct mdown *m, size_t *len);
/* The blocks of code that have been laid out, without bars and fences. */
size_t mdown_codes(const struct mdown *m);
const char *mdown_code(const struct mdown *m, size_t i, size_t *len);

/* Bytes that were laid out so far, again or for the first time: what it cost. */
size_t mdown_work(const struct mdown *m);
#endif
