/* recipe_ask.c - what the Convert screen asks: scheme, rules, where to write. */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/face/after.h"
#include "src/face/words.h"
#include "src/ops/home/home.h"
#include "src/store/store.h"
#include "ui/recipe_plan.h"

/* Other words, tried: false where there is no such plan, and what was typed is there to be
 * put right. */

static bool
remake(struct view *v, const struct recipe_words *w)
{
	return recipe_remake(v, w, ((struct recipe *)v->state)->nrules);
}

/* What the destination holds decides what there is to choose from. */
static void
set_dest(struct recipe_words *w, enum plan_dest dest)
{
	struct plan_request req = { 0 };
	bool measures = !recipe_asks_scheme(w->policy) && !plan_ask(&req, NULL, w->policy, NULL) &&
			(plan_policy_measures(req.policy) || req.policy == PLAN_KEEP);

	if (!measures && (dest == PLAN_TO_GGUF) != (w->dest == PLAN_TO_GGUF))
		snprintf(w->policy, sizeof(w->policy), "%s", dest == PLAN_TO_GGUF
			 ? "llama:Q4_K_M" : plan_policy_name(PLAN_OLLAMA));
	w->dest = dest;
	w->experts = PLAN_EXPERTS_DEFAULT;
}

/* A scheme that tensors can become, or one of llama-quantize's mixes. */
static bool
try_scheme(struct view *v, const char *text)
{
	const struct recipe *s = v->state;
	struct recipe_words w = s->words;
	struct plan_request req = { 0 };
	bool uniform = !strcmp(w.policy, plan_policy_name(PLAN_UNIFORM)), blocks;
	struct tb_err err;

	if (!*text)
		return true;
	if (plan_ask(&req, text, uniform ? w.policy : NULL, &err) && plan_ask(&req, text, NULL, &err)) {
		view_complain(v, &err);
		return false;
	}
	blocks = req.policy == PLAN_LLAMA ||
		 (!req.target.keep && scheme_form(&req.target.scheme) == FORM_BLOCKS);
	if (blocks && w.dest != PLAN_TO_GGUF)
		set_dest(&w, PLAN_TO_GGUF);
	if (!blocks && !req.target.keep && scheme_form(&req.target.scheme) != FORM_PLAIN &&
	    w.dest == PLAN_TO_GGUF)
		set_dest(&w, PLAN_TO_STORE);
	if (req.policy == PLAN_LLAMA)
		(void)plan_policy_text(req.policy, req.mix, &req.limit, w.policy);
	else {
		snprintf(w.quant[w.dest == PLAN_TO_GGUF], sizeof(*w.quant), "%s", text);
		if (!recipe_asks_scheme(w.policy))
			snprintf(w.policy, sizeof(w.policy), "%s", plan_policy_name(
				 w.dest == PLAN_TO_GGUF ? PLAN_UNIFORM : PLAN_OLLAMA));
	}
	return remake(v, &w);
}

void
recipe_ask_scheme(struct view *v)
{
	const struct recipe *s = v->state;

	view_type(v, s->plan->dest == PLAN_TO_GGUF
		  ? "type or mix for all (q8_0 q4_0 f16 Q4_K_M Q6_K keep): "
		  : "scheme for all (" SCHEME_EXAMPLES "keep): ", s->plan->quant, try_scheme);
}

static bool
try_policy(struct view *v, const char *text)
{
	const struct recipe *s = v->state;
	struct recipe_words w = s->words;
	struct plan_request req = { 0 };
	struct tb_err err;

	if (!*text)
		return true;
	if (strlen(text) >= sizeof(w.policy) ||
	    plan_ask(&req, recipe_asks_scheme(text) ? w.quant[0] : NULL, text, &err)) {
		if (strlen(text) >= sizeof(w.policy))
			(void)tb_fail(&err, TB_EUSAGE, "that is too long for a policy");
		view_complain(v, &err);
		return false;
	}
	if (req.policy == PLAN_LLAMA)
		set_dest(&w, PLAN_TO_GGUF);
	else if ((req.policy == PLAN_OLLAMA || req.policy == PLAN_MLX) && w.dest == PLAN_TO_GGUF)
		set_dest(&w, req.policy == PLAN_MLX ? PLAN_TO_DIR : PLAN_TO_STORE);
	if (plan_policy_measures(req.policy))
		w.budget = req.limit;
	snprintf(w.policy, sizeof(w.policy), "%s", text);
	return remake(v, &w);
}

