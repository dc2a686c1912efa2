/* tensors.h - what "tensors" and "tensor" print alike. */
#ifndef TBTUI_CLI_TENSORS_H
#define TBTUI_CLI_TENSORS_H

struct cJSON;
struct model;
struct tensor;

/* What --json says of a tensor. */
void cli_tensor_json(struct cJSON *o, const struct model *m, const struct tensor *t);
#endif
