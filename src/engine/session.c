#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/base/pool.h"
#include "src/engine/mixer.h"
#include "src/engine/need.h"
#include "src/engine/run.h"
#include "src/engine/team.h"

static enum tb_status
states_init(struct state *st, const struct hparams *hp, struct tb_err *err)
{
	size_t *floats = tb_calloc(hp->layers, sizeof(*floats));
	enum tb_status status;

	if (!floats)
		return tb_nomem(err);
	mixer_states(hp, floats);
	status = state_init(st, floats, hp->layers, err);
	free(floats);
	return status;
}

enum tb_status
session_new(struct session **out, struct engine *e, uint32_t context, struct tb_err *err)
{
	struct session *s = tb_calloc(1, sizeof(*s));
	enum tb_status status;

	*out = NULL;
	if (!s)
		return tb_nomem(err);
	s->e = e;
	if (!context || context > e->hp.context)
		context = e->hp.context;
	if ((status = kv_init(&s->kv, &e->hp, e->kv, context, err)) ||
	    (status = states_init(&s->state, &e->hp, err))) {
		session_free(s);
		return status;
	}
	*out = s;
	return TB_OK;
}

enum tb_status
session_keep_as(struct session *s, enum kv_type type, struct tb_err *err)
{
	enum tb_status status;
	struct kv kv;

	type = type == KV_USUAL ? s->e->kv : type;
	if (type == s->kv.type)
		return TB_OK;
	if ((status = kv_init(&kv, &s->e->hp, type, s->kv.context, err)))
		return status;
	(void)session_rewind(s, 0);
	kv_free(&s->kv);
	s->kv = kv;
	return TB_OK;
}

void
run_work_free(struct work *w)
{
	free(w->memory);
	free(w->chosen);
	free(w->attn);
	*w = (struct work){ 0 };
}

void
session_free(struct session *s)
{
	if (!s)
		return;
	state_free(&s->state);
	kv_free(&s->kv);
	free(s->logits);
	free(s);
}

uint32_t
session_pos(const struct session *s)
{
	return s->pos;
}

uint32_t
session_context(const struct session *s)
{
	return s->kv.context;
}

/* To the last position, pos or before it, of which all is there that layers keep. */
static void
go_back(struct session *s, uint32_t pos)
{
	do {
		s->pos = pos;
		pos = state_rewind(&s->state, kv_rewind(&s->kv, pos));
	} while (pos < s->pos);
}

uint32_t
session_rewind(struct session *s, uint32_t pos)
{
	if (pos < s->pos)
		go_back(s, pos);
	return s->pos;
}

struct part { float **at; size_t n; };
#define WORK_PARTS 14

/* All experts of one token, or one part of all tokens. */
static size_t
gate_floats(const struct hparams *hp, size_t rows)
{
	size_t width = hparams_widest(hp, DIM_FFN), experts = (size_t)hp->experts_used * hp->expert_ffn;

	width = width > hp->expert_ffn ? width : hp->expert_ffn;
	width = width > hp->shared_ffn ? width : hp->shared_ffn;
	width = width > hp->per_layer ? width : hp->per_layer;
	return rows * width > experts ? rows * width : experts;
}

static size_t
scratch_floats(const struct hparams *hp)
{
	size_t most = mixer_scratch(hp), n = per_layer_floats(hp);

	most = most > n ? most : n;
	n = hp->arch->required & PART_BIT(PART_BESIDE) ? beside_scratch(hp) : 0;
	return most > n ? most : n;
}

/* Rows start on cache lines where widths allow; all sizes were bounded by
 * hparams_finish(), so 64 bits hold their products.  Returns the floats of all. */
static size_t
work_parts(struct work *w, const struct hparams *hp, size_t rows, struct part out[WORK_PARTS])
{
	size_t gate = gate_floats(hp, rows);
	size_t gathered = rows > hp->experts_used ? rows : hp->experts_used;
	size_t woven = arch_has(hp->arch, PART_EXPERTS_WOVEN) ? 2 : 1;
	const struct part part[WORK_PARTS] = {
		{ &w->x, rows * hp->dim }, { &w->h, rows * hp->dim }, { &w->out, rows * hp->dim },
		{ &w->q, rows * hparams_widest(hp, DIM_Q) },
		{ &w->att, rows * hparams_widest(hp, DIM_O) },
		{ &w->k, rows * hparams_widest(hp, DIM_K) },
		{ &w->v, rows * hparams_widest(hp, DIM_V) },
		{ &w->gate, gate * woven }, { &w->up, gate }, { &w->scratch, rows * scratch_floats(hp) },
		{ &w->per_layer, rows * per_layer_floats(hp) },
		{ &w->gather, hp->experts ? gathered * hp->dim : 0 },
		{ &w->router, rows * hp->experts }, { &w->weight, rows * hp->experts_used },
	};
	size_t total = 0;

	for (size_t i = 0; i < WORK_PARTS; i++) {
		out[i] = (struct part){ part[i].at, (part[i].n + 15) / 16 * 16 };
		total += out[i].n;
	}
	return total;
}