void
recipe_ask_policy(struct view *v)
{
	const struct recipe *s = v->state;

	view_type(v, "policy (ollama uniform mlx:mixed_3_6 llama:Q4_K_M keep): ",
		  s->words.policy, try_policy);
}

/* Of a plan that is within a limit already, what was set by hand stays. */
static bool
choose_again(struct view *v, const struct recipe_words *w, const struct plan_limit *limit)
{
	struct recipe *s = v->state;
	struct tb_err err;
	struct plan *fresh = recipe_copy(s, &err);

	if (!fresh) {
		view_complain(v, &err);
		return false;
	}
	if (!recipe_keep(s, s->nrules)) {
		plan_free(fresh);
		view_say(v, "out of memory");
		return false;
	}
	fresh->policy = limit->error > 0 ? PLAN_LOSS : PLAN_BUDGET;
	fresh->limit = *limit;
	s->words = *w;
	recipe_swap(v, fresh);
	recipe_changed(v);
	recipe_choose(v);
	return true;
}

/* "3.5GB" or "4.5bpw", or an error: "3%". */
static bool
try_budget(struct view *v, const char *text)
{
	struct recipe *s = v->state;
	struct recipe_words w = s->words;
	struct plan_request req = { 0 };
	struct tb_err err;
	char policy[PLAN_POLICY_MAX];

	if (!*text) {
		s->words.budget = (struct plan_limit){ 0 };
		if (!plan_policy_measures(s->plan->policy))
			return true;
		w.budget = s->words.budget;
		snprintf(w.policy, sizeof(w.policy), "%s", w.dest == PLAN_TO_GGUF ? "llama:Q4_K_M"
			 : plan_policy_name(PLAN_OLLAMA));
		return remake(v, &w);
	}
	snprintf(policy, sizeof(policy), "%s:%s", strchr(text, '%') ? "loss" : "budget", text);
	if (plan_ask(&req, NULL, policy, &err)) {
		view_complain(v, &err);
		return false;
	}
	w.budget = req.limit;
	(void)plan_policy_text(req.policy, 0, &req.limit, w.policy);
	return plan_policy_measures(s->plan->policy) ? choose_again(v, &w, &req.limit)
						     : remake(v, &w);
}

void
recipe_ask_budget(struct view *v)
{
	const struct recipe *s = v->state;
	char text[PLAN_POLICY_MAX] = "";
	const struct plan_limit *b = &s->words.budget;

	if (b->bytes || b->bits > 0 || b->error > 0)
		(void)plan_policy_text(b->error > 0 ? PLAN_LOSS : PLAN_BUDGET, 0, b, text);
	view_type(v, "budget (3.5GB, 4.5bpw, or an error: 3%): ",
		  strchr(text, ':') ? strchr(text, ':') + 1 : "", try_budget);
}

/* One scheme for rows. */

static bool
try_rows(struct view *v, const char *text)
{
	struct plan_target t;
	struct tb_err err;

	if (!*text)
		return true;
	if (plan_target_parse(text, &t, &err)) {
		view_complain(v, &err);
		return false;
	}
	recipe_set_rows(v, text);
	return true;
}

void
recipe_ask_rows(struct view *v)
{
	const struct recipe *s = v->state;
	const struct plan_row *r = rows_current(v);
	char name[SCHEME_NAME_MAX];

	view_type(v, s->plan->dest == PLAN_TO_GGUF ? "type for it, or those marked (q4_k q8_0 f16 keep): "
		  : "scheme for it, or those marked (affine:6:64 f16 keep): ",
		  r ? scheme_name(&r->target, name) : "", try_rows);
}

static bool
try_rule(struct view *v, const char *text)
{
	struct recipe *s = v->state;
	struct recipe_words words;
	char *copy = *text ? tb_strdup(text) : NULL;

	if (!copy || !tb_grow(&s->rules, &s->rules_cap, s->nrules + 1, sizeof(*s->rules))) {
		free(copy);
		return true;
	}
	s->rules[s->nrules++] = copy;
	words = s->words;
	if (recipe_remake(v, &words, s->nrules - 1))
		return true;
	free(s->rules[--s->nrules]);
	return false;
}

