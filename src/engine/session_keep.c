/* session_keep.c - what a session holds as pieces of memory, for who keeps it elsewhere.
 *
 * Pieces are whole steps of keys and values as they lie, and states; so what is kept fits only
 * sessions in which they lie alike: session_layout() says how. */
#include "config.h"

#include "src/engine/run.h"

#include "src/base/buf.h"
#include "src/base/hash.h"

#define LAYOUT 2	/* of steps in memory: another number whenever kv.c lays them otherwise */

/* Everything that decides what bytes mean: shapes of all layers, and how positions turn. */
static uint64_t
fingerprint(const struct session *s)
{
	const struct kv *kv = &s->kv;
	uint64_t h = TB_FNV;

	for (uint32_t i = 0; i < s->e->hp.layers; i++) {
		const struct layer_shape *l = &s->e->hp.layer[i];
		const uint32_t shape[] = { l->mixer, l->heads, l->kv_heads, l->head_dim,
					   l->value_dim, l->windowed, l->turned, l->kv_from };

		h = tb_fnv(h, shape, sizeof(shape));
		if (state_any(&s->state))
			h = tb_fnv(h, &s->state.at[i + 1], sizeof(s->state.at[i + 1]));
	}
	h = tb_fnv(h, &s->e->hp.window, sizeof(s->e->hp.window));
	h = tb_fnv(h, &kv->ring, sizeof(kv->ring));
	h = tb_fnv(h, kv->inv_freq, kv->ropes * kv->widest * sizeof(*kv->inv_freq));
	return tb_fnv(h, kv->magnitude, kv->ropes * sizeof(*kv->magnitude));
}

void
session_layout(const struct session *s, struct tb_buf *out)
{
	tb_buf_printf(out, "%s, layout %u, %016jx", kv_type_name(s->kv.type), LAYOUT,
		      (uintmax_t)fingerprint(s));
}

static size_t
steps_of(uint32_t n)
{
	return ((size_t)n + KV_STEP - 1) / KV_STEP;
}

static size_t
state_size(const struct session *s)
{
	return state_any(&s->state) ? s->state.at[s->state.layers] * sizeof(float) : 0;
}

uint64_t
session_bytes(const struct session *s, uint32_t n)
{
	uint64_t sum = n ? sizeof(s->kv.stored) + state_size(s) : 0;

	for (size_t i = 0; i < steps_of(n); i++)
		sum += kv_step_bytes(&s->kv, i);
	return sum;
}

enum tb_status
session_place(struct session *s, uint32_t n, struct tb_err *err)
{
	enum tb_status status;

	if (n > s->kv.context)
		return tb_fail(err, TB_ELIMIT, "%u tokens are more than the context of %u", n,
			       s->kv.context);
	if ((status = kv_reserve(&s->kv, n, err)))
		return status;
	(void)session_rewind(s, 0);
	s->pos = n;
	kv_stored(&s->kv, n);
	return TB_OK;
}

enum tb_status
session_pieces(struct session *s, session_piece_fn *fn, void *arg, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < steps_of(s->pos) && !status; i++)
		status = fn(arg, kv_step(&s->kv, i), kv_step_bytes(&s->kv, i), err);
	if (!status && s->pos)
		status = fn(arg, &s->kv.stored, sizeof(s->kv.stored), err);
	kv_stored(&s->kv, s->pos);	/* no less than that, whatever was read */
	if (!status && s->pos && state_size(s))
		status = fn(arg, s->state.now, state_size(s), err);
	return status;
}
