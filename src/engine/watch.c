#include "config.h"

#include "src/engine/watch.h"

#include "src/engine/run.h"
#include "src/store/tensor_name.h"

void
session_watch(struct session *s, watch_fn *fn, void *arg)
{
	s->watch = fn;
	s->watch_arg = arg;
}

uint32_t
watch_matrices(const struct engine *e, enum slot s, uint32_t layer, uint32_t *cols)
{
	const struct layer *l = weights_at(&e->weights, s, layer);

	*cols = l->x[s] ? l->x[s]->cols : l->m[s].cols;
	return l->x[s] ? e->hp.experts : l->m[s].codes ? 1 : 0;
}

bool
watch_gguf_name(const struct engine *e, enum slot s, uint32_t layer, char *out, size_t len)
{
	const struct arch *a = e->hp.arch;

	if (s == SLOT_OUTPUT && e->weights.rest->m[s].codes == e->weights.rest->m[SLOT_EMBED].codes)
		s = SLOT_EMBED;
	for (const struct slot_rule *r = NULL; (r = slot_rule_next(a->names, a->ways, r));)
		if (r->slot == s && slot_rule_gguf(r))
			return r->before[0] == DIM_NONE && (r->stacked || !slot_expert(s)) &&
			       tname_fill(r->pattern, layer, 0, out, len);
	return false;
}

/* Which of the model's matrices it is. */
static bool
find_matrix(const struct weights *w, const struct hparams *hp, const struct matrix *m,
	    struct watched *out)
{
	const struct layer *l = (const struct layer *)w->layers;

	for (uint32_t i = 0; i <= w->nlayers; i++) {
		out->layer = i < w->nlayers ? i : 0;
		out->expert = 0;
		if (m >= l[i].m && m < l[i].m + SLOT_COUNT) {
			out->slot = (enum slot)(m - l[i].m);
			return true;
		}
		for (enum slot s = 0; s < SLOT_COUNT; s++)
			if (l[i].x[s] && m >= l[i].x[s] && m < l[i].x[s] + hp->experts) {
				out->slot = s;
				out->expert = (uint32_t)(m - l[i].x[s]);
				return true;
			}
	}
	return false;
}

void
run_watch(struct run *run, const struct matrix *const *w, size_t n, const float *x, size_t m)
{
	for (size_t i = 0; i < n; i++) {
		struct watched seen = { .cols = w[i]->cols, .x = x, .m = m };

		if (find_matrix(&run->e->weights, run->hp, w[i], &seen))
			run->watch(run->watch_arg, &seen);
	}
}
