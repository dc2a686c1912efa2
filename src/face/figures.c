#include "config.h"

#include "src/face/figures.h"

#include "src/base/buf.h"
#include "src/base/pool.h"
#include "src/base/text.h"
#include "src/ops/about/about.h"
#include "src/store/model.h"

enum tb_status
figures_of(const struct model *m, unsigned threads, struct figures *out, struct tb_err *err)
{
	struct model_shape shape;
	enum tb_status status = model_shape(m, &shape, err);

	if (status)
		return status;
	params_count(m, &shape, &out->params);
	memory_needed(&shape, &out->params, threads ? threads : tb_cpus(), &out->memory);
	model_shape_free(&shape);
	return TB_OK;
}

void
figures_params(const struct params *p, struct tb_buf *out)
{
	char number[16];

	tb_buf_printf(out, "%s parameters", tb_human_count(p->total.params, number));
	if (p->total.active != p->total.params)
		tb_buf_printf(out, ", of which %s work on a token: %ju of %ju experts do",
			      tb_human_count(p->total.active, number),
			      (uintmax_t)p->experts_used, (uintmax_t)p->experts);
	else if (p->experts)
		tb_buf_printf(out, "; %ju experts, and nobody says how many work on a token",
			      (uintmax_t)p->experts);
	if (p->tied)
		tb_buf_str(out, "; the embedding is the output head");
}

const char *
figures_fit(const struct memory *m, uint64_t total)
{
	return !m->machine ? "" : total <= m->available ? "fits"
	     : total <= m->machine ? "tight" : "too much";
}

const char *
figures_file_kind(const struct model_file *f)
{
	return f->is_manifest ? "manifest"
	     : f->media != MEDIA_UNKNOWN ? media_name(f->media)
	     : f->media_type ? f->media_type : "file";
}
