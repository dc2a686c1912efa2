#include "config.h"

#include "src/ops/convert/blob.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/sums.h"
#include "src/quant/repack.h"

#define COPY_BYTES (4 * WINDOW_ELEMS)

static struct blob_task *
add_task(struct blob *b, struct blob_task t)
{
	if (!tb_grow(&b->tasks, &b->cap, b->ntasks + 1, sizeof(*b->tasks)))
		return NULL;
	b->tasks[b->ntasks] = t;
	return &b->tasks[b->ntasks++];
}

/* Bytes [first, first + len) of a part. */
static bool
copy_some(struct blob *b, size_t row, const struct tensor_part *part, uint64_t first, uint64_t len,
	  uint64_t off)
{
	for (uint64_t at = 0; at < len; at += COPY_BYTES) {
		uint64_t n = len - at < COPY_BYTES ? len - at : COPY_BYTES;
		struct blob_task t = { BLOB_COPY, row, part, 0, 0, first + at, n, { { off + at, n, 0 } },
				       false };

		if (!add_task(b, t))
			return false;
	}
	return true;
}

static bool
copy_part(struct blob *b, size_t row, const struct tensor_part *part, uint64_t off)
{
	return copy_some(b, row, part, 0, part->len, off);
}

/* Of a scheme that nobody knows: each piece has its share of every part. */
static bool
copy_pieces(struct blob *b, const struct plan_out *o, const struct placed *at)
{
	for (size_t i = 0; i < o->npieces; i++) {
		const struct plan_piece *piece = &b->plan->parts->pieces[o->piece + i];
		const struct tensor *t = b->plan->rows[piece->row].src;
		uint64_t each = piece->elems ? piece->elems : 1, shares = t->elems / each;
		uint64_t nth = piece->first / each;

		for (enum values_part k = 0; k <= PART_BIAS; k++) {
			const struct tensor_part *part = values_part_of(t, k);
			uint64_t len = part && shares ? part->len / shares : 0;

			if (part && !copy_some(b, piece->row, part, nth * len, len, at->off[k] + i * len))
				return false;
		}
	}
	return true;
}

static void
place_chunks(struct blob_task *t, const struct placed *at, struct plan_bytes off,
	     struct plan_bytes len)
{
	t->chunk[0] = (struct chunk){ at->off[PART_WEIGHT] + off.codes, len.codes, 0 };
	t->chunk[1] = (struct chunk){ at->off[PART_SCALE] + off.scales, len.scales, 0 };
	t->chunk[2] = (struct chunk){ at->off[PART_BIAS] + off.biases, len.biases, 0 };
}

const struct change *
blob_change(const struct plan *p, size_t change)
{
	return change ? &p->parts->changes[change] : NULL;
}

/* Windows of one piece, which begins at element `to` of what is written. */
static bool
piece_tasks(struct blob *b, const struct plan_out *o, const struct plan_piece *piece,
	    const struct placed *at, uint64_t to)
{
	const struct plan_row *r = &b->plan->rows[piece->row];
	const struct scheme *s = &r->target;
	enum dtype d = r->dtype;
	const struct change *c = blob_change(b->plan, piece->change);
	bool same = scheme_equal(s, &r->src->scheme) && (!c || c->what == CHANGE_NONE);
	const uint64_t most = dtype_bits(d) > 32 ? WINDOW_ELEMS / 4 : WINDOW_ELEMS;
	uint64_t cols = o->ndim ? o->dim[o->ndim - 1] : 1, n;

	for (uint64_t i = 0; i < piece->elems; i += n) {
		uint64_t first = piece->first + i, left = piece->elems - i;
		struct encode_how how = encode_how(b->plan->flavour, &b->plan->care, r->src, c,
						   cols, first);
		struct blob_task t = { .what = r->repack ? BLOB_REPACK : same ? BLOB_PACKED : BLOB_ENCODE,
				       .row = piece->row, .change = piece->change, .cols = cols,
				       .first = first };

		n = same ? most : encode_stretch(&how, r->src, c, first, most);
		t.n = n = n < left ? n : left;
		place_chunks(&t, at, plan_bytes(s, d, to + i), plan_bytes(s, d, n));
		if (!add_task(b, t))
			return false;
	}
	return true;
}

