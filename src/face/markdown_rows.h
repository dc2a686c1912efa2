/* markdown_rows.h - rows of styled text as they are made; for markdown*.c alone. */
#ifndef TBTUI_FACE_MARKDOWN_ROWS_H
#define TBTUI_FACE_MARKDOWN_ROWS_H

#include "src/base/buf.h"
#include "src/face/markdown.h"

/* A text with the styles of its parts. */
struct spans {
	struct tb_buf text;
	struct mdown_run *run;	/* owned */
	size_t n, cap;
};
#define SPANS { .text = TB_BUF((size_t)1 << 30) }
void mspan_add(struct spans *s, const char *text, size_t len, unsigned style);
void mspan_cut(struct spans *s, size_t text, size_t runs);	/* as it was when it had these */
void mspan_free(struct spans *s);

struct row_place { size_t text, len, run, nruns; };
struct code_place { size_t off, len; };

struct mrow_made {
	struct spans spans;	/* of all rows, one behind the other */
	struct row_place *row;	/* owned */
	size_t n, cap;
	struct tb_buf code;	/* of all blocks of code */
	struct code_place *codes;	/* owned */
	size_t ncodes, codes_cap;
	int width;		/* >= 1 */
	bool utf8;
	size_t limit;		/* bytes of text of all rows */
	bool over;		/* it was not enough: rows are missing */
	bool failed;		/* there was no memory: the same */
};
void mrow_free(struct mrow_made *r);

/* A row begins behind the last one; what is put follows; and it has ended. */
void mrow_begin(struct mrow_made *r);
void mrow_put(struct mrow_made *r, const char *text, size_t len, unsigned style);
void mrow_end(struct mrow_made *r);
/* Puts the part [from, from + len) of s with its styles. */
void mrow_put_part(struct mrow_made *r, const struct spans *s, size_t from, size_t len,
		   size_t *run, size_t *run_off);

/* Bytes of text that go into one row of so many columns, up to a line end at most: whole
 * words where there is more than one. */
size_t mrow_fit(const char *text, size_t len, int width);
/* A line of code cut at the edge; the later rows, or all where `goes_on`, have another bar. */
void mrow_code(struct mrow_made *r, const struct spans *prefix, const char *line, size_t len,
	       bool goes_on);
/* What stands above a block of code: its language and, from the second on, its number. */
void mrow_code_begin(struct mrow_made *r, const struct spans *prefix, const char *lang, size_t len);
/* What it takes to copy that block. */
void mrow_code_text(struct mrow_made *r, const char *text, size_t len);

/* Where all of it ends now; and back to there. */
struct mrow_mark { size_t text, runs, rows, code, ncodes, last_code; };
struct mrow_mark mrow_mark(const struct mrow_made *r);
void mrow_cut(struct mrow_made *r, const struct mrow_mark *m);

/* Words of text that is no Markdown, in rows. */
void mrow_words(struct mrow_made *r, const char *text, size_t len);
/* One block (or several), read by md4c. */
void mblock_lay(struct mrow_made *r, const char *text, size_t len);
#endif
