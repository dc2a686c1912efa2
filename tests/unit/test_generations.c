/* One model in the five ways in which Ollama has stored tensors over the years: whatever
 * the generation, the same tensors with the same values, each saying how it is known.
 *
 * The values are such that every scheme here holds them exactly, with groups of 32 as
 * with groups of 64: each 32 elements have the same smallest and largest one. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/base/half.h"
#include "src/ops/inspect/inspect.h"
#include "src/quant/codec.h"
#include "tests/unit/models.h"

#define ROWS 4u
#define COLS 128u
#define EXPERTS 3u
#define MATRIX (ROWS * COLS)
#define L0 "model.layers.0."
#define X L0 "mlp.experts."
#define SW L0 "mlp.switch_mlp."
#define SH L0 "mlp.shared_experts."

enum grid { GRID_4, GRID_8, GRID_FP4 };
static const float global = 0.5f;

static float
value(enum grid g, unsigned expert, unsigned i)
{
	static const float e2m1[16] = { 0, .5f, 1, 1.5f, 2, 3, 4, 6,
					0, -.5f, -1, -1.5f, -2, -3, -4, -6 };
	float unit = (float)(1u << expert);
	unsigned k = i % 32;

	switch (g) {
	case GRID_4:
		return (float)((int)(k * 7 % 16) - 5) * unit / 4;
	case GRID_8:
		return (k == 0 ? -1 : k == 1 ? 127.f / 128 : (float)((int)(i * 37 % 256) - 128) / 128) *
		       unit;
	default:
		return e2m1[(i * 5 + (k == 0)) % 16] * unit * global;
	}
}

/* What is to be in a blob: `n` experts (0: no expert, two dimensions) from `first` on. */
struct want { const char *name, *scheme; enum grid grid; unsigned first, n; };

static void *
place(const struct fixture *f, struct tb_buf *b, const char *name, const char *ending)
{
	char full[200];

	snprintf(full, sizeof(full), "%s%s", name, ending);
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->t[i].name, full))
			return b->p + f->t[i].off;
	return NULL;
}

static void
fill(const struct fixture *f, struct tb_buf *b, const struct want *w)
{
	struct quant_parts parts = { place(f, b, w->name, ""), place(f, b, w->name, ".scale"),
				     place(f, b, w->name, ".bias") };
	void *scale = place(f, b, w->name, ".global_scale");
	unsigned many = w->n ? w->n : 1;
	float source[EXPERTS * MATRIX];
	uint16_t rounded[EXPERTS * MATRIX];
	struct tb_err err = { 0 };
	struct scheme s;

	for (unsigned i = 0; i < many * MATRIX; i++)
		source[i] = value(w->grid, w->first + i / MATRIX, i % MATRIX) / (scale ? global : 1);
	if (scale)
		memcpy(scale, &global, sizeof(global));
	assert_ok(scheme_parse(w->scheme, &s, &err), err);
	if (!scheme_has_bias(&s)) {
		quant_encode(&s, FLAVOUR_METAL, DT_F32, source, many * MATRIX, &parts);
		return;
	}
	tb_f32_to_bf16(source, many * MATRIX, rounded);	/* as which the fixture has scales */
	quant_encode(&s, FLAVOUR_METAL, DT_BF16, rounded, many * MATRIX, &parts);
}

static void
blob(struct ollama_writer *w, struct fixture *f, const char *layer, const struct want *wants,
     size_t n)
{
	struct tb_buf b = TB_BUF(1 << 20);
	struct tb_err err = { 0 };

	for (size_t i = 0; i < n; i++) {
		const uint64_t flat[4] = { ROWS, COLS }, stack[4] = { wants[i].n, ROWS, COLS };
		char name[128];

		fixture_quant(f, wants[i].name, wants[i].scheme, wants[i].n ? stack : flat, OLLAMA);
		snprintf(name, sizeof(name), "%s.global_scale", wants[i].name);
		if (wants[i].grid == GRID_FP4)
			fixture_add(f, name, DT_F32, DIMS(1));
	}
	fixture_bytes(f, 1, &b);
	for (size_t i = 0; i < n; i++)
		fill(f, &b, &wants[i]);
	assert_ok(ollama_add_bytes(w, MEDIA_TENSOR, layer, b.p, b.len, &err), err);
	tb_buf_free(&b);
}

