/* bom_licence.c - under which licences a model says it is: names in its metadata, texts
 * beside it.  An identifier of SPDX is given only where one is meant, else the name as it is. */
#include "config.h"

#include "src/ops/bom/bom_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/hub.h"

#define NAME_MAX_COLS 120
#define TEXT_MAX_BYTES (1u << 20)
#define LINE_BYTES 1000

/* Those that models are under, as SPDX writes them. */
static const char *const spdx[] = {
	"AFL-3.0", "AGPL-3.0", "AGPL-3.0-only", "AGPL-3.0-or-later", "Apache-2.0", "Artistic-2.0",
	"BSD-2-Clause", "BSD-3-Clause", "BSD-3-Clause-Clear", "BSL-1.0", "C-UDA-1.0", "CC-BY-2.0",
	"CC-BY-2.5", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-2.0", "CC-BY-NC-3.0", "CC-BY-NC-4.0",
	"CC-BY-NC-ND-3.0", "CC-BY-NC-ND-4.0", "CC-BY-NC-SA-2.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0",
	"CC-BY-ND-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "CDLA-Permissive-1.0",
	"CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "ECL-2.0", "EPL-1.0", "EPL-2.0", "EUPL-1.1",
	"EUPL-1.2", "GPL-2.0", "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0", "GPL-3.0-only",
	"GPL-3.0-or-later", "ISC", "LGPL-2.1", "LGPL-3.0", "LGPL-3.0-only", "LPPL-1.3c", "MIT",
	"MIT-0", "MPL-2.0", "MS-PL", "NCSA", "ODbL-1.0", "OFL-1.1", "OSL-3.0", "PDDL-1.0",
	"PostgreSQL", "Unlicense", "WTFPL", "Zlib",
};

struct licence { char *name, *text; };	/* owned; either may be NULL */

/* Ids of SPDX are equal in any case; NULL: it is none of those. */
static const char *
spdx_id(const char *name)
{
	for (size_t i = 0; name && i < sizeof(spdx) / sizeof(*spdx); i++)
		if (!strcasecmp(spdx[i], name))
			return spdx[i];
	return NULL;
}

/* By how it begins, where that can be no other. */
static const char *
id_of_text(const char *text)
{
	char begin[800];

	snprintf(begin, sizeof(begin), "%s", text);
	if (strstr(begin, "Apache License") && strstr(begin, "Version 2.0, January 2004"))
		return "Apache-2.0";
	if (strstr(begin, "MIT License") && strstr(begin, "Permission is hereby granted, free of charge"))
		return "MIT";
	begin[strcspn(begin, " \t\r\n")] = 0;		/* nothing but the name? */
	return strlen(begin) + 2 >= strlen(text) ? spdx_id(begin) : NULL;
}

/* The first line that says something. */
static char *
title_of(const char *text)
{
	struct tb_buf line = TB_BUF(4096), clean = TB_BUF(4096);
	char *out = NULL;
	size_t len;

	text += strspn(text, " \t\r\n#*=-");
	len = strcspn(text, "\r\n");
	tb_buf_add(&line, text, len < LINE_BYTES ? len : LINE_BYTES);
	tb_text_clip(&clean, tb_buf_cstr(&line), NAME_MAX_COLS, false);
	if (!tb_buf_failed(&line) && !tb_buf_failed(&clean))
		out = tb_strdup(clean.len ? tb_buf_cstr(&clean) : "licence without a name");
	tb_buf_free(&line);
	tb_buf_free(&clean);
	return out;
}

/* Adds one of them to the document. */
static bool
put_licence(cJSON *list, const struct licence *l)
{
	cJSON *o, *inner, *text;
	const char *id = spdx_id(l->name);
	char *title = NULL;

	if (!id && l->text && !l->name)
		id = id_of_text(l->text);
	if (!id && !l->name && !(title = title_of(l->text)))
		return false;
	o = json_object();
	inner = json_object();
	json_set_str(inner, id ? "id" : "name", id ? id : l->name ? l->name : title);
	json_set_str(inner, "acknowledgement", "declared");
	if (l->text) {
		text = json_object();
		json_set_str(text, "contentType", "text/plain");
		json_set_str(text, "content", l->text);
		json_set(inner, "text", text);
	}
	json_set(o, "license", inner);
	json_push(list, o);
	free(title);
	return true;
}

