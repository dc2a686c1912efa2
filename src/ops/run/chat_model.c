#include "config.h"

#include "src/ops/run/run.h"

#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"
#include "src/ops/model_text/model_text.h"
#include "src/store/model.h"
#include "src/text/chat_template.h"
#include "src/text/constraint.h"
#include "src/text/spelling.h"
#include "src/text/tokenizer.h"

#define SMALL_MAX (4u << 20)
#define MAX_EOS 64

static enum tb_status
add_eos(struct chat_model *m, uint32_t id, struct tb_err *err)
{
	uint32_t *more;

	if (chat_model_is_eos(m, id) || m->neos == MAX_EOS)
		return TB_OK;
	more = realloc(m->eos_ids, (m->neos + 1) * sizeof(*more));
	if (!more)
		return tb_nomem(err);
	m->eos_ids = more;
	m->eos_ids[m->neos++] = id;
	return TB_OK;
}

/* eos_token_id: a number or a list of them. */
static enum tb_status
add_eos_json(struct chat_model *m, const cJSON *v, struct tb_err *err)
{
	const cJSON *item = json_is_array(v) ? json_first(v) : v;
	enum tb_status status = TB_OK;
	uint64_t id;

	for (; item && !status; item = json_is_array(v) ? json_next(item) : NULL)
		if (json_u64(item, &id) && id <= UINT32_MAX)
			status = add_eos(m, (uint32_t)id, err);
	return status;
}

static void
set_float(const cJSON *object, const char *key, double min, double max, float *out)
{
	double x;

	if (json_f64(json_get(object, key), &x) && x >= min && x <= max)
		*out = (float)x;
}

static void
set_u32(const cJSON *object, const char *key, uint32_t *out)
{
	uint64_t n;

	if (json_u64(json_get(object, key), &n) && n <= UINT32_MAX)
		*out = (uint32_t)n;
}

/* How the model wants to be sampled: names of Hugging Face and of Ollama. */
static void
read_wishes(struct sampler_opts *s, const cJSON *v)
{
	set_float(v, "temperature", 0, 100, &s->temperature);
	set_float(v, "top_p", 0, 1, &s->top_p);
	set_float(v, "min_p", 0, 1, &s->min_p);
	set_float(v, "repetition_penalty", 0.01, 100, &s->repeat_penalty);
	set_float(v, "repeat_penalty", 0.01, 100, &s->repeat_penalty);
	set_u32(v, "top_k", &s->top_k);
	set_u32(v, "repeat_last_n", &s->repeat_last);
}

static enum tb_status
read_configs(struct chat_model *m, struct tb_err *err)
{
	static const char *const name[] = { "config.json", "generation_config.json" };
	const struct token_ids *ends = tokenizer_ends(m->tokenizer);
	enum tb_status status = TB_OK;
	uint32_t id;

	for (size_t i = 0; i < 2 && !status; i++) {
		cJSON *v;

		if ((status = strict_json(m->model, name[i], &v, err)))
			break;
		status = add_eos_json(m, json_get(v, "eos_token_id"), err);
		if (i)
			read_wishes(&m->sampler, v);
		json_free(v);
	}
	for (size_t i = 0; i < ends->n && !status; i++)
		status = add_eos(m, ends->v[i], err);
	return !status && tokenizer_eos(m->tokenizer, &id) ? add_eos(m, id, err) : status;
}

