/* metadata_parts.h - the three places of metadata. Private to src/ops/metadata*.c. */
#ifndef TBTUI_OPS_METADATA_PARTS_H
#define TBTUI_OPS_METADATA_PARTS_H

#include "src/base/buf.h"
#include "src/ops/metadata/metadata.h"

struct model_meta;
struct gguf_kv;

#define META_LINE 160u			/* bytes of a value in a list */
#define META_STRING_MAX (64u << 20)	/* bytes of one value */
#define META_CONFIG_MAX (64u << 20)

/* One more row; everything is copied.  false: out of memory. */
bool meta_add(struct metadata *md, enum meta_from from, const char *key, const char *type,
	      const char *text, bool whole);

/* meta_gguf.c: all keys of a GGUF file as rows; the items of one array, one after the other, to
 * fn; one key as member `name` of o. */
enum tb_status meta_gguf_rows(struct metadata *md, struct model_meta *mm, struct tb_err *err)
	TB_MUST_USE;
enum tb_status meta_gguf_each(struct model_meta *mm, const struct gguf_kv *kv, meta_item_fn *fn,
			      void *arg, struct tb_job *job, struct tb_err *err) TB_MUST_USE;
enum tb_status meta_gguf_json(struct model_meta *mm, const struct gguf_kv *kv, const char *name,
			      struct cJSON *o, struct tb_job *job, struct tb_err *err) TB_MUST_USE;

/* meta_config.c: the leaves of config.json as rows, each by its path ("rope_scaling.factor"). */
enum tb_status meta_config_rows(struct metadata *md, const struct cJSON *config,
				struct tb_err *err) TB_MUST_USE;
/* What stands at a path; keys with dots in them are found, too. NULL: nothing. */
const struct cJSON *meta_config_find(const struct cJSON *config, const char *path);
/* The items of an array or object to fn. */
enum tb_status meta_config_each(const struct cJSON *v, meta_item_fn *fn, void *arg,
				struct tb_err *err) TB_MUST_USE;
#endif
