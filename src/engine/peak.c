#include "config.h"

#include "src/engine/peak.h"

#include <stddef.h>
#include <string.h>

#include "src/base/text.h"
#include "src/engine/mv.h"
#include "src/engine/team.h"

#define TIMES 5
#define CALLS 400		/* a thread's, some milliseconds */
#define ROUNDS 4096		/* of a call */
#define CHAINS 12		/* accumulators: more than an instruction's latency */

#if defined(HAVE_X86)
#include "src/engine/amx.h"

#define EACH_CHAIN(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11)
#define CLEAR(i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n\t"

/* Operands are zero, which no CPU is slower or faster with; as text, so that it is built
 * whatever the compiler was told of the CPU. */
#define LOOP(name, step) \
	static void \
	name(void) \
	{ \
		unsigned rounds = ROUNDS; \
		__asm__ volatile(EACH_CHAIN(CLEAR) CLEAR(14) CLEAR(15) \
				 "1:\n\t" EACH_CHAIN(step) "dec %0\n\tjnz 1b\n\tvzeroupper" \
				 : "+r"(rounds) : \
				 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
				   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14", "xmm15"); \
	}
#define FMA_256(i) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #i "\n\t"
#define FMA_512(i) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" #i "\n\t"
#define DOT_S8(i) "vpdpbusd %%zmm14, %%zmm15, %%zmm" #i "\n\t"
#define DOT_BF16(i) "vdpbf16ps %%zmm14, %%zmm15, %%zmm" #i "\n\t"
LOOP(loop_fma_256, FMA_256)
LOOP(loop_fma_512, FMA_512)
LOOP(loop_dot_s8, DOT_S8)
LOOP(loop_dot_bf16, DOT_BF16)

/* Four of the eight tiles take products of the other four. */
static void
loop_dot_tiles(void)
{
	TILES_BEGIN();
	TILE_ZERO(0);
	TILE_ZERO(1);
	TILE_ZERO(2);
	TILE_ZERO(3);
	TILE_ZERO(4);
	TILE_ZERO(5);
	TILE_ZERO(6);
	TILE_ZERO(7);
	for (unsigned i = 0; i < ROUNDS; i++) {
		TILE_DOT(0, 4, 6);
		TILE_DOT(1, 4, 7);
		TILE_DOT(2, 5, 6);
		TILE_DOT(3, 5, 7);
	}
	TILES_END();
}

#define OPS(lanes, products) (2.0 * (lanes) * (products) * CHAINS * ROUNDS)
static const struct { enum mv_level level; struct peak peak; } peaks[] = {
	{ MV_AVX2, { "vfmadd231ps ymm", "GFLOP/s", OPS(8, 1), loop_fma_256 } },
	{ MV_AVX512, { "vfmadd231ps zmm", "GFLOP/s", OPS(16, 1), loop_fma_512 } },
	{ MV_AVX512_VNNI, { "vpdpbusd", "GOP/s", OPS(16, 4), loop_dot_s8 } },
	{ MV_AVX512_BF16, { "vdpbf16ps", "GFLOP/s", OPS(16, 2), loop_dot_bf16 } },
	{ MV_AMX, { "tdpbf16ps", "GFLOP/s", 2.0 * 16 * 16 * 32 * 4 * ROUNDS, loop_dot_tiles } },
};

const struct peak *
peak_at(unsigned i)
{
	return i < sizeof(peaks) / sizeof(*peaks) && peaks[i].level <= mv_level() ? &peaks[i].peak
										  : NULL;
}
#else
const struct peak *
peak_at(unsigned i)
{
	(void)i;
	return NULL;
}
#endif

const struct peak *
peak_named(const char *name)
{
	const struct peak *p;

	for (unsigned i = 0; (p = peak_at(i)); i++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static void
run_loop(void *arg, unsigned chunk, unsigned thread)
{
	const struct peak *p = arg;

	(void)chunk;
	(void)thread;
	for (unsigned i = 0; i < CALLS; i++)
		p->loop();
}

double
peak_measure(const struct peak *p, struct team *team)
{
	unsigned threads = team_size(team);
	double best = 0;

	for (unsigned i = 0; i < TIMES; i++) {
		double start = tb_monotonic(), rate;

		team_run(team, run_loop, (void *)p, threads);
		rate = 1e-9 * p->ops * CALLS * threads / (tb_monotonic() - start);
		best = rate > best ? rate : best;
	}
	return best;
}
