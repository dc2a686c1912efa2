/* command.c - the line behind ":": actions by name, and a few with a word. */
#include "config.h"

#include "ui/loop.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/base/near.h"
#include "src/base/text.h"

static bool
go_to(struct ui *ui, const char *word)
{
	struct pager *p = ui_pager(ui->top);
	uint64_t n;

	if (!tb_parse_u64(word, &n))
		return false;
	if (p)
		pager_goto(p, n ? n - 1 : 0);
	else
		list_goto(&ui->top->list, n ? n - 1 : 0);
	return true;
}

static void
command_run(void *arg, const char *text)
{
	struct ui *ui = arg;
	const struct table *t = view_table(ui->top);
	const struct list *l = &ui->top->list;
	char word[64], hint[128];
	struct tb_near near = { .word = word };
	size_t len;
	enum action a;

	if (!text)
		return;
	text += strspn(text, " ");
	len = strcspn(text, " ");
	if (!len || go_to(ui, text))
		return;
	snprintf(word, sizeof(word), "%.*s", (int)len, text);
	text += len + strspn(text + len, " ");
	if (!strcasecmp(word, "sort") && *text) {
		for (size_t i = 0; t && i < t->ncols; i++)
			if (t->cols[i].sorts && !strcasecmp(t->cols[i].title, text)) {
				ui_sort(ui, (unsigned)i, l->sort == i && !l->reverse);
				return;
			}
		ui_say(ui, ROLE_ERROR, "No column \"%s\" to sort by.", text);
		return;
	}
	if (!strcasecmp(word, "filter") && *text) {
		ui_filter(ui, text);
		return;
	}
	a = keys_by_name(word, ui->top->id);
	if (a != ACT_NONE) {
		ui_act(ui, a);
		return;
	}
	for (a = 1; a < ACT_COUNT; a++)
		if (keys_applies(a, ui->top->id))
			tb_near_try(&near, action_info[a].name);
	tb_near_text(&near, hint, sizeof(hint));
	ui_say(ui, ROLE_ERROR, "No command \"%s\"%s", word,
	       *hint ? hint : "; Tab shows them, ? explains.");
}

/* Completion counts through names, then "sort COLUMN". Static: readline has one. */
static const char *
candidate(void *arg, const char *word, size_t i)
{
	static char line[64];
	const struct ui *ui = arg;
	const struct table *t = view_table(ui->top);
	size_t hit = 0;

	for (enum action a = 1; a < ACT_COUNT; a++) {
		if (!keys_applies(a, ui->top->id) ||
		    strncasecmp(action_info[a].name, word, strlen(word)))
			continue;
		if (hit++ == i) {
			snprintf(line, sizeof(line), "%s", action_info[a].name);
			line[0] |= 0x20;
			return line;
		}
	}
	for (size_t c = 0; t && c < t->ncols; c++) {
		snprintf(line, sizeof(line), "sort %s", t->cols[c].title);
		if (strlen(word) > 4 && t->cols[c].sorts &&
		    !strncasecmp(line, word, strlen(word)) && hit++ == i)
			return line;
	}
	return NULL;
}

void
command_prompt(struct ui *ui)
{
	struct prompt_spec spec = {
		.label = ":", .history = "command", .done = command_run,
		.complete = candidate, .arg = ui,
	};

	prompt_open(&spec);
}
