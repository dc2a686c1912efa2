/* sums.h - sums of a file's pieces: a digest says that bytes are wrong, these say where.
 *
 * A file is cut where something in it begins or ends; each stretch between two cuts is
 * taken in pieces of TB_SUMS_PIECE bytes from its start (the last one is shorter).  What
 * lies in two files has the same sums in both.  The sums are XXH3 of 128 bits: against
 * accidents, not against people. */
#ifndef TBTUI_BASE_SUMS_H
#define TBTUI_BASE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/err.h"

struct tb_file;
struct tb_job;

#define TB_SUMS_PIECE (1u << 20)
#define TB_SUM_LEN 16

struct tb_sums {
	uint64_t size;			/* of the file */
	uint64_t *cut;			/* owned; ascending, inside the file */
	size_t ncuts;
	uint8_t (*sum)[TB_SUM_LEN];	/* owned; one a piece */
	size_t n;
};

/* The pieces of a file of `size` bytes, their sums zero.  cut: in any order, doubled, at the
 * ends: only what cuts counts. */
enum tb_status tb_sums_cut(struct tb_sums *out, uint64_t size, const uint64_t *cut, size_t n,
			   struct tb_err *err) TB_MUST_USE;
void tb_sums_free(struct tb_sums *s);		/* also fine on a zeroed one */

/* A piece after the other: zeroed, it is before the first. */
struct tb_piece {
	uint64_t off, len;
	size_t i;			/* s->sum[i] */
	size_t cut;			/* how many cuts are at or before it */
	bool begun;
};
bool tb_sums_next(const struct tb_sums *s, struct tb_piece *p);

/* Making them while the bytes pass by, in order: tb_summing_add() is a tb_seen.fn. */
struct tb_summing {
	struct tb_sums *s;		/* borrowed */
	struct tb_piece piece;		/* that is being summed */
	uint64_t at;			/* the next byte */
	void *state;			/* owned */
};
enum tb_status tb_summing_start(struct tb_summing *m, struct tb_sums *s, struct tb_err *err)
	TB_MUST_USE;
void tb_summing_add(void *summing, uint64_t off, const uint8_t *p, size_t len);
/* Did all bytes of the file pass by?  Frees the state; false on a zeroed one. */
bool tb_summing_end(struct tb_summing *m);

/* Where a file differs from what it was: pieces, joined where they touch without a cut
 * between them.  What is only in one of the two, because it is longer, is no place. */
struct tb_places {
	struct tb_place { uint64_t off, len; } *v;	/* owned */
	size_t n, cap;
};
enum tb_status tb_sums_compare(const struct tb_sums *was, const struct tb_file *f,
			       struct tb_job *job, struct tb_places *out, struct tb_err *err)
	TB_MUST_USE;
void tb_places_free(struct tb_places *p);

/* To keep them, and back.  TB_EFORMAT: those bytes are no sums, or not what was packed. */
enum tb_status tb_sums_pack(const struct tb_sums *s, struct tb_buf *out, struct tb_err *err)
	TB_MUST_USE;
enum tb_status tb_sums_unpack(struct tb_sums *out, const void *packed, size_t len,
			      struct tb_err *err) TB_MUST_USE;

/* XXH3 of 64 bits: for bytes that are on their way, against disks and memory that lose some. */
uint64_t tb_sum_quick(const void *data, size_t len);
#endif
