/* words.h - how times, shapes, shares and places are said. */
#ifndef TBTUI_FACE_WORDS_H
#define TBTUI_FACE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define WORD_MAX 224	/* a shape of all dimensions */

/* "now", "5 min ago", "3 h ago", "2 d ago", then the date. */
const char *word_age(int64_t ns, char out[WORD_MAX]);
/* "Aug 21" within the last half year, else "2024-08-21"; local time. */
const char *word_date(int64_t ns, char out[WORD_MAX]);
/* "Aug 21 14:05", or "2024-08-21"; local time. */
const char *word_time(int64_t ns, char out[WORD_MAX]);
/* "4096 x 128", with " x " between; "scalar" without dimensions. */
const char *word_shape(const uint64_t *dim, unsigned ndim, const char *between, char out[WORD_MAX]);
/* "1 model", "2 models", "12,345 tensors". */
const char *word_count(uint64_t n, const char *what, char out[WORD_MAX]);
/* A path, with ~ for the home folder; appended. */
struct tb_buf;
void word_path(const char *path, struct tb_buf *out);
/* Where a finding is: "w.weight, rows 5 to 9, bytes 40 to 79"; appended. */
struct db_finding;
void word_place(const struct db_finding *f, struct tb_buf *out);
/* A share in percent: "12.3%", "<0.1%". */
const char *word_percent(uint64_t part, uint64_t whole, char out[WORD_MAX]);
/* A number for a column of `cols`: "-0.0123", "1.2e-08", "nan". */
const char *word_number(double x, char out[WORD_MAX]);
#endif
