#include "config.h"

#include "src/ops/chat/reading.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"

#define MAGIC 0x31647274u	/* "trd1" */
#define TOKENS_MAX (64u << 20)

void
reading_free(struct reading *r)
{
	free(r->v);
	free(r->ids.v);
	*r = (struct reading){ 0 };
}

/* Its ids, of which `kept` are the first. */
static size_t
part_ids(const struct reading_part *p)
{
	return p->together ? p->together : p->kept;
}

void
reading_cut(struct reading *r, size_t held)
{
	while (r->n && r->held > held) {
		struct reading_part *last = &r->v[r->n - 1];
		size_t before = r->held - last->kept, ids = part_ids(last);

		if (before >= held) {
			r->n--;
			r->held = before;
			r->ids.n -= ids;
		} else {
			last->kept = (uint32_t)(held - before);
			r->held = held;
			r->ids.n -= ids - part_ids(last);
		}
	}
	r->low = r->low < r->held ? r->low : r->held;
}

static bool
reading_part_add(struct reading *r, const uint32_t *ids, size_t n, bool few)
{
	if (!tb_grow(&r->v, &r->cap, r->n + 1, sizeof(*r->v)) ||
	    !tb_grow(&r->ids.v, &r->ids.cap, r->ids.n + n, sizeof(*ids)))
		return false;
	if (few && r->n && !r->v[r->n - 1].together)
		r->v[r->n - 1].kept += (uint32_t)n;
	else
		r->v[r->n++] = (struct reading_part){ few ? 0 : (uint32_t)n, (uint32_t)n };
	memcpy(r->ids.v + r->ids.n, ids, n * sizeof(*ids));
	r->ids.n += n;
	r->held += n;
	return true;
}

bool
reading_add(struct reading *r, const uint32_t *ids, size_t n, size_t step)
{
	while (n) {
		size_t part = step && step < n ? step : n;

		if (!reading_part_add(r, ids, part, !step || part <= SESSION_ROWS)) {
			reading_cut(r, 0);
			return false;
		}
		ids += part;
		n -= part;
	}
	return true;
}

size_t
reading_same(const struct reading *r, const uint32_t *ids, size_t n)
{
	const uint32_t *own = r->ids.v;
	size_t same = 0;

	for (size_t i = 0; i < r->n; own += part_ids(&r->v[i++]))
		for (size_t k = 0; k < r->v[i].kept; k++, same++)
			if (same == n || own[k] != ids[same])
				return same;
	return same;
}

/* ---- as bytes ---- */

struct reading_head {
	uint32_t magic, parts, ids, held, low, of;
};

void
reading_pack(const struct reading *r, const char *of, struct tb_buf *out)
{
	const struct reading_head head = {
		MAGIC, (uint32_t)r->n, (uint32_t)r->ids.n, (uint32_t)r->held, (uint32_t)r->low,
		(uint32_t)strlen(of),
	};

	tb_buf_add(out, &head, sizeof(head));
	tb_buf_add(out, of, head.of);
	if (r->n)
		tb_buf_add(out, r->v, r->n * sizeof(*r->v));
	if (r->ids.n)
		tb_buf_add(out, r->ids.v, r->ids.n * sizeof(*r->ids.v));
}

/* Do the parts add up to what the head says? */
static bool
parts_right(const struct reading *r)
{
	size_t held = 0, ids = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct reading_part *p = &r->v[i];

		if (!p->kept || p->kept > r->held - held || part_ids(p) < p->kept ||
		    part_ids(p) > r->ids.n - ids)
			return false;
		held += p->kept;
		ids += part_ids(p);
	}
	return held == r->held && ids == r->ids.n && r->low <= held;
}

