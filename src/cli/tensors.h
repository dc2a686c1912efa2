/* tensors.h - what "tensors" and "tensor" print alike. */
#ifndef TBTUI_CLI_TENSORS_H
#define TBTUI_CLI_TENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/err.h"

struct cJSON;
struct cli;
struct digest_item;
struct model;
struct op_ctx;
struct tensor;

/* A list of numbers. */
void cli_set_shape(struct cJSON *o, const char *key, const uint64_t *dim, unsigned ndim);
/* What --json says of a tensor. */
void cli_tensor_json(struct cJSON *o, const struct model *m, const struct tensor *t);

/* Fills the items' digests; what could not be read is told. */
enum tb_status cli_digests(const struct cli *cli, struct op_ctx *ctx, const struct model *m,
			   struct digest_item *items, size_t n, struct tb_err *err) TB_MUST_USE;
#endif
