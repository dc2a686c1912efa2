/* plan_budget.c - schemes chosen by measured errors: the least loss within so many bytes,
 * or the fewest bytes within a loss.
 *
 * Each unit (a tensor, or experts that share a scheme) has options of bytes and loss.  On
 * their lower hulls the steps that save most loss a byte come first; what is left over
 * at the end is filled by the best moves that fit, and by exchanges of two. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/plan/plan_parts.h"
#include "src/quant/ggml_encode.h"
#include "src/store/tensor_name.h"

#define MOVES_MAX 400		/* at the end; each looks at all options */
#define PAIRS_MAX 300000000u	/* all of them, at all pairs of options */

/* ---- what a row may become ---- */

/* What each kind of destination is read with.  Ollama knows one group of each width. */
static const char *const store_names[] = { "int4", "int8", "mxfp4", "mxfp8", "nvfp4", "bf16" };
static const char *const mlx_names[] = {
	"affine:2:32", "affine:2:64", "affine:2:128", "affine:3:32", "affine:3:64", "affine:3:128",
	"affine:4:32", "int4", "affine:4:128", "affine:5:32", "affine:5:64", "affine:5:128",
	"affine:6:32", "affine:6:64", "affine:6:128", "affine:8:32", "int8", "affine:8:128",
	"mxfp4", "mxfp8", "nvfp4", "bf16" };
#define NAMES_MAX 48
#define HEAD_COUNTS 4	/* nothing behind the output head makes up for its errors */

struct candidates { struct scheme scheme[NAMES_MAX]; size_t n; };

static void
candidates_of(enum plan_dest dest, struct candidates *out)
{
	bool store = dest == PLAN_TO_STORE;
	const char *const *names = store ? store_names : mlx_names;
	size_t n = store ? sizeof(store_names) / sizeof(*names) : sizeof(mlx_names) / sizeof(*names);

	out->n = 0;
	if (dest == PLAN_TO_GGUF) {
		for (unsigned type = 0; type <= GGML_Q2_0 && out->n < NAMES_MAX; type++)
			if (ggml_info(type) && ggml_encodable(type) && type != GGML_F32)
				out->scheme[out->n++] = scheme_ggml(type);
		return;
	}
	for (size_t i = 0; i < n; i++)
		out->n += !scheme_parse(names[i], &out->scheme[out->n], NULL);
}

static bool
fixed(const struct plan_row *r)
{
	return r->why == PLAN_RULE || r->why == PLAN_EDITED || r->why == PLAN_RECIPE ||
	       r->why == PLAN_KEPT || r->why == PLAN_BESIDE;
}

/* The tensors that a row is written as: all of them get what it gets. */
struct written {
	bool any, quantized;		/* llama-quantize would, all of them */
	uint64_t cols;			/* of all, by OR: a power of two divides that which divides
					 * each */
};

/* Would its readers take it so?  What the usual policy of a destination keeps is kept; gates
 * that want 8 bits get no less. */
static bool
takes(const struct plan *p, const struct policy_model *m, size_t row, const struct written *w,
      const struct scheme *s)
{
	const struct tensor *t = p->rows[row].src;
	const struct plan_target target = { .scheme = *s };
	const struct scheme eight = scheme_affine(8, 64);
	bool wide = scheme_is_plain(s);
	struct policy_choice c;

	if (!plan_fits(p, row, &target) || (wide && s->bits >= dtype_bits(values_dtype(t))))
		return false;
	if (p->dest == PLAN_TO_GGUF)
		return w->quantized && (wide || scheme_fits(s, w->cols));
	c = p->dest == PLAN_TO_STORE ? policy_ollama(m, t, wide ? &eight : s)
				     : policy_mlx(m, t, wide ? &eight : s, 0);
	if (c.target.keep)
		return wide && c.why == PLAN_ALIGN;
	return p->dest == PLAN_TO_STORE || c.why != PLAN_ARCH || s->bits >= 8;
}

