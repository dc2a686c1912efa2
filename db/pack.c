#include "config.h"

#include "db/pack.h"

void
pack_put(struct tb_buf *b, uint64_t *last, uint64_t v)
{
	uint64_t d = v - *last, z = d << 1 ^ (d >> 63 ? UINT64_MAX : 0);
	char bytes[10];
	size_t n = 0;

	for (; z > 0x7f; z >>= 7)
		bytes[n++] = (char)(z | 0x80);
	bytes[n++] = (char)z;
	tb_buf_few(b, bytes, n);
	*last = v;
}

bool
pack_get(struct pack_in *in, uint64_t *v)
{
	uint64_t z = 0;

	for (unsigned shift = 0; in->p < in->end && shift < 64; shift += 7) {
		uint8_t byte = *in->p++;

		z |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		in->last += z >> 1 ^ (z & 1 ? UINT64_MAX : 0);
		*v = in->last;
		return true;
	}
	return false;
}

uint64_t
pack_count(const void *p, size_t len)
{
	const uint8_t *byte = p;
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += byte[i] < 0x80;
	return n;
}

bool
pack_read32(const void *p, size_t len, uint32_t *out, size_t n)
{
	struct pack_in in = { p, (const uint8_t *)p + len, 0 };
	uint64_t v, over = 0;
	size_t i = 0;

	for (; i < n && pack_get(&in, &v); i++) {
		out[i] = (uint32_t)v;
		over |= v >> 32;
	}
	return i == n && !over;
}

bool
pack_read64(const void *p, size_t len, uint64_t *out, size_t n)
{
	struct pack_in in = { p, (const uint8_t *)p + len, 0 };
	size_t i = 0;

	while (i < n && pack_get(&in, &out[i]))
		i++;
	return i == n;
}
