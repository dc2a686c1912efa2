/* Conversations on a real model: what is kept, what is evaluated again, what stops. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/stat.h>

#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/ops/chat/chat.h"
#include "src/ops/home/home.h"

struct state {
	struct op_ctx ctx;
	struct chat_model *m;
};

static int
setup(void **state)
{
	static struct state s;
	const char *shared = getenv("TBTUI_SHARED"), *dir = unit_tmp();
	char path[4096];
	struct tb_err err;

	if (!shared)
		return 0;	/* the tests skip themselves */
	snprintf(path, sizeof(path), "%s/data/models/stories260K/hf-f32", shared);
	if (op_ctx_init(&s.ctx, unit_path("index.db"), &dir, 1, 2, &err) ||
	    chat_model_open(&s.m, &s.ctx, path, NULL, &err))
		return -1;
	*state = &s;
	return 0;
}

static int
teardown(void **state)
{
	struct state *s = *state;

	if (s) {
		chat_model_free(s->m);
		op_ctx_free(&s->ctx);
	}
	return 0;
}

static struct chat *
start(void **state, uint32_t context, uint32_t max)
{
	struct state *s = *state;
	struct chat_opts o;
	struct chat *c;
	struct tb_err err;

	(void)unit_shared("data/models/stories260K/hf-f32/config.json");
	chat_opts_init(&o, s->m);
	o.sampler.temperature = 0;
	o.context = context;
	o.max_tokens = max;
	assert_ok(chat_new(&c, s->m, &o, &err), err);
	return c;
}

static void
say(struct chat *c, const char *text, struct tb_job *job, struct chat_answer *a)
{
	struct tb_err err;

	assert_ok(chat_say(c, text, NULL, NULL, job, a, &err), err);
}

/* The second turn evaluates little more than what is new. */
static void
test_reuse(void **state)
{
	struct chat *c = start(state, 0, 20);
	struct chat_answer a, b;
	const struct chat_message *m;
	size_t n;

	say(c, "Once upon a time", NULL, &a);
	assert_int_equal(a.gen.stop, GEN_LENGTH);
	assert_int_equal(a.gen.ids.n, 20);
	assert_int_equal(a.gen.figures.reused_tokens, 0);
	say(c, "And then", NULL, &b);
	assert_true(b.gen.figures.reused_tokens >= a.gen.figures.prompt_tokens);
	m = chat_messages(c, &n);
	assert_int_equal(n, 4);
	assert_string_equal(m[0].content, "Once upon a time");
	assert_string_equal(m[1].role, "assistant");
	assert_string_equal(m[1].content, a.gen.text);
	chat_answer_free(&a);
	chat_answer_free(&b);
	chat_clear(c);
	(void)chat_messages(c, &n);
	assert_int_equal(n, 0);
	chat_free(c);
}

/* Behind a long text, what is new is all that is read. */
static void
test_long_reuse(void **state)
{
	struct chat *c = start(state, 0, 4);
	char text[900];
	struct chat_answer a, b;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = "Tom had a big red ball. "[i % 24];
	text[sizeof(text) - 1] = 0;
	say(c, text, NULL, &a);
	say(c, "And", NULL, &b);
	assert_int_equal(a.dropped + b.dropped, 0);
	assert_true(a.gen.figures.prompt_tokens > 250);
	assert_true(b.gen.figures.prompt_tokens * 20 < a.gen.figures.prompt_tokens);
	assert_true(b.gen.figures.reused_tokens >= a.gen.figures.prompt_tokens);
	chat_answer_free(&a);
	chat_answer_free(&b);
	chat_free(c);
}

/* With the cache and without it, the answer is the same. */
static void
test_same_answer(void **state)
{
	struct chat *warm = start(state, 0, 12), *cold = start(state, 0, 12);
	struct chat_answer a, b;

	say(warm, "Tom and Jane", NULL, &a);
	chat_answer_free(&a);
	chat_clear(warm);
	say(warm, "Tom and Jim", NULL, &a);
	say(cold, "Tom and Jim", NULL, &b);
	assert_true(a.gen.figures.reused_tokens > 0);
	assert_int_equal(b.gen.figures.reused_tokens, 0);
	assert_string_equal(a.gen.text, b.gen.text);
	chat_answer_free(&a);
	chat_answer_free(&b);
	chat_free(warm);
	chat_free(cold);
}

