/* create_parts.h - private to create*.c. */
#ifndef TBTUI_OPS_CREATE_PARTS_H
#define TBTUI_OPS_CREATE_PARTS_H

#include "src/base/buf.h"
#include "src/format/json.h"
#include "src/format/modelfile.h"
#include "src/ops/create/create.h"
#include "src/store/model.h"
#include "src/store/ollama.h"

#define CREATE_TEXT_MAX (64u << 20)	/* bytes of a layer of text */

/* create_params.c: the parameters of a model, as JSON. */
struct param_set {
	struct param_value {
		char *name, *json;	/* owned */
	} *v;				/* owned */
	size_t n, cap;
};
/* PARAMETER name value; what nobody reads any more is noted instead. */
enum tb_status params_set(struct param_set *ps, const char *name, const char *value,
			  struct tb_buf *notes, struct tb_err *err) TB_MUST_USE;
/* Those of an object that are not set yet. */
enum tb_status params_inherit(struct param_set *ps, const cJSON *from, struct tb_err *err) TB_MUST_USE;
/* As Ollama writes them: by name, a newline at the end. */
void params_print(struct param_set *ps, struct tb_buf *out);
void params_free(struct param_set *ps);

/* create_gguf.c: what a GGUF file is to a model.  arch: its architecture, the caller's to free;
 * NULL: not asked for. */
enum tb_status create_gguf_kind(const char *path, enum media *kind, char **arch, struct tb_err *err)
	TB_MUST_USE;

/* What a Modelfile comes to; strings are its own, NULL where it says nothing. */
struct create_spec {
	const struct modelfile *m;
	const char *template, *system, *renderer, *parser, *requires, *draft, *adapter;
	struct param_set params;	/* owned */
	struct tb_buf notes;		/* owned; lines */
};
enum tb_status spec_read(struct create_spec *s, const struct modelfile *m, const char *what,
			 struct tb_err *err) TB_MUST_USE;
void spec_free(struct create_spec *s);
/* Are the numbers of a version that spec_read() took below those of another? */
bool version_below(const char *a, const char *b);

/* A layer of the new model, in its order: one of these. */
struct item {
	enum media kind;
	const struct manifest_layer *layer;	/* of the source; borrowed */
	const char *path;			/* its blob, or a file that becomes one; borrowed */
	char *text;				/* of a text; owned */
	size_t len;
};

struct items {
	struct item *v;		/* owned */
	size_t n, cap;
};
bool items_is_text(enum media kind);
enum tb_status items_add(struct items *list, struct item item, struct tb_err *err) TB_MUST_USE;
/* What the Modelfile says, over the texts that are in the list. */
enum tb_status items_say(struct items *list, struct create_spec *s, struct tb_err *err)
	TB_MUST_USE;
/* As layers of w, behind those that it has. */
enum tb_status items_write(const struct items *list, struct ollama_writer *w, struct tb_job *job,
			   struct tb_err *err) TB_MUST_USE;
void items_free(struct items *list);

/* create_config.c: the config blob with what the Modelfile says of it; *text is replaced, or
 * stays where nothing changes. */
enum tb_status config_say(char **text, const struct create_spec *s, const char *draft_arch,
			  struct tb_err *err) TB_MUST_USE;
#endif
