#include "config.h"

#include "ui/blob_cells.h"

#include <string.h>

#include "db/db.h"
#include "src/face/words.h"

void
blob_state_cell(struct blob_state s, struct cell *out)
{
	enum sign sign = SIGN_NONE;
	const char *word = db_state_word(s.state);

	out->role = ROLE_DIM;
	if (s.state == DB_MISSING || s.state == DB_DAMAGED) {
		sign = SIGN_BAD;
		out->role = ROLE_BAD;
	} else if (s.young) {
		word = "young";
	} else if (s.unclear) {
		word = "unclear";
	} else if (s.kind > DB_FILE_BLOB || (s.kind == DB_FILE_BLOB && !s.used)) {
		sign = SIGN_WARN;
		word = s.kind > DB_FILE_BLOB ? db_file_word((enum db_file_kind)s.kind) : "orphan";
		out->role = ROLE_WARN;
	} else if (s.state == DB_HASHED) {
		sign = SIGN_OK;
		out->role = ROLE_OK;
	} else if (s.state == DB_STRUCTURE) {
		sign = SIGN_PART;
		out->role = ROLE_TEXT;
	} else if (s.state == DB_CHANGED) {
		sign = SIGN_WARN;
		out->role = ROLE_WARN;
	}
	tb_buf_printf(&out->text, "%s %s", theme_sign(sign), word);
}

void
model_state_cell(const struct db_model *m, struct cell *out)
{
	char text[WORD_MAX];

	static const struct { enum role role; enum sign sign; } looks[DB_STATE_COUNT] = {
		[DB_NEVER] = { ROLE_DIM, SIGN_NONE }, [DB_HASHED] = { ROLE_OK, SIGN_OK },
		[DB_STRUCTURE] = { ROLE_TEXT, SIGN_PART },
		[DB_INCOMPLETE] = { ROLE_WARN, SIGN_WARN }, [DB_DAMAGED] = { ROLE_BAD, SIGN_BAD },
		[DB_CHANGED] = { ROLE_DIM, SIGN_NONE }, [DB_MISSING] = { ROLE_BAD, SIGN_BAD },
	};
	const char *word = db_model_word(m);

	if (m->state == DB_DAMAGED && m->bad && !m->changed)
		word = word_count(m->bad, "error", text);
	out->role = looks[m->state].role;
	tb_buf_printf(&out->text, "%s %s", theme_sign(looks[m->state].sign), word);
}