#define BLOB(w, f, layer, ...) \
	blob(w, f, layer, (const struct want[]){ __VA_ARGS__ }, \
	     sizeof((const struct want[]){ __VA_ARGS__ }) / sizeof(struct want))

static void
meta(struct fixture *f, const char *type, const char *group)
{
	fixture_meta(f, "quant_type", type);
	if (group)
		fixture_meta(f, "group_size", group);
}

static const struct tensor *
holds(const struct model *m, const char *name, const char *scheme, enum origin origin, enum grid g,
      unsigned first, unsigned n)
{
	const uint64_t flat[4] = { ROWS, COLS }, stack[4] = { n, ROWS, COLS };
	const struct tensor *t = models_expect(m, name, scheme, origin, n ? stack : flat);
	struct inspect_window w = { 0 };
	float got[EXPERTS * MATRIX];
	struct tb_err err = { 0 };

	inspect_matrix(t, &w.rows, &w.cols);
	assert_ok(inspect_values(m, t, &w, got, &err), err);
	for (unsigned i = 0; i < t->elems; i++)
		if (got[i] != value(g, first + i / MATRIX, i % MATRIX))
			fail_msg("%s: element %u is %g, not %g", name, i, (double)got[i],
				 (double)value(g, first + i / MATRIX, i % MATRIX));
	return t;
}

/* Each expert by itself, in one blob a layer; what is in it only the shapes tell, or,
 * since int4 of group 64 looks like int8 of group 32, the model's config. */
static void
by_expert(const char *store, const char *int4, const char *config)
{
	struct fixture f = { 0 }, shared = { 0 }, q = { 0 };
	struct want wants[2 * EXPERTS];
	char names[2 * EXPERTS][100];
	struct ollama_writer w;
	struct model *m;

	models_begin(&w, store);
	for (unsigned e = 0; e < EXPERTS; e++) {
		snprintf(names[2 * e], 100, X "%u.gate_proj.weight", e);
		snprintf(names[2 * e + 1], 100, X "%u.down_proj.weight", e);
		wants[2 * e] = (struct want){ names[2 * e], int4, GRID_4, e, 0 };
		wants[2 * e + 1] = (struct want){ names[2 * e + 1], "int8", GRID_8, e, 0 };
	}
	blob(&w, &f, L0 "mlp.experts", wants, 2 * EXPERTS);
	meta(&shared, "int4", strcmp(int4, "int4") == 0 ? "64" : "32");
	BLOB(&w, &shared, L0 "mlp.shared_experts", { SH "gate_proj.weight", int4, GRID_4, 0, 0 },
	     { SH "up_proj.weight", int4, GRID_4, 1, 0 });
	meta(&q, "int8", NULL);
	BLOB(&w, &q, L0 "self_attn.q_proj.weight", { L0 "self_attn.q_proj.weight", "int8", GRID_8, 0, 0 });
	m = models_finish(&w, "m", config);
	models_clean(m);
	assert_int_equal(m->ntensors, 2 * EXPERTS + 3);
	assert_int_equal(m->params, (2 * EXPERTS + 3) * MATRIX);
	for (unsigned e = 0; e < EXPERTS; e++) {
		holds(m, names[2 * e], int4, ORIGIN_SHAPES, GRID_4, e, 0);
		holds(m, names[2 * e + 1], "int8", ORIGIN_SHAPES, GRID_8, e, 0);
	}
	holds(m, SH "gate_proj.weight", int4, ORIGIN_BLOB_META, GRID_4, 0, 0);
	holds(m, SH "up_proj.weight", int4, ORIGIN_BLOB_META, GRID_4, 1, 0);
	holds(m, L0 "self_attn.q_proj.weight", "int8", ORIGIN_BLOB_META, GRID_8, 0, 0);
	model_free(m);
}