static enum tb_status
work_rows(struct engine *e, size_t rows, struct tb_err *err)
{
	const struct hparams *hp = &e->hp;
	struct work *w = &e->work;
	struct part part[WORK_PARTS];
	float *p;

	if (rows <= w->rows)
		return TB_OK;
	run_work_free(w);
	w->memory = p = tb_aligned(work_parts(w, hp, rows, part) * sizeof(float));
	w->chosen = tb_calloc(rows * hp->experts_used + 1, sizeof(*w->chosen));
	if (!w->memory || !w->chosen) {
		run_work_free(w);
		return tb_nomem(err);
	}
	for (size_t i = 0; i < WORK_PARTS; i++) {
		*part[i].at = p;
		p += part[i].n;
	}
	w->rows = rows;
	return TB_OK;
}

void
engine_need(const struct hparams *hp, const struct engine_opts *opts, uint32_t context,
	    struct engine_need *out)
{
	struct work w;
	struct part part[WORK_PARTS];
	unsigned threads = opts && opts->threads ? opts->threads : tb_cpus();
	size_t rows = context < RUN_BLOCK ? context : RUN_BLOCK;
	uint64_t floats = work_parts(&w, hp, rows, part) + (uint64_t)rows * hp->experts_used +
			  attention_room(hp, context, threads) + hp->vocab;

	*out = (struct engine_need){ .kv = kv_bytes(hp, kv_chosen(opts), context) +
					   mixer_state_bytes(hp),
				     .work = floats * sizeof(float) };
}

static enum tb_status
session_check(const struct session *s, const uint32_t *ids, size_t n, struct tb_err *err)
{
	if (!n)
		return tb_fail(err, TB_EUSAGE, "no tokens to evaluate");
	if (n > s->kv.context || s->pos > s->kv.context - n)
		return tb_fail(err, TB_ELIMIT, "the context of %" PRIu32 " tokens is full: %" PRIu32
			       " are there and %zu more do not fit", s->kv.context, s->pos, n);
	for (size_t i = 0; i < n; i++)
		if (ids[i] >= s->e->hp.vocab)
			return tb_fail(err, TB_EUSAGE, "token %" PRIu32 ": the model knows %" PRIu32,
				       ids[i], s->e->hp.vocab);
	return TB_OK;
}

/* Whose engine's turn it is: room for what a session has of its own, and to look at it. */
static enum tb_status
session_reserve(struct session *s, size_t n, struct tb_err *err)
{
	struct work *w = &s->e->work;
	enum tb_status status = kv_reserve(&s->kv, s->pos + (uint32_t)n, err);

	return status ? status : matrix_room(&w->attn, &w->attn_cap,
			   attention_room(&s->e->hp, s->kv.context, team_size(s->e->team)), err);
}

/* Blocks move s->pos as they go; the caller puts it back on failure. */
static enum tb_status
eval_blocks(struct run *run, const uint32_t *ids, size_t n, bool all)
{
	struct session *s = run->seq[0].s;
	enum tb_status status = TB_OK;

	for (size_t at = 0, m; at < n && !status; at += m) {
		float *logits = s->logits + (all ? at * run->hp->vocab : 0);
		size_t want;

		m = n - at < RUN_BLOCK ? n - at : RUN_BLOCK;
		want = all ? m : at + m == n ? 1 : 0;
		state_begin(&s->state, s->pos, m);
		kv_stored(&s->kv, s->pos + (uint32_t)m);
		status = forward(run, ids + at, m, want);
		if (!status && want)
			status = run_logits(run, want, logits);
		s->pos += (uint32_t)m;
	}
	return status;
}

/* One block of rows of several sessions; logits of `want`: all or none. */
static enum tb_status
eval_together(struct run *run, const struct session_part *part, size_t rows, size_t want)
{
	uint32_t ids[RUN_BLOCK];
	enum tb_status status;

	for (size_t i = 0; i < run->nseq; i++) {
		struct run_seq *q = &run->seq[i];

		memcpy(ids + q->first, part[i].ids, q->n * sizeof(*ids));
		state_begin(&q->s->state, q->s->pos, q->n);
		kv_stored(&q->s->kv, q->s->pos + (uint32_t)q->n);
	}
	status = forward(run, ids, rows, want);
	if (!status && want)
		status = run_logits(run, want, part[0].s->logits);
	for (size_t i = 0; i < run->nseq; i++)
		run->seq[i].s->pos += (uint32_t)run->seq[i].n;
	return status;
}

/* Logits that somebody asks for: of no token, of the last, of all. */
enum want { WANT_NONE, WANT_LAST, WANT_ALL };

