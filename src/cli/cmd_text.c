/* cmd_text.c - tbtui tokenize and tbtui template: the parts of a chat, for checking. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/run_model.h"
#include "src/format/json.h"
#include "src/ops/model_text/model_text.h"
#include "src/ops/vocab/vocab.h"
#include "src/store/model.h"
#include "src/text/chat_template.h"

#define TEXT_MAX (1u << 30)
#define DECODED_MAX (1u << 30)

static enum cli_exit
spans_json(const struct vocab *v, const struct vocab_span *s, size_t n, bool places)
{
	cJSON *doc = json_object(), *ids = json_array(), *pieces = json_array();
	cJSON *ranges = places ? json_array() : NULL;
	struct vocab_row row;

	for (size_t i = 0; i < n; i++) {
		vocab_row(v, s[i].id, &row);
		json_push_u64(ids, s[i].id);
		json_push_str(pieces, row.piece);
		if (places) {
			cJSON *range = json_array();

			json_push_u64(range, s[i].off);
			json_push_u64(range, s[i].len);
			json_push(ranges, range);
		}
	}
	json_set(doc, "ids", ids);
	json_set(doc, "pieces", pieces);
	if (places)
		json_set(doc, "spans", ranges);
	return cli_print_json(doc);
}

static enum cli_exit
text_encode(const struct cli *cli, const struct vocab *v, const struct tb_buf *text,
	    bool add_special, bool parse_special, bool places)
{
	struct vocab_span *s;
	struct vocab_row row;
	struct tb_err err;
	enum cli_exit exit_status = CLI_OK;
	size_t n;

	cli_note(cli, vocab_info(v).note);
	if (vocab_encode(v, tb_buf_cstr(text), text->len, add_special, parse_special, &s, &n, &err))
		return cli_fail(&err);
	if (cli->json)
		exit_status = spans_json(v, s, n, places);
	for (size_t i = 0; i < n && !cli->json; i++) {
		vocab_row(v, s[i].id, &row);
		if (places && s[i].len)
			cli_line("%8u  %8zu %4zu  %s", s[i].id, s[i].off, s[i].len, row.piece);
		else
			cli_line("%8u  %s%s", s[i].id, places ? "       -    -  " : "", row.piece);
	}
	free(s);
	return exit_status;
}

/* ---- the vocabulary ---- */

static cJSON *
token_json(const struct vocab_row *row)
{
	cJSON *o = json_object();

	json_set_u64(o, "id", row->id);
	json_set_str(o, "piece", row->piece);
	json_set_str(o, "text", tb_utf8_valid(row->text, row->text_len) ? row->text : NULL);
	json_set_str(o, "type", token_type_name(row->type));
	json_set_bool(o, "ends", row->ends);
	if (row->has_score)
		json_set_f64(o, "score", (double)row->score);
	return o;
}

static enum cli_exit
text_search(const struct cli *cli, const struct vocab *v, const char *part)
{
	struct vocab_info info = vocab_info(v);
	enum cli_exit exit_status = CLI_OK;
	cJSON *doc, *rows;
	struct vocab_row row;
	struct tb_err err;
	char score[32];
	uint32_t *ids;
	size_t n;

	cli_note(cli, vocab_info(v).note);
	if (vocab_search(v, part, &ids, &n, &err))
		return cli_fail(&err);
	doc = cli->json ? json_object() : NULL;
	rows = cli->json ? json_array() : NULL;
	for (size_t i = 0; i < n; i++) {
		vocab_row(v, ids[i], &row);
		if (cli->json) {
			json_push(rows, token_json(&row));
			continue;
		}
		snprintf(score, sizeof(score), "%12.6g  ", (double)row.score);
		cli_line("%8u  %-12s %-4s %s%s", row.id, token_type_name(row.type),
			 row.ends ? "ends" : "", row.has_score ? score : "", row.piece);
	}
	if (cli->json) {
		json_set_str(doc, "source", info.source);
		json_set_str(doc, "kind", info.kind);
		json_set_u64(doc, "size", info.size);
		json_set(doc, "tokens", rows);
		exit_status = cli_print_json(doc);
	}
	free(ids);
	return exit_status;
}

static enum tb_status
parse_ids(const char *list, struct token_ids *ids, struct tb_err *err)
{
	char *copy = tb_strdup(list), *rest = copy, *one;
	enum tb_status status = copy ? TB_OK : tb_nomem(err);
	uint64_t id;

	while (!status && (one = strsep(&rest, ", "))) {
		if (!*one)
			continue;
		if (!tb_parse_u64(one, &id) || id > UINT32_MAX)
			status = tb_fail(err, TB_EUSAGE, "--decode: \"%.40s\" is no id", one);
		else if (!tb_grow(&ids->v, &ids->cap, ids->n + 1, sizeof(*ids->v)))
			status = tb_nomem(err);
		else
			ids->v[ids->n++] = (uint32_t)id;
	}
	free(copy);
	return status;
}

static enum cli_exit
text_decode(const struct cli *cli, const struct vocab *v, const char *list)
{
	struct tb_buf text = TB_BUF(DECODED_MAX), clean = TB_BUF(3ul * DECODED_MAX);
	enum cli_exit exit_status = CLI_OK;
	struct token_ids ids = { 0 };
	struct tb_err err;
	cJSON *doc;

	if (parse_ids(list, &ids, &err) || vocab_decode(v, ids.v, ids.n, &text, &err)) {
		exit_status = cli_fail(&err);
	} else {
		if (cli->json) {
			tb_text_clean_lines(&clean, tb_buf_cstr(&text), text.len);
			doc = json_object();
			json_set_buf(doc, "text", &clean);
			exit_status = cli_print_json(doc);
		} else {
			cli_put_lines(tb_buf_cstr(&text), text.len);
			putchar('\n');
		}
	}
	free(ids.v);
	tb_buf_free(&text);
	tb_buf_free(&clean);
	return exit_status;
}

