/* create.h - a model of an Ollama store from a Modelfile, as `ollama create` makes it, and the
 * Modelfile of a model that is there.
 *
 * The weights come from a model of a store (its blobs are named once more, or copied from
 * another store), from files as an import takes them, or through a conversion.  What the
 * Modelfile says comes as layers behind them: template, system, licences, parameters,
 * messages, over those that the model had.  The manifest comes last. */
#ifndef TBTUI_OPS_CREATE_H
#define TBTUI_OPS_CREATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/ops/output/output.h"

struct model;
struct op_ctx;
struct plan_request;
struct tb_buf;
struct tb_job;

struct create_request {
	const char *name;	/* what it will be called */
	const char *text;	/* the Modelfile, of len bytes */
	size_t len;
	const char *what;	/* what that is called in messages */
	const char *dir;	/* where the paths in it begin */
	const struct plan_request *how;	/* how tensors are converted (model, dest: not looked
					 * at); NULL: they are not */
	bool replace;		/* the name may be taken */
};

struct create_result {
	char *name;		/* canonical short name; owned, as is root */
	char *root;		/* the store it went to */
	char *notes;		/* what was not taken over, a line each; NULL: nothing; owned */
	size_t layers;		/* of the manifest */
	uint64_t bytes;		/* of those */
	double seconds;
	struct kept kept;	/* what was replaced; owned */
};

/* *out is zeroed on failure, but for TB_ESYNC: then all is written, and only a power cut
 * could take it away. */
enum tb_status op_create(const struct op_ctx *ctx, const struct create_request *req,
			 struct tb_job *job, struct create_result *out, struct tb_err *err)
	TB_MUST_USE;
void create_result_free(struct create_result *r);

/* A Modelfile from which op_create() makes the same model again.  FROM is a blob's path
 * where one file is the model, else its name or folder.  What a Modelfile cannot say is left
 * out, and named in comments. */
enum tb_status create_modelfile(const struct model *m, struct tb_buf *out, struct tb_err *err)
	TB_MUST_USE;
#endif