/* A conversation that was begun for whoever talks with the model: MESSAGE of a Modelfile. */
static enum tb_status
read_messages(struct chat_model *m, struct tb_err *err)
{
	static const char *const roles[] = { "system", "user", "assistant" };
	size_t len;
	char *text;
	enum tb_status status = model_read_layer(m->model, MEDIA_MESSAGES, 0, SMALL_MAX, &text, &len,
						 err);

	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	if (!(status = json_parse(&m->said_doc, text, len, "messages", err))) {
		m->said = tb_calloc(json_count(m->said_doc) + 1, sizeof(*m->said));
		status = m->said ? TB_OK : tb_nomem(err);
	}
	free(text);
	if (!status && !json_is_array(m->said_doc))
		status = tb_fail(err, TB_EFORMAT, "messages: no list of messages");
	for (const cJSON *v = status ? NULL : json_first(m->said_doc); v; v = json_next(v)) {
		const char *role = json_str(json_get(v, "role"));
		struct chat_message *to = &m->said[m->nsaid];

		to->content = json_str(json_get(v, "content"));
		for (size_t i = 0; role && i < sizeof(roles) / sizeof(*roles); i++)
			if (!strcmp(role, roles[i]))
				to->role = roles[i];
		if (!to->role || !to->content)
			return tb_fail(err, TB_EFORMAT, "messages: number %zu has no role that is "
				       "known, or no text", m->nsaid + 1);
		m->nsaid++;
	}
	return status;
}

/* What an Ollama model has beside its tensors: parameters, a system prompt, messages. */
static enum tb_status
read_layers(struct chat_model *m, bool *seeded, struct tb_err *err)
{
	char *text;
	size_t len;
	cJSON *v;
	const cJSON *stop;
	bool one;
	enum tb_status status;

	status = model_read_layer(m->model, MEDIA_SYSTEM, 0, SMALL_MAX, &m->system, NULL, err);
	if (status) {
		m->system = NULL;
		if (status != TB_ENOENT)
			return status;
	}
	if ((status = read_messages(m, err)))
		return status;
	status = model_read_layer(m->model, MEDIA_PARAMS, 0, SMALL_MAX, &text, &len, err);
	if (status)
		return status == TB_ENOENT ? TB_OK : status;
	if (!(status = json_parse(&v, text, len, "params", err))) {
		read_wishes(&m->sampler, v);
		set_u32(v, "num_ctx", &m->context);
		set_u32(v, "num_predict", &m->max_tokens);
		*seeded = json_u64(json_get(v, "seed"), &m->sampler.seed);
		stop = json_get(v, "stop");
		one = !json_is_array(stop);
		for (stop = one ? stop : json_first(stop); stop; stop = one ? NULL : json_next(stop)) {
			const char *s = json_str(stop);

			if (s && *s && m->nstops < CHAT_MAX_STOPS &&
			    (m->stops[m->nstops] = tb_strdup(s)))
				m->nstops++;
		}
		json_free(v);
	}
	free(text);
	return status;
}

/* A model without a template continues text.  Why one cannot be used is kept for whoever
 * wants to chat. */
static enum tb_status
read_template(struct chat_model *m, const char *given, struct tb_err *err)
{
	struct template_used used;
	char note[TEMPLATE_NOTE_MAX];
	enum tb_status status = model_template(m->model, given, &m->template, &m->bos, &m->eos,
					       &used, &m->template_err);

	template_said(&used, m->template_said);
	if (*template_note(&used, note))
		snprintf(m->note, sizeof(m->note), "%.80s: %s%s", m->model->loc.name, note,
			 used.source ? "" : "; what is said is continued as text");
	if (status == TB_ENOENT)
		return TB_OK;
	if (status != TB_ENOMEM && status != TB_EIO)
		return TB_OK;
	*err = m->template_err;
	return status;
}

static enum tb_status
load(struct chat_model *m, const struct op_ctx *ctx, const char *ref, struct tb_job *job,
     struct tb_err *err)
{
	struct engine_opts opts = { .threads = ctx->threads, .exact = ctx->exact,
				    .kv = ctx->kv };
	struct model_loc loc;
	bool seeded = false;
	enum tb_status status;

