/* chats.h - conversations that are kept: chats.db beside the index ("DIR/chats.db"; for an
 * index of another name than index.db "NAME.chats.db"), which only its user can read.
 *
 * What a chat means is known to src/ops/chat; here are its rows.  Texts are what people, models
 * and imported files said. */
#ifndef TBTUI_DB_CHATS_H
#define TBTUI_DB_CHATS_H

#include "db/db.h"

/* Caller frees; NULL: no memory.  what: "chats.db", "chats.lock", "kv". */
char *db_chats_beside(const char *index_path, const char *what);

/* For reading: a file that is not there reads as empty.  For writing it is made; one that is
 * damaged is set aside (db_notice()), one of a newer version or of somebody else's is refused. */
enum tb_status db_chats_open(struct db **out, const char *index_path, bool write,
			     struct tb_err *err) TB_MUST_USE;

struct db_chat {
	int64_t id;			/* 0: a new one */
	const char *title, *model, *ref, *weights, *settings;
	const char *system;		/* "": none */
	bool named;
	int64_t leaf;
	uint64_t turns;
	int64_t from_chat, from_turn;
	int64_t created_ns, updated_ns, removed_ns;
	/* Of a search: */
	int64_t hit;			/* the turn that has the words; 0: the title has them */
	const char *snippet;		/* what stands around them; words between \1 and \2 */
};
struct db_chats DB_LIST(struct db_chat);

struct db_turn {
	int64_t n, parent;
	const char *role, *content, *thinking, *tool_calls, *tool_name, *tool_call_id, *model;
	const char *stop, *figures;
	bool finished;
	int64_t created_ns;
};
struct db_turns DB_LIST(struct db_turn);

struct db_chats_query {
	const char *words;	/* NULL, "": all; else all of these words, or beginnings of them, in
				 * a turn or in the title */
	bool trash;		/* those that were removed; else those that were not */
};
/* Newest first, without settings; of a search with the newest turn that has the words. */
enum tb_status db_chats_list(struct db *db, const struct db_chats_query *q, struct db_chats *out,
			     struct tb_err *err) TB_MUST_USE;
/* n == 0: there is none. Also of the trash. */
enum tb_status db_chats_get(struct db *db, int64_t id, struct db_chats *out, struct tb_err *err)
	TB_MUST_USE;
/* The one that was said something in last, of those that are not removed; 0: none. */
enum tb_status db_chats_last(struct db *db, int64_t *id, struct tb_err *err) TB_MUST_USE;
/* By n, as they lie there: parents are to be checked. */
enum tb_status db_chats_turns(struct db *db, int64_t id, struct db_turns *out, struct tb_err *err)
	TB_MUST_USE;

/* synced: on the disk before this returns.  Else it is safe from the program's end, not from
 * the machine's, and who waits for another writer waits at most a moment. */
enum tb_status db_chats_begin(struct db *db, bool synced, struct tb_err *err) TB_MUST_USE;
/* Commits what went well so far (status), or takes all of it back. */
enum tb_status db_chats_end(struct db *db, enum tb_status status, struct tb_err *err) TB_MUST_USE;
/* A new one gets its id; else title (unless somebody has named it meanwhile), model, system,
 * settings, leaf and the number of turns are replaced, and it is out of the trash. */
enum tb_status db_chats_put(struct db *db, struct db_chat *c, struct tb_err *err) TB_MUST_USE;
/* Replaces an unfinished turn with the same n; TB_EEXIST: there is a finished one. */
enum tb_status db_chats_put_turn(struct db *db, int64_t chat, const struct db_turn *t,
				 struct tb_err *err) TB_MUST_USE;
/* len 0: none.  *data is owned by the caller. */
enum tb_status db_chats_put_reading(struct db *db, int64_t chat, const void *data, size_t len,
				    struct tb_err *err) TB_MUST_USE;
enum tb_status db_chats_reading(struct db *db, int64_t chat, void **data, size_t *len,
				struct tb_err *err) TB_MUST_USE;
enum tb_status db_chats_rename(struct db *db, int64_t id, const char *title, struct tb_err *err)
	TB_MUST_USE;
/* To the trash (when_ns), or back (0). TB_ENOENT: there is none, or it is where it should go. */
enum tb_status db_chats_remove(struct db *db, int64_t id, int64_t when_ns, struct tb_err *err)
	TB_MUST_USE;
/* Deletes what is in the trash: *out has what it was. */
enum tb_status db_chats_empty(struct db *db, struct db_chats *out, struct tb_err *err) TB_MUST_USE;

/* Who writes in a chat holds it until he lets go or ends, however. */
struct db_claim { int fd; };		/* -1: nothing is held */
#define DB_UNCLAIMED ((struct db_claim){ .fd = -1 })
/* TB_EEXIST: somebody else holds it.  Where the file system has no locks nobody is kept out. */
enum tb_status db_chats_claim(const char *index_path, int64_t id, struct db_claim *out,
			      struct tb_err *err) TB_MUST_USE;
void db_chats_unclaim(struct db_claim *c);
#endif
