/* metadata.h - what a model says about itself, key by key: the metadata of its GGUF,
 * config.json as paths ("rope_scaling.factor"), __metadata__ of its safetensors files.
 *
 * A list has of each value what fits a line; the whole value is read when asked for,
 * arrays element by element. */
#ifndef TBTUI_OPS_METADATA_H
#define TBTUI_OPS_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct cJSON;
struct model;
struct tb_job;

/* id, where the key is from */
#define META_FROM_LIST(X) \
	X(META_GGUF, "GGUF") \
	X(META_CONFIG, "config.json") \
	X(META_SAFETENSORS, "safetensors")
#define X(id, name) id,
enum meta_from { META_FROM_LIST(X) META_FROM_COUNT };
#undef X
const char *meta_from_name(enum meta_from f);

struct meta_row {
	char *key;		/* owned; a key may stand in several rows, see files */
	char *type;		/* owned: "u32", "string[32000]" */
	char *text;		/* owned; one line: the value or how it begins */
	bool whole;		/* text is all of it */
	enum meta_from from;
	uint64_t files;		/* META_SAFETENSORS: files that say this; else 1 */
};

struct metadata {
	struct meta_row *rows;	/* owned; in order of enum meta_from, then of keys */
	size_t n, cap;
	uint32_t version;	/* of GGUF; 0: there is none */
	uint64_t alignment;
};

/* "Q4_K_M": what general.file_type stands for; NULL: nobody knows. */
const char *metadata_file_type(uint64_t n);

/* A file that cannot be read is left out: the model's problems name it. */
enum tb_status metadata_read(const struct model *m, struct tb_job *job, struct metadata *out,
			     struct tb_err *err) TB_MUST_USE;
void metadata_free(struct metadata *md);

/* Calls fn for the value of a key, for each element if it is an array; len bytes, a
 * NUL behind them.  fn returning anything but TB_OK ends it.  TB_ENOENT: no such key. */
typedef enum tb_status meta_item_fn(void *arg, const char *text, size_t len, struct tb_err *err);
enum tb_status metadata_each(const struct model *m, const char *key, meta_item_fn *fn, void *arg,
			     struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* The same as JSON, set as "value" of o. */
enum tb_status metadata_value(const struct model *m, const char *key, struct cJSON *o,
			      struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* Sets every key of GGUF and safetensors in o, whole (of what several files say, the
 * first); config.json is JSON already. */
enum tb_status metadata_all(const struct model *m, struct cJSON *o, struct tb_job *job,
			    struct tb_err *err) TB_MUST_USE;
#endif