static void
test_system(void **state)
{
	struct chat *c = start(state, 0, 3);
	struct chat_opts o;
	struct chat_answer a;
	const struct chat_message *m;
	struct tb_err err;
	size_t n;

	chat_opts_init(&o, ((struct state *)*state)->m);
	say(c, "Hello", NULL, &a);
	chat_answer_free(&a);
	o.system = "first";
	assert_ok(chat_configure(c, &o, &err), err);
	m = chat_messages(c, &n);
	assert_int_equal(n, 3);
	assert_string_equal(m[0].content, "first");
	o.system = "second";
	assert_ok(chat_configure(c, &o, &err), err);
	m = chat_messages(c, &n);
	assert_int_equal(n, 3);
	assert_string_equal(m[0].content, "second");
	assert_string_equal(m[1].content, "Hello");
	o.system = NULL;
	assert_ok(chat_configure(c, &o, &err), err);
	m = chat_messages(c, &n);
	assert_int_equal(n, 2);
	assert_string_equal(m[0].role, "user");
	chat_free(c);
}

/* Kept otherwise, all is read again, and the conversation goes on; the same again is nothing. */
static void
test_kv(void **state)
{
	struct chat *c = start(state, 0, 3);
	struct chat_opts o;
	struct chat_answer a, b;
	struct tb_err err;
	size_t n;

	chat_opts_init(&o, ((struct state *)*state)->m);
	o.max_tokens = 3;
	assert_false(chat_opts_set(&o, "kv", "f99"));
	assert_true(chat_opts_set(&o, "kv", "int8"));
	say(c, "Hello", NULL, &a);
	assert_ok(chat_configure(c, &o, &err), err);
	say(c, "And", NULL, &b);
	assert_int_equal(b.gen.figures.reused_tokens, 0);
	assert_true(b.gen.figures.prompt_tokens > a.gen.figures.prompt_tokens);
	chat_answer_free(&a);
	chat_answer_free(&b);
	assert_ok(chat_configure(c, &o, &err), err);
	say(c, "so", NULL, &a);
	assert_true(a.gen.figures.reused_tokens > 0);
	(void)chat_messages(c, &n);
	assert_int_equal(n, 6);
	chat_answer_free(&a);
	chat_free(c);
}

static unsigned
notes_of(struct tb_job *job)
{
	struct tb_msg *msg = tb_job_take(job), *next;
	unsigned notes = 0;

	for (; msg; msg = next) {
		next = msg->next;
		notes += msg->kind == GEN_MSG_NOTE && strstr(msg->data, "dropped");
		free(msg);
	}
	return notes;
}

/* The oldest turns have no room any more, the person is told, and they are still there. */
static void
test_dropping(void **state)
{
	struct chat *c = start(state, 96, 16);
	struct tb_job *job = tb_job_new(-1);
	struct chat_path path;
	unsigned dropped = 0, left = 0;
	struct tb_err err;
	struct chat_answer a;
	char *big = calloc(1, 2000);

	for (unsigned i = 0; i < 8; i++) {
		say(c, "Tell me a story about a dog.", job, &a);
		assert_true(a.gen.figures.context_used <= 96);
		dropped += a.dropped;
		chat_answer_free(&a);
	}
	assert_true(dropped > 0);
	assert_true(notes_of(job) > 0);
	assert_ok(chat_path(c, &path, &err), err);
	assert_int_equal(path.n, 16);
	for (size_t i = 0; i < path.n; i++)
		left += path.turns[i].left_out;
	assert_int_equal(left, 2 * dropped);
	assert_true(path.turns[0].left_out && !path.turns[15].left_out);
	chat_path_free(&path);
	memset(big, 'x', 1999);	/* one message that can never fit */
	assert_fails(chat_say(c, big, NULL, NULL, job, &a, &err), err, TB_ELIMIT, "context");
	assert_ok(chat_path(c, &path, &err), err);
	assert_int_equal(path.n, 16);
	assert_int_equal(path.unanswered, 17);
	chat_path_free(&path);
	free(big);
	tb_job_free(job);
	chat_free(c);
}

struct stopper {
	struct tb_job *job;
	size_t pieces;
};

static void
stop_after(void *arg, enum gen_msg kind, const char *text, size_t len)
{
	struct stopper *s = arg;

	assert_true(kind == GEN_MSG_TEXT && len > 0 && text);
	if (!--s->pieces)
		tb_job_cancel(s->job);
}

