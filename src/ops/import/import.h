/* import.h - a safetensors directory or file, or a GGUF file, into an Ollama store, bytes
 * unchanged.
 *
 * The blobs equal those that Ollama's byte writer makes: a GGUF is one; of safetensors
 * a tensor a blob, the experts of a layer stacked in one, a quantized tensor with its
 * scales and biases in one.  The manifest comes last; after an error or a cancel the
 * store is as it was, but for blobs that somebody else may need. */
#ifndef TBTUI_OPS_IMPORT_H
#define TBTUI_OPS_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"
#include "src/ops/output/output.h"

struct ollama_amend;
struct op_ctx;
struct tb_job;

struct import_request {
	const char *path;	/* directory, .safetensors or .gguf file; or "oci:DIR:NAME" */
	const char *name;	/* what it will be called */
	bool replace;		/* the name may be taken */
	const struct ollama_amend *amend;	/* asked before the manifest is written; or NULL */
};

struct import_result {
	char *name;		/* canonical short name; owned, as is root */
	char *root;		/* the store it went to */
	size_t tensors;		/* of the source, logical */
	size_t blobs;		/* layers of tensors written or reused */
	uint64_t bytes;		/* of those */
	double seconds;
	struct kept kept;	/* what was replaced; owned */
};

/* job counts bytes of tensor data and blobs.  *out is zeroed on failure, but for TB_ESYNC:
 * then all is written, and only a power cut could take it away. */
enum tb_status op_import(const struct op_ctx *ctx, const struct import_request *req,
			 struct tb_job *job, struct import_result *out, struct tb_err *err)
	TB_MUST_USE;
void import_result_free(struct import_result *r);
#endif
