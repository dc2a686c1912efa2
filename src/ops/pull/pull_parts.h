/* pull_parts.h - inside a pull; private to src/ops/pull. */
#ifndef TBTUI_OPS_PULL_PARTS_H
#define TBTUI_OPS_PULL_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "src/base/file.h"
#include "src/format/manifest.h"
#include "src/net/registry.h"
#include "src/ops/pull/pull.h"

/* What the store has of a blob. */
enum pull_there {
	PULL_ABSENT,
	PULL_SURE,			/* hashed, as it is */
	PULL_UNSURE,			/* of the right size */
	PULL_DAMAGED,
};

struct pull_blob {
	const struct manifest_layer *layer;	/* the first that names it; of the manifest */
	enum pull_there there;
	struct tb_ident was;		/* of the file that is there */
	struct tb_ident came;		/* of the one that came; zero: none did */
	size_t item;			/* of the fetch, where it comes */
	atomic_uint begun;		/* times that its first byte was asked for */
};

struct pull {
	struct op_ctx *ctx;		/* borrowed */
	struct image_name image;	/* owned, as is all else */
	struct model_name local;
	char *from, *root, *dir;	/* dir: of the store, where what comes lies */
	struct registry *registry;
	bool replace, renamed;		/* renamed: another name than there was asked for */
	unsigned streams;

	struct registry_manifest text;
	struct manifest manifest;
	struct pull_blob *blobs;	/* different ones; the config is the last */
	size_t n;
	enum pull_name taken;
	char *taken_path;		/* its manifest; NULL: there is none */

	pthread_mutex_t mu;		/* of the next */
	struct fetch *fetch;		/* NULL: nothing comes (yet) */
};

/* pull_manifest.c: asks for it, makes the list of blobs. */
enum tb_status pull_ask(struct pull *p, struct http *h, struct tb_job *job, struct tb_err *err)
	TB_MUST_USE;

/* pull_there.c: what the store has, by names, sizes and what is known of them. */
enum tb_status pull_find(struct pull *p, struct tb_err *err) TB_MUST_USE;
/* Of that only whose the name is. */
enum tb_status pull_find_name(struct pull *p, struct tb_err *err) TB_MUST_USE;
/* Hashes what is there and not known. */
enum tb_status pull_hash(struct pull *p, struct tb_job *job, struct tb_err *err) TB_MUST_USE;

/* pull_place.c: what came gets its names.  *again: somebody has taken away what was there
 * meanwhile; nothing was done. */
enum tb_status pull_place(struct pull *p, struct pull_result *out, bool *again, struct tb_err *err)
	TB_MUST_USE;
#endif