static void
test_cancel(void **state)
{
	struct chat *c = start(state, 0, 0);
	struct stopper s = { tb_job_new(-1), 5 };
	const struct chat_message *m;
	struct chat_answer a;
	struct tb_err err;
	size_t n;

	assert_ok(chat_say(c, "Once upon a time", stop_after, &s, s.job, &a, &err), err);
	assert_int_equal(a.gen.stop, GEN_CANCELLED);
	assert_true(a.gen.ids.n >= 5 && a.gen.ids.n < 10 && *a.gen.text);
	m = chat_messages(c, &n);
	assert_int_equal(n, 2);
	assert_string_equal(m[1].content, a.gen.text);
	chat_answer_free(&a);
	/* cancelled before anything came: as if it had not been said */
	assert_ok(chat_say(c, "More", stop_after, &s, s.job, &a, &err), err);
	assert_int_equal(a.gen.stop, GEN_CANCELLED);
	assert_int_equal(a.gen.ids.n, 0);
	(void)chat_messages(c, &n);
	assert_int_equal(n, 2);
	chat_answer_free(&a);
	tb_job_free(s.job);
	say(c, "More", NULL, &a);	/* it goes on */
	assert_true(a.gen.ids.n > 0);
	chat_answer_free(&a);
	chat_free(c);
}

static void
path_is(struct chat *c, const char *const *contents, size_t n)
{
	struct chat_path p;
	struct tb_err err;

	assert_ok(chat_path(c, &p, &err), err);
	assert_int_equal(p.n, n);
	for (size_t i = 0; i < n; i++)
		if (contents[i])
			assert_string_equal(p.turns[i].said.content, contents[i]);
	chat_path_free(&p);
}

/* Whatever is said otherwise, what there was stays and can be chosen again. */
static void
test_tree(void **state)
{
	struct chat *c = start(state, 0, 6);
	struct chat_answer a, b;
	struct chat_path p;
	struct tb_err err;
	char *said;

	say(c, "One", NULL, &a);
	assert_int_equal(a.turn, 2);
	assert_ok(chat_again(c, 0, NULL, NULL, NULL, &b, &err), err);
	assert_int_equal(b.turn, 3);
	assert_string_equal(a.gen.text, b.gen.text);	/* temperature 0 */
	chat_answer_free(&b);
	assert_ok(chat_edit(c, 0, "Two", NULL, NULL, NULL, &b, &err), err);
	path_is(c, (const char *[]){ "Two", b.gen.text }, 2);
	chat_answer_free(&b);
	say(c, "Three", NULL, &b);
	assert_ok(chat_path(c, &p, &err), err);
	assert_int_equal(p.n, 4);
	assert_int_equal(p.turns[0].place, 2);
	assert_int_equal(p.turns[0].of, 2);
	assert_int_equal(p.turns[1].of, 1);
	assert_string_equal(p.turns[1].model, "hf-f32");
	chat_path_free(&p);
	assert_ok(chat_undo(c, &said, &err), err);
	assert_string_equal(said, "Three");
	free(said);
	path_is(c, (const char *[]){ "Two", NULL }, 2);
	assert_ok(chat_choose(c, 4, -1, &err), err);
	assert_ok(chat_path(c, &p, &err), err);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.turns[1].id, 3);		/* the newest answer to "One" */
	assert_int_equal(p.turns[1].place, 2);
	chat_path_free(&p);
	assert_fails(chat_choose(c, 3, 1, &err), err, TB_ENOENT, "after");
	assert_ok(chat_choose(c, 1, 1, &err), err);
	path_is(c, (const char *[]){ "Two", NULL, "Three", b.gen.text }, 4);
	assert_ok(chat_undo(c, NULL, &err), err);
	assert_ok(chat_undo(c, NULL, &err), err);
	path_is(c, NULL, 0);
	assert_fails(chat_undo(c, NULL, &err), err, TB_ENOENT, "nothing");
	assert_ok(chat_redo(c, &err), err);
	path_is(c, (const char *[]){ "Two", NULL, "Three", b.gen.text }, 4);
	assert_fails(chat_redo(c, &err), err, TB_ENOENT, "nothing");
	chat_answer_free(&b);
	assert_fails(chat_again(c, 99, NULL, NULL, NULL, &b, &err), err, TB_ENOENT, "99");
	chat_answer_free(&a);
	chat_free(c);
}

