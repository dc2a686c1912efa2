/* facts.h - what was computed about single tensors and is dear to compute again:
 * statistics and digests.  Kept in audits.db, by the model's path and the tensor's
 * name, so that an index made anew still has it.
 *
 * A fact holds while the files of the tensor's parts are those of that time; what
 * does not hold any more reads as if it were not there. */
#ifndef TBTUI_DB_FACTS_H
#define TBTUI_DB_FACTS_H

#include "db/db.h"

/* Counted in elements in row-major order.  min, max, absmax, mean and std (of the
 * population) are those of the finite values, 0 when there are none. */
struct value_stats {
	uint64_t count, zeros, nans, infs;
	uint64_t first_nan, first_inf;	/* UINT64_MAX: none */
	double min, max, absmax, mean, std;
};

/* sketch: bytes of whoever put them. */
struct db_stats {
	struct value_stats of;
	const void *sketch;
	size_t sketch_len;
	int64_t when_ns;
};

struct db_fact {
	uint64_t ord;			/* of db_facts_list(); else 0 */
	bool has_stats, has_digest;
	struct db_stats stats;
	uint8_t digest[TB_SHA256_LEN];
	int64_t digest_ns;
};
struct db_facts DB_LIST(struct db_fact);

/* On any connection.  out->n is 0 or 1. */
enum tb_status db_facts_get(struct db *db, const struct model *m, const struct tensor *t,
			    struct db_facts *out, struct tb_err *err) TB_MUST_USE;
/* On a connection that has the index: of the model with that id the tensors whose ord
 * is in [first, first + n), those of which something is known and none of whose model's
 * files has changed.  Needs no file of the model. */
enum tb_status db_facts_list(struct db *db, int64_t model, uint64_t first, uint64_t n,
			     struct db_facts *out, struct tb_err *err) TB_MUST_USE;

/* Is there any of the kind that db_facts_list() gives, with statistics? */
enum tb_status db_facts_any(struct db *db, int64_t model, bool *any, struct tb_err *err)
	TB_MUST_USE;

/* For putting facts without touching the index, which need not be there: a connection
 * to audits.db alone, which is made when it is missing.  `path` is the index's. */
enum tb_status db_facts_open(struct db **out, const char *path, struct tb_err *err) TB_MUST_USE;
/* Each is a transaction of its own unless db_begin() began one.  model_stamp: what
 * db_put.stamp of the model is (all of its files), for db_facts_list(). */
enum tb_status db_facts_put_stats(struct db *db, const struct model *m, const struct tensor *t,
				  uint64_t model_stamp, const struct db_stats *s,
				  struct tb_err *err) TB_MUST_USE;
enum tb_status db_facts_put_digest(struct db *db, const struct model *m, const struct tensor *t,
				   uint64_t model_stamp, const uint8_t digest[TB_SHA256_LEN],
				   int64_t when_ns, struct tb_err *err) TB_MUST_USE;
#endif