static bool
out_tasks(struct blob *b, const struct plan_out *o, const struct placed *at)
{
	const struct plan_piece *pieces = b->plan->parts->pieces + o->piece;
	const struct tensor *t = b->plan->rows[o->row].src;
	struct blob_task global = { BLOB_GLOBAL, o->row, NULL, 0, 0, 0, 0,
				    { { at->off[PART_GLOBAL], 4, 0 } }, false };
	uint64_t to = 0;

	if (at->has[PART_GLOBAL] && !add_task(b, global))
		return false;
	if (plan_out_whole(b->plan, o))
		return copy_part(b, o->row, &t->weight, at->off[PART_WEIGHT]) &&
		       (!t->has_scale || copy_part(b, o->row, &t->scale, at->off[PART_SCALE])) &&
		       (!t->has_bias || copy_part(b, o->row, &t->bias, at->off[PART_BIAS]));
	if (t->origin == ORIGIN_UNKNOWN)
		return copy_pieces(b, o, at);
	for (size_t i = 0; i < o->npieces; to += pieces[i++].elems)
		if (!piece_tasks(b, o, &pieces[i], at, to))
			return false;
	return true;
}

/* What a tensor's bytes are followed by. */
static bool
pad(struct blob *b, const struct plan_out *o, const struct placed *at)
{
	uint64_t end = at->off[PART_WEIGHT] + at->bytes;
	struct blob_task zeros = { BLOB_ZEROS, o->row, NULL, 0, 0, 0, at->pad, { { end, at->pad, 0 } },
				   false };

	return !at->pad || add_task(b, zeros);
}

enum tb_status
blob_open(struct blob *b, const struct plan *p, struct values_files *source, size_t index,
	  const char *dir, const struct gguf_head *gguf, struct tb_err *err)
{
	struct tb_buf head = TB_BUF(gguf ? GGUF_HEAD_MAX : ST_HEADER_MAX + 16u);
	struct placed *placed = NULL;
	const struct plan_out *outs;
	enum tb_status status;
	size_t n;

	*b = (struct blob){ .plan = p, .index = index, .files = source, .out = { .fd = -1 } };
	outs = blob_outs(p, index, &n);
	status = gguf ? gguf_head_layout(gguf, p, index, &head, &placed, &n, &b->size, err)
		      : blob_layout(p, index, &head, &placed, &n, &b->size, err);
	for (size_t i = 0; i < n && !status; i++) {
		if (!out_tasks(b, &outs[i], &placed[i]) || !pad(b, &outs[i], &placed[i]))
			status = tb_nomem(err);
		else if (b->ntasks)
			b->tasks[b->ntasks - 1].last = true;
	}
	free(placed);
	if (!status)
		status = tb_out_open(&b->out, dir, err);
	if (!status)
		status = tb_out_pwrite(&b->out, 0, head.p, head.len, err);
	b->header = (struct chunk){ 0, head.len, head.p ? tb_sum_quick(head.p, head.len) : 0 };
	tb_buf_free(&head);
	if (status)
		blob_free(b);
	return status;
}

void
blob_free(struct blob *b)
{
	if (b->out.tmp)
		tb_out_abort(&b->out);
	free(b->tasks);
	free(b->order);
	free(b->pieces);
	*b = (struct blob){ .out = { .fd = -1 } };
}

uint64_t
blob_task_bytes(const struct blob *b, const struct blob_task *t)
{
	struct plan_bytes n;

	if (t->what == BLOB_COPY)
		return t->n;
	if (t->what == BLOB_GLOBAL)
		return 4;
	if (t->what == BLOB_ZEROS)
		return 0;
	n = plan_bytes(&b->plan->rows[t->row].src->scheme,
		       values_dtype(b->plan->rows[t->row].src), t->n);
	return n.codes + n.scales + n.biases;
}

