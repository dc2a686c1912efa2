/* names.h - inside db/: what is stored once, and its number; for the writer. */
#ifndef TBTUI_DB_NAMES_H
#define TBTUI_DB_NAMES_H

#include "db/private.h"

/* Made when they are new. */
enum tb_status db_name_id(struct db *db, const char *text, int64_t *id, struct tb_err *err)
	TB_MUST_USE;
enum tb_status db_form_id(struct db *db, const struct tensor *t, int64_t *id,
			  struct tb_err *err) TB_MUST_USE;
/* Has this connection put the file, as it is now?  *id is 0 if not. */
enum tb_status db_file_known(struct db *db, const char *path, const struct tb_ident *ident,
			     bool missing, int64_t *id, struct tb_err *err) TB_MUST_USE;
enum tb_status db_file_remember(struct db *db, const char *path, const struct tb_ident *ident,
				bool missing, int64_t id, struct tb_err *err) TB_MUST_USE;

/* At the start of a transaction: forgets what another writer may have changed. */
enum tb_status db_names_check(struct db *db, struct tb_err *err) TB_MUST_USE;
void db_names_forget(struct db *db);
#endif
