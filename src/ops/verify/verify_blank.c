/* verify_blank.c - pages of zeros among a tensor's bytes.  What a disk or a copy lost begins
 * and ends with a sector; what somebody meant to be zero begins and ends with a row. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/ops/verify/verify_scan.h"
#include "src/store/tensor_name.h"

#define PAGE 4096u
#define SECTOR 512u
#define SLACK 8u		/* bytes beside a sector that are zero by chance */

/* The run's exact ends: bytes before its first page and behind its last. */
static enum tb_status
widen(const struct tb_file *f, struct verify_blank *b, struct tb_err *err)
{
	uint64_t before = b->off < PAGE ? b->off : PAGE, end = b->off + b->len;
	uint64_t behind = f->id.size - end < PAGE ? f->id.size - end : PAGE;
	uint8_t bytes[PAGE];
	enum tb_status status = tb_file_read(f, b->off - before, bytes, before, err);

	for (; !status && before && !bytes[before - 1]; before--) {
		b->off--;
		b->len++;
	}
	if (!status)
		status = tb_file_read(f, end, bytes, behind, err);
	for (uint64_t i = 0; !status && i < behind && !bytes[i]; i++)
		b->len++;
	return status;
}

static bool
at_sector(uint64_t off, bool begins)
{
	return (begins ? SECTOR - off % SECTOR : off % SECTOR) % SECTOR <= SLACK;
}

/* Bytes of a row; 0: the tensor has none, or is too odd to tell. */
static uint64_t
row_bytes(const struct verify_scan *s, const struct verify_tensor *v)
{
	for (size_t i = 0; i < s->list.st.ntensors; i++) {
		const struct st_tensor *t = &s->list.st.tensors[i];
		uint64_t rows = 1;

		if (t->off != v->off || t->len != v->len || t->ndim < 2)
			continue;
		for (unsigned d = 0; d + 1 < t->ndim; d++)
			rows *= t->dim[d];
		return rows && v->len % rows == 0 ? v->len / rows : 0;
	}
	return 0;
}

/* A stretch of zeros within one tensor. */
struct stretch { uint64_t from, to; };		/* bytes of the tensor */

/* Rows of zeros in the tensors of a file: one finding for all of them. */
struct blank_rows { const struct verify_tensor *v; uint64_t first, last, tensors; };

static void
add_rows(struct blank_rows *rows, const struct verify_tensor *v, uint64_t row,
	 const struct stretch *z)
{
	uint64_t first = (z->from + row - 1) / row, end = z->to / row;

	if (end <= first || tname_role(v->name) == TNAME_EMBED || tname_role(v->name) == TNAME_HEAD)
		return;		/* tokens that nobody uses */
	if (!rows->tensors++)
		*rows = (struct blank_rows){ v, first, end - 1, 1 };
}

static void
report_rows(struct verify_run *r, const struct verify_target *t, const struct blank_rows *rows)
{
	const struct verify_model *m = &r->models[t->uses->model];
	struct verify_where at = { .model = m, .blob = verify_label(t->file),
				   .tensor = rows->v ? rows->v->name : NULL };
	char more[64] = "";

	if (rows->tensors > 1)
		snprintf(more, sizeof(more), ", as are some of %ju more tensor%s",
			 (uintmax_t)rows->tensors - 1, tb_plural(rows->tensors - 1));
	if (rows->tensors)
		verify_find(r, F_BLANK_ROWS, &at, "%s: %s: rows %ju to %ju are zero%s", m->loc.name,
			    rows->v->name, (uintmax_t)rows->first, (uintmax_t)rows->last, more);
}

static void
report_blank(struct verify_run *r, const struct verify_target *t, const struct verify_tensor *v,
	     uint64_t row, const struct stretch *z)
{
	const struct verify_model *m = &r->models[t->uses->model];
	uint64_t off = v->off + z->from;
	struct verify_where at = { .model = m, .blob = verify_label(t->file), .tensor = v->name,
				   .offset = &off };

	verify_find(r, F_BLANK, &at, "%s: %s: %ju bytes from byte %ju of %s on are zero, in rows %ju to "
		    "%ju: it looks as if pages of the file were lost", m->loc.name, v->name,
		    (uintmax_t)(z->to - z->from), (uintmax_t)off, at.blob,
		    (uintmax_t)(z->from / row), (uintmax_t)((z->to - 1) / row));
}

/* What comes again at the same place of other rows is how the tensor is made. */
static bool
again(const struct verify_scan *s, const struct verify_tensor *v, const struct verify_blank *b,
      uint64_t row)
{
	for (size_t i = 0; row > PAGE && i < s->nblank; i++) {
		uint64_t off = s->blank[i].off, apart = off > b->off ? off - b->off : b->off - off;

		if (apart && off >= v->off && off < v->off + v->len &&
		    (apart % row < PAGE || row - apart % row < PAGE))
			return true;
	}
	return false;
}

enum tb_status
verify_blanks(struct verify_run *r, const struct verify_target *t, const struct tb_file *f,
	      const struct verify_scan *s, struct tb_err *err)
{
	const struct verify_tensor *lost = NULL, *seen = NULL;	/* told of: once is enough */
	struct blank_rows rows = { 0 };
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < s->nblank && !status; i++) {
		struct verify_blank b = s->blank[i];
		const struct verify_tensor *v = verify_tensor_at(&s->list, b.off);
		struct stretch z;
		uint64_t row;
		bool sectors;

		if (!v || v == lost || !(row = row_bytes(s, v)))
			continue;
		status = widen(f, &b, err);
		if (status)
			break;
		z.from = b.off > v->off ? b.off - v->off : 0;
		z.to = b.off + b.len < v->off + v->len ? b.off + b.len - v->off : v->len;
		sectors = at_sector(b.off, true) && at_sector(b.off + b.len, false) &&
			  z.from % row && z.to % row && z.from && z.to < v->len;
		if (sectors && !again(s, v, &s->blank[i], row)) {
			report_blank(r, t, v, row, &z);
			lost = v;
		} else if (!sectors && v != seen) {
			add_rows(&rows, v, row, &z);
			seen = v;
		}
	}
	report_rows(r, t, &rows);
	return status;
}
