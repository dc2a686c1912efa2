/* talk_show.c - what a person asks about the model that answers. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/face/figures.h"
#include "src/face/talk_rows.h"
#include "src/face/texts.h"
#include "src/ops/about/about.h"
#include "src/ops/create/create.h"
#include "src/store/model.h"

static void
line(struct tb_buf *out, const char *name, const char *value)
{
	if (*value)
		tb_buf_printf(out, "%s%-14s %s", out->len ? "\n" : "", name, value);
}

static enum tb_status
show_remote(struct talk_call *c)
{
	line(&c->say, "model", talk_speaker(c->talk));
	line(&c->say, "is", "elsewhere: its server knows the rest");
	return TB_OK;
}

static enum tb_status
show_info(struct talk_call *c, const struct model *m, struct tb_err *err)
{
	struct figures figures;
	struct model_shape shape;
	struct tb_buf params = TB_BUF(4096);
	char text[32];
	enum tb_status status = figures_of(m, 0, &figures, err);

	if (status || (status = model_shape(m, &shape, err)))
		return status;
	figures_params(&figures.params, &params);
	line(&c->say, "model", m->loc.name);
	line(&c->say, "architecture", m->arch);
	line(&c->say, "parameters", tb_buf_cstr(&params));
	line(&c->say, "scheme", m->scheme);
	line(&c->say, "size", tb_human_bytes(m->bytes, text));
	if (shape.context)
		tb_buf_printf(&c->say, "\n%-14s %llu tokens", "context",
			      (unsigned long long)shape.context);
	if (shape.layers)
		tb_buf_printf(&c->say, "\n%-14s %llu of width %llu", "layers",
			      (unsigned long long)shape.layers, (unsigned long long)shape.dim);
	line(&c->say, "path", m->loc.path);
	model_shape_free(&shape);
	tb_buf_free(&params);
	return TB_OK;
}

static enum tb_status
show_texts(struct talk_call *c, const struct model *m, enum text_kind kind, struct tb_err *err)
{
	char *page;
	enum tb_status status = texts_page(m, 1u << kind, &page, err);

	if (!status && !page)
		return talk_refuse(c, "%s has none.", m->loc.name);
	if (!status)
		tb_buf_str(&c->say, page);
	free(page);
	return status;
}

/* What a person set goes before what the model wishes. */
static enum tb_status
show_parameters(struct talk_call *c, const struct model *m, struct tb_err *err)
{
	(void)m;
	(void)err;
	talk_settings_show(&c->opts, &c->say);
	return TB_OK;
}

static enum tb_status
show_system(struct talk_call *c, const struct model *m, struct tb_err *err)
{
	(void)m;
	(void)err;
	if (!c->opts.system || !*c->opts.system)
		return talk_refuse(c, "There is no system message; /system TEXT sets one.");
	tb_buf_str(&c->say, c->opts.system);
	return TB_OK;
}

static enum tb_status
show_modelfile(struct talk_call *c, const struct model *m, struct tb_err *err)
{
	return create_modelfile(m, &c->say, err);
}

static enum tb_status
show_license(struct talk_call *c, const struct model *m, struct tb_err *err)
{
	return show_texts(c, m, TEXT_LICENCE, err);
}

static enum tb_status
show_template(struct talk_call *c, const struct model *m, struct tb_err *err)
{
	return show_texts(c, m, TEXT_TEMPLATE, err);
}

enum tb_status
talk_run_show(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	static const struct {
		const char *what;
		enum tb_status (*show)(struct talk_call *c, const struct model *m, struct tb_err *err);
		bool local;
	} shows[] = {
		{ "info", show_info, true }, { "license", show_license, true },
		{ "modelfile", show_modelfile, true }, { "parameters", show_parameters, false },
		{ "system", show_system, false }, { "template", show_template, true },
	};
	const char *what = talk_word(&c->rest);
	struct chat_model *model = c->talk->model;

	(void)job;
	c->did = TALK_TEXT;
	for (size_t i = 0; i < sizeof(shows) / sizeof(*shows); i++)
		if (!strcmp(shows[i].what, what))
			return shows[i].local && !model ? show_remote(c)
				: shows[i].show(c, model ? model->model : NULL, err);
	return talk_refuse(c, "/show needs one of: info license modelfile parameters system template");
}