/* The engine's turn: room for what is to be read, and reading it. */
static enum tb_status
eval_locked(struct run *run, struct session_part *part, size_t n, enum want want)
{
	struct session *first = part[0].s;
	size_t rows = 0;
	enum tb_status status;

	for (size_t i = 0; i < n; i++) {
		run->seq[i] = (struct run_seq){ part[i].s, rows, part[i].n };
		rows += part[i].n;
	}
	status = work_rows(run->e, rows < RUN_BLOCK ? rows : RUN_BLOCK, run->err);
	for (size_t i = 0; i < n && !status; i++)
		status = session_reserve(part[i].s, part[i].n, run->err);
	if (!status)
		status = matrix_room(&first->logits, &first->logits_cap,
				     (want == WANT_ALL ? rows : 1) * run->hp->vocab, run->err);
	if (status)
		return status;
	run->nseq = n;
	return n > 1 || want == WANT_NONE
	     ? eval_together(run, part, rows, want == WANT_ALL ? rows : 0)
	     : eval_blocks(run, part->ids, part->n, want == WANT_ALL);
}

/* rows [rows][vocab] */
static enum tb_status
logits_check(const float *logits, size_t rows, size_t vocab, struct tb_err *err)
{
	float zero = 0;

	for (size_t i = 0; i < rows * vocab; i++)
		zero += logits[i] * 0;
	if (isnan(zero))	/* as soon as one is not finite */
		return tb_fail(err, TB_EFORMAT, "the model computes numbers that are not finite: "
			       "its weights may be damaged");
	return TB_OK;
}

/* What was read is forgotten again where anything fails. */
static enum tb_status
eval_parts(struct session_part *part, size_t n, enum want want, struct tb_job *job,
	   struct tb_err *err)
{
	struct engine *e = part[0].s->e;
	struct run run = {
		.e = e, .hp = &e->hp, .job = job, .err = err,
		.watch = part[0].s->watch, .watch_arg = part[0].s->watch_arg,
		.norm = e->hp.centered ? e->vec->layernorm : e->vec->rmsnorm,
	};
	uint32_t pos[SESSION_ROWS];
	const float *at = NULL;
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < n; i++)
		pos[i] = part[i].s->pos;
	pthread_mutex_lock(&e->lock);
	status = eval_locked(&run, part, n, want);
	pthread_mutex_unlock(&e->lock);
	if (!status)
		status = values_maps_check(&e->weights.maps, err);
	at = part[0].s->logits;
	for (size_t i = 0; i < n && !status && want != WANT_NONE; i++) {
		size_t rows = want == WANT_ALL ? part[i].n : 1;

		status = logits_check(at + (n > 1 ? 0 : (rows - 1) * e->hp.vocab),
				      n > 1 ? rows : 1, e->hp.vocab, err);	/* of one, the last */
		part[i].logits = at;
		at += rows * e->hp.vocab;
	}
	for (size_t i = 0; i < n && status; i++) {
		(void)session_rewind(part[i].s, pos[i]);
		part[i].logits = NULL;
	}
	return status;
}

enum tb_status
session_eval(struct session *s, const uint32_t *ids, size_t n, bool all, struct tb_job *job,
	     const float **logits, struct tb_err *err)
{
	struct session_part part = { .s = s, .ids = ids, .n = n };
	enum tb_status status;

	*logits = NULL;
	if ((status = session_check(s, ids, n, err)))
		return status;
	status = eval_parts(&part, 1, all ? WANT_ALL : WANT_LAST, job, err);
	*logits = part.logits;
	return status;
}

static enum tb_status
parts_check(struct session_part *part, size_t n, size_t most, struct tb_err *err)
{
	size_t rows = 0;
	enum tb_status status;

	for (size_t i = 0; i < n; i++) {
		part[i].logits = NULL;
		if ((status = session_check(part[i].s, part[i].ids, part[i].n, err)))
			return status;
		rows += part[i].n;
		for (size_t k = 0; k < i; k++)
			if (part[k].s == part[i].s || part[k].s->e != part[i].s->e)
				return tb_fail(err, TB_EUSAGE, "a pass takes sessions of one engine, "
					       "each once");
	}
	if (!n || n > SESSION_ROWS || rows > most)
		return tb_fail(err, TB_EUSAGE, "a pass takes 1 to %zu tokens of up to %d sessions, not "
			       "%zu of %zu", most, SESSION_ROWS, rows, n);
	return TB_OK;
}

enum tb_status
session_eval_batch(struct session_part *part, size_t n, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = parts_check(part, n, SESSION_ROWS, err);

	return status ? status : eval_parts(part, n, WANT_ALL, job, err);
}

enum tb_status
session_read_batch(struct session_part *part, size_t n, struct tb_job *job, struct tb_err *err)
{
	enum tb_status status = parts_check(part, n, SESSION_READ, err);

	return status ? status : eval_parts(part, n, WANT_NONE, job, err);
}
