#include "config.h"

#include "src/ops/inspect/inspect.h"

#include <string.h>

#include "src/model/values.h"
#include "src/quant/bits.h"
#include "src/quant/ggml.h"
#include "src/quant/ggml_fields.h"

#define PLAIN_BYTES 16u

/* Elements of a block. */
static unsigned
block_elems(const struct tensor *t)
{
	const struct scheme *s = &t->scheme;

	if (scheme_foreign(s))
		return 0;
	if (scheme_is_plain(s))
		return s->bits ? PLAIN_BYTES * 8 / s->bits : 0;
	return s->group <= BLOCK_VALUES ? s->group : 0;
}

uint64_t
block_count(const struct tensor *t)
{
	unsigned each = block_elems(t);

	return each ? (t->elems + each - 1) / each : 0;
}

uint64_t
block_at(const struct tensor *t, enum values_part p, uint64_t off)
{
	unsigned each = block_elems(t), size;
	uint64_t index = INSPECT_NONE;

	if (!each)
		return INSPECT_NONE;
	if (p == PART_WEIGHT) {
		uint64_t bytes = scheme_is_plain(&t->scheme) ? PLAIN_BYTES
								: scheme_code_bytes(&t->scheme, each);
		index = off / bytes;
	} else if (p == PART_SCALE || p == PART_BIAS) {
		size = dtype_bits(t->scale.dtype) / 8;
		index = size ? off / size : INSPECT_NONE;
	}
	return index < block_count(t) ? index : INSPECT_NONE;
}

static struct block_field *
add_field(struct block *b, const char *name, bool whole)
{
	struct block_field *f = &b->field[b->nfields++];

	*f = (struct block_field){ .name = name, .whole = whole };
	return f;
}

static void
ggml_fields(const struct tensor *t, const uint8_t *bytes, struct block *b)
{
	const struct ggml_field *f;

	for (unsigned i = 0; i < BLOCK_FIELDS && (f = ggml_field(t->scheme.ggml, i)); i++) {
		struct block_field *to = add_field(b, f->name, ggml_field_whole(f));

		to->n = ggml_field_read(f, bytes, to->v);
	}
}

/* One number for the block, from a part of its own. */
static void
one_number(const struct tensor *t, const uint8_t *part, const char *name, struct block *b)
{
	struct block_field *f = add_field(b, name, false);
	unsigned size = dtype_bits(t->scale.dtype) / 8;
	enum dtype d = t->scale.dtype;
	float v;

	if (d == DT_U8)
		d = scheme_scale_float(&t->scheme);
	dtype_to_f32(d, part + b->index * size, 1, &v);
	f->v[0] = (double)v;
	f->n = 1;
}

static void
group_fields(const struct values *r, const uint8_t *bytes, struct block *b)
{
	const struct tensor *t = r->t;
	struct block_field *f;
	uint8_t code[BLOCK_VALUES];

	one_number(t, r->part[PART_SCALE].p, "scale", b);
	if (t->has_bias)
		one_number(t, r->part[PART_BIAS].p, "bias", b);
	if (t->has_global) {
		f = add_field(b, "global", false);
		f->v[0] = (double)r->global;
		f->n = 1;
	}
	f = add_field(b, "codes", true);
	bits_unpack(bytes, b->n, t->scheme.bits, code);
	for (f->n = 0; f->n < b->n; f->n++)
		f->v[f->n] = code[f->n];
}

static void
take_apart(const struct values *r, struct block *b)
{
	const struct tensor *t = r->t;
	const uint8_t *bytes = r->part[PART_WEIGHT].p + b->off;

	values_any(r, b->first, b->n, b->value);
	if (scheme_form(&t->scheme) == FORM_BLOCKS)
		ggml_fields(t, bytes, b);
	else if (!scheme_is_plain(&t->scheme))
		group_fields(r, bytes, b);
}

enum tb_status
block_read(const struct model *m, const struct tensor *t, uint64_t index, struct block *out,
	   struct tb_err *err)
{
	char name[SCHEME_NAME_MAX];
	uint64_t n = block_count(t);
	unsigned each = block_elems(t);
	struct values r;
	enum tb_status status;

	*out = (struct block){ .index = index };
	if (!each)
		return tb_fail(err, TB_EUNSUP, "tensor %s: %s has no blocks that could be shown",
			       t->name, scheme_name(&t->scheme, name));
	if (index >= n)
		return tb_fail(err, TB_EUSAGE, "tensor %s: block %ju of %ju", t->name,
			       (uintmax_t)index, (uintmax_t)n);
	out->first = index * each;
	out->n = t->elems - out->first < each ? (unsigned)(t->elems - out->first) : each;
	if (scheme_is_plain(&t->scheme)) {
		out->off = index * PLAIN_BYTES;
		out->len = (out->n * t->scheme.bits + 7) / 8;
	} else {
		out->off = scheme_code_bytes(&t->scheme, out->first);
		out->len = scheme_code_bytes(&t->scheme, each);
	}
	status = values_open(&r, m, t, err);
	if (status)
		return status;
	take_apart(&r, out);
	status = values_check(&r, err);
	values_close(&r);
	return status;
}
