/* tensors.h - the tensors of the index: of one model, as a list and as a tree, and of all. */
#ifndef TBTUI_DB_TENSORS_H
#define TBTUI_DB_TENSORS_H

#include "db/db.h"

struct db_tensor {
	int64_t model;
	uint64_t ord;		/* position in natural order of names, from 0 */
	const char *name, *scheme;	/* scheme_name(): "BF16", "int4" */
	const char *dtype;	/* of the stored weight: "U32" */
	unsigned ndim;
	uint64_t dim[TB_MAX_DIMS];	/* logical */
	uint64_t elems, bytes, off;
	const char *file;	/* path */
	const char *model_name;	/* db_search() only, else "" */
};
struct db_tensors DB_LIST(struct db_tensor);
/* sort: name dtype shape scheme params size offset. filter: name. */
enum tb_status db_tensors(struct db *db, int64_t model, const struct db_query *q,
			  struct db_tensors *out, struct tb_err *err) TB_MUST_USE;
/* Where the tensor `ord` is in the list that q asks for. */
enum tb_status db_tensors_find(struct db *db, int64_t model, const struct db_query *q,
			       uint64_t ord, uint64_t *row, bool *found, struct tb_err *err)
	TB_MUST_USE;
/* Over all models: every word of q->filter is a part of the name, any case, or a glob of
 * it. sort: model (then natural order) name size. */
enum tb_status db_search(struct db *db, const struct db_query *q, struct db_tensors *out,
			 struct tb_err *err) TB_MUST_USE;
/* Where the tensor is in the list that q asks for. */
enum tb_status db_search_find(struct db *db, const struct db_query *q, int64_t model,
			      uint64_t ord, uint64_t *row, bool *found, struct tb_err *err)
	TB_MUST_USE;

/* The tree: what follows `path` ("" = top, else as in a row, e.g. "model.layers"),
 * one row a dotted component. */
struct db_branch {
	const char *path, *label;	/* "model.layers.0", "0" */
	bool leaf;			/* a tensor: `first` is its ord */
	uint64_t first, count;		/* ords below it: [first, first + count) */
	uint64_t elems, bytes;		/* of all tensors below it */
	const char *scheme;		/* theirs, "" if mixed */
};
struct db_branches DB_LIST(struct db_branch);
/* parent: the row that is opened, NULL for the top. */
enum tb_status db_children(struct db *db, int64_t model, const struct db_branch *parent,
			   struct db_branches *out, struct tb_err *err) TB_MUST_USE;
#endif