/* ---- units ---- */

/* Rows in the order of their units; a unit is a run of them. */
struct member { char *key; size_t row; };	/* key NULL: alone; owned */

static int
member_cmp(const void *va, const void *vb)
{
	const struct member *a = va, *b = vb;
	int d = (a->key != NULL) - (b->key != NULL);

	if (!d && a->key)
		d = strcmp(a->key, b->key);
	return d ? d : (a->row > b->row) - (a->row < b->row);
}

static bool
same_unit(const struct member *a, const struct member *b)
{
	return a->key && b->key && !strcmp(a->key, b->key);
}

static void
members_free(struct member *list, size_t n)
{
	for (size_t i = 0; list && i < n; i++)
		free(list[i].key);
	free(list);
}

/* Experts of one projection and shape go together even where each is a tensor: readers
 * stack them. */
static enum tb_status
members_of(const struct plan *p, struct member **out, size_t *n, struct tb_err *err)
{
	struct member *list = tb_calloc(p->nrows, sizeof(*list));
	struct tname_expert e;
	char name[TNAME_MAX];

	*n = 0;
	*out = list;
	if (!list)
		return tb_nomem(err);
	for (size_t i = 0; i < p->nrows; i++) {
		const struct tensor *t = p->rows[i].src;

		if (fixed(&p->rows[i]))
			continue;
		list[*n].row = i;
		if (tname_expert(t->name, &e) && !e.stacked && !e.shared && t->ndim == 2)
			list[*n].key = tb_asprintf("%s %ju %ju %u", tname_write(&e, TNAME_OLLAMA,
						   TNAME_ALL, name), (uintmax_t)t->dim[0],
						   (uintmax_t)t->dim[1], values_dtype(t));
		else
			list[*n].key = tb_asprintf("%zu", p->rows[i].stack);
		if (!list[(*n)++].key)
			return tb_nomem(err);
	}
	qsort(list, *n, sizeof(*list), member_cmp);
	return TB_OK;
}

/* By row; NULL where memory runs out. */
static struct written *
written_of(const struct plan *p)
{
	struct written *of = tb_calloc(p->nrows, sizeof(*of));

	for (size_t i = 0; of && i < p->parts->nouts; i++) {
		const struct plan_out *o = &p->parts->outs[i];
		bool quantized = llama_quantizes(o);

		for (size_t k = 0; k < o->npieces; k++) {
			struct written *w = &of[p->parts->pieces[o->piece + k].row];

			w->quantized = quantized && (w->quantized || !w->any);
			w->any = true;
			w->cols |= o->ndim ? o->dim[o->ndim - 1] : 1;
		}
	}
	return of;
}

static int
sample_cmp(const void *va, const void *vb)
{
	const struct plan_sample *a = va, *b = vb;

	return (a->row > b->row) - (a->row < b->row);
}

/* The samples of a unit, members [i, end). */
static void
unit_samples(const struct plan *p, const struct policy_model *m, const struct candidates *c,
	     const struct written *written, const struct member *list, size_t i, size_t end,
	     struct plan_sample *out, size_t *n)
{
	for (size_t k = 0; k < c->n; k++) {
		bool all = true;

		for (size_t j = i; j < end && all; j++)
			all = takes(p, m, list[j].row, &written[list[j].row], &c->scheme[k]);
		for (size_t j = i; j < end && all; j++)
			out[(*n)++] = (struct plan_sample){ list[j].row, c->scheme[k],
							    (unsigned)(end - i), -1, -1 };
	}
}