/* The answer begins with what it was told to begin with, and goes on as if it had said so. */
static void
test_continue(void **state)
{
	struct chat *c = start(state, 0, 12);
	struct chat_answer a, b;
	struct token_ids some;
	struct tb_err err;

	say(c, "Once upon a time", NULL, &a);
	some = (struct token_ids){ .v = a.gen.ids.v, .n = 5 };
	assert_ok(chat_continue(c, 0, &some, NULL, NULL, NULL, NULL, &b, &err), err);
	assert_int_equal(strncmp(b.gen.text, a.gen.text, strlen(a.gen.text)), 0);
	assert_true(strlen(b.gen.text) > strlen(a.gen.text));
	chat_answer_free(&b);
	assert_ok(chat_continue(c, 0, NULL, "Zed", NULL, NULL, NULL, &b, &err), err);
	assert_int_equal(strncmp(b.gen.text, "Zed", 3), 0);
	path_is(c, (const char *[]){ "Once upon a time", b.gen.text }, 2);
	chat_answer_free(&a);
	chat_answer_free(&b);
	chat_free(c);
}

static void
test_count(void **state)
{
	struct chat *c = start(state, 0, 3);
	uint64_t none, some;
	struct chat_answer a;
	struct tb_err err;

	assert_ok(chat_count(c, "Hello there", &none, &err), err);
	assert_true(none > 0);
	say(c, "Hello there", NULL, &a);
	assert_int_equal(a.gen.figures.prompt_tokens, none);
	chat_answer_free(&a);
	assert_ok(chat_count(c, NULL, &some, &err), err);
	assert_true(some > none);
	chat_free(c);
}

/* ---- resumed ---- */

static uint32_t context;	/* of the chat that is gone on with; 0: the model's */

static struct chat *
kept_chat(void **state, const char *index, bool resumed, enum kv_type kv)
{
	struct chat *c = start(state, 0, 40);
	struct chat_opts o;
	struct tb_err err;

	if (index)
		assert_ok(chat_keep_in(c, index, &err), err);
	if (resumed) {
		assert_ok(chat_resume(c, 0, &o, &err), err);
		return c;
	}
	chat_opts_init(&o, ((struct state *)*state)->m);
	o.sampler.temperature = 0;
	o.max_tokens = 40;
	o.top = 1;
	o.kv = kv;
	o.context = context;
	o.system = "You tell stories.";
	assert_ok(chat_configure(c, &o, &err), err);
	return c;
}

static void
top_of(struct chat *c)
{
	struct chat_opts o = { .top = 1, .max_tokens = 40, .system = "You tell stories.",
			       .sampler = SAMPLER_DEFAULTS, .kv = KV_F16 };
	struct tb_err err;

	o.sampler.temperature = 0;
	assert_ok(chat_configure(c, &o, &err), err);
}

/* What is done in a chat, by number. */
static void
turn_of(struct chat *c, unsigned i, struct chat_answer *a)
{
	static const char *const said[] = {
		"Once upon a time there was a big dog. It had a red ball and a small house.",
		"Tell me more", "And the cat?", "What did Tom and Jane do with all of this?",
	};
	struct tb_err err;

	switch (i % 7) {
	case 2:
		assert_ok(chat_again(c, 0, NULL, NULL, NULL, a, &err), err);
		break;
	case 4:
		assert_ok(chat_edit(c, 0, "And the bird?", NULL, NULL, NULL, a, &err), err);
		break;
	case 5:
		assert_ok(chat_undo(c, NULL, &err), err);
		/* fallthrough */
	default:
		assert_ok(chat_say(c, said[i % 4], NULL, NULL, NULL, a, &err), err);
	}
}

/* How many of the numbers that tokens were chosen by differ in any bit. */
static size_t
tokens_differ(const struct chat_answer *a, const struct chat_answer *b)
{
	size_t n = 0;

	for (size_t i = 0; i < a->gen.ids.n && i < b->gen.ids.n; i++)
		n += a->gen.ids.v[i] != b->gen.ids.v[i] ||
		     memcmp(&a->gen.tokens[i].logprob, &b->gen.tokens[i].logprob, sizeof(float));
	return n + (a->gen.ids.n != b->gen.ids.n);
}