static void
test_a(void **state)
{
	(void)state;
	by_expert("a", "affine:4:32", "{}");
}

static void
test_b(void **state)
{
	(void)state;
	by_expert("b", "int4", "{\"file_type\":\"int4\"}");
}

/* Stacked as MLX has it, under MLX's names; metadata a tensor, global scales. */
static void
test_c(void **state)
{
	struct fixture f = { 0 }, o = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	models_begin(&w, "c");
	fixture_meta(&f, SW "gate_proj.weight.quant_type", "int4");
	fixture_meta(&f, SW "gate_proj.weight.group_size", "64");
	fixture_meta(&f, SW "down_proj.weight.quant_type", "int8");
	fixture_meta(&f, SW "down_proj.weight.group_size", "64");
	BLOB(&w, &f, L0 "mlp.experts", { SW "gate_proj.weight", "int4", GRID_4, 0, EXPERTS },
	     { SW "down_proj.weight", "int8", GRID_8, 0, EXPERTS });
	fixture_meta(&o, L0 "o_proj.weight.quant_type", "nvfp4");
	fixture_meta(&o, L0 "o_proj.weight.group_size", "16");
	BLOB(&w, &o, L0 "o_proj.weight", { L0 "o_proj.weight", "nvfp4", GRID_FP4, 0, 0 });
	m = models_finish(&w, "m", "{}");
	models_clean(m);
	holds(m, SW "gate_proj.weight", "int4", ORIGIN_TENSOR_META, GRID_4, 0, EXPERTS);
	holds(m, SW "down_proj.weight", "int8", ORIGIN_TENSOR_META, GRID_8, 0, EXPERTS);
	assert_true(holds(m, L0 "o_proj.weight", "nvfp4", ORIGIN_TENSOR_META, GRID_FP4, 0, 0)
		    ->has_global);
	assert_int_equal(m->params, (2 * EXPERTS + 1) * MATRIX);
	model_free(m);
}

/* Stacked under the layer's own names; one line of metadata where all are alike, else
 * one a tensor; what is shared among tokens is not packed. */
static void
test_d(void **state)
{
	struct fixture f = { 0 }, g = { 0 }, shared = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	models_begin(&w, "d");
	fixture_meta(&f, X "gate_proj.weight.quant_type", "int4");
	fixture_meta(&f, X "gate_proj.weight.group_size", "64");
	fixture_meta(&f, X "down_proj.weight.quant_type", "int8");
	fixture_meta(&f, X "down_proj.weight.group_size", "64");
	BLOB(&w, &f, L0 "mlp.experts", { X "gate_proj.weight", "int4", GRID_4, 0, EXPERTS },
	     { X "down_proj.weight", "int8", GRID_8, 0, EXPERTS });
	meta(&g, "mxfp8", "32");
	BLOB(&w, &g, "model.layers.1.mlp.experts",
	     { "model.layers.1.mlp.experts.up_proj.weight", "mxfp8", GRID_4, 0, EXPERTS },
	     { "model.layers.1.mlp.experts.gate_proj.weight", "mxfp8", GRID_4, 0, EXPERTS });
	meta(&shared, "int4", "64");
	BLOB(&w, &shared, SH "gate_proj.weight", { SH "gate_proj.weight", "int4", GRID_4, 0, 0 });
	m = models_finish(&w, "m", "{}");
	models_clean(m);
	holds(m, X "gate_proj.weight", "int4", ORIGIN_TENSOR_META, GRID_4, 0, EXPERTS);
	holds(m, X "down_proj.weight", "int8", ORIGIN_TENSOR_META, GRID_8, 0, EXPERTS);
	holds(m, "model.layers.1.mlp.experts.up_proj.weight", "mxfp8", ORIGIN_BLOB_META, GRID_4, 0,
	      EXPERTS);
	holds(m, SH "gate_proj.weight", "int4", ORIGIN_BLOB_META, GRID_4, 0, 0);
	model_free(m);
}