/* The name with its numbers as "*": what one usually means. */
static void
pattern_of(const char *name, char *out, size_t size)
{
	size_t n = 0;

	while (*name && n + 2 < size) {
		bool number = isdigit((unsigned char)*name) && (!n || out[n - 1] == '.');

		out[n++] = number ? '*' : *name++;
		while (number && isdigit((unsigned char)*name))
			name++;
	}
	out[n] = 0;
}

void
recipe_ask_rule(struct view *v)
{
	const struct plan_row *r = rows_current(v);
	char pattern[256] = "*", text[300];

	if (r)
		pattern_of(r->src->name, pattern, sizeof(pattern));
	snprintf(text, sizeof(text), "%s=int8", pattern);
	view_type(v, "rule PATTERN=SCHEME: ", text, try_rule);
}

/* Those that need nothing behind their name, as far as the destination knows them. */
void
recipe_next_policy(struct view *v)
{
	static const char *const usual[] = { "ollama", "uniform", "mlx", "keep" };
	static const char *const gguf[] = { "llama:Q4_K_M", "uniform", "keep" };
	struct recipe *s = v->state;
	struct recipe_words w = s->words;
	bool to_gguf = w.dest == PLAN_TO_GGUF;
	const char *const *words = to_gguf ? gguf : usual;
	size_t n = to_gguf ? sizeof(gguf) / sizeof(*gguf) : sizeof(usual) / sizeof(*usual), i = 0;

	while (i < n && strcmp(words[i], w.policy) != 0)
		i++;
	snprintf(w.policy, sizeof(w.policy), "%s", words[i < n ? (i + 1) % n : 0]);
	(void)remake(v, &w);
}

void
recipe_next_dest(struct view *v)
{
	static const enum plan_dest next[] = {
		[PLAN_TO_STORE] = PLAN_TO_DIR, [PLAN_TO_DIR] = PLAN_TO_GGUF,
		[PLAN_TO_FILE] = PLAN_TO_GGUF, [PLAN_TO_GGUF] = PLAN_TO_STORE };
	const struct recipe *s = v->state;
	struct recipe_words w = s->words;

	set_dest(&w, next[w.dest]);
	(void)remake(v, &w);
}

void
recipe_next_flavour(struct view *v)
{
	const struct recipe *s = v->state;
	struct recipe_words w = s->words;

	w.flavour = w.flavour == FLAVOUR_METAL ? FLAVOUR_MLX_CPU : FLAVOUR_METAL;
	(void)remake(v, &w);
}

void
recipe_requantize(struct view *v)
{
	const struct recipe *s = v->state;
	struct recipe_words w = s->words;

	w.requantize = !w.requantize;
	if (remake(v, &w))
		view_say(v, "Tensors that are quantized already %s.", w.requantize
			 ? "are changed, too" : "stay as they are");
}

void
recipe_next_experts(struct view *v)
{
	struct recipe *s = v->state;
	enum plan_experts next = s->plan->experts == PLAN_EXPERTS_STACKED ? PLAN_EXPERTS_EACH
							 : PLAN_EXPERTS_STACKED;
	struct tb_err err;

	if (plan_set_layout(s->plan, s->words.dest, next, &err))
		view_complain(v, &err);
	else
		s->words.experts = next;
}

/* Writing, on a worker; then the store is read again. */

struct writing {
	struct op_ctx *ctx;		/* borrowed */
	struct opened *o;		/* a reference: the plan borrows the model */
	struct plan *plan;		/* owned */
	struct convert_target *target;	/* owned */
	struct convert_result result;
	struct tb_err late;		/* what after_writing() had to tell */
};

static enum tb_status
write_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct writing *w = arg;
	struct convert_request req = { .plan = w->plan, .target = w->target,
				       .replace = w->target->exists };
	enum tb_status status = op_convert(w->ctx, &req, job, &w->result, err);

	after_writing(w->ctx, status, &w->late);
	return status;
}

