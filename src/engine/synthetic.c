#include "config.h"

#include "src/engine/synthetic.h"

#include <string.h>

#include "src/base/half.h"
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/engine/synthetic_ggml.h"
#include "src/engine/team.h"
#include "src/engine/weights.h"

const char synthetic_1b_config[] =
	"{\"model_type\":\"llama\",\"vocab_size\":32000,\"hidden_size\":2048,"
	"\"intermediate_size\":5632,\"num_hidden_layers\":22,\"num_attention_heads\":32,"
	"\"num_key_value_heads\":4,\"max_position_embeddings\":2048,\"rms_norm_eps\":1e-5,"
	"\"rope_theta\":10000,\"tie_word_embeddings\":false}";

#define CHUNK ((size_t)1 << 18)		/* words that one random stream fills */

/* Random bits under a mask that fixes the exponent. */
struct fill {
	uint64_t *words;
	size_t n;
	uint64_t seed, keep, set;
};

static void
random_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct fill *f = arg;
	size_t at = chunk * CHUNK, end = at + CHUNK < f->n ? at + CHUNK : f->n;
	uint64_t state = f->seed + chunk * 0xd1342543de82ef95;

	(void)thread;
	for (; at < end; at++)
		f->words[at] = (tb_splitmix(&state) & f->keep) | f->set;
}

struct maker {
	struct weights *w;
	const struct synthetic *spec;
	struct team *team;
	uint64_t seed;		/* of the next array */
	struct tb_err *err;
};

/* In fresh memory that the weights own; NULL when there is none. */
static const uint8_t *
random_bits(struct maker *mk, uint64_t bytes, uint64_t keep, uint64_t set)
{
	struct weights *w = mk->w;
	struct fill f = { NULL, (bytes + 7) / 8, tb_splitmix(&mk->seed), keep, set };

	if (tb_grow(&w->made, &w->made_cap, w->nmade + 1, sizeof(*w->made)))
		f.words = tb_aligned((bytes + 63) / 64 * 64);
	if (!f.words)
		return NULL;
	w->made[w->nmade++] = f.words;
	team_run(mk->team, random_chunk, &f, (unsigned)((f.n + CHUNK - 1) / CHUNK));
	return (const uint8_t *)f.words;
}

static uint64_t
every(unsigned bits, uint64_t pattern)
{
	for (; bits < 64; bits *= 2)
		pattern |= pattern << bits;
	return pattern;
}

/* Plain values lie in ±[1/128, 1/64): sign and mantissa are random. */
static const uint8_t *
random_plain(struct maker *mk, enum dtype d, uint64_t n)
{
	if (d == DT_F32)
		return random_bits(mk, n * 4, every(32, 0x807fffff), every(32, 0x3c000000));
	if (d == DT_F16)
		return random_bits(mk, n * 2, every(16, 0x83ff), every(16, 0x2000));
	return random_bits(mk, n * 2, every(16, 0x807f), every(16, 0x3c00));
}

/* One number for each group, of the dtype that scales have. */
static const uint8_t *
random_same(struct maker *mk, const struct matrix *m, uint64_t groups, float v)
{
	uint16_t half = m->scale_dtype == DT_F16 ? tb_f32_f16(v) : tb_f32_bf16(v);
	uint32_t word;

	if (m->scale_dtype != DT_F32)
		return random_bits(mk, groups * 2, 0, every(16, half));
	memcpy(&word, &v, sizeof(word));
	return random_bits(mk, groups * 4, 0, every(32, word));
}

