/* model_files.c - the Files pane: what a model is made of. */
#include "config.h"

#include "ui/model_view.h"

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/face/figures.h"
#include "src/face/words.h"
#include "ui/blob_cells.h"

enum { COL_FILE, COL_KIND, COL_SIZE, COL_SHARE, COL_BAR, COL_STATE, COL_DIGEST };

static const struct column files_cols[] = {
	[COL_FILE] = { "FILE", 28, 64, false, SORTS_NOT, 0, .middle = true },
	[COL_KIND] = { "KIND", 9, 14, false, SORTS_NOT, 2 },
	[COL_SIZE] = { "SIZE", 8, 0, true, SORTS_NOT, 1 },
	[COL_SHARE] = { "SHARE", 6, 0, true, SORTS_NOT, 4 },
	[COL_BAR] = { "", 10, 0, false, SORTS_NOT, 6 },	/* names need the room more */
	[COL_STATE] = { "", 9, 0, false, SORTS_NOT, 3 },
	[COL_DIGEST] = { "DIGEST", 19, 71, false, SORTS_NOT, 5, .head = true },
};

static const char *
file_name(const struct model_file *f)
{
	return f->name ? f->name : tb_path_name(f->path);
}

static enum tb_status
files_read(struct view *v, const struct db_query *q, struct rows *out)
{
	const struct model_view *s = v->state;

	(void)q;
	ROWS_ALL(out, s->m->files, s->m->nfiles);
	return TB_OK;
}

static bool
files_match(const struct view *v, const void *row)
{
	return tb_contains(file_name(row), v->list.filter) ||
	       tb_contains(((const struct model_file *)row)->digest, v->list.filter);
}

static const struct rows_source files_rows = {
	.size = sizeof(struct model_file), .read = files_read, .match = files_match,
};

static void
files_cell(struct view *v, const void *row, size_t col, struct cell *out)
{
	const struct model_view *s = v->state;
	const struct model_file *f = row;
	uint64_t size = f->missing ? f->want_size : f->id.size;
	char text[16], word[WORD_MAX];

	switch (col) {
	case COL_FILE: tb_buf_str(&out->text, file_name(f)); break;
	case COL_KIND: tb_buf_str(&out->text, figures_file_kind(f)); break;
	case COL_SIZE: tb_buf_str(&out->text, tb_human_bytes(size, text)); break;
	case COL_SHARE: tb_buf_str(&out->text, word_percent(size, s->m->bytes, word)); break;
	case COL_BAR:
		draw_bar(&out->text, size, s->m->bytes, 10);
		out->role = ROLE_BAR;
		break;
	case COL_DIGEST: tb_buf_str(&out->text, f->digest); break;
	case COL_STATE:
		if (f->missing)
			tb_buf_printf(&out->text, "%s missing", theme_sign(SIGN_BAD));
		else if (*f->digest && f->id.size != f->want_size)
			tb_buf_printf(&out->text, "%s size", theme_sign(SIGN_BAD));
		out->role = ROLE_BAD;
		break;
	}
}

const struct table model_files_table = {
	TABLE_COLS(files_cols), .rows = &files_rows, .cell = files_cell,
	.empty = "No file has that in its name; Esc shows all.",
};