static size_t
differ_when_resumed(void **state, const char *name, enum kv_type kv, bool by_file, bool forget)
{
	const char *index = unit_path(name);
	struct chat *c = kept_chat(state, index, false, kv), *d;
	struct chat_answer a, b;
	struct chat_opts o;
	struct tb_err err;
	size_t differ = 0;

	for (unsigned i = 0; i < 12; i++) {
		if (i) {	/* as the next program finds it, without a word to this one */
			d = kept_chat(state, index, true, kv);
			assert_ok(chat_resume(d, 1, &o, &err), err);
			o.top = 1;
			o.system = "You tell stories.";
			assert_ok(chat_configure(d, &o, &err), err);
			if (forget)	/* other keys and values are read as one text */
				for (int k = 0; k < 2; k++) {
					o.kv = k ? kv : kv == KV_INT8 ? KV_F16 : KV_INT8;
					assert_ok(chat_configure(d, &o, &err), err);
				}
			if (by_file && i % 3 == 0)
				assert_ok(chat_take_up(d, unit_path("kv"), NULL, &err), err);
			turn_of(d, i, &b);
		}
		turn_of(c, i, &a);
		if (by_file && i % 3 == 2)
			assert_ok(chat_keep(c, unit_path("kv"), NULL, &err), err);
		if (i) {
			differ += tokens_differ(&a, &b);
			if (!forget)
				assert_string_equal(a.gen.text, b.gen.text);
			chat_answer_free(&b);
			chat_free(d);
		}
		chat_answer_free(&a);
	}
	chat_free(c);
	return differ;
}

