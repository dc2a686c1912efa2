/* test_states.c - models whose layers have a state: whether tokens come at once, in pieces or
 * one by one, after going back, and after what was begun and not finished, the logits are
 * the same. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>

#include "src/base/job.h"
#include "src/engine/synthetic.h"
#include "src/engine/watch.h"

#define TOKENS 700		/* more than a block of the forward pass has */
#define VOCAB 48

#define COMMON "\"vocab_size\":48,\"hidden_size\":64,\"intermediate_size\":96," \
	"\"num_attention_heads\":2,\"num_key_value_heads\":1,\"max_position_embeddings\":1024," \
	"\"tie_word_embeddings\":false,"
#define LINEAR "\"head_dim\":32,\"linear_conv_kernel_dim\":4,\"linear_key_head_dim\":16," \
	"\"linear_num_key_heads\":2,\"linear_num_value_heads\":6,\"linear_value_head_dim\":40," \
	"\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":10000000," \
	"\"partial_rotary_factor\":0.25},"

static const char *const configs[] = {
	"{\"model_type\":\"qwen3_5_text\"," COMMON LINEAR "\"num_hidden_layers\":5}",
	"{\"model_type\":\"qwen3_5_moe_text\"," COMMON LINEAR "\"num_hidden_layers\":4,"
	"\"num_experts\":4,\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,"
	"\"shared_expert_intermediate_size\":64}",
	"{\"model_type\":\"lfm2\"," COMMON "\"num_hidden_layers\":3,\"conv_L_cache\":3,"
	"\"full_attn_idxs\":[1]}",
	"{\"model_type\":\"lfm2_moe\"," COMMON "\"num_hidden_layers\":4,\"conv_L_cache\":4,"
	"\"layer_types\":[\"conv\",\"conv\",\"full_attention\",\"conv\"],\"num_experts\":4,"
	"\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,\"num_dense_layers\":1}",
};
#define CONFIGS (sizeof(configs) / sizeof(*configs))

static const char *const paths[] = { "scalar", "avx2", "avx512" };

static uint32_t ids[TOKENS];
static float first[VOCAB], logits[VOCAB];

static struct session *
begin(struct engine **e, const char *config)
{
	const struct synthetic spec = { config, strlen(config), scheme_plain(DT_F32), 7 };
	const struct engine_opts opts = { .threads = 2, .exact = true };
	struct session *s;
	struct tb_err err;

	for (uint32_t i = 0; i < TOKENS; i++)
		ids[i] = (i * i * 7 + 3 * i + i / 5 + 1) % VOCAB;
	assert_ok(engine_synthetic(e, &spec, &opts, &err), err);
	assert_ok(session_new(&s, *e, 0, &err), err);
	return s;
}

static void
end(struct engine *e, struct session *s)
{
	session_free(s);
	engine_free(e);
}

/* Up to position `to`, n at a time. */
static void
go(struct session *s, uint32_t to, uint32_t n)
{
	const float *l;
	struct tb_err err;

	while (session_pos(s) < to) {
		uint32_t pos = session_pos(s), m = n < to - pos ? n : to - pos;

		assert_ok(session_eval(s, ids + pos, m, false, NULL, &l, &err), err);
		memcpy(logits, l, sizeof(logits));
	}
}

static void
assert_same(const char *what, size_t i)
{
	double most = 0, largest = 0;

	for (size_t j = 0; j < VOCAB; j++) {
		most = fmax(most, fabs((double)logits[j] - first[j]));
		largest = fmax(largest, fabs(first[j]));
	}
	assert_true(largest > 0.01);
	if (!(most <= 1e-4 * largest))
		fail_msg("config %zu, %s: logits are %g apart", i, what, most / largest);
}

static void
in_pieces_as_at_once(void **state)
{
	static const uint32_t pieces[] = { TOKENS, 100, 7, 1 };

	(void)state;
	for (size_t i = 0; i < 3 * CONFIGS; i++) {
		struct engine *e;
		struct session *s;

		setenv("TBTUI_CPU", paths[i % 3], 1);
		s = begin(&e, configs[i / 3]);
		for (size_t p = 0; p < sizeof(pieces) / sizeof(*pieces); p++) {
			assert_int_equal(session_rewind(s, 0), 0);
			go(s, TOKENS, pieces[p]);
			if (i % 3 + p == 0)
				memcpy(first, logits, sizeof(first));
			assert_same(paths[i % 3], i / 3);
		}
		end(e, s);
	}
	unsetenv("TBTUI_CPU");
}

/* A chat: a prompt, an answer, and back to where the answer began, or into the prompt. */
static void
goes_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < CONFIGS; i++) {
		struct engine *e;
		struct session *s = begin(&e, configs[i]);
		uint32_t at;

		go(s, 610, 200);
		memcpy(first, logits, sizeof(first));
		go(s, 640, 1);
		at = session_rewind(s, 620);
		assert_int_equal(at, 610);
		assert_int_equal(session_pos(s), 610);
		at = session_rewind(s, 609);
		assert_true(at < 610 && at >= 400);
		go(s, 610, 200);
		assert_same("back into the prompt", i);
		at = session_rewind(s, 5);
		assert_int_equal(at, 0);
		go(s, 610, 1);
		assert_same("back to the beginning", i);
		assert_int_equal(session_rewind(s, 1000), 610);
		end(e, s);
	}
}

struct stop { struct tb_job *job; unsigned left; };

static void
stop_later(void *arg, const struct watched *w)
{
	struct stop *stop = arg;

	(void)w;
	if (!stop->left--)
		tb_job_cancel(stop->job);
}

/* Half of the layers have seen the tokens. */
static void
stopped_halfway(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * CONFIGS; i++) {
		struct stop stop = { tb_job_new(-1), 7 };
		struct engine *e;
		struct session *s = begin(&e, configs[i / 2]);
		const float *l;
		struct tb_err err;

		go(s, 100, 100);
		go(s, 130, 1);
		memcpy(first, logits, sizeof(first));
		assert_int_equal(session_rewind(s, 115), 100);
		go(s, 120, 1);
		session_watch(s, stop_later, &stop);
		assert_fails(session_eval(s, ids + 120, i % 2 ? 1 : 9, false, stop.job, &l, &err), err,
			     TB_ECANCEL, "");
		session_watch(s, NULL, NULL);
		assert_true(session_pos(s) >= 100 && session_pos(s) <= 120);
		go(s, 130, 1);
		assert_same("after a stop", i / 2);
		tb_job_free(stop.job);
		end(e, s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_pieces_as_at_once),
		cmocka_unit_test(goes_back),
		cmocka_unit_test(stopped_halfway),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
