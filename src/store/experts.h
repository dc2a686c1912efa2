/* experts.h - names of expert tensors that Ollama stores together, one group a
 * layer: "<prefix>.<number>.<projection>.weight", where the prefix is
 * "…layers.<number>" and a marker such as ".mlp.experts". */
#ifndef TBTUI_STORE_EXPERTS_H
#define TBTUI_STORE_EXPERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct expert_name {
	size_t prefix;		/* bytes of the name that are the prefix */
	uint64_t index;
	const char *proj;	/* inside the name */
	size_t proj_len;
};

/* Are its first n bytes a layer: "…layers.<number>"? */
bool expert_layer(const char *name, size_t n);

bool expert_split(const char *name, struct expert_name *out);
#endif
