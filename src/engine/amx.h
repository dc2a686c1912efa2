/* amx.h - the tiles of CPUs with AMX.  mv.c has asked Linux for them.  As assembly: the
 * intrinsics of gcc 12 do not say that they read memory, and of the configuration they
 * name 8 bytes of 64. */
#ifndef TBTUI_ENGINE_AMX_H
#define TBTUI_ENGINE_AMX_H

#include <stdint.h>

struct tiles_config {
	_Alignas(64) uint8_t palette, start, none[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

/* Eight tiles of 16 rows of 64 bytes, for this thread, until they are released: then
 * nothing of them has to be saved when it is interrupted. */
static inline void
tiles_begin(void)
{
	struct tiles_config c = { .palette = 1 };

	for (unsigned i = 0; i < 8; i++) {
		c.row_bytes[i] = 64;
		c.rows[i] = 16;
	}
	__asm__ volatile("ldtilecfg %0" :: "m"(c));
}

#define TILES_BEGIN() tiles_begin()
#define TILES_END() __asm__ volatile("tilerelease" ::: "memory")
#define TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t :::)
#define TILE_LOAD(t, p) \
	__asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t :: "r"(p), "r"(64L) : "memory")
#define TILE_STORE(t, p) \
	__asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" :: "r"(p), "r"(64L) : "memory")
#define TILE_DOT(c, a, b) \
	__asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c :::)
#endif