static enum tb_status
produce_repacked(const struct blob *b, const struct blob_task *t, struct window *w,
		 const struct values *v, struct tb_err *err)
{
	const struct quant_parts room = { .codes = w->src };
	enum tb_status status = window_gather(v, blob_change(b->plan, t->change), t->first, t->n,
					      &room, err);
	size_t done = status ? 0 : repack(&v->t->scheme, w->src, t->n, &w->out);

	if (status || done == t->n)
		return status;
	return tb_fail(err, TB_EFORMAT, "tensor %s: the scale of the block at element %ju has no place"
		       " in its scheme; give the tensor another (--rule)", v->t->name,
		       (uintmax_t)(t->first + done));
}

/* Elements of a tensor, as they are or as what they become. */
static enum tb_status
produce_elems(const struct blob *b, const struct blob_task *t, struct window *w,
	      const void *data[3], struct tb_err *err)
{
	const struct plan_row *r = &b->plan->rows[t->row];
	const struct change *change = blob_change(b->plan, t->change);
	const struct encode_how how = encode_how(b->plan->flavour, &b->plan->care, r->src, change,
						 t->cols, t->first);
	struct quant_parts room, *made = t->what == BLOB_PACKED ? &room : &w->out;
	enum tb_status status = window_reserve(w, t->n, err);
	struct values v;

	if (!status)
		status = values_open(&v, b->plan->model, r->src, b->files, err);
	if (status)
		return status;
	room = (struct quant_parts){ w->src, w->in.scales, w->in.biases };
	data[0] = made->codes;
	data[1] = made->scales;
	data[2] = made->biases;
	if (t->what == BLOB_PACKED)
		return window_gather(&v, change, t->first, t->n, &room, err);
	if (t->what == BLOB_REPACK)
		return produce_repacked(b, t, w, &v, err);
	status = window_read(w, &v, change, t->first, t->n, err);
	return status ? status
	     : window_encode(w, r->src, &r->target, &how, t->first, t->n, err);
}

enum tb_status
blob_make(struct blob *b, struct blob_task *t, struct window *w, struct made *out,
	  struct tb_err *err)
{
	const struct tensor *src = b->plan->rows[t->row].src;
	enum tb_status status = TB_OK;

	*out = (struct made){ b, t, w, { w->src, NULL, NULL }, NULL };	/* as t->chunk says */
	if (t->what == BLOB_COPY)
		status = values_files_read(b->files, t->part, t->first, w->src, t->n, err);
	else if (t->what == BLOB_GLOBAL)
		status = values_read_global(b->plan->model, src, b->files, (float *)w->src, err);
	else if (t->what == BLOB_ZEROS)
		memset(w->src, 0, t->n);
	else
		status = produce_elems(b, t, w, out->data, err);
	for (int i = 0; i < 3 && !status; i++)
		if (t->chunk[i].len)
			t->chunk[i].sum = tb_sum_quick(out->data[i], t->chunk[i].len);
	return status;
}

enum tb_status
blob_write(const struct made *m, struct tb_err *err)
{
	const struct chunk *c = m->task->chunk;
	enum tb_status status = TB_OK;

	for (int i = 0; i < 3 && !status; i++)
		if (c[i].len)
			status = tb_out_pwrite(&m->blob->out, c[i].off, m->data[i], c[i].len, err);
	return status;
}

enum tb_status
blob_starts(const char *path, const struct tb_buf *head, bool *same, struct tb_err *err)
{
	char *bytes = malloc(head->len);
	struct tb_file file;
	enum tb_status status = bytes ? tb_file_open(&file, path, err) : tb_nomem(err);

	if (!status) {
		status = tb_file_read(&file, 0, bytes, head->len, err);
		*same = !status && !memcmp(bytes, head->p, head->len);
		tb_file_close(&file);
	}
	free(bytes);
	return status;
}
