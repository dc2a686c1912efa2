/* cmd_sessions.c - "tbtui sessions": the conversations that are kept. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/chats.h"
#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/table.h"
#include "src/face/talk.h"
#include "src/face/words.h"
#include "src/format/json.h"
#include "src/ops/home/home.h"

#define EXPORT_MAX (1u << 30)

struct sessions {
	const struct cli *cli;
	const char *index;		/* path of the index, which they lie beside */
	struct db *db;
	bool trash;
	const char *as;			/* of --as; NULL: Markdown */
};

/* ---- lists ---- */

static cJSON *
session_json(const struct db_chat *c)
{
	cJSON *o = json_object();
	char when[32];

	json_set_i64(o, "session", c->id);
	json_set_str(o, "title", c->title);
	json_set_str(o, "model", c->model);
	json_set_str(o, "ref", c->ref);
	json_set_u64(o, "turns", c->turns);
	json_set_str(o, "created", tb_time_rfc3339(c->created_ns, when));
	json_set_str(o, "updated", tb_time_rfc3339(c->updated_ns, when));
	json_set_str(o, "removed", c->removed_ns ? tb_time_rfc3339(c->removed_ns, when) : NULL);
	if (c->from_chat)
		json_set_i64(o, "copy_of", c->from_chat);
	return o;
}

/* The words that were searched for, as on every terminal. */
static char *
plain_snippet(const char *snippet)
{
	char *plain = tb_strdup(snippet), *to = plain;

	for (const char *p = snippet; plain && *p; p++)
		if (*p != 1 && *p != 2)
			*to++ = *p;
	if (plain)
		*to = 0;
	return plain;
}

static enum cli_exit
print_json(const struct db_chats *list, bool searched)
{
	cJSON *doc = json_object(), *rows = json_array();

	for (size_t i = 0; i < list->n; i++) {
		cJSON *o = session_json(&list->rows[i]);

		if (searched) {
			char *plain = plain_snippet(list->rows[i].snippet);

			json_set_i64(o, "turn", list->rows[i].hit);
			json_set_str(o, "snippet", plain);
			free(plain);
		}
		json_push(rows, o);
	}
	json_set(doc, "sessions", rows);
	return cli_print_json(doc);
}

static enum cli_exit
print_list(const struct sessions *s, const struct db_chats *list, bool searched)
{
	struct cli_table t = { .align = "rlrmm", .drop = "02130", .wide = s->cli->wide };
	char age[WORD_MAX];

	if (s->cli->json)
		return print_json(list, searched);
	cli_cells(&t, "N", "WHEN", "TURNS", "MODEL", searched ? "WHERE" : "TITLE", NULL);
	for (size_t i = 0; i < list->n; i++) {
		const struct db_chat *c = &list->rows[i];
		char *plain = plain_snippet(c->snippet);

		cli_cellf(&t, "%lld", (long long)c->id);
		cli_cell(&t, word_age(c->updated_ns, age));
		cli_cell_u64(&t, c->turns);
		cli_cell(&t, c->model);
		if (searched && c->hit && plain)
			cli_cellf(&t, "%s: %s", c->title, plain);
		else
			cli_cell(&t, c->title);
		free(plain);
	}
	return cli_table_end(&t) ? CLI_OK : CLI_FAILED;
}

static enum cli_exit
sessions_list(struct sessions *s, const char *words)
{
	const struct db_chats_query q = { .words = words, .trash = s->trash };
	struct db_chats list;
	struct tb_err err;
	enum cli_exit status;

	if (db_chats_list(s->db, &q, &list, &err))
		return cli_fail(&err);
	if (list.n || s->cli->json)
		status = print_list(s, &list, words != NULL);
	else
		status = (cli_note(s->cli, words ? "nobody said that in a kept session"
				   : s->trash ? "the trash is empty" : "no session was kept yet"), CLI_OK);
	if (words && !list.n && status == CLI_OK)
		status = CLI_WRONG;
	tb_arena_free(&list.mem);
	return status;
}

static enum cli_exit
do_list(struct sessions *s, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return sessions_list(s, NULL);
}

static enum cli_exit
do_search(struct sessions *s, int argc, char **argv)
{
	struct tb_buf words = TB_BUF(65536);
	struct tb_err err;
	enum cli_exit status;

	for (int i = 0; i < argc; i++)
		tb_buf_printf(&words, "%s%s", i ? " " : "", argv[i]);
	status = tb_buf_status(&words, "the words", &err) ? cli_fail(&err)
							  : sessions_list(s, tb_buf_cstr(&words));
	tb_buf_free(&words);
	return status;
}

/* ---- one of them ---- */