enum tb_status
plan_candidates(const struct plan *p, struct plan_sample **out, size_t *n, struct tb_err *err)
{
	struct written *written = written_of(p);
	struct member *list = NULL;
	struct candidates c;
	struct policy_model m;
	size_t nlist = 0;
	enum tb_status status = written ? policy_model(p->model, &m, err) : tb_nomem(err);

	*n = 0;
	*out = NULL;
	candidates_of(p->dest, &c);
	if (!status)
		status = members_of(p, &list, &nlist, err);
	if (!status && !(*out = tb_calloc(p->nrows * (c.n + 1), sizeof(**out))))
		status = tb_nomem(err);
	for (size_t i = 0, end; i < nlist && !status; i = end) {
		for (end = i + 1; end < nlist && same_unit(&list[i], &list[end]);)
			end++;
		unit_samples(p, &m, &c, written, list, i, end, *out, n);
	}
	for (size_t i = 0; i < p->nrows && !status; i++)
		if (fixed(&p->rows[i]) && p->rows[i].loss < 0)
			(*out)[(*n)++] = (struct plan_sample){ i, p->rows[i].target, 1, -1, -1 };
	if (!status && *n)
		qsort(*out, *n, sizeof(**out), sample_cmp);
	members_free(list, nlist);
	free(written);
	return status;
}

/* ---- the choice ---- */

struct option {
	struct scheme scheme;
	bool keep, hull;
	uint64_t bytes;
	double loss;
	size_t priced;			/* rows whose error is known */
};

struct unit {
	size_t first, nrows;		/* of members */
	struct option *options;		/* by bytes, none worse than a smaller one; owned */
	size_t n, now;
};

struct choice {
	struct plan *p;
	struct member *members;
	size_t nmembers;
	struct unit *units;
	size_t nunits;
	uint64_t bytes;			/* of what is chosen now, and the fixed rows */
	double loss, elems;
	double head;			/* how much the output head's loss counts */
	bool tied;			/* that is the embedding */
};

static int
option_cmp(const void *va, const void *vb)
{
	const struct option *a = va, *b = vb;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (a->loss > b->loss) - (a->loss < b->loss);
}

/* Is b above the line from a to c? */
static bool
above(const struct option *a, const struct option *b, const struct option *c)
{
	return (b->loss - a->loss) * (double)(c->bytes - a->bytes) >=
	       (c->loss - a->loss) * (double)(b->bytes - a->bytes);
}

/* Keeps what is better than all smaller ones, and marks the lower hull. */
static void
prune(struct unit *u)
{
	size_t n = 0, hull[NAMES_MAX + 1], h = 0;

	qsort(u->options, u->n, sizeof(*u->options), option_cmp);
	for (size_t i = 0; i < u->n; i++) {
		if (u->options[i].priced < u->nrows)
			continue;
		if (!n || u->options[i].loss < u->options[n - 1].loss)
			u->options[n++] = u->options[i];
	}
	u->n = n;
	for (size_t i = 0; i < n; i++) {
		while (h >= 2 && above(&u->options[hull[h - 2]], &u->options[hull[h - 1]],
				       &u->options[i]))
			h--;
		hull[h++] = i;
	}
	while (h)
		u->options[hull[--h]].hull = true;
}

static struct option *
option_of(struct unit *u, const struct scheme *s)
{
	for (size_t i = 0; i < u->n; i++)
		if (!u->options[i].keep && scheme_equal(&u->options[i].scheme, s))
			return &u->options[i];
	if (u->n > NAMES_MAX)
		return NULL;
	u->options[u->n].scheme = *s;
	return &u->options[u->n++];
}

static bool
is_head(const struct choice *c, const char *name)
{
	enum tname_role role = tname_role(name);

	return role == TNAME_HEAD ||
	       (c->tied && role == TNAME_EMBED && !strstr(name, "per_layer"));
}

