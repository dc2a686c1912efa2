/* talk_format.c - what answers have to look like. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/face/talk_rows.h"
#include "src/text/grammar.h"

enum tb_status
talk_run_format(struct talk_call *c, struct tb_job *job, struct tb_err *err)
{
	struct chat *chat = c->talk->chat;
	const char *is = chat_constrained(chat);
	struct grammar *g = NULL;
	char *path;
	bool json = !strcmp(c->rest, "json");
	enum tb_status status = TB_OK;

	(void)job;
	if (!*c->rest) {
		tb_buf_printf(&c->say, is ? "Answers are held to %s; /format off ends that."
					  : "Answers are free text.", is);
		return TB_OK;
	}
	if (strcmp(c->rest, "off")) {
		if (!(path = talk_path(c->rest)))
			return tb_nomem(err);
		status = grammar_read(&g, json ? "json" : path, err);
		free(path);
	}
	if (!status)
		status = chat_constrain(chat, g, c->rest, err);
	if (!status && g)
		tb_buf_printf(&c->say, "Answers are held to %s from now on.", json ? "JSON" : c->rest);
	else if (!status)
		tb_buf_str(&c->say, "Answers are free text from now on.");
	return status;
}

void
talk_set_format(struct talk_call *c)
{
	static char off[] = "off";
	size_t row = 0;
	bool none = !strcmp(c->rest, "noformat");

	if (!none && (strncmp(c->rest, "format", 6) || (c->rest[6] && c->rest[6] != ' ')))
		return;
	c->rest = none ? off : c->rest + 6 + strspn(c->rest + 6, " ");
	while (talk_rows[row].run != talk_run_format)
		row++;
	c->row = &talk_rows[row];
}
