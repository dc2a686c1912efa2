/* text.h - the only way in which strings from outside reach a terminal, and how
 * people read numbers. */
#ifndef TBTUI_BASE_TEXT_H
#define TBTUI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tb_buf;

/* One Unicode scalar from at most n bytes: length consumed (>= 1) and the code
 * point, U+FFFD for a byte that is not UTF-8. n > 0. */
size_t tb_utf8_next(const char *s, size_t n, uint32_t *cp);
/* Bytes written (1..4) to out. */
size_t tb_utf8_put(uint32_t cp, char out[4]);
bool tb_utf8_valid(const char *s, size_t n);

/* Is it assigned, and does the locale (if that is UTF-8) know it too?  curses draws
 * what the C library does not know as something wider. */
bool tb_printable_cp(uint32_t cp);
/* Has it a shape, or is it the blank?  A letter, mark, digit, sign: what others call printable,
 * wherever they run. */
bool tb_graphic_cp(uint32_t cp);
/* Columns of a code point on a terminal: 0, 1 or 2. */
int tb_width_cp(uint32_t cp);
/* Columns of s after cleaning. */
size_t tb_width(const char *s);

/* Appends s as it may be shown: control characters (C0, DEL, C1), bidirectional
 * controls and bytes that are no UTF-8 become U+FFFD or, for \n \t, a space;
 * at most `cols` columns, ended with "…" if cut; padded with blanks to `cols`
 * when pad.  cols == SIZE_MAX: no limit. */
void tb_text_clip(struct tb_buf *out, const char *s, size_t cols, bool pad);
/* As above but right-aligned. */
void tb_text_right(struct tb_buf *out, const char *s, size_t cols);
/* As tb_text_clip(), but what does not fit goes from the middle: "head…tail". */
void tb_text_middle(struct tb_buf *out, const char *s, size_t cols, bool pad);
/* Fixed-size convenience: cleans without a limit other than the size of out. */
const char *tb_text_clean(const char *s, char *out, size_t outlen);
/* For multi-line text (licences, model output): keeps \n and \t, cleans the rest. */
void tb_text_clean_lines(struct tb_buf *out, const char *s, size_t len);

/* "1.9 GB", "512 B"; SI units as disks and Ollama count them. 4 significant columns. */
const char *tb_human_bytes(uint64_t n, char out[16]);
/* "8.2B", "260K" parameters. */
const char *tb_human_count(uint64_t n, char out[16]);
/* What the word behind a number ends with: "s", or "" behind 1. */
const char *tb_plural(uint64_t n);
/* "0:21", "1:02:03". */
const char *tb_human_time(double seconds, char out[16]);
/* Seconds of the unit of an age: s m h d w; 0: it is none. */
int64_t tb_age_unit(char unit);
/* RFC 3339 UTC with seconds, of nanoseconds since 1970. */
const char *tb_time_rfc3339(int64_t ns, char out[32]);
/* Now; TBTUI_NOW (seconds since 1970) in the environment stops the clock for tests. */
int64_t tb_now_ns(void);
double tb_monotonic(void);	/* seconds, for durations */

/* Natural order: digits compare as numbers, so layers.2 < layers.10. */
int tb_natural_cmp(const char *a, const char *b);
/* The same order for strcmp(): writes a key of at most 3 * strlen(s) bytes and a NUL, and
 * returns its length.  Only of "a1" and "a01" the keys are equal. */
size_t tb_natural_key(const char *s, char *out);
/* Glob: * any run, ? one character, [a-z] sets; whole string. Never slow (no backtracking blow-up). */
bool tb_glob(const char *pattern, const char *s);
/* Case-insensitive (ASCII) substring; needle "" matches. */
bool tb_contains(const char *haystack, const char *needle);
/* Decimal digits only, whole string, no overflow. */
bool tb_parse_u64(const char *s, uint64_t *out);
/* "123456", "3.5GB", "900 MiB", "4k", in any case; a byte at least. */
bool tb_parse_bytes(const char *s, uint64_t *out);
bool tb_starts(const char *s, const char *prefix);
bool tb_ends(const char *s, const char *suffix);
#endif