/* Loss is counted in elements: an error of all of one's own numbers is worth as many. */
static void
add_sample(struct choice *c, const size_t *unit_of, const struct plan_sample *s)
{
	const struct plan_row *r = &c->p->rows[s->row];
	struct plan_bytes b = plan_bytes(&s->target, values_dtype(r->src), r->src->elems);
	struct option *o;

	if (unit_of[s->row] == SIZE_MAX || s->loss < 0)
		return;
	o = option_of(&c->units[unit_of[s->row]], &s->target);
	if (!o)
		return;
	o->bytes += b.codes + b.scales + b.biases;
	o->loss += s->loss * (double)r->src->elems * (is_head(c, r->src->name) ? c->head : 1);
	o->priced++;
}

static uint64_t
keep_bytes(const struct plan *p, const struct plan_row *r)
{
	const struct plan_target keep = { .keep = true };
	struct plan_row copy = *r;

	plan_set_row(p, &copy, &keep, PLAN_KEPT);
	return copy.after;
}

static enum tb_status
make_units(struct choice *c, size_t *unit_of, struct tb_err *err)
{
	c->units = tb_calloc(c->nmembers, sizeof(*c->units));
	if (!c->units)
		return tb_nomem(err);
	for (size_t i = 0, end; i < c->nmembers; i = end) {
		struct unit *u = &c->units[c->nunits++];

		for (end = i + 1; end < c->nmembers && same_unit(&c->members[i], &c->members[end]);)
			end++;
		*u = (struct unit){ .first = i, .nrows = end - i, .n = 1,
				    .options = tb_calloc(NAMES_MAX + 2, sizeof(*u->options)) };
		if (!u->options)
			return tb_nomem(err);
		u->options[0] = (struct option){ .keep = true, .priced = end - i };
		for (size_t k = i; k < end; k++) {
			u->options[0].bytes += keep_bytes(c->p, &c->p->rows[c->members[k].row]);
			unit_of[c->members[k].row] = c->nunits - 1;
		}
	}
	return TB_OK;
}

static enum tb_status
choice_open(struct choice *c, const struct plan_sample *samples, size_t n, struct tb_err *err)
{
	size_t *unit_of = tb_calloc(c->p->nrows, sizeof(*unit_of));
	enum tb_status status = unit_of ? members_of(c->p, &c->members, &c->nmembers, err)
					: tb_nomem(err);

	c->tied = true;
	for (size_t i = 0; i < c->p->nrows && !status; i++) {
		const struct plan_row *r = &c->p->rows[i];

		unit_of[i] = SIZE_MAX;
		c->tied &= tname_role(r->src->name) != TNAME_HEAD;
		c->elems += plan_left_out(r->why) ? 0 : (double)r->src->elems;
		c->bytes += fixed(r) ? r->after : 0;
		c->loss += fixed(r) && r->loss > 0 ? r->loss * (double)r->src->elems : 0;
	}
	if (!status)
		status = make_units(c, unit_of, err);
	for (size_t i = 0; i < n && !status; i++)
		if (samples[i].row < c->p->nrows)
			add_sample(c, unit_of, &samples[i]);
	for (size_t i = 0; i < c->nunits && !status; i++) {
		prune(&c->units[i]);
		c->bytes += c->units[i].options[0].bytes;
		c->loss += c->units[i].options[0].loss;
	}
	free(unit_of);
	return status;
}

static void
choice_free(struct choice *c)
{
	for (size_t i = 0; i < c->nunits; i++)
		free(c->units[i].options);
	free(c->units);
	members_free(c->members, c->nmembers);
}

static void
take_option(struct choice *c, struct unit *u, size_t to)
{
	c->bytes += u->options[to].bytes - u->options[u->now].bytes;
	c->loss += u->options[to].loss - u->options[u->now].loss;
	u->now = to;
}

/* A step along the hull of a unit. */
struct step { double gain; size_t unit, from, to; };