static void
write_say(void *arg, struct tb_buf *out)
{
	const struct writing *w = arg;
	char bytes[16];

	tb_buf_printf(out, "%s written, %s", w->result.where ? w->result.where : "?",
		      tb_human_bytes(w->result.bytes_made, bytes));
	if (w->result.kept.where)
		tb_buf_printf(out, "; the old one is kept: %s", w->result.kept.where);
	if (w->late.code)
		tb_buf_printf(out, "; %s", w->late.msg);
}

static void
write_free(void *arg)
{
	struct writing *w = arg;

	convert_result_free(&w->result);
	plan_free(w->plan);
	opened_unref(w->o);
	if (w->target)
		convert_target_free(w->target);
	free(w->target);
	free(w);
}

static void
write_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct recipe *s = v->state;
	const struct writing *w = arg;

	(void)err;
	s->writing--;
	if (status || !w->result.where)
		return;
	free(s->written);
	s->written = tb_strdup(w->result.where);
}

static const struct job_ops write_job = {
	.flags = JOB_LISTED | JOB_SERIAL | JOB_CHANGES,
	.run = write_run, .done = write_done, .result = write_say, .free = write_free,
};

static void
recipe_confirmed(struct view *v)
{
	struct recipe *s = v->state;
	struct writing *w = view_alloc(v, sizeof(*w));
	struct tb_err err = { 0 };

	if (!w)
		return;
	free(s->wanted);
	s->wanted = NULL;
	w->ctx = view_ctx(v);
	w->o = opened_ref(s->o);
	w->target = s->target;
	s->target = NULL;
	w->plan = recipe_copy(s, &err);
	if (!w->plan || (w->plan->dest != w->target->dest &&
			 plan_set_layout(w->plan, w->target->dest, s->plan->experts, &err))) {
		write_free(w);
		view_complain(v, &err);
		return;
	}
	free(s->written);
	s->written = NULL;
	if (view_job(v, &write_job, w, "convert %s", v->loc.name))
		s->writing++;
}

/* Where it would go, and what is there: looked at on a worker. */

struct asking {
	struct op_ctx *ctx;		/* borrowed */
	struct opened *o;		/* a reference */
	char *text;			/* owned */
	bool gguf;			/* the plan is for one */
	bool ollama;			/* it knows all of the plan's schemes */
	struct convert_target *target;	/* owned */
	char victim[128];
};

static enum tb_status
ask_run(void *arg, struct tb_job *job, struct tb_err *err)
{
	struct asking *q = arg;
	enum tb_status status = convert_target(q->ctx, q->text, q->target, err);

	(void)job;
	if (!status && (q->target->dest == PLAN_TO_GGUF) != q->gguf)
		status = tb_fail(err, TB_EUSAGE, "%s: %s; press d for a plan of %s", q->text,
				 q->gguf ? "this plan is for a GGUF, whose name ends in .gguf"
				 : "this plan is for no GGUF",
				 q->gguf ? "something else" : "one");
	if (!status && q->target->dest == PLAN_TO_STORE && !q->ollama)
		status = tb_fail(err, TB_EUSAGE, "%s: Ollama does not know all of these schemes; press d"
				 " for a plan of a store, or name a folder/", q->text);
	if (!status)
		status = convert_target_check(q->target, q->o->m, err);
	if (!status)
		convert_victim(q->target, q->victim, sizeof(q->victim));
	return status;
}

static void
ask_target(struct view *v, const char *text);

static void
ask_done(struct view *v, void *arg, enum tb_status status, const struct tb_err *err)
{
	struct recipe *s = v->state;
	struct asking *q = arg;
	const struct plan_total *t = &s->plan->total;
	const char *where = q->target->name ? q->target->name : q->target->path;
	char before[16], after[16];

	if (status) {
		view_complain(v, err);
		if (view_on_top(v) && !prompt_is_open())
			ask_target(v, q->text);
		return;
	}
	/* What is typed elsewhere by now is no answer to this. */
	if (!view_on_top(v) || prompt_is_open()) {
		view_say(v, "Nothing is written: press w on Convert again.");
		return;
	}
	if (s->target)
		convert_target_free(s->target);
	free(s->target);
	tb_human_bytes(t->before, before);
	tb_human_bytes(t->after, after);
	if (q->target->exists)
		view_ask(v, recipe_confirmed, "REPLACE %s (%s; is kept) by %s, %s?", where,
			 q->victim, s->plan->quant, after);
	else
		view_ask(v, recipe_confirmed, "Write %s: %s -> %s, %zu of %zu tensors change?",
			 where, before, after, t->changed, t->tensors);
	s->target = q->target;
	q->target = NULL;
}

