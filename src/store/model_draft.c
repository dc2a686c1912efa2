/* model_draft.c - the small model that guesses ahead of another, and comes with it: a GGUF
 * file of its own, or tensors and files among the model's whose names say so. */
#include "config.h"

#include "src/store/model.h"

#include <stdio.h>
#include <string.h>

#define DRAFT_FOLDER "draft/"	/* of its JSON layers */

static bool
has_name(const struct model *m, const char *name)
{
	for (size_t i = 0; i < m->nfiles; i++)
		if (m->files[i].name && !strcmp(m->files[i].name, name))
			return true;
	return false;
}

/* What it has no file of its own for is the model's, but for adapters. */
static void
own_files(struct model *m)
{
	char name[256];
	size_t prefix = strlen(DRAFT_FOLDER);

	for (size_t i = 0; i < m->nfiles; i++) {
		const char *is = m->files[i].name;

		if (m->files[i].media == MEDIA_ADAPTER)
			m->files[i].media = MEDIA_UNKNOWN;
		if (is && !strncmp(is, DRAFT_FOLDER, prefix))
			continue;
		if (is && snprintf(name, sizeof(name), "%s%s", DRAFT_FOLDER, is) < (int)sizeof(name) &&
		    has_name(m, name))
			m->files[i].name = NULL;
	}
	for (size_t i = 0; i < m->nfiles; i++)
		if (m->files[i].name && !strncmp(m->files[i].name, DRAFT_FOLDER, prefix))
			m->files[i].name += prefix;
}

static void
own_tensors(struct model *m)
{
	size_t prefix = strlen(m->draft_prefix), n = 0;

	for (size_t i = 0; i < m->ntensors; i++) {
		struct tensor t = m->tensors[i];

		if (!t.draft || strncmp(t.name, m->draft_prefix, prefix))
			continue;
		t.name += prefix;
		t.draft = false;
		m->tensors[n++] = t;
	}
	m->ntensors = n;
	m->params = m->draft_params;
	m->draft_params = 0;
}

enum tb_status
model_draft(struct model **out, const struct model *m, struct tb_err *err)
{
	struct model_loc loc = m->loc;
	enum tb_status status;

	*out = NULL;
	for (size_t i = 0; i < m->nfiles; i++) {
		if (m->files[i].media != MEDIA_DRAFT || m->files[i].missing)
			continue;
		loc.kind = MODEL_GGUF_FILE;
		loc.path = m->files[i].path;
		return model_open(out, &loc, err);
	}
	if (!m->draft_params || !*m->draft_prefix)
		return tb_fail(err, TB_ENOENT, "%s: has no draft model", loc.name);
	if ((status = model_open(out, &loc, err)))
		return status;
	own_files(*out);
	own_tensors(*out);
	return TB_OK;
}
