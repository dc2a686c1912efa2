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
#endif
