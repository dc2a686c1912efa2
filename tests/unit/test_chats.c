/* Kept chats: the rows, hostile texts, what is there after anything went wrong. */
#include "config.h"

#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/chats.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/chat/chat.h"
#include "src/ops/chat/speaker.h"

/* ---- somebody who answers without a model ---- */

struct parrot {
	struct speaker speaker;
	const char *fails;	/* what it fails with after a word; NULL: it does not */
	bool dies;		/* the program is killed after it has spoken for a while */
};

static enum tb_status
parrot_answer(struct speaker *s, const struct speaker_ask *ask, struct tb_job *job,
	      struct chat_answer *out, struct tb_err *err)
{
	const struct parrot *p = (struct parrot *)s;
	const char *last = ask->messages[ask->n - 1].content;

	(void)job;
	ask->piece(ask->arg, GEN_MSG_THINKING, "hm", 2);
	ask->piece(ask->arg, GEN_MSG_TEXT, "You said ", 9);
	if (p->dies) {
		usleep(1100000);
		ask->piece(ask->arg, GEN_MSG_TEXT, "hel", 3);
		usleep(100000);
		ask->piece(ask->arg, GEN_MSG_TEXT, "lo", 2);	/* within the second: lost */
		kill(getpid(), SIGKILL);
	}
	if (p->fails)
		return tb_fail(err, TB_EIO, "%s", p->fails);
	ask->piece(ask->arg, GEN_MSG_TEXT, last, strlen(last));
	out->gen.text = tb_asprintf("You said %s", last);
	out->thinking = tb_strdup("hm");
	out->gen.figures.tokens = 7;
	return TB_OK;
}

static void
parrot_free(struct speaker *s)
{
	free(s);
}

static const struct speaker_ops parrot_ops = {
	.kind = "parrot", .answer = parrot_answer, .free = parrot_free,
};

static struct chat *
parrot_chat(const char *index, struct parrot **out)
{
	struct parrot *p = tb_calloc(1, sizeof(*p));
	struct chat_opts o = { .sampler = SAMPLER_DEFAULTS };
	struct chat *c;
	struct tb_err err;

	p->speaker.ops = &parrot_ops;
	p->speaker.name = tb_strdup("parrot");
	p->speaker.ref = tb_strdup("/cage");
	assert_ok(chat_begin(&c, &p->speaker, &o, &err), err);
	if (index)
		assert_ok(chat_keep_in(c, index, &err), err);
	if (out)
		*out = p;
	return c;
}

static void
tell(struct chat *c, const char *text)
{
	struct chat_answer a;
	struct tb_err err;

	assert_ok(chat_say(c, text, NULL, NULL, NULL, &a, &err), err);
	assert_string_equal(a.note, "");
	chat_answer_free(&a);
}

static const char *
fresh(const char *name)
{
	char file[64];

	assert_int_equal(mkdir(unit_path(name), 0700), 0);
	snprintf(file, sizeof(file), "%s/index.db", name);
	return unit_path(file);
}

static struct db_chats
kept(const char *index, const char *words, bool trash)
{
	struct db_chats list;
	struct db *db;
	struct tb_err err;

	assert_ok(db_chats_open(&db, index, false, &err), err);
	assert_ok(db_chats_list(db, &(struct db_chats_query){ .words = words, .trash = trash },
				&list, &err), err);
	db_close(db);
	return list;
}

static void
same_path(struct chat *a, struct chat *b)
{
	struct chat_path p, q;
	struct tb_err err;

	assert_ok(chat_path(a, &p, &err), err);
	assert_ok(chat_path(b, &q, &err), err);
	assert_int_equal(p.n, q.n);
	assert_string_equal(p.system, q.system);
	for (size_t i = 0; i < p.n; i++) {
		assert_int_equal(p.turns[i].id, q.turns[i].id);
		assert_int_equal(p.turns[i].place, q.turns[i].place);
		assert_int_equal(p.turns[i].of, q.turns[i].of);
		assert_string_equal(p.turns[i].said.role, q.turns[i].said.role);
		assert_string_equal(p.turns[i].said.content, q.turns[i].said.content);
		assert_string_equal(p.turns[i].model, q.turns[i].model);
		assert_int_equal(!p.turns[i].said.thinking, !q.turns[i].said.thinking);
		assert_int_equal(p.turns[i].finished, q.turns[i].finished);
		assert_int_equal(p.turns[i].figures.tokens, q.turns[i].figures.tokens);
	}
	chat_path_free(&p);
	chat_path_free(&q);
}

