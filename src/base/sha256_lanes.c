/* sha256_lanes.c - which way of hashing streams side by side is the fastest here: tried for
 * about a millisecond at first use, since neither names of CPUs nor lists of their
 * instructions tell. */
#include "config.h"

#include "src/base/sha256_lanes.h"

#ifdef HAVE_X86
#include <cpuid.h>
#endif
#define OPENSSL_SUPPRESS_DEPRECATED	/* nothing newer takes and gives a state */
#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

#define TRIED 65536u		/* bytes of all streams, within the second-level cache */
#define TIMES 6

const uint32_t sha_round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static void
libcrypto_1(uint32_t state[][8], const uint8_t *const data[], size_t blocks)
{
	SHA256_CTX ctx = { .md_len = SHA256_DIGEST_LENGTH };

	memcpy(ctx.h, state[0], sizeof(ctx.h));
	SHA256_Update(&ctx, data[0], blocks * SHA_BLOCK);
	memcpy(state[0], ctx.h, sizeof(ctx.h));
}

/* What a way needs of the CPU; TBTUI_CPU=scalar leaves libcrypto, avx2 all but AVX-512. */
enum need { NEED_NOTHING, NEED_SHA, NEED_AVX2, NEED_AVX512 };

static const struct { sha_lanes_fn *fn; enum need need; } kernels[] = {
	{ libcrypto_1, NEED_NOTHING },
#ifdef HAVE_X86
	{ sha_ni_2, NEED_SHA }, { sha_ni_3, NEED_SHA }, { sha_ni_4, NEED_SHA },
	{ sha_ni_8, NEED_SHA }, { sha_avx2_8, NEED_AVX2 }, { sha_avx512_16, NEED_AVX512 },
#endif
};
#define WAYS (sizeof(kernels) / sizeof(*kernels))

static struct sha_way ways[WAYS] = {
	{ .name = "libcrypto", .streams = 1 },
#ifdef HAVE_X86
	{ .name = "SHA-NI", .streams = 2 }, { .name = "SHA-NI", .streams = 3 },
	{ .name = "SHA-NI", .streams = 4 }, { .name = "SHA-NI", .streams = 8 },
	{ .name = "AVX2", .streams = 8 }, { .name = "AVX-512", .streams = 16 },
#endif
};

/* To go on with n streams: the way, and how long until all have gone on by a block. */
static struct { size_t way; double seconds; } plan[SHA_STREAMS + 1];
static pthread_once_t chosen = PTHREAD_ONCE_INIT;

static bool
usable(enum need need)
{
#ifdef HAVE_X86
	const char *cpu = getenv("TBTUI_CPU");
	bool held = cpu && !strcmp(cpu, "scalar"), held_avx512 = held || (cpu && !strcmp(cpu, "avx2"));
	unsigned eax = 7, ebx = 0, ecx = 0, edx = 0;

	switch (need) {
	case NEED_SHA:	/* bit 29 of leaf 7; compilers learned to ask for it by name late */
		return !held && __builtin_cpu_supports("sse4.1") &&
		       __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & 1u << 29;
	case NEED_AVX2:
		return !held && __builtin_cpu_supports("avx2");
	case NEED_AVX512:
		return !held_avx512 && __builtin_cpu_supports("avx512f") &&
		       __builtin_cpu_supports("avx512bw");
	case NEED_NOTHING:
		break;
	}
#endif
	return need == NEED_NOTHING;
}

/* The fastest of some times: what else runs on the machine makes it slower only. */
static double
measure(size_t way, const uint8_t *bytes)
{
	unsigned streams = ways[way].streams;
	uint32_t state[SHA_STREAMS][8] = { { 0 } };
	const uint8_t *data[SHA_STREAMS];
	double best = 0;

	for (unsigned i = 0; i < streams; i++)
		data[i] = bytes + TRIED / streams * i;
	for (unsigned i = 0; i < TIMES; i++) {
		size_t blocks = TRIED / streams / SHA_BLOCK;
		double from = tb_monotonic(), seconds;

		kernels[way].fn(state, data, blocks);
		seconds = tb_monotonic() - from;
		if (i && seconds > 0 && (best <= 0 || seconds < best))
			best = seconds;		/* the first one reads code and data */
	}
	return best > 0 ? (double)(TRIED / streams / SHA_BLOCK * SHA_BLOCK * streams) / best : 1;
}

static void
choose(void)
{
	static uint8_t bytes[TRIED];

	for (size_t i = 0; i < TRIED; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	for (size_t i = 0; i < WAYS; i++)
		if ((ways[i].usable = usable(kernels[i].need)))
			ways[i].rate = measure(i, bytes);
	for (unsigned n = 1; n <= SHA_STREAMS; n++)
		for (size_t i = 0; i < WAYS; i++) {
			unsigned streams = ways[i].streams, rest = n > streams ? n - streams : 0;
			double seconds;

			if (!ways[i].usable)
				continue;
			seconds = streams * SHA_BLOCK / ways[i].rate + plan[rest].seconds;
			if (plan[n].seconds <= 0 || seconds < plan[n].seconds) {
				plan[n].way = i;
				plan[n].seconds = seconds;
			}
		}
}

size_t
sha_ways(const struct sha_way **out)
{
	pthread_once(&chosen, choose);
	*out = ways;
	return WAYS;
}

double
sha_seconds(unsigned n)
{
	pthread_once(&chosen, choose);
	return plan[n].seconds;
}

double
sha_rate(unsigned n)
{
	return n * SHA_BLOCK / sha_seconds(n);
}

unsigned
sha_best(unsigned n, size_t *way)
{
	pthread_once(&chosen, choose);
	*way = plan[n].way;
	return n < ways[*way].streams ? n : ways[*way].streams;
}

/* ---- streams ---- */

void
sha_stream_start(struct sha_stream *s)
{
	static const uint32_t first[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(s->state, first, sizeof(first));
	s->len = 0;
}

void
sha_streams_add(size_t way, struct sha_stream *const s[], const uint8_t *const data[], unsigned n,
		size_t blocks)
{
	uint32_t state[SHA_STREAMS][8];
	const uint8_t *from[SHA_STREAMS];

	/* What nobody needs repeats the first stream. */
	for (unsigned i = 0; i < ways[way].streams; i++) {
		memcpy(state[i], s[i < n ? i : 0]->state, sizeof(state[i]));
		from[i] = data[i < n ? i : 0];
	}
	kernels[way].fn(state, from, blocks);
	for (unsigned i = 0; i < n; i++) {
		memcpy(s[i]->state, state[i], sizeof(state[i]));
		s[i]->len += blocks * SHA_BLOCK;
	}
}

void
sha_stream_end(struct sha_stream *s, const uint8_t *rest, size_t len, uint8_t out[32])
{
	uint8_t last[2 * SHA_BLOCK] = { 0 };
	size_t blocks = len + 9 > SHA_BLOCK ? 2 : 1;
	const uint8_t *data = last;
	uint64_t bits = (s->len + len) * 8;

	if (len)
		memcpy(last, rest, len);
	last[len] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		last[blocks * SHA_BLOCK - 1 - i] = (uint8_t)(bits >> 8 * i);
	libcrypto_1(&s->state, &data, blocks);
	for (unsigned i = 0; i < 8; i++)
		for (unsigned k = 0; k < 4; k++)
			out[4 * i + k] = (uint8_t)(s->state[i] >> (24 - 8 * k));
}
