#include "config.h"

#include "ui/blob_cells.h"

#include <string.h>

const char *
blob_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void
blob_state_cell(enum db_state state, unsigned kind, uint64_t owners, struct cell *out)
{
	enum sign sign = SIGN_NONE;
	const char *word = db_state_word(state);

	out->role = ROLE_DIM;
	if (state == DB_MISSING || state == DB_DAMAGED) {
		sign = SIGN_BAD;
		out->role = ROLE_BAD;
	} else if (kind > DB_FILE_BLOB || (kind == DB_FILE_BLOB && !owners)) {
		sign = SIGN_WARN;
		word = kind > DB_FILE_BLOB ? db_file_word((enum db_file_kind)kind) : "orphan";
		out->role = ROLE_WARN;
	} else if (state == DB_OK) {
		sign = SIGN_OK;
		out->role = ROLE_OK;
	} else if (state == DB_CHANGED) {
		sign = SIGN_WARN;
		out->role = ROLE_WARN;
	}
	tb_buf_printf(&out->text, "%s %s", theme_sign(sign), word);
}
