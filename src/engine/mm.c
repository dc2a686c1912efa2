/* mm.c - which kernel multiplies which matrix with many x, and who computes what. */
#include "config.h"

#include "src/engine/mm_x86.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/mv_ggml.h"
#include "src/engine/team.h"
#include "src/format/ggml_type.h"

#define TOGETHER 16		/* matrices of one fork-join */
#define CHUNKS_A_THREAD 4	/* less, and blocks of tokens are shared out, too */

#define N MV_ANY
#define G SCHEME_GGML
#define OWN_STEP 32		/* of our schemes' x: error 0.5 % of its size */

/* Best first.  Columns as in mv.c; then tile, panel, from how many x on; at most so many
 * elements to a unit of x, in blocks of so many; by how much codes are too large. */
static const struct mm_kernel kernels[] = {
#if defined(HAVE_X86)
#define CODES(kind, bits, type, name, step, block, off) \
	{ MV_AMX, kind, bits, type, &mm_amx, mm_values_##name, 9, 0, block, 0 }, \
	{ MV_AVX512_VNNI, kind, bits, type, &mm_vnni, mm_unpack_##name, 9, step, block, off }
	CODES(SCHEME_AFFINE, 2, N, int2, OWN_STEP, 0, 0),
	CODES(SCHEME_AFFINE, 3, N, int3, OWN_STEP, 0, 0),
	CODES(SCHEME_AFFINE, 4, N, int4, OWN_STEP, 0, 0),
	CODES(SCHEME_AFFINE, 5, N, int5, OWN_STEP, 0, 0),
	CODES(SCHEME_AFFINE, 6, N, int6, OWN_STEP, 0, 0),
	CODES(SCHEME_AFFINE, 8, N, int8, OWN_STEP, 0, 0),
	CODES(SCHEME_MXFP4, 4, N, mxfp4, 32, 0, 12),
	{ MV_AMX, SCHEME_NVFP4, 4, N, &mm_amx, mm_values_nvfp4, 9, 0, 0, 0 },
	{ MV_AVX512_VNNI, SCHEME_NVFP4, 4, N, &mm_vnni, mm_unpack_nvfp4, 9, 16, 32, 12 },
	CODES(G, 0, GGML_Q8_0, q8_0, 32, 32, 128),
	CODES(G, 0, GGML_Q4_0, q4_0, 32, 32, 8),
	CODES(G, 0, GGML_Q4_1, q4_1, 32, 32, 0),
	CODES(G, 0, GGML_Q5_0, q5_0, 32, 32, 16),
	CODES(G, 0, GGML_Q5_1, q5_1, 32, 32, 0),
	CODES(G, 0, GGML_IQ4_NL, iq4_nl, 32, 32, 127),
	CODES(G, 0, GGML_MXFP4, ggml_mxfp4, 32, 32, 12),
	CODES(G, 0, GGML_IQ4_XS, iq4_xs, 32, 256, 127),
	CODES(G, 0, GGML_IQ2_XXS, iq2_xxs, 16, 256, 43),
	CODES(G, 0, GGML_IQ2_XS, iq2_xs, 16, 256, 43),
	CODES(G, 0, GGML_IQ2_S, iq2_s, 16, 256, 43),
	CODES(G, 0, GGML_IQ3_XXS, iq3_xxs, 16, 256, 62),
	CODES(G, 0, GGML_IQ3_S, iq3_s, 16, 256, 15),
	CODES(G, 0, GGML_IQ1_S, iq1_s, 16, 256, 9),
	CODES(G, 0, GGML_IQ1_M, iq1_m, 16, 256, 9),
	CODES(G, 0, GGML_Q2_K, q2_k, 16, 256, 0),
	CODES(G, 0, GGML_Q3_K, q3_k, 16, 256, 4),
	CODES(G, 0, GGML_Q4_K, q4_k, 32, 256, 0),
	CODES(G, 0, GGML_Q5_K, q5_k, 32, 256, 0),
	CODES(G, 0, GGML_Q6_K, q6_k, 16, 256, 32),
#define VALUES(kind, bits, type, block) \
	{ MV_AMX, kind, bits, type, &mm_amx, mm_rows_bf16, 9, 0, block, 0 }, \
	{ MV_AVX512_BF16, kind, bits, type, &mm_bf16, mm_unpack_bf16, 9, 0, block, 0 }
	VALUES(SCHEME_MXFP8, 8, N, 0),
	VALUES(SCHEME_PLAIN, 16, DT_BF16, 0),
	VALUES(G, 0, N, ROUND8_SUPER),
#define FLOATS(kind) { MV_AVX512, kind, 0, N, &mm_f32, mm_unpack_f32, 9, 0, 0, 0 }
	FLOATS(SCHEME_PLAIN), FLOATS(SCHEME_AFFINE), FLOATS(SCHEME_MXFP4), FLOATS(SCHEME_MXFP8),
	FLOATS(SCHEME_NVFP4),
#endif
	{ .tile = NULL },
};
#undef N
#undef G

const struct mm_kernel *
mm_find(const struct matrix *w, enum mv_level level)
{
	const struct scheme *s = &w->scheme;
	unsigned type = s->kind == SCHEME_PLAIN ? (unsigned)s->dtype : s->ggml;

	for (const struct mm_kernel *k = kernels; k->tile; k++)
		if (k->level <= level && k->kind == s->kind && (!k->bits || k->bits == s->bits) &&
		    (k->type == MV_ANY || k->type == type))
			return k;
	return NULL;
}

void
matmul_names(const struct scheme *s, const char **decode, const char **prefill)
{
	const struct matrix w = { .scheme = *s };
	const struct mv_kernel *one = mv_find(&w, mv_level());
	const struct mm_kernel *many = mm_find(&w, mv_level());

	*decode = one == &mv_any ? "rows" : mv_level_name(one->level);
	*prefill = many ? many->tile->instruction : "sgemm";
}

/* NULL: decoding and sgemm. */
static const struct mm_kernel *
kernel_for(const struct mm *mm, const struct matrix *w)
{
	return mm_find(w, mm->gemm.exact && mm->level > MV_AVX512 ? MV_AVX512 : mm->level);
}

const char *
mm_instruction(const struct mm *mm, const struct matrix *w)
{
	const struct mm_kernel *k = kernel_for(mm, w);

	return k ? k->tile->instruction : "sgemm";
}

bool
mm_better(const struct mm *mm, const struct matrix *w, size_t m)
{
	const struct mm_kernel *k = kernel_for(mm, w);

	return k && m >= k->many;
}

void
mm_init(struct mm *mm, struct team *team, enum mv_level level)
{
	*mm = (struct mm){ .team = team, .level = level };
	gemm_init(&mm->gemm, team);
}

void
mm_free(struct mm *mm)
{
	gemm_free(&mm->gemm);
	free(mm->x);
	free(mm->panels);
}

/* A panel, its scales and a row, in floats. */
#define TILES_FLOATS (MM_STRETCH * MM_ROWS)
#define FACTORS (MM_STRETCH / 16 * MM_ROWS)
#define PANEL_FLOATS (TILES_FLOATS + 2 * FACTORS + MM_STRETCH)

static struct mm_panel
panel_of(const struct mm *mm, unsigned thread)
{
	float *p = mm->panels + thread * PANEL_FLOATS;

	return (struct mm_panel){ .tiles = (char *)p, .scale = p + TILES_FLOATS,
				  .bias = p + TILES_FLOATS + FACTORS,
				  .row = p + TILES_FLOATS + 2 * FACTORS };
}

struct packing { const struct mm_x *x; atomic_bool refused; };

static void
pack_chunk(void *arg, unsigned chunk, unsigned thread)
{
	struct packing *p = arg;

	(void)thread;
	if (!p->x->kernel->tile->pack(p->x, chunk))
		atomic_store(&p->refused, true);
}

/* Matrices that meet the same packed x. */
struct share {
	const struct mm *mm;
	const struct mm_x *x;
	const struct mm_one *one[TOGETHER];
	const struct mm_kernel *kernel[TOGETHER];
	size_t n, cuts;		/* of the blocks of tokens */
};

/* A panel of rows, one stretch of columns after the other, for its part of the tokens. */
static void
multiply_chunk(void *arg, unsigned chunk, unsigned thread)
{
	const struct share *s = arg;
	const struct mm_tile *tile = s->x->kernel->tile;
	const struct mm_panel panel = panel_of(s->mm, thread);
	size_t cut = chunk % s->cuts, i = 0, blocks = mm_blocks(s->x);
	uint32_t at = (uint32_t)(chunk / s->cuts);
	struct mm_job j = { .x = s->x, .panel = &panel, .block = blocks * cut / s->cuts,
			    .end = blocks * (cut + 1) / s->cuts };

	for (; at >= (s->one[i]->w->rows + MM_ROWS - 1) / MM_ROWS; i++)
		at -= (s->one[i]->w->rows + MM_ROWS - 1) / MM_ROWS;
	j.y = s->one[i]->y;
	j.part = (struct mm_part){ .w = s->one[i]->w, .first = at * MM_ROWS };
	j.part.rows = j.part.w->rows - j.part.first;
	j.part.rows = j.part.rows < MM_ROWS ? j.part.rows : MM_ROWS;
	for (; j.part.col < s->x->cols; j.part.col += MM_STRETCH) {
		j.part.n = s->x->cols - j.part.col;
		j.part.n = j.part.n < MM_STRETCH ? j.part.n : MM_STRETCH;
		s->kernel[i]->unpack(s->x, &j.part, &panel);
		tile->multiply(&j);
	}
}

static enum tb_status
multiply_share(struct mm *mm, struct share *s, struct tb_err *err)
{
	unsigned threads = team_size(mm->team);
	size_t chunks = 0, blocks = mm_blocks(s->x);
	enum tb_status status = matrix_room(&mm->panels, &mm->panels_cap, threads * PANEL_FLOATS,
					    err);

	if (status)
		return status;
	for (size_t i = 0; i < s->n; i++)
		chunks += (s->one[i]->w->rows + MM_ROWS - 1) / MM_ROWS;
	s->cuts = 1;
	if (threads > 1 && chunks < threads * CHUNKS_A_THREAD)
		s->cuts = (threads * CHUNKS_A_THREAD + chunks - 1) / chunks;
	s->cuts = s->cuts < blocks ? s->cuts : blocks;
	team_run(mm->team, multiply_chunk, s, (unsigned)(chunks * s->cuts));
	return TB_OK;
}

static bool
packs_alike(const struct mm_one *a, const struct mm_kernel *ka, const struct mm_one *b,
	    const struct mm_kernel *kb)
{
	return ka->tile == kb->tile && ka->step == kb->step && ka->block == kb->block &&
	       ka->off == kb->off && ka->kind == kb->kind && a->w->cols == b->w->cols &&
	       ((!ka->step && !ka->block) || a->w->scheme.group == b->w->scheme.group);
}

/* The first of n, which have not been done, and all that meet its x. */
static void
gather(struct share *s, const struct mm_one *one, const struct mm_kernel *const *k, size_t n,
       bool *done)
{
	s->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (done[i] || (s->n && !packs_alike(s->one[0], s->kernel[0], &one[i], k[i])))
			continue;
		s->one[s->n] = &one[i];
		s->kernel[s->n++] = k[i];
		done[i] = true;
	}
}

static struct mm_x
x_for(const struct mm_one *one, const struct mm_kernel *k, const float *x, size_t m)
{
	uint32_t group = one->w->scheme.group;

	return (struct mm_x){ .kernel = k, .x = x, .m = m, .cols = one->w->cols, .group = group,
			      .step = k->step < group ? k->step : group };
}

static enum tb_status
run_share(struct mm *mm, struct share *s, struct mm_x *x, struct tb_err *err)
{
	size_t blocks = mm_blocks(x), size = x->kernel->tile->x_size(x);
	struct packing p = { .x = x };
	enum tb_status status = matrix_room(&mm->x, &mm->x_cap, blocks * size / sizeof(float), err);

	if (status)
		return status;
	x->data = (char *)mm->x;
	team_run(mm->team, pack_chunk, &p, (unsigned)blocks);
	if (!atomic_load(&p.refused))
		return multiply_share(mm, s, err);
	for (size_t i = 0; i < s->n && !status; i++)
		status = gemm_run(&mm->gemm, s->one[i]->w, x->x, x->m, s->one[i]->y, err);
	return status;
}

enum tb_status
mm_run(struct mm *mm, const struct mm_one *one, size_t n, const float *x, size_t m,
       struct tb_err *err)
{
	const struct mm_kernel *k[TOGETHER];
	bool done[TOGETHER] = { false };
	enum tb_status status = TB_OK;

	if (n > TOGETHER && (status = mm_run(mm, one + TOGETHER, n - TOGETHER, x, m, err)))
		return status;
	n = n < TOGETHER ? n : TOGETHER;
	for (size_t i = 0; i < n && !status; i++) {
		k[i] = kernel_for(mm, one[i].w);
		done[i] = !k[i];
		if (!k[i])
			status = gemm_run(&mm->gemm, one[i].w, x, m, one[i].y, err);
	}
	for (size_t i = 0; i < n && !status; i++) {
		struct share s = { .mm = mm };
		struct mm_x packed;

		if (done[i])
			continue;
		packed = x_for(&one[i], k[i], x, m);
		s.x = &packed;
		gather(&s, one, k, n, done);
		status = run_share(mm, &s, &packed, err);
	}
	return status;
}