COMMAND(cli_tokenize, "tokenize", "REF [TEXT]",
	"split a text (-: standard input) into tokens, or list them all")
{
	bool bare = false, literal = false, spans = false;
	const char *search = NULL, *decode = NULL;
	const struct tb_opt opts[] = {
		{ 0, "bare", TB_OPT_FLAG, &bare, NULL,
		  "without the tokens that begin and end a text" },
		{ 0, "literal", TB_OPT_FLAG, &literal, NULL,
		  "special tokens that TEXT spells out are text" },
		{ 0, "spans", TB_OPT_FLAG, &spans, NULL, "with the bytes of TEXT each came from" },
		{ 0, "search", TB_OPT_STR, &search, "PART",
		  "instead the tokens of the vocabulary that hold PART (\"\": all)" },
		{ 0, "decode", TB_OPT_STR, &decode, "ID,...", "instead print the "
		  "text of these token ids" },
		{ .name = NULL }
	};
	struct model *m = NULL;
	struct vocab *v = NULL;
	struct tb_buf text = TB_BUF(TEXT_MAX);
	enum cli_exit exit_status;
	enum tb_status status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 1, 2, &exit_status))
		return exit_status;
	if ((argc == 3) + (search != NULL) + (decode != NULL) != 1)
		return cli_usage("tokenize: one of TEXT, --search and --decode is needed");
	status = cli_model(cli, argv[1], &m, &err);
	if (!status)
		status = vocab_open(&v, m, &err);
	if (!status && argc == 3)
		status = cli_read_text(argv[2], &text, &err);
	if (status)
		exit_status = cli_fail(&err);
	else if (search)
		exit_status = text_search(cli, v, search);
	else if (decode)
		exit_status = text_decode(cli, v, decode);
	else
		exit_status = text_encode(cli, v, &text, !bare, !literal, spans);
	tb_buf_free(&text);
	vocab_free(v);
	model_free(m);
	return exit_status;
}

/* FILE: a list of messages, or an object with "messages", "tools", "think" (true, false or a
 * level) and whatever other variables a template in Jinja reads. */
static enum tb_status
render(const struct cli *cli, const struct model *m, const char *path, bool finished,
       struct tb_buf *out, struct template_used *used, struct tb_err *err)
{
	struct chat_vars vars = { .add_generation_prompt = !finished, .forgive_no_tools = true };
	struct chat_template *t = NULL;
	char *bos = NULL, *eos = NULL, *text = NULL;
	cJSON *doc = NULL;
	size_t len;
	bool think;
	enum tb_status status = tb_file_slurp(path, TEXT_MAX, &text, &len, err);

	if (!status)
		status = json_parse(&doc, text, len, path, err);
	if (!status)
		status = model_template(m, cli->template_file, &t, &bos, &eos, used, err);
	vars.bos_token = bos;
	vars.eos_token = eos;
	vars.conversation = json_is_array(doc) ? doc : json_get(doc, "messages");
	vars.tools = json_get(doc, "tools");
	if (json_is_null(vars.tools))
		vars.tools = NULL;
	if (json_bool(json_get(doc, "think"), &think))
		vars.think = think ? CHAT_THINK_ON : CHAT_THINK_OFF;
	vars.think_level = json_str(json_get(doc, "think"));
	vars.extra = json_is_object(doc) ? doc : NULL;
	if (!status && !json_is_array(vars.conversation))
		status = tb_fail(err, TB_EFORMAT, "%s: no list of messages", path);
	if (!status)
		status = chat_template_render(t, &vars, out, err);
	chat_template_free(t);
	json_free(doc);
	free(text);
	free(bos);
	free(eos);
	return status;
}

/* Byte for byte into a file or pipe; a terminal gets it cleaned. */
static enum cli_exit
template_print(const struct cli *cli, const struct tb_buf *text)
{
	cJSON *doc;

	if (cli->json) {
		doc = json_object();
		json_set_buf(doc, "text", text);
		return cli_print_json(doc);
	}
	if (isatty(STDOUT_FILENO)) {
		cli_put_lines(tb_buf_cstr(text), text->len);
		putchar('\n');
	} else {
		cli_put_buf(text);
	}
	return CLI_OK;
}

COMMAND(cli_template, "template", "REF FILE",
	"render a conversation (JSON) with a model's chat template")
{
	bool finished = false;
	const struct tb_opt opts[] = {
		{ 0, "finished", TB_OPT_FLAG, &finished, NULL,
		  "the conversation alone, without the start of an answer (Jinja)" },
		RUN_TEMPLATE_OPTION(cli),
		{ .name = NULL }
	};
	struct tb_buf text = TB_BUF(TEXT_MAX);
	struct template_used used;
	char note[TEMPLATE_NOTE_MAX];
	struct model *m = NULL;
	enum cli_exit exit_status;
	enum tb_status status;
	struct tb_err err;

	if (!cli_parse(cli, opts, &argc, argv, 2, 2, &exit_status))
		return exit_status;
	status = cli_model(cli, argv[1], &m, &err);
	if (!status)
		status = render(cli, m, argv[2], finished, &text, &used, &err);
	if (!status)
		cli_note(cli, template_said(&used, note));
	exit_status = status ? cli_fail(&err) : template_print(cli, &text);
	tb_buf_free(&text);
	model_free(m);
	return exit_status;
}