bool
reading_unpack(struct reading *r, const char *of, const void *data, size_t len)
{
	struct reading_head head;
	const char *p = data;

	*r = (struct reading){ 0 };
	if (len < sizeof(head))
		return false;
	memcpy(&head, p, sizeof(head));
	p += sizeof(head);
	if (head.magic != MAGIC || head.parts > head.ids || head.ids > TOKENS_MAX ||
	    head.of != strlen(of) || len != sizeof(head) + head.of + head.parts * sizeof(*r->v) +
	    head.ids * sizeof(*r->ids.v) || memcmp(p, of, head.of))
		return false;
	p += head.of;
	if (tb_grow(&r->v, &r->cap, head.parts + 1, sizeof(*r->v)) &&
	    tb_grow(&r->ids.v, &r->ids.cap, head.ids + 1, sizeof(*r->ids.v))) {
		memcpy(r->v, p, head.parts * sizeof(*r->v));
		memcpy(r->ids.v, p + head.parts * sizeof(*r->v), head.ids * sizeof(*r->ids.v));
		r->n = head.parts;
		r->ids.n = head.ids;
		r->held = head.held;
		r->low = head.low;
		if (parts_right(r))
			return true;
	}
	reading_free(r);
	return false;
}

/* ---- once more ---- */

/* A part, where it begins among the tokens that are held, and its ids. */
struct reading_spot { const struct reading_part *part; const uint32_t *ids; size_t begins; };

static struct reading_spot
reading_spot(const struct reading *r, size_t at)
{
	struct reading_spot p = { r->v, r->ids.v, 0 };

	for (; p.begins + p.part->kept <= at; p.part++) {
		p.begins += p.part->kept;
		p.ids += part_ids(p.part);
	}
	return p;
}

/* n tokens from there on. */
static enum tb_status
read_some(struct session *s, const uint32_t *ids, size_t n, struct token_ids *held,
	  struct tb_job *job, struct tb_err *err)
{
	const float *logits;
	enum tb_status status = session_eval(s, ids, n, false, job, &logits, err);

	if (status)
		return status;
	memcpy(held->v + held->n, ids, n * sizeof(*ids));
	held->n += n;
	tb_job_step(job, 0, n);
	return TB_OK;
}

static enum tb_status
read_on(const struct reading *r, size_t want, struct session *s, struct token_ids *held,
	struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = TB_OK;
	bool back = false;

	while (!status && held->n < want) {
		struct reading_spot p = reading_spot(r, held->n);
		size_t end = p.begins + p.part->kept;

		if (!p.part->together) {
			size_t n = end - held->n;

			n = n < SESSION_ROWS ? n : SESSION_ROWS;
			status = read_some(s, p.ids + (held->n - p.begins), n, held, job, err);
		} else if (held->n > p.begins) {
			held->n = session_rewind(s, (uint32_t)p.begins);
		} else if (p.begins + p.part->together > session_context(s)) {
			break;
		} else {
			status = read_some(s, p.ids, p.part->together, held, job, err);
			if (!status)
				held->n = session_rewind(s, (uint32_t)end);
			if (held->n < end && back)
				break;
			back = held->n < end;
		}
	}
	return status;
}

enum tb_status
reading_again(const struct reading *r, size_t want, struct session *s, struct token_ids *held,
	      struct reading *done, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status;
	bool whole;

	if (!tb_grow(&held->v, &held->cap, r->ids.n + 1, sizeof(*held->v)))
		return tb_nomem(err);
	tb_job_what(job, "reading the conversation again");
	status = read_on(r, want, s, held, job, err);
	held->n = session_rewind(s, (uint32_t)(held->n < want ? held->n : want));
	reading_free(done);
	whole = tb_grow(&done->v, &done->cap, r->n + 1, sizeof(*done->v)) &&
		tb_grow(&done->ids.v, &done->ids.cap, r->ids.n + 1, sizeof(*done->ids.v));
	if (!whole)
		return status ? status : tb_nomem(err);
	memcpy(done->v, r->v, r->n * sizeof(*done->v));
	memcpy(done->ids.v, r->ids.v, r->ids.n * sizeof(*done->ids.v));
	done->n = r->n;
	done->ids.n = r->ids.n;
	done->held = r->held;
	done->low = r->low;
	reading_cut(done, held->n);
	return status;
}
