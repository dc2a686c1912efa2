#include "config.h"

#include "src/ops/verify/verify_scan.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/quant/peak.h"

#define PAGE 4096u

/* ---- zeros ---- */

static bool
all_zero(const uint8_t *p, size_t n)
{
	return !*p && (n == 1 || !memcmp(p, p + 1, n - 1));
}

static void
add_blank(struct verify_scan *s, uint64_t off)
{
	struct verify_blank *last = s->nblank ? &s->blank[s->nblank - 1] : NULL;

	if (last && last->off + last->len == off)
		last->len += PAGE;
	else if (s->nblank < SCAN_BLANKS)
		s->blank[s->nblank++] = (struct verify_blank){ off, PAGE };
}

/* Bytes come in pieces that know no pages. */
static void
look_for_blanks(struct verify_scan *s, uint64_t off, const uint8_t *p, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		size_t in = (off + i) % PAGE;

		n = PAGE - in < len - i ? PAGE - in : len - i;
		if (!in)
			s->blank_page = true;
		if (s->blank_page && !all_zero(p + i, n))
			s->blank_page = false;
		if (s->blank_page && in + n == PAGE)
			add_blank(s, off + i + n - PAGE);
	}
}

/* ---- numbers ---- */

static void
look_at_units(struct verify_scan *s, const uint8_t *p, size_t n)
{
	const struct scheme *scheme = &s->list.v[s->at].scheme;
	uint8_t *flags = &s->flags[s->at];

	if (!(*flags & SCAN_ODD) && peak_found(scheme, p, n))
		*flags |= SCAN_ODD;
	if ((*flags & (SCAN_ZERO | SCAN_SCALES)) == SCAN_SCALES && peak_zero(scheme->dtype, p, n))
		*flags |= SCAN_ZERO;
}

/* The next bytes of the tensor. */
static void
feed(struct verify_scan *s, const uint8_t *p, size_t len)
{
	size_t n;

	if (!s->unit)
		return;
	if (s->ncarry) {
		n = s->unit - s->ncarry < len ? s->unit - s->ncarry : len;
		memcpy(s->carry + s->ncarry, p, n);
		s->ncarry += (unsigned)n;
		p += n;
		len -= n;
		if (s->ncarry < s->unit)
			return;
		look_at_units(s, s->carry, 1);
	}
	n = len / s->unit;
	if (n)
		look_at_units(s, p, n);
	s->ncarry = (unsigned)(len - n * s->unit);
	memcpy(s->carry, p + n * s->unit, s->ncarry);
}

static void
scan_add(void *arg, uint64_t off, const uint8_t *p, size_t len)
{
	struct verify_scan *s = arg;

	if (s->also)
		s->also->fn(s->also->arg, off, p, len);
	look_for_blanks(s, off, p, len);
	for (; s->at < s->list.n; s->at++, s->begun = false) {
		const struct verify_tensor *t = &s->list.v[s->at];
		uint64_t from = t->off > off ? t->off : off, end = t->off + t->len;
		uint64_t to = end < off + len ? end : off + len;

		if (t->off >= off + len)
			return;
		if (!s->begun) {
			s->ncarry = 0;
			s->unit = peak_unit(&t->scheme);
			s->begun = true;
		}
		if (to > from)
			feed(s, p + (from - off), (size_t)(to - from));
		if (end > off + len)
			return;
	}
}

/* ---- what the model says of bytes ---- */

static int
by_offset(const void *a, const void *b)
{
	const struct verify_bytes *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

const struct verify_bytes *
verify_bytes_at(const struct verify_file *f, uint64_t off, uint64_t len)
{
	const struct verify_bytes key = { .off = off };
	const struct verify_bytes *b = f->nbytes ? bsearch(&key, f->bytes, f->nbytes, sizeof(key),
							   by_offset) : NULL;

	return b && b->len == len ? b : NULL;
}

static bool
keep_bytes(struct verify_file *f, const struct tensor_part *p, const struct verify_bytes *b)
{
	if (!tb_grow(&f->bytes, &f->bytes_cap, f->nbytes + 1, sizeof(*f->bytes)))
		return false;
	f->bytes[f->nbytes] = *b;
	f->bytes[f->nbytes].off = p->off;
	f->bytes[f->nbytes++].len = p->len;
	return true;
}

bool
verify_keep_bytes(struct verify_model *to, const struct model *m)
{
	bool ok = true;

	for (size_t i = 0; ok && i < m->ntensors; i++) {
		const struct tensor *t = &m->tensors[i];
		enum dtype scale = scheme_scale_float(&t->scheme);
		enum dtype code = scheme_code_float(&t->scheme);
		enum dtype as = t->scale.dtype;
		unsigned step = scheme_form(&t->scheme) == FORM_GROUPS
				? (unsigned)scheme_code_bytes(&t->scheme, t->scheme.group) : 0;
		struct verify_file *f = &to->files[t->scale.file];

		if (!t->has_scale)
			continue;
		if (as == DT_U8 && scale != DT_COUNT)
			ok = keep_bytes(f, &t->scale, &(struct verify_bytes){ .dtype = scale });
		else if ((as == DT_F32 || as == DT_BF16 || as == DT_F16) && step &&
			 t->scale.file == t->weight.file)
			ok = keep_bytes(f, &t->scale, &(struct verify_bytes){ .dtype = as,
					.codes_off = t->weight.off, .codes_len = t->weight.len,
					.bits = t->scheme.bits, .step = step });
		if (ok && code != DT_COUNT)
			ok = keep_bytes(&to->files[t->weight.file], &t->weight,
					&(struct verify_bytes){ .dtype = code });
	}
	for (size_t i = 0; i < to->nfiles; i++)
		if (to->files[i].nbytes > 1)
			qsort(to->files[i].bytes, to->files[i].nbytes, sizeof(*to->files[i].bytes),
			      by_offset);
	return ok;
}

/* ---- */

enum tb_status
verify_scan_begin(struct verify_scan *s, const struct verify_target *t, const struct tb_file *f,
		  const struct tb_seen *also, struct tb_err *err)
{
	enum tb_status status;

	memset(s, 0, sizeof(*s));
	s->seen = (struct tb_seen){ scan_add, s };
	s->also = also;
	s->file = t->file;
	status = verify_tensors_read(&s->list, f, err);
	if (status)
		return status;
	s->flags = tb_calloc(s->list.n + 1, 1);
	if (!s->flags) {
		verify_scan_free(s);
		return tb_nomem(err);
	}
	for (size_t i = 0; i < s->list.n; i++) {
		struct verify_tensor *v = &s->list.v[i];
		const struct verify_bytes *b = verify_bytes_at(t->file, v->off, v->len);

		if (b)
			v->scheme = scheme_plain(b->dtype);
		if (!peak_unit(&v->scheme))
			s->flags[i] = SCAN_ODD;
		else if (b && b->step)
			s->flags[i] = SCAN_SCALES;
	}
	return TB_OK;
}

void
verify_scan_free(struct verify_scan *s)
{
	verify_tensors_free(&s->list);
	free(s->flags);
	s->flags = NULL;
}
