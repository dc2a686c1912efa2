/* translate_config.h - config.json as it is asked: the text's numbers before the whole's, how
 * positions turn wherever that is said.  Private to the family. */
#ifndef TBTUI_OPS_TRANSLATE_CONFIG_H
#define TBTUI_OPS_TRANSLATE_CONFIG_H

#include "src/format/json.h"
#include "src/ops/translate/translate.h"

struct hf_json {
	cJSON *root;			/* owned */
	const cJSON *text, *rope;	/* in it; NULL: there is none */
	double *list;			/* what config_computed() has made, one a layer; owned */
	size_t n;
};
enum tb_status config_open(struct hf_json *c, const struct model *m, struct tb_err *err) TB_MUST_USE;
void config_close(struct hf_json *c);
/* "a|b.c|rope.d": the first that is there and not null; "rope." is rope_parameters or
 * rope_scaling, of full attention. */
const cJSON *config_find(const struct hf_json *c, const char *paths);
uint32_t config_u32(const struct hf_json *c, const char *paths);	/* 0: none */
double config_number(const struct hf_json *c, const char *paths, double usual);

/* What no single key says: a list of c->n numbers in c->list, or, with c->n 0, *x.  false:
 * there is none here. */
bool config_computed(struct hf_json *c, const struct translate *t, const char *name, double usual,
		     double *x);
#endif