/* "last" or a number. */
static enum tb_status
session_number(struct sessions *s, const char *arg, int64_t *n, struct tb_err *err)
{
	enum tb_status status = talk_session(arg, n, err);

	if (!status && !*n)
		status = db_chats_last(s->db, n, err);
	return !status && *n <= 0 ? tb_fail(err, TB_ENOENT, "no session was kept yet") : status;
}

static enum tb_status
export_to(struct sessions *s, const char *arg, enum chat_format as, struct tb_buf *out,
	  struct tb_err *err)
{
	struct db_chats chat = { 0 };
	struct db_turns turns = { 0 };
	int64_t n;
	enum tb_status status = session_number(s, arg, &n, err);

	if (!status)
		status = db_chats_get(s->db, n, &chat, err);
	if (!status && !chat.n)
		status = tb_fail(err, TB_ENOENT, "there is no session %lld; \"tbtui sessions\" lists "
				 "them", (long long)n);
	if (!status)
		status = db_chats_turns(s->db, n, &turns, err);
	if (!status) {
		chat_export(&chat.rows[0], &turns, as, out);
		status = tb_buf_status(out, "the session", err);
	}
	tb_arena_free(&chat.mem);
	tb_arena_free(&turns.mem);
	return status;
}

/* For a terminal; export has the bytes. */
static enum cli_exit
do_show(struct sessions *s, int argc, char **argv)
{
	struct tb_buf text = TB_BUF(EXPORT_MAX);
	struct tb_err err;
	enum tb_status status;

	(void)argc;
	status = export_to(s, argv[0], s->cli->json ? CHAT_JSON : CHAT_MARKDOWN, &text, &err);
	if (!status && s->cli->json)
		cli_put_buf(&text);
	else if (!status)
		cli_put_lines(tb_buf_cstr(&text), text.len);
	tb_buf_free(&text);
	return status ? cli_fail(&err) : CLI_OK;
}

static enum cli_exit
do_export(struct sessions *s, int argc, char **argv)
{
	struct tb_buf text = TB_BUF(EXPORT_MAX);
	bool json = s->cli->json || (s->as && !strcmp(s->as, "json"));
	struct tb_err err;
	enum tb_status status;

	(void)argc;
	if (s->as && strcmp(s->as, "json") && strcmp(s->as, "md"))
		return cli_usage("--as md or --as json, not \"%.100s\"", s->as);
	status = export_to(s, argv[0], json ? CHAT_JSON : CHAT_MARKDOWN, &text, &err);
	if (!status && isatty(STDOUT_FILENO))	/* what is said there is obeyed by nobody */
		cli_put_lines(tb_buf_cstr(&text), text.len);
	else if (!status)
		cli_put_buf(&text);
	tb_buf_free(&text);
	return status ? cli_fail(&err) : CLI_OK;
}

/* What is done to it, said or as an object. */
static enum cli_exit
done(struct sessions *s, enum tb_status status, int64_t n, const char *what, struct tb_err *err)
{
	cJSON *o;

	if (status)
		return cli_fail(err);
	if (s->cli->json) {
		o = json_object();
		json_set_i64(o, "session", n);
		return cli_print_json(o);
	}
	if (!s->cli->quiet)
		cli_line("session %lld: %s", (long long)n, what);
	return CLI_OK;
}

static enum cli_exit
do_rename(struct sessions *s, int argc, char **argv)
{
	struct tb_buf title = TB_BUF(4096);
	struct tb_err err;
	int64_t n;
	enum tb_status status = session_number(s, argv[0], &n, &err);

	for (int i = 1; i < argc; i++)
		tb_buf_printf(&title, "%s%s", i > 1 ? " " : "", argv[i]);
	if (!status)
		status = tb_buf_status(&title, "the title", &err);
	if (!status)
		status = db_chats_rename(s->db, n, tb_buf_cstr(&title), &err);
	tb_buf_free(&title);
	return done(s, status, n, "renamed", &err);
}

static enum cli_exit
do_rm(struct sessions *s, int argc, char **argv)
{
	struct tb_err err;
	int64_t n;
	enum tb_status status = session_number(s, argv[0], &n, &err);

	(void)argc;
	if (!status)
		status = db_chats_remove(s->db, n, tb_now_ns(), &err);
	return done(s, status, n, "in the trash; \"tbtui sessions restore N\" takes it back", &err);
}

static enum cli_exit
do_restore(struct sessions *s, int argc, char **argv)
{
	struct tb_err err;
	int64_t n;
	enum tb_status status = session_number(s, argv[0], &n, &err);

	(void)argc;
	if (!status)
		status = db_chats_remove(s->db, n, 0, &err);
	return done(s, status, n, "back from the trash", &err);
}

