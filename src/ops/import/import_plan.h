/* import_plan.h - which blobs an import writes, and from what. Private to import*.c. */
#ifndef TBTUI_OPS_IMPORT_PLAN_H
#define TBTUI_OPS_IMPORT_PLAN_H

#include "src/format/safetensors.h"
#include "src/store/model.h"

/* A stretch of a source file. */
struct import_piece {
	const struct tensor_part *part;	/* borrowed from the model */
	const struct tensor *inverse;	/* its global scale: write the reciprocal; or NULL */
};

/* One blob: tensors [tensor, tensor + ntensors), pieces likewise; the pieces'
 * bytes follow each other as the tensors' data do. */
struct import_blob {
	const char *name;		/* of the layer; borrowed from model or plan */
	enum media media;
	size_t tensor, ntensors;	/* none: the pieces are all of it */
	size_t piece, npieces;
	struct scheme scheme;		/* plain: no metadata */
	uint64_t bytes;			/* of data */
};

struct import_plan {
	struct import_blob *blobs;
	size_t nblobs, blobs_cap;
	struct st_tensor *tensors;	/* names borrowed from model or plan */
	size_t ntensors, tensors_cap;
	struct import_piece *pieces;
	size_t npieces, pieces_cap;
	char **names;			/* made for the plan */
	size_t nnames, names_cap;
	uint64_t bytes;
	bool prequantized;
	struct tensor_part whole;	/* of a file that goes as it is */
};

enum tb_status import_plan(struct import_plan *p, const struct model *m, struct tb_err *err)
	TB_MUST_USE;
/* The model's only file, as it is. */
enum tb_status import_plan_file(struct import_plan *p, const struct model *m, struct tb_err *err)
	TB_MUST_USE;
void import_plan_free(struct import_plan *p);

/* import_image.c: the blobs of an image that is a model of Ollama's in a layout, as they are. */
struct ollama_writer;
struct tb_job;
enum tb_status import_image(const struct model *m, struct ollama_writer *w, struct tb_job *job,
			    struct tb_err *err) TB_MUST_USE;
/* import_config.c: the config blob, as Ollama writes it for such a model; quant_type NULL: none
 * of its tensors is quantized.  The caller frees *out. */
enum tb_status import_config(const struct model *m, const char *quant_type, char **out,
			     struct tb_err *err) TB_MUST_USE;
#endif
