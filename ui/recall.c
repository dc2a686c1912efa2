#include "config.h"

#include "ui/recall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/history.h>

#include "src/base/mem.h"

#define HISTORIES 8

static struct { const char *name; HISTORY_STATE *state; } histories[HISTORIES];
static HISTORY_STATE empty;

void
recall_load(const char *name)
{
	for (size_t i = 0; i < HISTORIES; i++)
		if (name && histories[i].name && !strcmp(histories[i].name, name)) {
			history_set_history_state(histories[i].state);
			using_history();
			return;
		}
	history_set_history_state(&empty);
	using_history();
}

void
recall_save(const char *name)
{
	size_t i = 0;

	if (!name)
		return;
	while (i < HISTORIES && histories[i].name && strcmp(histories[i].name, name))
		i++;
	if (i == HISTORIES)
		return;
	free(histories[i].state);
	histories[i].name = name;
	histories[i].state = history_get_history_state();
}

void
recall_put(const char *text)
{
	if (*text && strlen(text) <= RECALL_MAX && (!history_length ||
	    strcmp(history_get(history_base + history_length - 1)->line, text)))
		add_history(text);
}

void
recall_older(char *const *lines, size_t n)
{
	size_t newer = (size_t)history_length;
	char **kept = tb_calloc(newer + 1, sizeof(*kept));

	if (!kept)
		return;
	for (size_t i = 0; i < newer; i++)
		kept[i] = tb_strdup(history_get(history_base + (int)i)->line);
	clear_history();
	for (size_t i = 0; i < n; i++)
		recall_put(lines[i]);
	for (size_t i = 0; i < newer; i++) {
		if (kept[i])
			recall_put(kept[i]);
		free(kept[i]);
	}
	free(kept);
}

void
recall_free(void)
{
	for (size_t i = 0; i < HISTORIES; i++) {
		if (!histories[i].name)
			continue;
		history_set_history_state(histories[i].state);
		clear_history();
		free(history_list());	/* the array, which readline would keep */
		history_set_history_state(&empty);
		free(histories[i].state);
		histories[i].name = NULL;
	}
}
