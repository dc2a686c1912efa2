#include "config.h"

#include "src/format/protobuf.h"

#include <string.h>

struct pb_message
pb_open(const void *p, size_t len, const char *what)
{
	return (struct pb_message){ .p = p, .len = len, .what = what };
}

struct pb_message
pb_inside(const struct pb_message *m, const struct pb_field *f)
{
	return (struct pb_message){ .p = f->p, .len = f->len, .base = f->off, .what = m->what };
}

/* Seven bits a byte, least first; a tenth byte has room for one. */
static bool
varint(struct pb_message *m, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; shift < 70 && m->at < m->len; shift += 7) {
		uint8_t c = m->p[m->at++];

		if (shift == 63 && c > 1)
			return false;
		*out |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return true;
	}
	return false;
}

static bool
fixed(struct pb_message *m, unsigned bytes, uint64_t *out)
{
	if (m->len - m->at < bytes)
		return false;
	*out = 0;
	for (unsigned i = bytes; i-- > 0;)
		*out = *out << 8 | m->p[m->at + i];
	m->at += bytes;
	return true;
}

static bool
bytes(struct pb_message *m, struct pb_field *f)
{
	uint64_t n;

	if (!varint(m, &n) || n > m->len - m->at)
		return false;
	f->p = m->p + m->at;
	f->len = (size_t)n;
	f->off = m->base + m->at;
	m->at += f->len;
	return true;
}

static bool
value(struct pb_message *m, struct pb_field *f)
{
	switch (f->wire) {
	case PB_VARINT:
		return varint(m, &f->bits);
	case PB_FIXED64:
		return fixed(m, 8, &f->bits);
	case PB_FIXED32:
		return fixed(m, 4, &f->bits);
	case PB_BYTES:
		return bytes(m, f);
	}
	return false;		/* groups are of the past */
}

bool
pb_next(struct pb_message *m, struct pb_field *f, enum tb_status *status, struct tb_err *err)
{
	size_t start = m->at;
	uint64_t key;

	*status = TB_OK;
	*f = (struct pb_field){ .number = 0 };
	if (m->at == m->len)
		return false;
	if (varint(m, &key) && key >> 3) {
		f->number = key >> 3;
		f->wire = (enum pb_wire)(key & 7);
		if (value(m, f))
			return true;
	}
	*status = tb_fail(err, TB_EFORMAT, "%s: damaged at offset %zu", m->what, m->base + start);
	return false;
}

float
pb_float(const struct pb_field *f)
{
	uint32_t bits = (uint32_t)f->bits;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}