/* "license: apache-2.0" at the beginning of README.md, between two lines "---". */
static char *
front_matter(const char *readme, const char *key)
{
	size_t n = strlen(key);

	if (!tb_starts(readme, "---"))
		return NULL;
	for (const char *s = strchr(readme, '\n'); s && !tb_starts(s + 1, "---"); s = strchr(s + 1, '\n')) {
		const char *value = s + 1 + n;
		size_t len;

		if (!tb_starts(s + 1, key) || *value != ':')
			continue;
		value += 1 + strspn(value + 1, " \t\"'");
		for (len = strcspn(value, "\r\n#\"'"); len && strchr(" \t", value[len - 1]); len--)
			;
		return len && len < 200 ? tb_strndup(value, len) : NULL;
	}
	return NULL;
}

/* A text in the model's folder, which need not be one of its files; a link is followed no
 * farther than its repository.  *out is the caller's to free; NULL: there is none. */
static enum tb_status
text_beside(const struct model *m, const char *name, char **out, struct tb_err *err)
{
	enum hub_link link = HUB_OUTSIDE;
	char *path, *blob = NULL;
	size_t len;
	enum tb_status status = model_read(m, name, TEXT_MAX_BYTES, out, &len, err);

	if (status == TB_ENOENT && kind_is_folder(m->loc.kind)) {
		path = tb_path_join(m->loc.path, name);
		status = path ? hub_follow(path, &link, &blob, err) : tb_nomem(err);
		if (!status && link != HUB_OUTSIDE)
			status = tb_file_slurp(path, TEXT_MAX_BYTES, out, &len, err);
		free(path);
		free(blob);
	}
	if (!status && *out && !tb_utf8_valid(*out, len)) {
		free(*out);
		*out = NULL;
	}
	return status == TB_ENOENT ? TB_OK : status;
}

/* What the model's metadata call it: an id of SPDX, or a name. */
static enum tb_status
declared_name(const struct model *m, char **out, struct tb_err *err)
{
	static const char *const keys[] = { "general.license", "general.license.name" };
	char *readme = NULL;
	enum tb_status status = TB_OK;

	*out = NULL;
	for (size_t i = 0; !status && !*out && i < 2; i++)
		status = bom_key(m, keys[i], out, err);
	if (status || *out)
		return status;
	status = text_beside(m, "README.md", &readme, err);
	if (!status && readme) {
		char *named = front_matter(readme, "license_name");

		*out = front_matter(readme, "license");
		if (named && (!*out || !strcmp(*out, "other"))) {
			free(*out);
			*out = named;
		} else {
			free(named);
		}
	}
	free(readme);
	return status;
}

/* The texts, one after the other: layers, else files. */
static enum tb_status
next_text(const struct model *m, unsigned i, char **out, struct tb_err *err)
{
	static const char *const names[] = { "LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING",
		"LICENCE" };
	unsigned layers = 0;
	size_t len;
	enum tb_status status;

	*out = NULL;
	for (size_t k = 0; k < m->nfiles; k++)
		layers += m->files[k].media == MEDIA_LICENSE && *m->files[k].digest;
	if (i < layers) {
		status = model_read_layer(m, MEDIA_LICENSE, i, TEXT_MAX_BYTES, out, &len, err);
	} else if (i - layers < sizeof(names) / sizeof(*names)) {
		status = text_beside(m, names[i - layers], out, err);
	} else {
		return TB_ENOENT;	/* that was the last */
	}
	return status == TB_ENOENT ? TB_OK : status;
}

enum tb_status
bom_licences(const struct model *m, cJSON *component, struct tb_err *err)
{
	struct licence l = { 0 };
	cJSON *list = json_array();
	bool ok = true;
	enum tb_status status = declared_name(m, &l.name, err);

	for (unsigned i = 0; !status && ok; i++) {
		status = next_text(m, i, &l.text, err);
		if (!status && l.text && *l.text) {
			ok = put_licence(list, &l);
			free(l.name);	/* it was that of the first text */
			l.name = NULL;
		}
		free(l.text);
		l.text = NULL;
	}
	if (status == TB_ENOENT)
		status = TB_OK;
	if (!status && l.name)
		ok = put_licence(list, &l);
	free(l.name);
	if (json_count(list))
		json_set(component, "licenses", list);
	else
		json_free(list);
	return status ? status : ok ? TB_OK : tb_nomem(err);
}