static int
step_cmp(const void *va, const void *vb)
{
	const struct step *a = va, *b = vb;

	if (a->gain != b->gain)
		return a->gain > b->gain ? -1 : 1;
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* All steps, those that save most loss a byte first.  Caller frees. */
static struct step *
steps_of(const struct choice *c, size_t *n)
{
	struct step *steps = tb_calloc(c->nunits * (NAMES_MAX + 1), sizeof(*steps));

	*n = 0;
	for (size_t i = 0; steps && i < c->nunits; i++) {
		const struct unit *u = &c->units[i];

		for (size_t k = 1, from = 0; k < u->n; k++) {
			const struct option *a = &u->options[from], *b = &u->options[k];

			if (!b->hull)
				continue;
			steps[(*n)++] = (struct step){ (a->loss - b->loss) /
						       (double)(b->bytes - a->bytes), i, from, k };
			from = k;
		}
	}
	if (steps)
		qsort(steps, *n, sizeof(*steps), step_cmp);
	return steps;
}

/* The single move that saves most loss in the room that is left, or, where loss is what is
 * limited, most bytes within it. */
static bool
best_move(struct choice *c, uint64_t bytes, double loss)
{
	struct unit *best = NULL;
	size_t best_to = 0;
	double most = 0;

	for (size_t i = 0; i < c->nunits; i++) {
		struct unit *u = &c->units[i];
		const struct option *now = &u->options[u->now];

		for (size_t k = 0; k < u->n; k++) {
			const struct option *o = &u->options[k];
			double gain = bytes ? now->loss - o->loss
					    : (double)now->bytes - (double)o->bytes;
			bool fits = bytes ? c->bytes - now->bytes + o->bytes <= bytes
					  : c->loss - now->loss + o->loss <= loss;

			if (!fits || gain <= most)
				continue;
			most = gain;
			best = u;
			best_to = k;
		}
	}
	if (best)
		take_option(c, best, best_to);
	return best != NULL;
}

/* One unit gives what another makes more of. */
static bool
best_exchange(struct choice *c, uint64_t bytes, double loss)
{
	struct unit *down = NULL, *up = NULL;
	size_t down_to = 0, up_to = 0;
	double most = bytes ? c->loss * 1e-9 : 0;

	for (struct unit *u = c->units; u < c->units + c->nunits; u++)
		for (size_t k = 0; k < u->now; k++) {
			const uint64_t freed = u->options[u->now].bytes - u->options[k].bytes;
			const double cost = u->options[k].loss - u->options[u->now].loss;

			for (struct unit *v = c->units; v < c->units + c->nunits; v++)
				for (size_t j = v->now + 1; j < v->n && v != u; j++) {
					uint64_t more = v->options[j].bytes - v->options[v->now].bytes;
					double less = v->options[v->now].loss - v->options[j].loss;
					double gain = bytes ? less - cost : (double)freed - (double)more;
					bool fits = bytes ? c->bytes - freed + more <= bytes
							  : c->loss + cost - less <= loss;

					if (!fits || gain <= most)
						continue;
					most = gain;
					down = u;
					up = v;
					down_to = k;
					up_to = j;
				}
		}
	if (!up)
		return false;
	take_option(c, down, down_to);
	take_option(c, up, up_to);
	return true;
}

/* bytes 0: within the loss. */
static enum tb_status
solve(struct choice *c, uint64_t bytes, double loss, struct tb_err *err)
{
	size_t n, moves = 0, options = 0;
	struct step *steps = steps_of(c, &n);

	if (!steps)
		return tb_nomem(err);
	for (size_t i = 0; i < n && (bytes || c->loss > loss); i++) {
		struct unit *u = &c->units[steps[i].unit];

		if (u->now == steps[i].from &&
		    (!bytes || c->bytes - u->options[u->now].bytes + u->options[steps[i].to].bytes <=
		     bytes))
			take_option(c, u, steps[i].to);
	}
	free(steps);
	for (size_t i = 0; i < c->nunits; i++)
		options += c->units[i].n;
	while (moves++ < MOVES_MAX &&
	       (best_move(c, bytes, loss) ||
		(moves * options * options < PAIRS_MAX && best_exchange(c, bytes, loss))))
		;
	return TB_OK;
}

/* Why there was no choice. */
static enum plan_why
why_none(const struct plan_row *r)
{
	return r->why != PLAN_CHOSEN ? r->why : r->src->ndim < 2 ? PLAN_RANK : PLAN_NAME;
}

static void
apply(struct choice *c, const struct plan_sample *samples, size_t n)
{
	for (size_t i = 0; i < c->nunits; i++) {
		const struct unit *u = &c->units[i];
		const struct option *o = &u->options[u->now];
		const struct plan_target t = { o->keep, o->scheme };

		for (size_t k = u->first; k < u->first + u->nrows; k++) {
			struct plan_row *r = &c->p->rows[c->members[k].row];

			plan_set_row(c->p, r, &t, u->n > 1 ? PLAN_CHOSEN : why_none(r));
		}
	}
	plan_priced(c->p, samples, n);
}

static enum tb_status
too_little(uint64_t least, uint64_t limit, double elems, struct tb_err *err)
{
	char a[16], b[16];

	return tb_fail(err, TB_EUSAGE, "%s is too little: the least that this model can become is %s"
		       " (%ju bytes of tensors, %.2f bits a weight)", tb_human_bytes(limit, a),
		       tb_human_bytes(least, b), (uintmax_t)least, (double)least * 8 / elems + .005);
}

static enum tb_status
choose(struct plan *p, const struct plan_sample *samples, size_t n, const struct plan_limit *limit,
       struct tb_err *err)
{
	struct choice c = { .p = p, .head = limit->error > 0 ? 1 : HEAD_COUNTS };
	enum tb_status status = choice_open(&c, samples, n, err);
	uint64_t bytes = limit->bytes ? limit->bytes
			 : limit->bits > 0 ? (uint64_t)(limit->bits * c.elems / 8) : 0;
	double loss = limit->error * limit->error * c.elems;

	if (!status && (limit->bytes || limit->bits > 0) && c.bytes > bytes)
		status = too_little(c.bytes, bytes, c.elems, err);
	if (!status)
		status = solve(&c, bytes, loss, err);
	if (!status && !bytes && c.loss > loss)
		status = tb_fail(err, TB_EUSAGE, "an error of %g%% is less than what rules and tensors"
				 " set by hand leave", limit->error * 100);
	if (!status) {
		p->limit = *limit;
		apply(&c, samples, n);
	}
	choice_free(&c);
	return status ? status : plan_layout(p, err);
}

enum tb_status
plan_choose(struct plan *p, const struct plan_sample *samples, size_t n,
	    const struct plan_limit *limit, struct tb_err *err)
{
	plan_priced(p, samples, n);		/* of fixed rows */
	return choose(p, samples, n, limit, err);
}

/* Each bit halves an error, whatever the tensor. */
enum tb_status
plan_estimate(struct plan *p, struct tb_err *err)
{
	const struct plan_limit limit = p->limit;
	struct plan_sample *samples;
	size_t n;
	enum tb_status status = plan_candidates(p, &samples, &n, err);

	for (size_t i = 0; i < n && !status; i++) {
		const struct tensor *t = p->rows[samples[i].row].src;
		struct plan_bytes b = plan_bytes(&samples[i].target, values_dtype(t), t->elems);

		samples[i].loss = t->elems ? pow(4, -8 * (double)(b.codes + b.scales + b.biases) /
						 (double)t->elems) : 0;
	}
	if (!status)
		status = choose(p, samples, n, &limit, err);
	for (size_t i = 0; i < p->nrows && !status; i++)
		if (p->rows[i].why == PLAN_CHOSEN && !scheme_equal(&p->rows[i].target,
								   &p->rows[i].src->scheme))
			p->rows[i].error = p->rows[i].loss = -1;
	if (!status)
		plan_count(p);
	free(samples);
	return status;
}
