/* bom_card.c - what a model says it is: architecture, size, who made it. */
#include "config.h"

#include "src/ops/bom/bom_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/about/about.h"
#include "src/ops/metadata/metadata.h"

#define VALUE_MAX (64u << 10)

void
bom_property(cJSON *list, const char *name, const char *value)
{
	cJSON *o;
	char full[64];

	if (!value || !*value)
		return;
	o = json_object();
	snprintf(full, sizeof(full), "tbtui:%s", name);
	json_set_str(o, "name", full);
	json_set_str(o, "value", value);
	json_push(list, o);
}

void
bom_property_u64(cJSON *list, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	bom_property(list, name, text);
}

static enum tb_status
take_first(void *arg, const char *text, size_t len, struct tb_err *err)
{
	struct tb_buf *out = arg;

	(void)err;
	if (!out->len)
		tb_buf_add(out, text, len);
	return TB_OK;
}

enum tb_status
bom_key(const struct model *m, const char *key, char **out, struct tb_err *err)
{
	struct tb_buf value = TB_BUF(VALUE_MAX);
	struct tb_err why;
	enum tb_status status = metadata_each(m, key, take_first, &value, NULL, &why);

	*out = NULL;
	if (!status && !tb_buf_failed(&value) && value.len && tb_utf8_valid(value.p, value.len) &&
	    !(*out = tb_strdup(value.p)))
		status = tb_nomem(&why);
	tb_buf_free(&value);
	return status == TB_ENOMEM || status == TB_EIO ? tb_pass(err, &why) : TB_OK;
}

/* Architecture, and what it is for where its name says so. */
static cJSON *
parameters_json(const struct model *m)
{
	cJSON *o = json_object();
	char family[MODEL_FAMILY_MAX];

	if (tb_ends(m->arch, "ForCausalLM"))
		json_set_str(o, "task", "text-generation");
	if (*m->arch) {
		json_set_str(o, "architectureFamily", model_family(m->arch, family));
		json_set_str(o, "modelArchitecture", m->arch);
	}
	return o;
}

/* Keys of GGUF that have a member of their own in a component. */
static enum tb_status
put_keys(const struct model *m, cJSON *component, struct tb_err *err)
{
	char *author = NULL, *description = NULL;
	enum tb_status status = bom_key(m, "general.description", &description, err);

	if (!status)
		status = bom_key(m, "general.author", &author, err);
	if (!status && description)
		json_set_str(component, "description", description);
	if (!status && author) {
		cJSON *list = json_array(), *o = json_object();

		json_set_str(o, "name", author);
		json_push(list, o);
		json_set(component, "authors", list);
	}
	free(author);
	free(description);
	return status;
}

/* The models that it was made of. */
static enum tb_status
put_ancestors(const struct model *m, cJSON *component, struct tb_err *err)
{
	cJSON *list = json_array(), *pedigree;
	enum tb_status status = TB_OK;

	for (int i = 0; !status && i < 16; i++) {
		char key[64], *name = NULL;

		snprintf(key, sizeof(key), "general.base_model.%d.name", i);
		status = bom_key(m, key, &name, err);
		if (!name)
			break;
		cJSON *o = json_object();

		json_set_str(o, "type", "machine-learning-model");
		json_set_str(o, "name", name);
		json_push(list, o);
		free(name);
	}
	if (status || !json_count(list)) {
		json_free(list);
		return status;
	}
	pedigree = json_object();
	json_set(pedigree, "ancestors", list);
	json_set(component, "pedigree", pedigree);
	return TB_OK;
}

enum tb_status
bom_card(const struct model *m, cJSON *component, cJSON *properties, struct tb_err *err)
{
	struct model_shape shape;
	cJSON *card;
	enum tb_status status = model_shape(m, &shape, err);

	if (status)
		return status;
	card = json_object();
	json_set(card, "modelParameters", parameters_json(m));
	json_set(component, "modelCard", card);
	bom_property_u64(properties, "parameters", m->params);
	bom_property_u64(properties, "tensors", m->ntensors);
	bom_property(properties, "scheme", m->scheme);
	if (shape.context)
		bom_property_u64(properties, "context_length", shape.context);
	model_shape_free(&shape);
	status = put_keys(m, component, err);
	return status ? status : put_ancestors(m, component, err);
}