/* ---- tests ---- */

static void
finds(const char *index, const char *words, size_t n, const char *snippet)
{
	struct db_chats list = kept(index, words, false);

	assert_int_equal(list.n, n);
	if (snippet)
		assert_non_null(strstr(list.rows[0].snippet, snippet));
	tb_arena_free(&list.mem);
}

/* Nothing is written before something is said; then all of it is there for another. */
static void
test_kept(void **state)
{
	const char *index = fresh("kept");
	struct chat *c = parrot_chat(index, NULL), *d;
	struct chat_opts o = { .sampler = SAMPLER_DEFAULTS, .system = "Be a bird." };
	struct db_chats list = kept(index, NULL, false);
	struct chat_answer a;
	struct tb_err err;
	struct stat st;

	(void)state;
	assert_int_equal(list.n, 0);
	assert_int_not_equal(access(unit_path("kept/chats.db"), F_OK), 0);
	o.sampler.temperature = 0.3f;
	o.sampler.seed = UINT64_MAX - 5;
	assert_ok(chat_configure(c, &o, &err), err);
	tell(c, "\n  What \t is   a *quantised* \x1b[31m model?\nSecond line");
	assert_int_equal(stat(unit_path("kept/chats.db"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(unit_path("kept/chats.db-wal"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	tell(c, "Two");
	assert_ok(chat_again(c, 0, NULL, NULL, NULL, &a, &err), err);
	chat_answer_free(&a);
	assert_int_equal(chat_number(c), 1);
	assert_string_equal(chat_title(c), "What is a *quantised* \x1b[31m model?");
	list = kept(index, NULL, false);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.rows[0].turns, 5);
	assert_string_equal(list.rows[0].model, "parrot");
	assert_string_equal(list.rows[0].ref, "/cage");
	tb_arena_free(&list.mem);

	d = parrot_chat(index, NULL);	/* it is open in c: a copy, when something is said */
	assert_ok(chat_resume(d, 0, &o, &err), err);
	assert_non_null(strstr(chat_notice(d), "open elsewhere"));
	assert_string_equal(o.system, "Be a bird.");
	assert_true(o.sampler.temperature == 0.3f);
	assert_true(o.sampler.seed == UINT64_MAX - 2);
	same_path(c, d);
	assert_int_equal(chat_number(d), 0);
	tell(d, "Three");
	assert_int_equal(chat_number(d), 2);
	chat_free(c);
	c = parrot_chat(index, NULL);
	assert_ok(chat_resume(c, 1, &o, &err), err);
	assert_string_equal(chat_notice(c), "");
	assert_ok(chat_undo(d, NULL, &err), err);
	same_path(c, d);
	chat_free(c);
	list = kept(index, NULL, false);
	assert_int_equal(list.n, 2);
	assert_int_equal(list.rows[0].id, 2);		/* newest first */
	assert_int_equal(list.rows[0].from_chat, 1);
	assert_int_equal(list.rows[0].from_turn, 5);
	tb_arena_free(&list.mem);
	c = parrot_chat(index, NULL);
	assert_fails(chat_resume(c, 9, &o, &err), err, TB_ENOENT, "no session 9");
	chat_free(c);
	chat_free(d);
}

/* What came before it failed is kept as what broke off; what was asked waits if nothing came. */
static void
test_broken_off(void **state)
{
	const char *index = fresh("broken");
	struct parrot *p;
	struct chat *c = parrot_chat(index, &p), *d;
	struct chat_answer a;
	struct chat_opts o;
	struct chat_path path;
	struct tb_err err;

	(void)state;
	p->fails = "the line is cut";
	assert_fails(chat_say(c, "Hello", NULL, NULL, NULL, &a, &err), err, TB_EIO, "line");
	assert_int_equal(a.turn, 2);
	chat_answer_free(&a);
	chat_free(c);
	d = parrot_chat(index, NULL);
	assert_ok(chat_resume(d, 1, &o, &err), err);
	assert_ok(chat_path(d, &path, &err), err);
	assert_int_equal(path.n, 2);
	assert_string_equal(path.turns[1].said.content, "You said ");
	assert_string_equal(path.turns[1].said.thinking, "hm");
	assert_false(path.turns[1].finished);
	chat_path_free(&path);
	assert_ok(chat_again(d, 0, NULL, NULL, NULL, &a, &err), err);
	assert_string_equal(a.gen.text, "You said Hello");
	assert_int_equal(a.turn, 3);
	chat_answer_free(&a);
	chat_free(d);
}

/* Killed while it speaks: what was said until a second ago is there, and can be asked again. */
static void
test_killed(void **state)
{
	const char *index = fresh("killed");
	struct parrot *p;
	struct chat *c;
	struct chat_answer a;
	struct chat_opts o;
	struct chat_path path;
	struct tb_err err;
	int how;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		c = parrot_chat(index, &p);
		tell(c, "One");
		p->dies = true;
		(void)!chat_say(c, "Two", NULL, NULL, NULL, &a, &err);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
	c = parrot_chat(index, NULL);
	assert_ok(chat_resume(c, 1, &o, &err), err);
	assert_string_equal(chat_notice(c), "");	/* nobody holds it any more */
	assert_ok(chat_path(c, &path, &err), err);
	assert_int_equal(path.n, 4);
	assert_string_equal(path.turns[1].said.content, "You said One");
	assert_true(path.turns[1].finished);
	assert_string_equal(path.turns[2].said.content, "Two");
	assert_string_equal(path.turns[3].said.content, "You said hel");
	assert_false(path.turns[3].finished);
	chat_path_free(&path);
	finds(index, "hel", 1, "\1hel\2");
	assert_ok(chat_again(c, 0, NULL, NULL, NULL, &a, &err), err);
	assert_string_equal(a.gen.text, "You said Two");
	assert_int_equal(a.turn, 5);
	chat_answer_free(&a);
	chat_free(c);
}

static void
test_fork_and_rename(void **state)
{
	const char *index = fresh("fork");
	struct chat *c = parrot_chat(index, NULL), *d;
	struct chat_path path;
	struct chat_opts o;
	struct db_chats list;
	struct tb_err err;

	(void)state;
	tell(c, "One");
	tell(c, "Two");
	tell(c, "Three");
	assert_ok(chat_fork(c, 4, &err), err);
	assert_int_equal(chat_number(c), 2);
	assert_ok(chat_path(c, &path, &err), err);
	assert_int_equal(path.n, 4);
	assert_string_equal(path.turns[3].said.content, "You said Two");
	chat_path_free(&path);
	tell(c, "Four");
	assert_ok(chat_rename(c, "My \"fork\"", &err), err);
	tell(c, "Five");
	chat_clear(c);			/* a session of its own comes next */
	tell(c, "Six");
	assert_int_equal(chat_number(c), 3);
	list = kept(index, NULL, false);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.rows[0].title, "Six");
	assert_string_equal(list.rows[1].title, "My \"fork\"");
	assert_int_equal(list.rows[1].from_chat, 1);
	assert_int_equal(list.rows[1].from_turn, 4);
	assert_int_equal(list.rows[2].turns, 6);
	tb_arena_free(&list.mem);
	d = parrot_chat(index, NULL);
	assert_ok(chat_resume(d, 2, &o, &err), err);
	assert_ok(chat_path(d, &path, &err), err);
	assert_int_equal(path.n, 8);
	chat_path_free(&path);
	chat_free(c);
	chat_free(d);
}

/* Words are words, whatever they look like. */
static void
test_search(void **state)
{
	const char *index = fresh("search");
	struct chat *c = parrot_chat(index, NULL);
	struct tb_err err;

	(void)state;
	tell(c, "How do I verify a Größe of blobs?");
	chat_clear(c);
	tell(c, "Weights in int4");
	tell(c, "say \"quoted\" AND NOT (this)");
	finds(index, "verif", 1, "\1verify\2");
	finds(index, "GROSSE", 0, NULL);
	finds(index, "grOsse", 0, NULL);
	finds(index, "Grö", 1, "\1Größe\2");
	finds(index, "gro", 1, NULL);
	finds(index, "int4 weights", 1, NULL);
	finds(index, "int4 blobs", 0, NULL);
	finds(index, "you", 2, NULL);
	finds(index, "\"quoted\" AND", 1, NULL);
	finds(index, "\" OR *", 0, NULL);
	finds(index, "NEAR(", 0, NULL);
	finds(index, "^ -x:y {", 0, NULL);
	finds(index, "  ", 0, NULL);
	assert_ok(chat_rename(c, "Numbers", &err), err);
	finds(index, "numbers", 1, NULL);		/* titles, too */
	chat_free(c);
}

static void
test_trash(void **state)
{
	const char *index = fresh("trash");
	struct chat *c = parrot_chat(index, NULL);
	struct db_chats list;
	struct db *db;
	struct tb_err err;

	(void)state;
	tell(c, "Alpha");
	chat_clear(c);
	tell(c, "Beta");
	chat_free(c);
	assert_ok(db_chats_open(&db, index, true, &err), err);
	assert_ok(db_chats_remove(db, 1, 5, &err), err);
	assert_fails(db_chats_remove(db, 1, 5, &err), err, TB_ENOENT, "no session 1");
	assert_fails(db_chats_remove(db, 2, 0, &err), err, TB_ENOENT, "in the trash");
	finds(index, "alpha", 0, NULL);
	list = kept(index, "alpha", true);
	assert_int_equal(list.n, 1);
	tb_arena_free(&list.mem);
	assert_ok(db_chats_remove(db, 1, 0, &err), err);
	finds(index, "alpha", 1, NULL);
	assert_ok(db_chats_remove(db, 1, 5, &err), err);
	assert_ok(db_chats_empty(db, &list, &err), err);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.rows[0].id, 1);
	tb_arena_free(&list.mem);
	assert_fails(db_chats_remove(db, 1, 0, &err), err, TB_ENOENT, "session 1");
	list = kept(index, "alpha", true);
	assert_int_equal(list.n, 0);
	finds(index, "beta", 1, NULL);
	db_close(db);
}

/* Rows that no chat of ours has: the sane part goes on as a copy. */
static void
test_hostile(void **state)
{
	const char *index = fresh("hostile");
	struct db_chat row = { .title = "\x1b]0;x\a", .model = "m", .ref = "", .settings = "[1,",
			       .weights = "", .leaf = 77, .turns = 1u << 31 };
	struct db_turn turns[] = {
		{ .n = 1, .role = "root", .content = "a", .stop = "?", .figures = "{" },
		{ .n = 2, .parent = 1, .role = "assistant", .content = "b", .stop = "eos",
		  .figures = "{\"tokens\": 1e300, \"decode_seconds\": -1}", .finished = true },
		{ .n = 3, .parent = 3, .role = "user", .content = "own parent", .stop = "",
		  .figures = "" },
		{ .n = 5, .parent = -2, .role = "user", .content = "x", .stop = "", .figures = "" },
		{ .n = INT64_MAX, .parent = 2, .role = "user", .content = "y", .stop = "",
		  .figures = "" },
	};
	struct chat *c = parrot_chat(index, NULL);
	struct chat_opts o;
	struct chat_path path;
	struct db *db;
	struct tb_err err;

	(void)state;
	assert_ok(db_chats_open(&db, index, true, &err), err);
	assert_ok(db_chats_put(db, &row, &err), err);
	for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++)
		assert_ok(db_chats_put_turn(db, row.id, &turns[i], &err), err);
	assert_fails(db_chats_put_turn(db, row.id, &turns[1], &err), err, TB_EEXIST, "another turn");
	db_close(db);
	assert_ok(chat_resume(c, row.id, &o, &err), err);
	assert_non_null(strstr(chat_notice(c), "damaged"));
	assert_ok(chat_path(c, &path, &err), err);
	assert_int_equal(path.n, 0);
	chat_path_free(&path);
	tell(c, "Still here");
	assert_int_equal(chat_number(c), 2);
	chat_free(c);
}

/* A file that is not ours stays as it is, one that is damaged is set aside; the chat goes on. */
static void
test_files(void **state)
{
	const char *index = fresh("files");
	struct chat *c;
	struct chat_answer a;
	struct db *db;
	struct tb_err err;

	(void)state;
	unit_write("files/chats.db", "not a database, but long enough to be looked at: "
		   "0123456789012345678901234567890123456789012345678901234567890123456789", 110);
	c = parrot_chat(index, NULL);
	assert_ok(chat_say(c, "Hello", NULL, NULL, NULL, &a, &err), err);
	assert_non_null(strstr(a.note, "set aside"));
	chat_answer_free(&a);
	assert_int_equal(chat_number(c), 1);
	chat_free(c);
	assert_ok(db_chats_open(&db, index, true, &err), err);
	db_close(db);
	assert_int_equal(unlink(unit_path("files/chats.db")), 0);
	assert_int_equal(mkdir(unit_path("files/chats.db"), 0700), 0);
	c = parrot_chat(index, NULL);
	assert_ok(chat_say(c, "Hello", NULL, NULL, NULL, &a, &err), err);
	assert_non_null(strstr(a.note, "not kept"));
	chat_answer_free(&a);
	assert_ok(chat_say(c, "Again", NULL, NULL, NULL, &a, &err), err);
	assert_string_equal(a.note, "");		/* it was said once */
	chat_answer_free(&a);
	assert_int_equal(rmdir(unit_path("files/chats.db")), 0);
	tell(c, "Now");					/* and all of it is kept in the end */
	assert_int_equal(chat_number(c), 1);
	finds(index, "again", 1, NULL);
	chat_free(c);
}

/* 10,000 turns: written, read and walked in no time that anybody notices. */
static void
test_many(void **state)
{
	const char *index = fresh("many");
	struct db_chat row = { .title = "many", .model = "m", .ref = "", .settings = "{}",
			       .weights = "" };
	struct chat *c = parrot_chat(index, NULL);
	struct chat_opts o;
	struct chat_path path;
	struct db *db;
	struct tb_err err;
	double began = tb_monotonic();
	char text[64];

	(void)state;
	assert_ok(db_chats_open(&db, index, true, &err), err);
	assert_ok(db_chats_begin(db, true, &err), err);
	row.leaf = row.turns = 10000;
	assert_ok(db_chats_put(db, &row, &err), err);
	for (int i = 1; i <= 10000; i++) {
		struct db_turn t = { .n = i, .parent = i - 1, .role = i % 2 ? "user" : "assistant",
				     .content = text, .stop = "eos", .figures = "{}",
				     .finished = true, .model = i % 2 ? NULL : "m" };

		snprintf(text, sizeof(text), "turn number %d", i);
		assert_ok(db_chats_put_turn(db, row.id, &t, &err), err);
	}
	assert_ok(db_chats_end(db, TB_OK, &err), err);
	db_close(db);
	assert_ok(chat_resume(c, row.id, &o, &err), err);
	assert_non_null(strstr(chat_notice(c), "until now m answered"));
	tell(c, "one more");
	for (int i = 0; i < 50; i++) {
		assert_ok(chat_path(c, &path, &err), err);
		assert_int_equal(path.n, 10002);
		chat_path_free(&path);
		assert_ok(chat_undo(c, NULL, &err), err);
		assert_ok(chat_redo(c, &err), err);
	}
	finds(index, "9999", 1, "9999");
	chat_free(c);
	assert_true(tb_monotonic() - began < 10);
}

struct looker {
	struct chat *chat;
	_Atomic bool stop;
	bool seen;
};

static void *
look_on(void *arg)
{
	struct looker *l = arg;

	while (!l->stop)
		l->seen |= chat_number(l->chat) > 0;
	return NULL;
}

/* A screen asks which session it is while an answer is written down. */
static void
test_asked_meanwhile(void **state)
{
	struct looker l = { .chat = parrot_chat(fresh("asked"), NULL) };
	pthread_t thread;
	struct tb_err err;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, look_on, &l), 0);
	tell(l.chat, "hello");
	assert_ok(chat_fork(l.chat, 0, &err), err);
	tell(l.chat, "hello again");
	usleep(1000);
	l.stop = true;
	pthread_join(thread, NULL);
	assert_true(l.seen);
	chat_free(l.chat);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_broken_off),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_fork_and_rename),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_trash),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_asked_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
