/* engine.h - a model that can be run, in its own vocabulary.
 *
 * An engine is immutable once open and may serve several sessions, one at a time
 * (they share its compute team).  A session is a KV cache and a position. */
#ifndef TBTUI_ENGINE_ENGINE_H
#define TBTUI_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct model;
struct tb_job;
struct engine;
struct session;

/* What keys and values are kept as.  id, what --kv calls it, bytes of an element */
#define KV_TYPE_LIST(X) \
	X(KV_F32, "f32", 4) \
	X(KV_F16, "f16", 2) \
	X(KV_INT8, "int8", 1)	/* and a scale for each KV_GROUP of them */
#define X(id, name, size) id,
enum kv_type { KV_USUAL, KV_TYPE_LIST(X) KV_TYPES };	/* KV_USUAL: f16; f32 where all is exact */
#undef X
/* false: no type is called so. */
bool kv_type_named(const char *name, enum kv_type *out);
const char *kv_type_name(enum kv_type type);

struct engine_opts {
	unsigned threads;	/* 0 = all cores of this process */
	enum kv_type kv;
	bool exact;		/* F32 throughout: what is multiplied is not rounded first */
};

/* Maps the model's weights (borrowed: keep `m` open as long as the engine). */
enum tb_status engine_open(struct engine **out, const struct model *m,
			   const struct engine_opts *opts, struct tb_err *err) TB_MUST_USE;
void engine_free(struct engine *e);

/* From now on a matrix W is W + scale B A, as an adapter says (LoRA: of GGUF, or what PEFT wrote);
 * several add up.  The model `a` may be closed then.  Before the first session; an engine that it
 * failed for can only be freed.  Adapters among the layers of the engine's own model are
 * in it already. */
enum tb_status engine_adapt(struct engine *e, const struct model *a, struct tb_err *err) TB_MUST_USE;

struct engine_info {
	const char *arch;		/* "llama", "mixtral", "qwen3_moe" … */
	uint32_t vocab, dim, layers, heads, kv_heads, head_dim, ffn, experts, experts_used;
	uint32_t context;		/* trained positions */
	uint64_t weight_bytes;		/* read for one token (all but the embedding table) */
	const char *kernels;		/* "amx", "avx2", "scalar" … */
	bool fixed_pieces;		/* how a prompt is cut, and what is read beside it, shows in
					 * its last bits: of experts and states */
	const char *prefill;		/* what multiplies its largest matrix with many tokens:
					 * an instruction, or "sgemm" */
};
void engine_info(const struct engine *e, struct engine_info *out);

/* context 0 = the model's own. */
enum tb_status session_new(struct session **out, struct engine *e, uint32_t context,
			   struct tb_err *err) TB_MUST_USE;
void session_free(struct session *s);
/* Keeps keys and values as `type` from now on (KV_USUAL: as the engine does).  Where that is
 * another one, all positions are forgotten; after a failure nothing has changed. */
enum tb_status session_keep_as(struct session *s, enum kv_type type, struct tb_err *err) TB_MUST_USE;
uint32_t session_pos(const struct session *s);
uint32_t session_context(const struct session *s);
/* Forgets what is behind pos, and more where a model has layers that cannot be cut there:
 * returns the position that it went back to, from which the caller evaluates again. */
uint32_t session_rewind(struct session *s, uint32_t pos);

/* What a session holds, to be kept elsewhere.  How it lies, in words: sessions that say the same
 * can take over from one another. */
struct tb_buf;
void session_layout(const struct session *s, struct tb_buf *out);
uint64_t session_bytes(const struct session *s, uint32_t n);	/* of n positions */
/* Makes n positions that are to be filled with what was kept. */
enum tb_status session_place(struct session *s, uint32_t n, struct tb_err *err) TB_MUST_USE;
/* Calls fn for all that the positions so far are, in one order, to be read or to be filled. */
typedef enum tb_status session_piece_fn(void *arg, void *data, size_t len, struct tb_err *err);
enum tb_status session_pieces(struct session *s, session_piece_fn *fn, void *arg,
			      struct tb_err *err) TB_MUST_USE;

/* Runs n tokens at the session's position (prefill when n > 1). *logits: [vocab] F32
 * of the last token, valid until the next call; with `all`, [n][vocab] of every
 * token.  TB_ELIMIT when the context is full, After any failure the position is
 * where it was, or as far before that as session_rewind() would go. */
enum tb_status session_eval(struct session *s, const uint32_t *ids, size_t n, bool all,
			    struct tb_job *job, const float **logits, struct tb_err *err) TB_MUST_USE;

/* What a session reads in a pass with others. */
struct session_part {
	struct session *s;
	const uint32_t *ids;
	size_t n;
	const float *logits;	/* what session_eval_batch() gives */
};
#define SESSION_ROWS 8		/* of one pass */
/* Several sessions of one engine, each once, read up to SESSION_ROWS tokens in all in one pass; each
 * gets the logits that it would get alone, to the last bit.  They are valid until the
 * first of these sessions is evaluated again.  After a failure none has moved: session_eval()
 * says whose it is. */
enum tb_status session_eval_batch(struct session_part *part, size_t n, struct tb_job *job,
				  struct tb_err *err) TB_MUST_USE;
/* The same of long pieces of prompts, up to SESSION_READ tokens in all, and nobody wants their
 * logits.  What a session holds then is the same as if it had read alone and in other pieces,
 * where each piece has more than SESSION_ROWS; not where engine_info has fixed_pieces. */
#define SESSION_READ 512
enum tb_status session_read_batch(struct session_part *part, size_t n, struct tb_job *job,
				  struct tb_err *err) TB_MUST_USE;
#endif