/* As before, but each projection in a blob of its own when their types differ. */
static void
test_e(void **state)
{
	struct fixture f = { 0 }, g = { 0 }, o = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	models_begin(&w, "e");
	meta(&f, "int4", "64");
	BLOB(&w, &f, X "gate_proj.weight", { X "gate_proj.weight", "int4", GRID_4, 0, EXPERTS });
	meta(&g, "int8", "64");
	BLOB(&w, &g, X "down_proj.weight", { X "down_proj.weight", "int8", GRID_8, 0, EXPERTS });
	meta(&o, "nvfp4", "16");
	BLOB(&w, &o, L0 "o_proj.weight", { L0 "o_proj.weight", "nvfp4", GRID_FP4, 0, 0 });
	m = models_finish(&w, "m", "{}");
	models_clean(m);
	holds(m, X "gate_proj.weight", "int4", ORIGIN_BLOB_META, GRID_4, 0, EXPERTS);
	holds(m, X "down_proj.weight", "int8", ORIGIN_BLOB_META, GRID_8, 0, EXPERTS);
	holds(m, L0 "o_proj.weight", "nvfp4", ORIGIN_BLOB_META, GRID_FP4, 0, 0);
	model_free(m);
}

/* The same blob under each group size decodes differently, and says who said so; a
 * type that nobody knows is flagged, not taken for one that happens to fit. */
static void
test_group_sizes(void **state)
{
	static const struct { const char *type, *group, *scheme; enum origin origin; uint64_t cols; }
	cases[] = {
		{ "int4", "64", "int4", ORIGIN_BLOB_META, 128 },
		{ "int8", "32", "affine:8:32", ORIGIN_BLOB_META, 64 },
		{ "int9", "64", "U32", ORIGIN_UNKNOWN, 16 },
		{ "q4_turbo", NULL, "U32", ORIGIN_UNKNOWN, 16 },
	};
	char store[8];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fixture f = { 0 };
		struct ollama_writer w;
		struct model *m;

		snprintf(store, sizeof(store), "g%u", i);
		models_begin(&w, store);
		meta(&f, cases[i].type, cases[i].group);
		BLOB(&w, &f, "q.weight", { "q.weight", "int4", GRID_4, 0, 0 });
		m = models_finish(&w, "m", "{\"file_type\":\"int4\"}");
		models_expect(m, "q.weight", cases[i].scheme, cases[i].origin,
			      DIMS(ROWS, cases[i].cols));
		if (cases[i].origin == ORIGIN_UNKNOWN)
			models_problem(m, cases[i].type);
		model_free(m);
	}
}

/* A draft is told from the model it guesses ahead of. */
static void
test_draft(void **state)
{
	struct fixture f = { 0 }, g = { 0 };
	struct ollama_writer w;
	struct model *m;

	(void)state;
	models_begin(&w, "draft");
	meta(&f, "int4", "64");
	BLOB(&w, &f, "a.weight", { "a.weight", "int4", GRID_4, 0, 0 });
	meta(&g, "int8", "64");
	BLOB(&w, &g, "draft.a.weight", { "draft.a.weight", "int8", GRID_8, 0, EXPERTS });
	m = models_finish(&w, "m", "{\"draft\":{\"model_format\":\"safetensors\","
		"\"tensor_prefix\":\"draft.\",\"config\":\"draft/config.json\"}}");
	models_clean(m);
	assert_false(model_tensor(m, "a.weight")->draft);
	assert_true(model_tensor(m, "draft.a.weight")->draft);
	assert_int_equal(m->params, MATRIX);
	assert_int_equal(m->draft_params, EXPERTS * MATRIX);
	assert_string_equal(m->scheme, "int4");
	model_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a), cmocka_unit_test(test_b), cmocka_unit_test(test_c),
		cmocka_unit_test(test_d), cmocka_unit_test(test_e),
		cmocka_unit_test(test_group_sizes), cmocka_unit_test(test_draft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