	if ((status = store_resolve(&ctx->roots, ref, &loc, err)))
		return status;
	tb_job_what(job, "reading %s", loc.name ? loc.name : ref);
	status = model_open(&m->model, &loc, err);
	model_loc_free(&loc);
	if (status || (status = tb_job_check(job, err)))
		return status;
	if ((status = engine_open(&m->engine, m->model, &opts, err)) ||
	    (status = tb_job_check(job, err)))
		return tb_wrap(err, status, "%s", m->model->loc.name);
	tb_job_what(job, "reading the tokenizer");
	m->sampler = (struct sampler_opts)SAMPLER_DEFAULTS;
	if ((status = model_tokenizer(m->model, &m->tokenizer, err)) || (status = read_configs(m, err)) ||
	    (status = read_layers(m, &seeded, err)) || (status = read_template(m, ctx->template_file, err)))
		return tb_wrap(err, status, "%s", m->model->loc.name);
	if (seeded)
		return chat_model_own_draft(m, ctx, err);
	if (getenv("TBTUI_TEST") ||
	    getrandom(&m->sampler.seed, sizeof(m->sampler.seed), 0) != sizeof(m->sampler.seed))
		m->sampler.seed = 1;
	return chat_model_own_draft(m, ctx, err);
}

enum tb_status
chat_model_open(struct chat_model **out, const struct op_ctx *ctx, const char *ref,
		struct tb_job *job, struct tb_err *err)
{
	struct chat_model *m = tb_calloc(1, sizeof(*m));
	enum tb_status status;

	*out = NULL;
	if (!m)
		return tb_nomem(err);
	if ((status = load(m, ctx, ref, job, err)))
		chat_model_free(m);
	else
		*out = m;
	return status;
}

enum tb_status
chat_model_adapt(struct chat_model *m, const struct op_ctx *ctx, const char *ref,
		 struct tb_job *job, struct tb_err *err)
{
	struct model **more = realloc(m->adapters, (m->nadapters + 1) * sizeof(*more));
	struct model_loc loc;
	enum tb_status status;

	if (!more)
		return tb_nomem(err);
	m->adapters = more;
	if ((status = store_resolve(&ctx->roots, ref, &loc, err)))
		return status;
	tb_job_what(job, "adding %s", loc.name ? loc.name : ref);
	status = model_open(&more[m->nadapters], &loc, err);
	model_loc_free(&loc);
	if (!status)
		status = engine_adapt(m->engine, more[m->nadapters++], err);
	return status;
}

void
chat_model_free(struct chat_model *m)
{
	if (!m)
		return;
	chat_model_free(m->draft);
	for (size_t i = 0; i < m->nadapters; i++)
		model_free(m->adapters[i]);
	free(m->adapters);
	chat_template_free(m->template);
	spelling_free(m->spelling);
	spelling_free(m->spelling_first);
	tokenizer_free(m->tokenizer);
	engine_free(m->engine);
	model_free(m->model);
	for (size_t i = 0; i < m->nstops; i++)
		free(m->stops[i]);
	free(m->system);
	free(m->said);
	json_free(m->said_doc);
	free(m->bos);
	free(m->eos);
	free(m->eos_ids);
	free(m);
#ifdef __GLIBC__
	malloc_trim(0);		/* vocabularies are many small pieces, which it would keep */
#endif
}

const char *
chat_model_note(const struct chat_model *m)
{
	return m->note;
}

bool
chat_model_is_eos(const struct chat_model *m, uint32_t id)
{
	for (size_t i = 0; i < m->neos; i++)
		if (m->eos_ids[i] == id)
			return true;
	return false;
}

enum tb_status
chat_model_constrain(struct chat_model *m, const struct grammar *g, struct constraint **out,
		     struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*out = NULL;
	if (!m->spelling)
		status = spelling_new(&m->spelling, m->tokenizer, false, err);
	if (!status && !m->spelling_first)
		status = spelling_new(&m->spelling_first, m->tokenizer, true, err);
	return status ? status : constraint_new(out, g, m->tokenizer, m->spelling, m->spelling_first,
						m->eos_ids, m->neos, err);
}
