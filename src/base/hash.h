/* hash.h - numbers for bytes, and tables that find things by them. */
#ifndef TBTUI_BASE_HASH_H
#define TBTUI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TB_HASH_MIX UINT64_C(0x9e3779b97f4a7c15)

/* For tables in memory: eight bytes at a time, since names are long and look-ups many. */
static inline uint64_t
tb_hash(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = len * TB_HASH_MIX, w = 0;
	uint32_t first, last;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	w = 0;
	if (len >= 4) {
		memcpy(&first, p, 4);
		memcpy(&last, p + len - 4, 4);
		w = (uint64_t)first << 32 | last;
	} else if (len) {
		w = (uint64_t)p[0] << 16 | (uint64_t)p[len / 2] << 8 | p[len - 1];
	}
	h = (h ^ w) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 32;
}

/* Its upper bits are the good ones. */
static inline uint64_t
tb_hash_pair(uint32_t a, uint32_t b)
{
	return ((uint64_t)a << 32 | b) * TB_HASH_MIX;
}

/* Numbers that look like random ones, one after the other. */
static inline uint64_t
tb_splitmix(uint64_t *state)
{
	uint64_t z = *state += TB_HASH_MIX;

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* FNV-1a over h, which starts as TB_FNV: always the same, so it may be kept on the disk. */
#define TB_FNV UINT64_C(0xcbf29ce484222325)
static inline uint64_t
tb_fnv(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* A table is n slots, a power of two, of which half are free (0); a slot is the place + 1 of
 * a thing in an array.  The slot of the thing with that hash, or the free one where it
 * belongs; `same`, an expression of i, says whether the thing at i is it. */
#define TB_SLOT(slot, n, hash, i, same) ({					\
	size_t at_ = (size_t)(hash) & ((n) - 1);				\
										\
	for (; (slot)[at_]; at_ = (at_ + 1) & ((n) - 1)) {			\
		uint32_t i = (slot)[at_] - 1;					\
										\
		if (same)							\
			break;							\
	}									\
	&(slot)[at_];								\
})
#endif
