/* hub_pull_parts.h - inside a pull from a hub; private to src/ops/hub_pull. */
#ifndef TBTUI_OPS_HUB_PULL_PARTS_H
#define TBTUI_OPS_HUB_PULL_PARTS_H

#include <pthread.h>

#include "src/base/file.h"
#include "src/net/hub_api.h"
#include "src/net/hub_name.h"
#include "src/ops/hub_pull/hub_pull.h"

/* What the cache has of a blob. */
enum hub_there {
	HUB_ABSENT,
	HUB_SURE,			/* hashed, as it is */
	HUB_UNSURE,			/* of the right size */
	HUB_DAMAGED,
};

struct hub_blob {
	const struct hub_file *file;	/* the first that has its bytes */
	char *path;			/* in blobs/; owned */
	char *begun;			/* a file that may have some of it; NULL: none; owned */
	enum hub_there there;
	struct tb_ident was;		/* of the file that is there */
	struct tb_ident came;		/* of the one that came; zero: none did */
	size_t item;			/* of the fetch, where it comes */
};

struct hub_pull {
	struct op_ctx *ctx;		/* borrowed */
	struct hub_name name;		/* owned, as is all else */
	char *root, *repo, *dir;	/* the cache, models--ORG--NAME in it; where what comes lies, which is
					 * not beside repositories: `hf` would take it for one */
	char **include, **exclude;	/* ended by NULL; NULL: none */
	struct http_trust trust;
	unsigned streams;

	struct hub *hub;		/* NULL: not asked yet */
	char commit[41];
	char *snapshot;
	struct hub_files files;		/* of the repository */
	bool *take;			/* of each: is it wanted? */
	struct hub_blob *blobs;		/* different ones */
	size_t n;

	pthread_mutex_t mu;		/* of the next */
	struct fetch *fetch;		/* NULL: nothing comes (yet) */
};

/* hub_cache.c: the folder of caches that a pull goes to; caller frees. */
enum tb_status hub_cache_find(const struct op_ctx *ctx, const char *store, char **out,
			      struct tb_err *err) TB_MUST_USE;

/* hub_there.c: what the cache has, by names, sizes and what is known of them. */
enum tb_status hub_find(struct hub_pull *p, struct tb_err *err) TB_MUST_USE;
/* Hashes what is there and not known. */
enum tb_status hub_check(struct hub_pull *p, struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* Does the snapshot lead to all that is wanted? */
bool hub_is_current(const struct hub_pull *p);

/* hub_snapshot.c: the entries of a snapshot.  Does the one of `file` lead to its blob? */
bool snapshot_leads(const struct hub_pull *p, const struct hub_file *file);
/* Its path, in fresh memory; NULL: out of memory. */
char *snapshot_path(const struct hub_pull *p, const struct hub_file *file);
/* Makes it, where nothing is. */
enum tb_status snapshot_link(const struct hub_pull *p, const struct hub_file *file,
			     struct tb_err *err) TB_MUST_USE;
/* The folders of all that are wanted are on the disk. */
enum tb_status snapshot_sync(const struct hub_pull *p, struct tb_err *err) TB_MUST_USE;
/* The revision's name, where it is another than the commit's own; it is there already and
 * means that: nothing. */
enum tb_status snapshot_name(const struct hub_pull *p, struct tb_err *err) TB_MUST_USE;

/* hub_place.c: the repository's folders; without snapshots/ `hf` takes it for damaged. */
enum tb_status hub_make_repo(const struct hub_pull *p, struct tb_err *err) TB_MUST_USE;
/* What came gets its names.  *again: somebody has taken away what was there
 * meanwhile; nothing was done. */
enum tb_status hub_place(struct hub_pull *p, struct hub_pull_result *out, bool *again,
			 struct tb_err *err) TB_MUST_USE;
#endif
