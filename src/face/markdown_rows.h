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
void spans_add(struct spans *s, const char *text, size_t len, unsigned style);
void spans_cut(struct spans *s, size_t text, size_t runs);	/* as it was when it had these */
void spans_free(struct spans *s);

struct row_place { size_t text, len, run, nruns; };
struct code_place { size_t off, len; };

struct rows_made {
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
void rows_free(struct rows_made *r);

/* A row begins behind the last one; what is put follows; and it has ended. */
void rows_begin(struct rows_made *r);
void rows_put(struct rows_made *r, const char *text, size_t len, unsigned style);
void rows_end(struct rows_made *r);
/* Puts the part [from, from + len) of s with its styles. */
void rows_put_part(struct rows_made *r, const struct spans *s, size_t from, size_t len,
		   size_t *run, size_t *run_off);

/* Bytes of text that go into one row of so many columns, up to a line end at most: whole
 * words where there is more than one. */
size_t rows_fit(const char *text, size_t len, int width);
/* A line of code cut at the edge; the later rows, or all where `goes_on`, have another bar. */
void rows_code(struct rows_made *r, const struct spans *prefix, const char *line, size_t len,
	       bool goes_on);
/* What stands above a block of code: its language and, from the second on, its number. */
void rows_code_begin(struct rows_made *r, const struct spans *prefix, const char *lang, size_t len);
/* What it takes to copy that block. */
void rows_code_text(struct rows_made *r, const char *text, size_t len);

/* Where all of it ends now; and back to there. */
struct rows_mark { size_t text, runs, rows, code, ncodes, last_code; };
struct rows_mark rows_mark(const struct rows_made *r);
void rows_cut(struct rows_made *r, const struct rows_mark *m);

/* Words of text that is no Markdown, in rows. */
void rows_words(struct rows_made *r, const char *text, size_t len);
/* One block (or several), read by md4c. */
void block_lay(struct rows_made *r, const char *text, size_t len);
#endif
