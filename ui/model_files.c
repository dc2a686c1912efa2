/* model_files.c - the Files pane: what a model is made of. */
#include "config.h"

#include "ui/model_view.h"

#include <string.h>

#include "src/base/text.h"
#include "src/face/words.h"

enum { COL_FILE, COL_KIND, COL_SIZE, COL_SHARE, COL_BAR, COL_STATE, COL_DIGEST };

static const struct column cols[] = {
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
	const char *slash = strrchr(f->path, '/');

	return f->name ? f->name : slash ? slash + 1 : f->path;
}

static const char *
file_kind(const struct model_file *f)
{
	return f->is_manifest ? "manifest"
	     : f->media != MEDIA_UNKNOWN ? media_name(f->media)
	     : f->media_type ? f->media_type : "file";
}

static const struct model_file *
file_at(const struct view *v, size_t row)
{
	const struct model_view *s = v->state;

	return s->m && s->row && row < v->list.n ? &s->m->files[s->row[row]] : NULL;
}

static size_t
count(void *arg)
{
	struct view *v = arg;
	struct model_view *s = v->state;
	size_t n = 0;

	for (size_t i = 0; s->m && s->row && i < s->m->nfiles; i++)
		if (tb_contains(file_name(&s->m->files[i]), v->list.filter) ||
		    tb_contains(s->m->files[i].digest, v->list.filter))
			s->row[n++] = i;
	return n;
}

static uint64_t
id_of(void *arg, size_t row)
{
	struct view *v = arg;
	struct model_view *s = v->state;

	return s->row ? s->row[row] : 0;
}

static bool
find(void *arg, uint64_t id, size_t *row)
{
	struct view *v = arg;
	struct model_view *s = v->state;

	for (*row = 0; s->row && *row < v->list.n; (*row)++)
		if (s->row[*row] == id)
			return true;
	return false;
}

static void
cell(void *arg, size_t row, size_t col, struct cell *out)
{
	struct view *v = arg;
	struct model_view *s = v->state;
	const struct model_file *f = file_at(v, row);
	uint64_t size = f && !f->missing ? f->id.size : f ? f->want_size : 0;
	char text[16], word[WORD_MAX];

	if (!f)
		return;
	switch (col) {
	case COL_FILE: tb_buf_str(&out->text, file_name(f)); break;
	case COL_KIND: tb_buf_str(&out->text, file_kind(f)); break;
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

static const struct list_rows rows = { count, id_of, find };
const struct table model_files_table = {
	.cols = cols, .ncols = sizeof(cols) / sizeof(*cols), .rows = &rows, .cell = cell,
	.empty = "No file has that in its name; Esc shows all.",
};