static enum cli_exit
do_empty(struct sessions *s, int argc, char **argv)
{
	struct db_chats list;
	struct tb_err err;
	char question[96];
	size_t n = 0;
	bool yes = false;
	enum tb_status status;

	(void)argc;
	(void)argv;
	if (db_chats_list(s->db, &(struct db_chats_query){ .trash = true }, &list, &err))
		return cli_fail(&err);
	snprintf(question, sizeof(question), "Delete %zu session%s for good?", list.n,
		 tb_plural(list.n));
	status = list.n ? cli_confirm(s->cli, question, &yes, &err) : TB_OK;
	if (!status && list.n && !yes)
		status = tb_fail(&err, TB_EUSAGE, "left as it is");
	if (!status && yes)
		status = chat_empty_trash(s->index, &n, &err);
	tb_arena_free(&list.mem);
	if (status)
		return cli_fail(&err);
	if (s->cli->json) {
		cJSON *o = json_object();

		json_set_u64(o, "deleted", n);
		return cli_print_json(o);
	}
	cli_line("%zu session%s deleted", n, tb_plural(n));
	return CLI_OK;
}

static enum tb_status
read_session(const char *path, struct tb_buf *out, struct tb_err *err)
{
	size_t len;
	char *text;
	enum tb_status status;

	if (!strcmp(path, "-"))
		return cli_read_text(path, out, err);
	if ((status = tb_file_slurp(path, EXPORT_MAX, &text, &len, err)))
		return status;
	tb_buf_add(out, text, len);
	free(text);
	return tb_buf_status(out, path, err);
}

static enum cli_exit
do_import(struct sessions *s, int argc, char **argv)
{
	struct tb_buf text = TB_BUF(EXPORT_MAX);
	struct tb_err err;
	int64_t n = 0;
	enum tb_status status = read_session(argv[0], &text, &err);

	(void)argc;
	if (!status)
		status = chat_import(s->index, tb_buf_cstr(&text), text.len, &n, &err);
	tb_buf_free(&text);
	return done(s, status, n, "imported", &err);
}

static const struct {
	const char *name;
	int min, max;			/* operands */
	bool writes;
	enum cli_exit (*run)(struct sessions *s, int argc, char **argv);
} verbs[] = {
	{ "list", 0, 0, false, do_list }, { "show", 1, 1, false, do_show },
	{ "search", 1, 99, false, do_search }, { "export", 1, 1, false, do_export },
	{ "import", 1, 1, true, do_import }, { "rename", 2, 99, true, do_rename },
	{ "rm", 1, 1, true, do_rm }, { "restore", 1, 1, true, do_restore },
	{ "empty", 0, 0, true, do_empty },
};
#define VERBS (sizeof(verbs) / sizeof(*verbs))

static enum cli_exit
run_verb(struct sessions *s, size_t verb, int argc, char **argv)
{
	struct op_ctx ctx;
	struct tb_err err;
	enum cli_exit status;

	if (cli_ctx(s->cli, &ctx, &err))
		return cli_fail(&err);
	s->index = ctx.db_path;
	if (db_chats_open(&s->db, ctx.db_path, verbs[verb].writes, &err)) {
		status = cli_fail(&err);
	} else {
		cli_note(s->cli, db_notice(s->db));
		status = verbs[verb].run(s, argc, argv);
	}
	db_close(s->db);
	op_ctx_free(&ctx);
	return status;
}

COMMAND(cli_sessions, "sessions",
	"[list|show N|search WORD...|export N|import FILE|rename N TITLE|rm N|restore N|empty]",
	"list, search, export and restore kept conversations")
{
	struct sessions s = { .cli = cli };
	const struct tb_opt opts[] = {
		{ 0, "trash", TB_OPT_FLAG, &s.trash, NULL, "with list and search: those that were removed" },
		{ 0, "as", TB_OPT_STR, &s.as, "md|json", "with export: the form (md)" },
		{ .name = NULL }
	};
	enum cli_exit status;
	const char *word;
	size_t verb = 0;

	if (!cli_parse(cli, opts, &argc, argv, 0, -1, &status))
		return status;
	word = argc > 1 ? argv[1] : "list";
	while (verb < VERBS && strcmp(verbs[verb].name, word))
		verb++;
	if (verb == VERBS)
		return cli_usage("sessions: no \"%.100s\" here; list, show, search, export, import, rename, "
				 "rm, restore or empty", word);
	argc = argc > 2 ? argc - 2 : 0;
	argv += 2;
	if (argc < verbs[verb].min || argc > verbs[verb].max)
		return cli_usage("sessions %s: %s", word, argc < verbs[verb].min ? "which one?"
				 : "that is one operand too many");
	return run_verb(&s, verb, argc, argv);
}
