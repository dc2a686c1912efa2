#include "config.h"

#include "src/cli/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/format/json.h"
#include "src/ops/vocab/vocab.h"

#define DECODED_MAX (1u << 30)

/* ---- a text ---- */

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

enum cli_exit
cli_vocab_encode(const struct cli *cli, const struct vocab *v, const struct tb_buf *text,
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

enum cli_exit
cli_vocab_search(const struct cli *cli, const struct vocab *v, const char *part)
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

enum cli_exit
cli_vocab_decode(const struct cli *cli, const struct vocab *v, const char *list)
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
