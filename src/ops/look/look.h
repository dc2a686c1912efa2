/* look.h - a model where it lies, at a registry or a hub, without loading it.
 *
 * It becomes a mirror: a private folder laid out as its store would be, whose small files are
 * there, and whose large ones are as long as they will be and empty but for their headers.
 * Every reader of models works on it as it is: what it reads or maps of such a file is fetched
 * first (src/base/partial.h), or reading fails, so that no hole is ever shown as zeros.  What the
 * stores have and the index knows to be right is read from there.
 *
 * Small files are compared with their digests.  Headers cannot be: what is shown of them is what
 * the registry said. */
#ifndef TBTUI_OPS_LOOK_H
#define TBTUI_OPS_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/store/model.h"

struct op_ctx;
struct tb_job;

struct look_request {
	const char *name;		/* "llama3:8b", "docker://…", "hf:org/name"; borrowed */
	bool insecure;			/* HTTP without TLS */
	bool skip_verify;		/* anybody's certificate */
	bool all;			/* look_allow() from the beginning */
	unsigned streams;		/* connections; 0: LOOK_STREAMS */
};
#define LOOK_STREAMS 8u
/* Bytes that come without anybody's being asked, of headers and values together. */
#define LOOK_FREE (UINT64_C(64) << 20)

struct look;
/* Reads the manifest and the headers.  Not on the thread of a screen: it waits for others, as
 * reading of its files does later. */
enum tb_status look_open(struct look **out, struct op_ctx *ctx, const struct look_request *req,
			 struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* When all models that were opened of it are closed; NULL is fine. */
void look_close(struct look *l);

/* The model, whose files say where they come from. */
enum tb_status look_model(struct look *l, struct model **out, struct tb_err *err) TB_MUST_USE;
/* For model_open(); borrowed. */
const struct model_loc *look_loc(const struct look *l);
/* Where it was found: "registry.ollama.ai". */
const char *look_host(const struct look *l);

/* What loading it would take, and what a run of it would lack. */
struct look_facts {
	uint64_t bytes, there, to_come;	/* of its files, each once: all, what its store here has */
	char *store;			/* where it would go; NULL: there is none yet; owned */
	uint64_t free;			/* bytes there; UINT64_MAX: nobody knows */
	char *lacks;			/* a line each, of what headers and descriptions say; "": nothing
					 * lacks; owned */
	size_t nlacks;
};
enum tb_status look_facts(struct look *l, struct op_ctx *ctx, const struct model *m,
			  struct look_facts *out, struct tb_err *err) TB_MUST_USE;
void look_facts_free(struct look_facts *f);	/* also of zeros */

/* Bytes that came so far. */
uint64_t look_moved(struct look *l);
/* How many would come for [off, off + len) of a file of the model. */
uint64_t look_lacks(struct look *l, const char *path, uint64_t off, uint64_t len);
/* Fetches them at once, by several connections. */
enum tb_status look_need(struct look *l, const char *path, uint64_t off, uint64_t len,
			 struct tb_job *job, struct tb_err *err) TB_MUST_USE;
/* More than LOOK_FREE may come from now on. */
void look_allow(struct look *l);
/* Those that read later are told of its cancel; NULL: they go on. */
void look_job(struct look *l, struct tb_job *job);
/* What could not be fetched while others read, which took it for a damaged file; TB_OK: nothing. */
enum tb_status look_failed(struct look *l, struct tb_err *err);
#endif
