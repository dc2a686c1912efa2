/* hparams_read.h - reading config.json and a GGUF's metadata; private to the engine.
 *
 * Both go through the same steps: which architecture, its sizes, a shape for each layer,
 * how positions turn, windows, experts; then what the architecture alone says (its row's
 * `config` and `metadata`), which may change any of that; then hparams_finish(). */
#ifndef TBTUI_ENGINE_HPARAMS_READ_H
#define TBTUI_ENGINE_HPARAMS_READ_H

#include "src/engine/hparams.h"
#include "src/format/json.h"

struct gguf_kv;

/* ---- config.json ---- */

/* A file that is read into `hp`. */
struct config_reader {
	struct hparams *hp;
	const cJSON *config;	/* all of it */
	const cJSON *c;		/* what is said of the language model: it, or its text_config */
	struct tb_err *err;
};

/* NULL: not there, or null. */
const cJSON *config_value(const cJSON *in, const char *key);
/* What the architecture says where others say `key`; so do those below. */
const cJSON *config_own(const struct config_reader *r, const char *key);
/* fallback 0: the key must be there. */
enum tb_status config_count(const struct config_reader *r, const char *key, uint32_t max,
			     uint32_t fallback, uint32_t *out) TB_MUST_USE;
/* Silence leaves *out as it is. */
enum tb_status config_real(const struct config_reader *r, const cJSON *in, const char *key, double min,
			   double max, double *out) TB_MUST_USE;
enum tb_status config_flag(const struct config_reader *r, const cJSON *in, const char *key,
			   bool *out) TB_MUST_USE;

/* The steps. */
enum tb_status config_rope(const struct config_reader *r) TB_MUST_USE;
enum tb_status config_window(const struct config_reader *r) TB_MUST_USE;
enum tb_status config_layers(const struct config_reader *r) TB_MUST_USE;
enum tb_status config_experts(const struct config_reader *r) TB_MUST_USE;

/* ---- metadata of a GGUF ---- */

#define META_KEY_MAX 160

struct meta_reader {
	struct hparams *hp;
	const struct model_meta *mm;
	const char *arch;		/* what keys begin with */
	char key[META_KEY_MAX];		/* the last one asked for */
	struct tb_err *err;
};

/* key: behind the architecture's name. NULL: not there. */
const struct gguf_kv *meta_find(struct meta_reader *r, const char *key);
/* What is wrong with the last key, put behind it. */
__attribute__((format(printf, 3, 4)))
enum tb_status meta_fail(const struct meta_reader *r, enum tb_status status, const char *fmt, ...);
/* fallback 0: the key must be there.  A list is taken where all of it is one number. */
enum tb_status meta_number(struct meta_reader *r, const char *key, uint32_t max, uint32_t fallback,
			   uint32_t *out) TB_MUST_USE;
/* From 0 on, and 0 where the key is not there. */
enum tb_status meta_none(struct meta_reader *r, const char *key, uint32_t max,
			 uint32_t *out) TB_MUST_USE;
enum tb_status meta_real(struct meta_reader *r, const char *key, double min, double max,
			 double fallback, double *out) TB_MUST_USE;
/* A number that is not known to the forward pass unless it changes nothing. */
enum tb_status meta_only(struct meta_reader *r, const char *key, double neutral) TB_MUST_USE;
/* Rows of the first tensor with such a name (a glob); 0: there is none. */
uint32_t meta_rows(const struct meta_reader *r, const char *name);

/* The steps. */
enum tb_status meta_rope(struct meta_reader *r) TB_MUST_USE;
#endif
