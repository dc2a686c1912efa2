/* sums.h - the sums of files' pieces in audits.db, by the SHA-256 of the whole file.
 *
 * Reading works on any connection; writing on one from db_open_write(). */
#ifndef TBTUI_DB_SUMS_H
#define TBTUI_DB_SUMS_H

#include "db/db.h"
#include "src/base/sums.h"

enum tb_status db_sums_known(struct db *db, const char *digest, bool *known, struct tb_err *err)
	TB_MUST_USE;
/* out->n is 0 where none are kept, or what is kept is damaged; caller frees. */
enum tb_status db_sums_get(struct db *db, const char *digest, struct tb_sums *out,
			   struct tb_err *err) TB_MUST_USE;
/* As tb_sums_pack() has packed them. */
enum tb_status db_sums_put(struct db *db, const char *digest, const void *packed, size_t len,
			   struct tb_err *err) TB_MUST_USE;
/* Nobody needs those of a file that is another now; unless one is left that was good
 * with that digest. */
enum tb_status db_sums_drop(struct db *db, const char *digest, struct tb_err *err) TB_MUST_USE;
#endif
