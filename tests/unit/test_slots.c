/* test_slots.c - what a run needs of a model, and that loading asks for the same. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>

#include "src/engine/slots.h"
#include "src/engine/weights.h"
#include "src/store/model.h"
#include "tests/unit/fixture.h"

#define LAYERS 2
#define EACH 9			/* tensors of a layer */
#define ALL (LAYERS * EACH + 3)	/* and the embedding, the last norm, the head */
#define DIM 8

static const char config[] =
	"{\"model_type\":\"llama\",\"vocab_size\":16,\"hidden_size\":8,\"intermediate_size\":24,"
	"\"num_hidden_layers\":2,\"num_attention_heads\":2,\"num_key_value_heads\":1,"
	"\"max_position_embeddings\":64,\"tie_word_embeddings\":false}";

static const struct { const char *name; uint64_t rows, cols; } layer[EACH] = {
	{ "input_layernorm", DIM, 0 }, { "self_attn.q_proj", DIM, DIM },
	{ "self_attn.k_proj", 4, DIM }, { "self_attn.v_proj", 4, DIM },
	{ "self_attn.o_proj", DIM, DIM }, { "post_attention_layernorm", DIM, 0 },
	{ "mlp.gate_proj", 24, DIM }, { "mlp.up_proj", 24, DIM }, { "mlp.down_proj", DIM, 24 },
};

static const char *stem = "model.";	/* before all names but the head's */

/* What is done to the tensor that a test is about. */
enum done_to { WHOLE, GONE, RENAMED, TURNED, INTEGERS };

static void
add(struct fixture *f, const char *name, uint64_t rows, uint64_t cols, enum done_to way)
{
	char other[160];

	snprintf(other, sizeof(other), "%s%s", name, way == RENAMED ? "x" : "");
	if (way == TURNED)	/* a vector gets longer */
		fixture_add(f, name, DT_F32, (uint64_t[4]){ cols ? cols : rows + 1, cols ? rows : 0 });
	else if (way != GONE)
		fixture_add(f, other, way == INTEGERS ? DT_I32 : DT_F32,
			    (uint64_t[4]){ rows, cols });
}

/* The model in a new folder, with the nth tensor as `way` says. */
static struct model *
make(size_t nth, enum done_to way)
{
	static unsigned count;
	struct fixture f = { 0 };
	struct model_loc loc = { .kind = MODEL_SAFETENSORS_DIR };
	struct tb_err err = { 0 };
	char dir[32], rel[64], name[160];
	struct model *m;
	size_t i = 0;

#define WAY (i++ == nth ? way : WHOLE)
	snprintf(dir, sizeof(dir), "m%u", count++);
	loc.path = (char *)fixture_dir(dir);
	for (unsigned l = 0; l < LAYERS; l++)
		for (unsigned k = 0; k < EACH; k++) {
			snprintf(name, sizeof(name), "%slayers.%u.%s.weight", stem, l, layer[k].name);
			add(&f, name, layer[k].rows, layer[k].cols, WAY);
		}
	snprintf(name, sizeof(name), "%sembed_tokens.weight", stem);
	add(&f, name, 16, DIM, WAY);
	snprintf(name, sizeof(name), "%snorm.weight", stem);
	add(&f, name, DIM, 0, WAY);
	add(&f, "lm_head.weight", 16, DIM, WAY);
#undef WAY
	snprintf(rel, sizeof(rel), "%s/model.safetensors", dir);
	fixture_file(&f, rel);
	snprintf(rel, sizeof(rel), "%s/config.json", dir);
	fixture_text(rel, config);
	assert_ok(model_open(&m, &loc, &err), err);
	return m;
}

struct seen {
	size_t fits, faults[SLOT_FAULTS];
	char name[160];			/* of the first fault that is no unused tensor */
};

static enum tb_status
fits(void *arg, const struct slot_at *at, struct tb_err *err)
{
	struct seen *s = arg;

	(void)err;
	assert_non_null(at->t);
	s->fits++;
	return TB_OK;
}

static enum tb_status
wrong(void *arg, const struct slot_wrong *w, struct tb_err *err)
{
	struct seen *s = arg;

	(void)err;
	assert_non_null(strstr(w->why->msg, w->name));
	if (w->fault != SLOT_UNUSED && !*s->name)
		snprintf(s->name, sizeof(s->name), "%s", w->name);
	s->faults[w->fault]++;
	return TB_OK;
}

/* Visits it, and loads it: both say the same. */
static struct seen
look(struct model *m)
{
	struct seen s = { 0 };
	const struct slot_visitor v = { fits, wrong, &s };
	struct tb_err err = { 0 };
	struct hparams hp;
	struct weights w;
	size_t faults = 0;

	assert_ok(hparams_parse(&hp, config, strlen(config), &err), err);
	assert_ok(slots_visit(&hp, m, &v, &err), err);
	for (size_t i = 0; i < SLOT_FAULTS; i++)
		faults += s.faults[i];
	assert_ok(weights_init(&w, &hp, &err), err);
	assert_int_equal(weights_load(&w, &hp, m, &err) != TB_OK, faults != 0);
	if (*s.name)
		assert_non_null(strstr(err.msg, s.name));
	weights_free(&w);
	hparams_free(&hp);
	model_free(m);
	return s;
}

static void
test_whole(void **state)
{
	struct seen s = look(make(ALL, WHOLE));

	(void)state;
	assert_int_equal(s.fits, ALL);
}

static void
test_each(void **state)
{
	static const enum slot_fault expected[] = {
		[GONE] = SLOT_ABSENT, [RENAMED] = SLOT_ABSENT, [TURNED] = SLOT_MISSHAPEN,
		[INTEGERS] = SLOT_UNSUP,
	};

	(void)state;
	for (enum done_to way = GONE; way <= INTEGERS; way++)
		for (size_t i = 0; i < ALL; i++) {
			bool square = i < LAYERS * EACH && (i % EACH == 1 || i % EACH == 4);
			struct seen s;

			if (way == TURNED && square)
				continue;
			s = look(make(i, way));
			assert_int_equal(s.fits, ALL - 1);
			assert_int_equal(s.faults[expected[way]], 1);
			assert_int_equal(s.faults[SLOT_UNUSED], way == RENAMED);
		}
}

/* What lacks is called as the model calls its others. */
static void
test_stems(void **state)
{
	(void)state;
	stem = "language_model.model.";
	for (size_t i = 0; i + 1 < ALL; i++) {
		struct seen s = look(make(i, GONE));

		assert_int_equal(strncmp(s.name, stem, strlen(stem)), 0);
	}
	stem = "model.";
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_stems),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
