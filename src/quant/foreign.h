/* foreign.h - matrices as other programs quantize them, to F32.
 *
 * A matrix W has `rows` outputs and `cols` inputs, whichever way it is stored; what
 * has more dimensions is several of them.  Words are 32 bits, little-endian; a "stream"
 * is codes behind each other from the lowest bit of the first word on.
 *
 *   AWQ (4 bits)	codes [cols][rows/8 words]: a word is 8 outputs, in its nibbles from
 *			the lowest on those numbered 0 2 4 6 1 3 5 7; zeros
 *			[groups][rows/8 words] likewise; scales [groups][rows]
 *   GPTQ (2 3 4 8)	codes [cols*bits/32 words][rows]: down a column, a stream over the
 *			inputs; zeros [groups][rows*bits/32 words]: a stream over the outputs,
 *			each with 1 taken away, word by word (v2: as they are); scales
 *			[groups][rows]; order [cols]: the group of each input
 *   CT_INT (1..8)	of compressed-tensors, "pack-quantized": codes [rows][words]: a stream
 *			over the inputs; zeros [words][groups]: down a column, a stream over
 *			the outputs; scales [rows][groups]; order [cols]
 *   INT8		codes [rows][cols] of I8; zeros [rows][groups] of I8
 *   FP8		codes [rows][cols] of F8_E4M3; scales a tensor, a row, or a square
 *			block: [rows/group][cols/group], rounded up
 *
 * W = (code - zero) * scale.  Without zeros it is 2^(bits - 1), or 0 for codes in bytes. */
#ifndef TBTUI_QUANT_FOREIGN_H
#define TBTUI_QUANT_FOREIGN_H

#include "src/quant/scheme.h"

struct foreign_src {
	const uint8_t *codes, *scales;
	const uint8_t *zeros, *order;	/* NULL: there are none */
	enum dtype scale_dtype;
	uint64_t rows, cols;
};

/* What one matrix needs: bytes of codes and zeros, number of scales. */
struct foreign_need { uint64_t codes, zeros, scales; };
/* false: not of that scheme, or too large. */
bool foreign_need(const struct scheme *s, uint64_t rows, uint64_t cols, struct foreign_need *out);

/* The first input whose group is none of the matrix; cols: all are sound, as
 * foreign_decode() wants them. */
uint64_t foreign_bad_order(const struct scheme *s, const struct foreign_src *q);

/* n elements of one matrix, row after row, from number `first` on. */
void foreign_decode(const struct scheme *s, const struct foreign_src *q, uint64_t first, size_t n,
		    float *out);

/* ---- what parts look like in a file, and what they may be ---- */

#define FOREIGN_MAX 8

/* What config.json says of it. */
struct foreign_said {
	bool any;			/* there is such a block */
	const char *format;		/* its checkpoint_format; borrowed; NULL: none */
	unsigned bits[FOREIGN_MAX], nbits;	/* a compressed-tensors model may have several */
	unsigned group[FOREIGN_MAX], ngroups;	/* SCHEME_PER_ROW as well */
};
bool foreign_among(unsigned v, const unsigned *list, unsigned n);

/* The last dimensions of a part, 1 where it has none, and how often they are there. */
struct foreign_part { unsigned ndim; uint64_t many, rows, cols, len; enum dtype dtype; };
struct foreign_parts {
	struct foreign_part codes, scales, zeros, order;
	bool has_zeros, has_order;
};
struct foreign_answer { struct scheme s; uint64_t rows, cols; };	/* of one matrix */

/* Endings: of the weight, and instead of it those of its parts; NULL: has none.
 * `shape` is what the weight's shape says, too. */
struct foreign_names { const char *weight, *scale, *zeros, *order, *shape; enum dtype dtype; };

/* ---- one kind, for its row ---- */

/* A code, or the zero of a group. */
typedef int foreign_number_fn(const struct scheme *s, const struct foreign_src *q, uint64_t row,
			      uint64_t at);

struct foreign_layout {
	struct foreign_names names[2];		/* the second: others call them so */
	/* What such parts can be of the kind; how many answers there are, at most FOREIGN_MAX. */
	unsigned (*fit)(enum scheme_kind kind, const struct foreign_said *said,
			const struct foreign_parts *p, struct foreign_answer *out);
	/* For so many groups an input; bits and scales are set and sound. */
	bool (*need)(const struct scheme *s, uint64_t rows, uint64_t cols, uint64_t groups,
		     struct foreign_need *out);
	foreign_number_fn *code, *zero;
	/* Part of one row; NULL: (code - zero) * scale. */
	void (*decode)(const struct scheme *s, const struct foreign_src *q, uint64_t row,
		       uint64_t col, size_t n, float *out);
	/* A code's first byte; height: rows of one matrix, of which there may be several.
	 * NULL: one behind the other. */
	uint64_t (*place)(const struct scheme *s, uint64_t height, uint64_t cols, uint64_t row,
			  uint64_t col);
	const char *bits;	/* what stands before them in the name; NULL: they do not */
	bool scales_down;	/* [groups][rows] */
	bool square;		/* a group is a square of elements */
	bool centred;		/* without zeros it is 0, else 2^(bits - 1) */
};

/* n / by, rounded up. */
static inline uint64_t
foreign_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

uint64_t foreign_group_cols(const struct scheme *s, uint64_t cols);	/* that share a scale */
uint64_t foreign_group_rows(const struct scheme *s, uint64_t rows);

static inline uint32_t
foreign_word(const uint8_t *p, uint64_t i)
{
	p += i * 4;
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Number i of a stream whose words are `stride` words apart; `add` is added to each. */
static inline int
foreign_stream(const uint8_t *p, uint64_t stride, uint64_t i, unsigned bits, uint32_t add)
{
	uint64_t at = i * bits / 32;
	unsigned shift = (unsigned)(i * bits % 32);
	uint32_t v = (foreign_word(p, at * stride) + add) >> shift;

	if (shift + bits > 32)
		v |= (foreign_word(p, (at + 1) * stride) + add) << (32 - shift);
	return (int)(v & ((1u << bits) - 1));
}

float foreign_scale(const struct scheme *s, const struct foreign_src *q, uint64_t row,
		    uint64_t group);
/* Inputs that share a scale, when there are `groups` of them; 0: no whole number. */
unsigned foreign_group(const struct foreign_said *said, uint64_t cols, uint64_t groups);
/* Puts an answer; 1 if all parts have the bytes that it wants, `many` times. */
unsigned foreign_fit(struct foreign_answer *out, struct scheme s, const struct foreign_parts *p,
		     uint64_t rows, uint64_t cols);
#endif
