/* places.h - the folders in which models are looked for: why, and what is there. */
#ifndef TBTUI_OPS_PLACES_H
#define TBTUI_OPS_PLACES_H

#include <stdint.h>

#include "src/base/buf.h"
#include "src/ops/home/home.h"

/* id, word in --json */
#define PLACE_FROM_LIST(X) \
	X(PLACE_GIVEN, "given")		/* by --store */ \
	X(PLACE_CONFIG, "config")	/* by the configuration file */ \
	X(PLACE_USUAL, "usual")		/* where some program keeps its models */ \
	X(PLACE_SCANNED, "scanned")	/* remembered by the index */
#define PLACE_STATE_LIST(X) \
	X(PLACE_INDEXED, "indexed") \
	X(PLACE_NEW, "not scanned yet") \
	X(PLACE_EMPTY, "empty")		/* not a file in it */ \
	X(PLACE_NO_MODELS, "no models")	/* of a kind that is known, at the last scan */ \
	X(PLACE_UNREADABLE, "unreadable") \
	X(PLACE_ABSENT, "not there")
#define X(id, word) id,
enum place_from { PLACE_FROM_LIST(X) };
enum place_state { PLACE_STATE_LIST(X) };
#undef X
const char *place_from_word(enum place_from f);
const char *place_state_word(enum place_state s);

struct place {
	char *path;			/* owned */
	enum place_from from;
	enum place_state state;
	/* As the index has them; each of `bytes` is that of one model, or shared. */
	uint64_t models, bytes, shared, orphans, left;
	uint64_t held;			/* in the quarantine, by the disk */
	int64_t scanned_ns;		/* 0: never */
};
struct places { struct place *rows; size_t n, cap; };

/* The roots of ctx; with `all` the usual places that are not there, too. */
enum tb_status op_places(const struct op_ctx *ctx, bool all, struct places *out,
			 struct tb_err *err) TB_MUST_USE;
void places_free(struct places *p);

/* For who has no models: each place with its state, and what can be done, in lines; on a
 * screen a scan is a key. */
void places_explain(const struct op_ctx *ctx, bool screen, struct tb_buf *out);

/* A folder more for the configuration.  *known: it was looked into before. */
enum tb_status place_add(const struct op_ctx *ctx, const char *dir, bool *known,
			 struct tb_err *err) TB_MUST_USE;
/* Out of the configuration and the index; nothing on the disk is touched.  *models: how
 * many the index has forgotten.  TB_ENOENT: it was in neither. */
enum tb_status place_remove(const struct op_ctx *ctx, const char *dir, uint64_t *models,
			    struct tb_err *err) TB_MUST_USE;
#endif
