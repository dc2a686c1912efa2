#include "config.h"

#include "src/ops/run/guess.h"

#include <stdlib.h>

#include "src/base/mem.h"
#include "src/ops/run/draft.h"

#define MATCH_MOST 16
#define LOOK_BACK 32768		/* ids; a look takes some 10 us */
#define FORGET 64		/* so many looks count half from then on */
#define WARM 3			/* passes of one row before any guess */
#define PLAIN_EVERY 64		/* passes: then one of one row is timed again */
#define DRAFT_AGAIN 64		/* tokens: then a draft that did not pay is asked again */
#define WORTH 1.03		/* tokens for the time of one: less is not worth a guess */

/* What is believed of each kind before it was seen, and as how many looks that counts. */
static const double first_right[GUESS_KINDS] = { .2, .35, .5, .65, .8, .9, .6 };
#define FIRST_LOOKS 4
#define FIRST_ROW .25

static void
believe(struct guesser *g, unsigned kind)
{
	g->kind[kind].looked = FIRST_LOOKS;
	g->kind[kind].right = FIRST_LOOKS * first_right[kind];
}

enum tb_status
guesser_new(struct guesser **out, struct chat_model *m, enum guess_how how, uint32_t context,
	    struct tb_err *err)
{
	struct guesser *g;
	enum tb_status status = TB_OK;

	*out = NULL;
	if (how == GUESS_NEVER)
		return TB_OK;
	g = tb_calloc(1, sizeof(*g));
	if (!g)
		return tb_nomem(err);
	g->how = how;
	g->row = FIRST_ROW;
	for (unsigned i = 0; i < GUESS_KINDS; i++)
		believe(g, i);
	if (m->draft)
		status = draft_new(&g->draft, m, context, err);
	if (status)
		guesser_free(g);
	else
		*out = g;
	return status;
}

void
guesser_free(struct guesser *g)
{
	if (!g)
		return;
	draft_free(g->draft);
	free(g);
}

enum tb_status
guess_begin(struct guesser *g, const struct sampler *s, const struct sampler_opts *opts,
	    struct tb_err *err)
{
	g->sampler = s;
	g->nlast = 0;
	return g->draft ? draft_begin(g->draft, opts, err) : TB_OK;
}

void
guess_timed(struct guesser *g, size_t again, size_t guesses, double seconds)
{
	double row;

	g->redoes |= again > 0;
	if (!again && !guesses) {
		/* The first ones may have read the weights from the disk. */
		if (g->passes++ < WARM)
			g->pass = g->passes == 1 || seconds < g->pass ? seconds : g->pass;
		else
			g->pass += (seconds - g->pass) / 8;
		g->plain = 0;
		return;
	}
	g->plain++;
	if (!(g->pass > 0))
		return;
	row = (seconds / g->pass - 1) / (double)(again + guesses);
	row = row < .01 ? .01 : row > 2 ? 2 : row;
	g->row += (row - g->row) / 8;
}

/* Compares the last guesses with what came. */
static void
learn(struct guesser *g, const uint32_t *ids, size_t n)
{
	double *right = &g->kind[g->of].right, *looked = &g->kind[g->of].looked;

	for (size_t i = 0; i < g->nlast && g->behind + i < n; i++) {
		++*looked;
		if (ids[g->behind + i] != g->last[i])
			break;
		++*right;
	}
	g->nlast = 0;
	if (*looked > FORGET) {
		*looked /= 2;
		*right /= 2;
	}
}

/* Where the last tokens stood before: what is behind the longest match, of equals the
 * latest; 0: nowhere. */
static size_t
look_up(const uint32_t *ids, size_t n, size_t *length)
{
	size_t best = 0, end = n > LOOK_BACK ? n - LOOK_BACK : 0;

	*length = 0;
	for (size_t at = n - 1; at > end && *length < MATCH_MOST; at--) {
		size_t len = 0;

		while (len < MATCH_MOST && len < at && ids[at - 1 - len] == ids[n - 1 - len])
			len++;
		if (len > *length) {
			*length = len;
			best = at;
		}
	}
	return best;
}

static enum guess_kind
kind_of(size_t length)
{
	return length < 4 ? (enum guess_kind)(length - 1) :
	       length < 8 ? GUESS_FOUR : length < MATCH_MOST ? GUESS_EIGHT : GUESS_SIXTEEN;
}

/* How many guesses of a kind give the most tokens for their time; *gain: how many times
 * those of passes of one row. */
static size_t
worth(const struct guesser *g, enum guess_kind kind, size_t most, double *gain)
{
	double p = g->kind[kind].right / g->kind[kind].looked, right = 1, tokens = 1;
	double each = g->row + (kind == GUESS_DRAFT ? g->each : 0);
	size_t k = 0;

	*gain = WORTH;
	for (size_t i = 1; i <= most; i++) {
		double cost;

		right *= p;
		tokens += right;
		cost = 1 + each * (double)i;
		if (g->redoes)
			cost += g->row * tokens * (1 - right);
		if (tokens / cost > *gain) {
			*gain = tokens / cost;
			k = i;
		}
	}
	return k;
}

static enum tb_status
ask_draft(struct guesser *g, const uint32_t *ids, size_t n, size_t most, size_t *made,
	  struct tb_job *job, struct tb_err *err)
{
	double seconds = 0;
	enum tb_status status = draft_guess(g->draft, g->sampler, ids, n, most, g->last, made,
					    &seconds, job, err);

	g->idle = 0;
	g->nlast = *made;
	g->of = GUESS_DRAFT;
	if (*made && g->pass > 0)
		g->each += (seconds / g->pass / (double)*made - g->each) / (g->each > 0 ? 8 : 1);
	return status;
}

enum tb_status
guess_make(struct guesser *g, const uint32_t *ids, size_t n, size_t most, uint32_t *out,
	   size_t *made, struct tb_job *job, struct tb_err *err)
{
	bool timed = g->passes >= WARM && g->plain < PLAIN_EVERY, always = g->how == GUESS_ALWAYS;
	size_t length, at = look_up(ids, n, &length), k = 0, drafts = 0;
	double gain = 0, gain_draft = 0;
	enum tb_status status = TB_OK;

	learn(g, ids, n);
	g->behind = n;
	if (length) {
		g->of = kind_of(length);
		k = always ? most : timed ? worth(g, g->of, most, &gain) : 0;
	}
	if (g->draft) {
		if (++g->idle == DRAFT_AGAIN)
			believe(g, GUESS_DRAFT);
		drafts = always ? most : timed ? worth(g, GUESS_DRAFT, most, &gain_draft) : 0;
	}
	if (drafts && (always ? length < 4 : !k || gain_draft > gain)) {
		status = ask_draft(g, ids, n, drafts, &k, job, err);
	} else {
		g->nlast = length ? GUESS_MOST : 0;
		for (size_t i = 0; i < g->nlast; i++)
			g->last[i] = at + i < n ? ids[at + i] : g->last[at + i - n];
	}
	for (size_t i = 0; i < k; i++)
		out[i] = g->last[i];
	*made = k;
	return status;
}
