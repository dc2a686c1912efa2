/* home.h - what every operation works on: the index, the stores, the workers, and the
 * configuration file, a word and what it wants on each line.
 *
 *	store DIR
 *	remote NAME URL
 *	registry HOST [plain] [skip-verify] [ca /FILE] [auth HOST] [mirror URL]...
 *	key VIEW KEY ACTION
 *	color ROLE FOREGROUND BACKGROUND [ATTRIBUTE...]
 *	columns VIEW COLUMN...
 *	sessions off|SIZE
 *
 * Words are separated by blanks; "…" holds some together, with \" and \\ in it.  A line
 * that begins with # is a comment.  What cannot be understood is remembered with file and
 * line, and stops nothing: what key, color and columns mean is known to the screens, which
 * add their complaints. */
#ifndef TBTUI_OPS_HOME_H
#define TBTUI_OPS_HOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buf.h"
#include "src/base/dir.h"
#include "src/base/err.h"
#include "src/base/pool.h"
#include "src/engine/engine.h"
#include "src/store/store.h"

#define CONFIG_WORDS 24

struct config_line {
	unsigned no;			/* from 1 */
	char *word[CONFIG_WORDS];	/* owned */
	size_t n;			/* > 0 */
};

struct config {
	char *path;			/* owned; the file need not be there */
	struct config_line *lines;	/* owned */
	size_t n, cap;
	struct tb_buf wrong;		/* what was not understood, a line each */
	size_t nwrong;
};

/* $XDG_CONFIG_HOME/tbtui/config, else ~/.config/tbtui/config.  Fails only for want of
 * memory. */
enum tb_status config_load(struct config *c, struct tb_err *err) TB_MUST_USE;
void config_free(struct config *c);
void config_wrong(struct config *c, const struct config_line *l, const char *fmt, ...)
	TB_PRINTF(3, 4);

/* The folder of a store line, with ~/ in full; NULL: not a store line, or none that is
 * understood.  Caller frees. */
char *config_store(const struct config_line *l);

/* "remote NAME URL"? */
bool config_is_remote(const struct config_line *l);
/* If so, has it an address and a name that can stand before ":"?  Complains. */
bool config_check_remote(struct config *c, const struct config_line *l);
/* The address that `ref` is, or that a remote line gives it: "NAME", or "NAME:MODEL" for one of
 * its models.  In fresh memory; *url NULL: it is no model of a server. */
enum tb_status config_address(const struct config *c, const char *ref, char **url,
			      struct tb_err *err) TB_MUST_USE;

/* "registry HOST ..."? */
bool config_is_registry(const struct config_line *l);
/* If so, is all of it understood?  Complains. */
bool config_check_registry(struct config *c, const struct config_line *l);
/* What all its lines together say; borrowed from the configuration. */
#define CONFIG_MIRRORS 8u
struct config_registry {
	bool plain, skip_verify;	/* no TLS; with it, anybody's certificate */
	const char *ca_file;		/* NULL: this machine's certificates alone */
	const char *auth_host;		/* who gives its tokens, and may have its password; NULL: none else */
	const char *mirrors[CONFIG_MIRRORS + 1];	/* asked first; NULL behind the last */
};
void config_registry(const struct config *c, const char *host, struct config_registry *out);
/* How the registry of a name is asked: as its lines say, and the flags of a command.  What *out
 * borrows is the configuration's, and *said. */
struct image_name;
struct registry_opts;
void config_registry_opts(const struct config *c, const struct image_name *n, bool insecure,
			  bool skip_verify, struct config_registry *said, struct registry_opts *out);
void config_print_registries(const struct config *c, struct tb_buf *out);
/* A word, in quotes where it needs them. */
void config_put_word(struct tb_buf *out, const char *word);

/* Are conversations kept?  *kv_bytes: how much of what was read for them. */
#define CONFIG_KV_BYTES (UINT64_C(4) << 30)
bool config_keeps_sessions(const struct config *c, uint64_t *kv_bytes);

/* The stores, and what the file is, as lines of one. */
void config_print(const struct config *c, struct tb_buf *out);

/* Writes the file with one store more or without it; all other lines stay as they are.
 * Dropping sets *dropped to whether there was one. */
enum tb_status config_add_store(const struct config *c, const char *dir, struct tb_err *err)
	TB_MUST_USE;
enum tb_status config_drop_store(const struct config *c, const char *dir, bool *dropped,
				 struct tb_err *err) TB_MUST_USE;

struct op_ctx {
	char *db_path;			/* owned */
	struct config config;
	/* Those that were given; or those of the configuration, then usual places that are
	 * there, then what was scanned before. */
	struct store_roots roots;
	size_t nconfig, nusual;
	unsigned threads;		/* >= 1 */
	bool exact;			/* models run in F32 throughout */
	enum kv_type kv;		/* what they keep of each token as */
	const char *template_file;	/* their conversations are written with; NULL: their
					 * own; borrowed */
	struct tb_pool *pool;		/* `threads` workers; owned */
	bool mono;			/* no colours (NO_COLOR, --color never) */
};

/* db NULL: $TBTUI_DB, else $XDG_DATA_HOME/tbtui/index.db, else ~/.local/share/…;
 * no dirs: those of the configuration, the usual ones that exist, and those that were
 * scanned before; threads 0: all cores. */
enum tb_status op_ctx_init(struct op_ctx *ctx, const char *db, const char *const *dirs, size_t ndirs,
			   unsigned threads, struct tb_err *err) TB_MUST_USE;
void op_ctx_free(struct op_ctx *ctx);

/* The stores with operations in a .tbtui, in all roots and not far below them. */
enum tb_status home_quarantines(const struct op_ctx *ctx, struct tb_names *out, struct tb_err *err)
	TB_MUST_USE;
/* The last number that an operation of any of them has, or of `root` (NULL: none): the next
 * one gets a greater one, so that "undo N" means one thing. */
uint64_t home_last_operation(const struct op_ctx *ctx, const char *root);
#endif
