/* sha256_lanes.h - SHA-256 of several streams side by side on one core, private to
 * sha256*.c.
 *
 * One stream waits most of the time: each round needs the round before.  Streams that
 * have nothing to do with one another fill that time. */
#ifndef TBTUI_BASE_SHA256_LANES_H
#define TBTUI_BASE_SHA256_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA_BLOCK 64u		/* bytes that one compression takes */
#define SHA_AHEAD 2048u		/* asked of memory so many bytes before they are needed */
#define SHA_STREAMS 16u		/* at most, side by side */

extern const uint32_t sha_round_constants[64];

/* Compresses `blocks` blocks of as many streams as the kernel has: those of stream i are
 * at data[i], any alignment. */
typedef void sha_lanes_fn(uint32_t state[][8], const uint8_t *const data[], size_t blocks);

#ifdef HAVE_X86
sha_lanes_fn sha_ni_2, sha_ni_3, sha_ni_4, sha_ni_8;	/* the instructions for it */
sha_lanes_fn sha_avx2_8, sha_avx512_16;			/* a lane of the vectors a stream */
#endif

/* The ways there are, libcrypto's first; what TBTUI_CPU or the CPU does not allow is not
 * `usable`. */
struct sha_way {
	const char *name;
	unsigned streams;
	bool usable;
	double rate;		/* bytes a second of all streams, as measured at first use */
};
size_t sha_ways(const struct sha_way **ways);

/* Bytes a second of n streams (1 to SHA_STREAMS), whatever ways that takes. */
double sha_rate(unsigned n);
double sha_seconds(unsigned n);		/* for a block of each */
/* With n streams to go on with: the way to take next, and how many of them it takes. */
unsigned sha_best(unsigned n, size_t *way);

struct sha_stream {
	uint32_t state[8];
	uint64_t len;		/* bytes so far, whole blocks */
};
void sha_stream_start(struct sha_stream *s);
/* `blocks` blocks of each of n streams, at most as many as the way takes. */
void sha_streams_add(size_t way, struct sha_stream *const s[], const uint8_t *const data[],
		     unsigned n, size_t blocks);
/* The last bytes, less than a block; the end. */
void sha_stream_end(struct sha_stream *s, const uint8_t *rest, size_t len, uint8_t out[32]);
#endif
