/* bench_parts.h - private to the benchmark: its parts, each of which adds rows. */
#ifndef TBTUI_OPS_BENCH_PARTS_H
#define TBTUI_OPS_BENCH_PARTS_H

#include "src/ops/bench/bench.h"

struct scheme;
struct team;

struct bench {
	const struct op_ctx *ctx;
	const struct bench_request *req;
	struct bench_result *result;
	struct team *team;
	struct tb_job *job;
	struct tb_err *err;
	double read, sha;		/* limits in GB/s, set by the first parts */
	bool small;			/* BF16 models and what is read beside them do not fit */
};

/* limit 0: the row is a limit itself. */
enum tb_status bench_row(struct bench *b, const char *unit, double value, double limit,
			 const char *fmt, ...) TB_PRINTF(5, 6) TB_MUST_USE;

enum tb_status bench_sgemm(struct bench *b) TB_MUST_USE;
/* What instructions do on registers alone. */
enum tb_status bench_peaks(struct bench *b) TB_MUST_USE;
enum tb_status bench_sha(struct bench *b) TB_MUST_USE;
/* Products alone, over the matrices of a 1.1B llama: decode and the memory's rate. */
enum tb_status bench_matrices(struct bench *b, const struct scheme *s) TB_MUST_USE;
/* Whole tokens through the engine. */
enum tb_status bench_synthetic(struct bench *b, const struct scheme *s) TB_MUST_USE;
enum tb_status bench_model(struct bench *b, const char *ref) TB_MUST_USE;
/* Encoding BF16, hashing a file. */
enum tb_status bench_encode(struct bench *b) TB_MUST_USE;
enum tb_status bench_hash(struct bench *b) TB_MUST_USE;
/* Statistics of a tensor of rows x 65536 in a file. */
enum { BENCH_STATS_BF16, BENCH_STATS_INT4 };
enum tb_status bench_stats(struct bench *b, unsigned which, uint64_t rows) TB_MUST_USE;

double bench_median(double *v, size_t n);	/* sorts v */
/* Random bits under the mask, and those that are set, in words of 8 bytes. */
struct bench_bits { uint64_t mask, set; };
#define BENCH_SEED UINT64_C(0x9e3779b97f4a7c15)
void bench_fill(void *to, size_t len, uint64_t seed, const struct bench_bits *bits);
/* A new file in the folder for such, -1 on failure; the caller closes it, and unlinks and
 * frees *path. */
int bench_temp(const char *ending, char **path, struct tb_err *err);
enum tb_status bench_write(int fd, const char *path, const void *data, size_t len,
			   struct tb_err *err) TB_MUST_USE;
#endif