static void
ask_free(void *arg)
{
	struct asking *q = arg;

	opened_unref(q->o);
	if (q->target)
		convert_target_free(q->target);
	free(q->target);
	free(q->text);
	free(q);
}

static const struct job_ops ask_job = { .run = ask_run, .done = ask_done, .free = ask_free };

static bool
try_target(struct view *v, const char *text)
{
	struct recipe *s = v->state;
	struct asking *q;

	if (!*text)
		return true;
	free(s->wanted);
	s->wanted = tb_strdup(text);
	q = view_alloc(v, sizeof(*q));
	if (!q)
		return true;
	q->ctx = view_ctx(v);
	q->o = opened_ref(s->o);
	q->text = tb_strdup(text);
	q->gguf = s->plan->dest == PLAN_TO_GGUF;
	q->ollama = true;
	for (size_t i = 0; i < s->plan->nrows; i++)
		q->ollama &= s->plan->dest == PLAN_TO_STORE ||
			     scheme_form(&s->plan->rows[i].target) != FORM_GROUPS ||
			     scheme_ollama(&s->plan->rows[i].target);
	q->target = view_alloc(v, sizeof(*q->target));
	if (q->text && q->target)
		(void)view_job(v, &ask_job, q, "look at %s", text);
	else
		ask_free(q);
	return true;
}

static void
ask_target(struct view *v, const char *text)
{
	view_type(v, "write to (name, folder/, file.gguf): ", text, try_target);
}

/* "llama3:8b" as int4 -> "llama3:8b-int4". */
static void
default_name(const struct recipe *s, const char *name, struct tb_buf *out)
{
	const char *colon = strrchr(name, ':');

	if (colon && !strcmp(colon, ":latest"))
		tb_buf_printf(out, "%.*s:%s", (int)(colon - name), name, s->plan->quant);
	else
		tb_buf_printf(out, "%s%c%s", name, colon ? '-' : ':', s->plan->quant);
	for (char *p = out->p ? strchr(out->p, ':') : NULL; p && (p = strchr(p + 1, ':')); )
		*p = '-';		/* "affine:6:64" within a tag */
}

/* A folder beside the model where people look for it, which is in no program's store; else
 * one here. */
static void
default_folder(const struct view *v, const char *name, struct tb_buf *out)
{
	const struct recipe *s = v->state;
	const char *path;
	size_t len;
	const char *slash = store_of_model(&v->loc, &path, &len) ? NULL : strrchr(v->loc.path, '/');
	char *folder = slash ? tb_strndup(v->loc.path, (size_t)(slash - v->loc.path)) : NULL;
	size_t start;

	word_path(folder ? folder : ".", out);
	start = out->len;
	tb_buf_printf(out, "/%s-%s%s", name, s->plan->quant,
		      s->plan->dest == PLAN_TO_GGUF ? ".gguf" : "/");
	for (size_t i = start; i < out->len; i++)
		if (out->p[i] == ':')
			out->p[i] = '-';
	free(folder);
}

/* A name in the store that can take one, else a folder; the last one that was typed. */
void
recipe_ask_target(struct view *v)
{
	const struct recipe *s = v->state;
	const char *name = v->loc.name, *slash = strrchr(name, '/');
	struct tb_buf text = TB_BUF(65536);
	char *root = NULL, *stem = NULL;

	if (s->wanted) {
		ask_target(v, s->wanted);
		return;
	}
	if (!kind_shares_blobs(v->loc.kind) && slash && slash[1])
		name = slash + 1;
	if (tb_ends(name, ".gguf") && (stem = tb_strndup(name, strlen(name) - strlen(".gguf"))))
		name = stem;
	if (s->plan->dest != PLAN_TO_STORE || store_destination(&view_ctx(v)->roots, &root, NULL))
		default_folder(v, name, &text);
	else
		default_name(s, name, &text);
	free(root);
	free(stem);
	ask_target(v, tb_buf_cstr(&text));
	tb_buf_free(&text);
}