/* What was parked is taken up: nothing is read again, and the bits are the same. */
static void
test_parked(void **state)
{
	const char *index = unit_path("parked.db");
	struct chat *c = kept_chat(state, index, false, KV_F16), *d = kept_chat(state, NULL, false, KV_F16);
	struct chat_answer a, b;
	struct stat st;
	struct tb_err err;

	for (unsigned i = 0; i < 5; i++) {
		turn_of(c, i, &a);
		turn_of(d, i, &b);
		assert_int_equal(tokens_differ(&a, &b), 0);
		chat_answer_free(&b);
		chat_answer_free(&a);
		if (i == 3)	/* the next finds a file that is older than the chat */
			continue;
		assert_ok(chat_park(c, 1u << 30, NULL, &err), err);
		chat_free(c);
		assert_int_equal(stat(unit_path("parked.db.kv/1.kv"), &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		c = kept_chat(state, index, true, KV_F16);
		assert_string_equal(chat_notice(c), "");
		top_of(c);
	}
	turn_of(c, 6, &a);
	turn_of(d, 6, &b);
	assert_int_equal(tokens_differ(&a, &b), 0);
	assert_int_equal(a.gen.figures.reused_tokens, b.gen.figures.reused_tokens);
	chat_answer_free(&a);
	chat_answer_free(&b);
	/* room for nothing: it goes */
	assert_ok(chat_park(c, 1000, NULL, &err), err);
	chat_free(c);
	c = kept_chat(state, index, false, KV_F16);
	turn_of(c, 0, &a);
	chat_answer_free(&a);
	assert_ok(stat(unit_path("parked.db.kv/1.kv"), &st) ? TB_EIO : TB_OK, err);
	assert_ok(chat_park(c, (uint64_t)st.st_size, NULL, &err), err);
	assert_int_not_equal(stat(unit_path("parked.db.kv/1.kv"), &st), 0);
	assert_int_equal(stat(unit_path("parked.db.kv/2.kv"), &st), 0);
	chat_free(c);
	chat_free(d);
}

/* Killed after any turn and resumed, the next answer is chosen by the same bits. */
static void
test_resumed(void **state)
{
	assert_int_equal(differ_when_resumed(state, "f16.db", KV_F16, false, false), 0);
	assert_int_equal(differ_when_resumed(state, "int8.db", KV_INT8, false, false), 0);
	assert_int_equal(differ_when_resumed(state, "file.db", KV_F16, true, false), 0);
	context = 220;		/* turns are left out, and the next program has more room at first */
	assert_int_equal(differ_when_resumed(state, "small.db", KV_F16, false, false), 0);
	context = 0;
	/* that this is no matter of course: */
	assert_true(differ_when_resumed(state, "forgot.db", KV_F16, false, true) > 0);
}

/* A template in Go's language may say the first token or not: the model reads it once. */
static void
test_first_token(void **state)
{
	static const char body[] = "{{ range .Messages }}{{ .Content }}{{ end }}";
	struct state *s = *state;
	struct chat *c = start(state, 0, 1);
	struct chat_template *was = s->m->template;
	struct token_ids ids = { 0 };
	struct tb_buf text = TB_BUF(1u << 20);
	uint32_t bos, other = 0;
	struct tb_err err;

	assert_true(tokenizer_bos(s->m->tokenizer, &bos));
	for (int i = 0; i < 2; i++) {
		char *source = tb_asprintf("%s%s", i ? s->m->bos : "", body);

		assert_ok(chat_template_new_go(&s->m->template, source, strlen(source), &err), err);
		tb_buf_clear(&text);
		tb_buf_str(&text, i ? s->m->bos : "");
		tb_buf_str(&text, "hello");
		assert_ok(chat_model_encode(s->m, &text, &ids, &err), err);
		assert_int_equal(ids.v[0], bos);
		assert_int_not_equal(ids.v[1], bos);
		other = i ? other : (uint32_t)ids.n;
		assert_true(ids.n <= other + 1);	/* a blank may stand behind a token */
		chat_template_free(s->m->template);
		free(source);
	}
	s->m->template = was;
	tb_buf_free(&text);
	free(ids.v);
	chat_free(c);
}

/* What is thought and called is told from what is said, kept, and written out again. */
static void
test_parts(void **state)
{
	static const char source[] = "{% for m in messages %}[{{ m.role }}:{{ m.reasoning_content }}:"
		"{{ m.content }}{% for t in m.tool_calls %}!{{ t.function.name }}{% endfor %}]"
		"{% endfor %}{{ tools | length }}{{ enable_thinking }}<think></think><tool_call>";
	static const char begins[] = "<think>\nHm.</think>\nI look.<tool_call>{\"name\":\"f\","
		"\"arguments\":{\"x\":1}}</tool_call>";
	static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]";
	struct state *s = *state;
	struct chat *c = start(state, 0, 1);
	struct chat_template *t, *was = s->m->template;
	const struct chat_message tool = { .role = "tool", .content = "8", .tool_name = "f" };
	struct tb_buf text = TB_BUF(1u << 20);
	struct chat_opts o;
	struct chat_answer a;
	struct chat_path path;
	struct tb_err err;

	assert_ok(chat_template_new(&t, source, strlen(source), &err), err);
	s->m->template = t;
	assert_fails(chat_set_tools(c, "{}", &err), err, TB_EFORMAT, "a list of");
	assert_ok(chat_set_tools(c, tools, &err), err);
	chat_opts_init(&o, s->m);
	o.max_tokens = 1;
	assert_true(chat_opts_set(&o, "think", "low"));
	assert_false(chat_opts_set(&o, "think", "maybe"));
	assert_ok(chat_configure(c, &o, &err), err);
	say(c, "hi", NULL, &a);
	chat_answer_free(&a);
	assert_ok(chat_continue(c, 0, NULL, begins, NULL, NULL, NULL, &a, &err), err);
	assert_string_equal(a.thinking, "Hm.");
	assert_true(!strncmp(a.gen.text, "I look.", 7));
	assert_non_null(strstr(a.tool_calls, "\"name\":\"f\",\"arguments\":{\"x\":1}"));
	chat_answer_free(&a);
	assert_ok(chat_tell(c, &tool, &err), err);
	assert_ok(chat_path(c, &path, &err), err);
	assert_int_equal(path.n, 3);
	assert_string_equal(path.turns[1].said.thinking, "Hm.");
	assert_non_null(path.turns[1].said.tool_calls);
	assert_string_equal(path.turns[2].said.role, "tool");
	chat_path_free(&path);
	assert_ok(chat_rendered(c, &text, &err), err);
	assert_true(!strncmp(tb_buf_cstr(&text), "[user::hi][assistant:Hm.:I look.", 32));
	assert_non_null(strstr(tb_buf_cstr(&text), "!f][tool::8]1True<think>"));
	tb_buf_free(&text);
	chat_free(c);
	chat_template_free(t);
	s->m->template = was;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_first_token),
		cmocka_unit_test(test_long_reuse),
		cmocka_unit_test(test_same_answer),
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_kv),
		cmocka_unit_test(test_dropping),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_continue),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_parked),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