/* Codes of whole numbers spread evenly over ±1/64; small floats have a small scale. */
static bool
random_groups(struct maker *mk, struct matrix *m, uint64_t n)
{
	bool e4m3 = scheme_scale_float(&m->scheme) == DT_F8_E4M3;
	bool nan = scheme_code_float(&m->scheme) == DT_F8_E4M3;		/* may be one */
	uint64_t count = scheme_scales(&m->scheme, n);
	float step = 1 / 32.0f / (float)((1u << m->scheme.bits) - 1);

	m->scale_dtype = scheme_scale_dtype(&m->scheme, DT_BF16);
	if (m->scale_dtype == DT_U8)	/* E4M3 1/64, or the power of two 1/256 */
		m->scales = random_bits(mk, count, 0, every(8, e4m3 ? 0x08 : 127 - 8));
	else
		m->scales = random_same(mk, m, count, step);
	if (scheme_has_bias(&m->scheme))
		m->biases = random_same(mk, m, count, -1 / 64.0f);
	m->codes = random_bits(mk, scheme_code_bytes(&m->scheme, n),
			       nan ? every(8, 0xbf) : ~(uint64_t)0, 0);
	return m->scales && (m->biases || !scheme_has_bias(&m->scheme)) && m->codes;
}

static enum tb_status
make_matrix(struct maker *mk, uint32_t rows, uint32_t cols, struct matrix *m)
{
	uint64_t n = (uint64_t)rows * cols;
	bool ok = true;

	*m = (struct matrix){ .scheme = mk->spec->scheme, .rows = rows, .cols = cols, .global = 1 };
	if (!scheme_fits(&m->scheme, cols))
		m->scheme = scheme_plain(DT_BF16);
	if (scheme_is_plain(&m->scheme))
		m->codes = random_plain(mk, m->scheme.dtype, n);
	else if (scheme_form(&m->scheme) == FORM_GROUPS)
		ok = random_groups(mk, m, n);
	else if ((m->codes = random_bits(mk, scheme_code_bytes(&m->scheme, n), ~(uint64_t)0, 0)))
		synthetic_ggml(m->scheme.ggml, (uint8_t *)m->codes, n / m->scheme.group);
	return ok && m->codes ? TB_OK : tb_nomem(mk->err);
}

static enum tb_status
make_slot(struct maker *mk, const struct hparams *hp, enum slot s, uint32_t layer)
{
	const struct slot_info *info = slot_info(s);
	uint32_t rows = hparams_dim(hp, layer, info->rows), cols = hparams_dim(hp, layer, info->cols);
	struct layer *l = weights_at(mk->w, s, layer);
	enum tb_status status = TB_OK;

	if (slot_expert(s)) {
		l->x[s] = tb_calloc(hp->experts, sizeof(*l->x[s]));
		for (uint32_t e = 0; l->x[s] && e < hp->experts && !status; e++)
			status = make_matrix(mk, rows, cols, &l->x[s][e]);
		return l->x[s] ? status : tb_nomem(mk->err);
	}
	if (info->cols != DIM_NONE && !slot_kernel(s))
		return make_matrix(mk, rows, cols, &l->m[s]);
	rows *= cols;
	l->v[s] = tb_aligned(rows * sizeof(float));
	for (uint32_t i = 0; l->v[s] && i < rows; i++)
		l->v[s][i] = (slot_rate(s) ? -1 : 1) * (1 + (float)(i % 7) / 16);
	return l->v[s] ? TB_OK : tb_nomem(mk->err);
}

enum tb_status
weights_make(struct weights *w, const struct hparams *hp, const struct synthetic *spec,
	     struct team *team, struct tb_err *err)
{
	struct maker mk = { w, spec, team, spec->seed, err };
	enum tb_status status = TB_OK;

	for (enum slot s = 0; s < SLOT_COUNT && !status; s++) {
		uint32_t n = slot_layered(s) ? hp->layers : 1;

		for (uint32_t i = 0; i < n && !status; i++)
			if (hparams_needs(hp, i, s) || (s == SLOT_OUTPUT && !hp->tied))
				status = make_slot(&mk, hp, s, i);
	}
	if (hp->tied)
		w->rest->m[SLOT_OUTPUT] = w->rest->m[SLOT_EMBED];
	return status;
}
