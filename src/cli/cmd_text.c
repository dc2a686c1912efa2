/* cmd_text.c - tbtui tokenize and tbtui template: the parts of a chat, for checking. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/cli/cli.h"
#include "src/cli/vocab.h"
#include "src/format/json.h"
#include "src/ops/model_text/model_text.h"
#include "src/ops/vocab/vocab.h"
#include "src/store/model.h"
#include "src/text/chat_template.h"

#define TEXT_MAX (1u << 30)

COMMAND(cli_tokenize, "tokenize", "REF [TEXT]",
	"a text as token ids (-: standard input), or the vocabulary")
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
		{ 0, "decode", TB_OPT_STR, &decode, "ID,...", "instead the text that ids stand for" },
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
		exit_status = cli_vocab_search(cli, v, search);
	else if (decode)
		exit_status = cli_vocab_decode(cli, v, decode);
	else
		exit_status = cli_vocab_encode(cli, v, &text, !bare, !literal, spans);
	tb_buf_free(&text);
	vocab_free(v);
	model_free(m);
	return exit_status;
}

/* FILE: a list of messages, or an object with "messages" and whatever other
 * variables the template reads. */
static enum tb_status
render(const struct model *m, const char *path, bool finished, struct tb_buf *out,
       struct template_used *used, struct tb_err *err)
{
	struct chat_vars vars = { .add_generation_prompt = !finished, .forgive_no_tools = true };
	struct chat_template *t = NULL;
	char *bos = NULL, *eos = NULL, *text = NULL;
	cJSON *doc = NULL;
	size_t len;
	enum tb_status status = tb_file_slurp(path, TEXT_MAX, &text, &len, err);

	if (!status)
		status = json_parse(&doc, text, len, path, err);
	if (!status)
		status = model_template(m, &t, &bos, &eos, used, err);
	vars.bos_token = bos;
	vars.eos_token = eos;
	vars.conversation = json_is_array(doc) ? doc : json_get(doc, "messages");
	vars.tools = json_get(doc, "tools");
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
	"a conversation (JSON) as the model's template writes it")
{
	bool finished = false;
	const struct tb_opt opts[] = {
		{ 0, "finished", TB_OPT_FLAG, &finished, NULL,
		  "the conversation alone, without the start of an answer" },
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
		status = render(m, argv[2], finished, &text, &used, &err);
	if (!status)
		cli_note(cli, template_note(&used, note));
	exit_status = status ? cli_fail(&err) : template_print(cli, &text);
	tb_buf_free(&text);
	model_free(m);
	return exit_status;
}
