/* dest.h - where the files of a conversion end up.  One table a kind of destination;
 * convert.c drives it.  Private to convert*.c and dest*.c. */
#ifndef TBTUI_OPS_DEST_H
#define TBTUI_OPS_DEST_H

#include "src/ops/convert/blob.h"
#include "src/ops/convert/convert.h"
#include "src/ops/convert/work.h"
#include "src/ops/output/output.h"
#include "src/store/ollama.h"

struct dest {
	const struct plan *plan;	/* borrowed, as is target */
	const struct convert_target *target;
	bool replace;
	enum convert_how how;
	const struct dest_ops *ops;
	struct tb_pool *pool;
	struct tb_job *job;
	char *dir;			/* where temporary files are made; owned */
	struct work work;		/* what is finished of the plan's files */
	uint64_t small;			/* bytes of all other files so far, and how many */
	size_t nsmall;
	struct kept kept;		/* what was replaced; owned */

	/* store */
	struct ollama_writer writer;
	const struct ollama_amend *amend;	/* borrowed */
	/* directory: that of work gets renamed */
	bool published;
	bool was_empty;			/* a folder with nothing in it is there */
	/* file, GGUF */
	struct tb_out out;
	const char *pre;		/* borrowed; NULL */
	struct gguf_head *gguf;		/* owned; NULL for others */
};

struct dest_ops {
	bool hash;			/* are blobs called by their digest? */
	bool single;			/* one file, which is written in one go */
	/* Refuses what cannot be; sets d->dir, and finds what is there already. */
	enum tb_status (*begin)(struct dest *d, struct tb_err *err);
	/* A verified file; by any thread, several at once, in any order. */
	enum tb_status (*blob)(struct dest *d, struct blob *b, struct tb_err *err);
	/* Everything else, a look at the whole, and then it is visible: from there on it
	 * stays, and TB_ESYNC is the only failure. */
	enum tb_status (*commit)(struct dest *d, struct tb_err *err);
	/* Without a commit before: what was stopped keeps what is finished, anything else
	 * leaves nothing of ours. */
	void (*end)(struct dest *d, enum tb_status status);
};
extern const struct dest_ops dest_store, dest_dir, dest_file, dest_gguf;
/* dest_file.c: a destination that is one file, d->out, looked at and given its place. */
enum tb_status dest_commit_file(struct dest *d, enum model_kind kind, struct tb_err *err)
	TB_MUST_USE;

/* convert_ready.c: what would fail later is said before anything is written. */
/* Can it be opened, and is it what it was? */
enum tb_status source_ready(const struct model_file *f, struct tb_err *err) TB_MUST_USE;
/* All files that the plan's tensors are in. */
enum tb_status sources_ready(const struct plan *p, struct tb_err *err) TB_MUST_USE;
/* Could `path` be made?  Its nearest parent that is there must be a folder, and ours to
 * write to. */
enum tb_status place_ready(const char *path, struct tb_err *err) TB_MUST_USE;
/* The source's file that has, byte for byte, what file i of the plan would have, or NULL:
 * its header and all places in it are compared. */
enum tb_status source_same(const struct plan *p, size_t i, const struct model_file **out,
			   struct tb_err *err) TB_MUST_USE;

/* convert_check.c: opens what was written as a model of that kind, compares it with the
 * plan, and decodes samples both ways.  root: "" but for a store's. */
enum tb_status convert_check(const struct plan *p, enum model_kind kind, const char *name,
			     const char *path, const char *root, struct tb_err *err) TB_MUST_USE;

/* convert_json.c: the small files.  *out are the caller's. */
/* The source's JSON files, as a store has them: those in a directory, or the layers.
 * i counts; NULL after the last. */
const struct model_file *source_json(const struct model *m, size_t i);
/* A source's file, ready to be stored beside the new tensors: config.json without (to
 * store) or with (to directory) a description of the quantization, others as they are. */
enum tb_status source_text(const struct plan *p, const struct model_file *f, char **out,
			   size_t *len, struct tb_err *err) TB_MUST_USE;
/* config.json of a source that has none: what is quantized how, which shapes alone do
 * not always tell.  *out NULL: nothing is. */
enum tb_status bare_config(const struct plan *p, char **out, struct tb_err *err) TB_MUST_USE;
/* The config blob of a store's model. */
enum tb_status store_config(const struct plan *p, char **out, struct tb_err *err) TB_MUST_USE;
/* model.safetensors.index.json */
enum tb_status index_text(const struct plan *p, char **out, struct tb_err *err) TB_MUST_USE;
/* "model.safetensors" or "model-00001-of-00003.safetensors". */
const char *shard_name(const struct plan *p, size_t blob, char out[64]);

#define SMALL_FILE_MAX (256u << 20)
#endif
