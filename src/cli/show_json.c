/* show_json.c - one model as a JSON document. */
#include "config.h"

#include "src/cli/show.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/face/texts.h"
#include "src/ops/model_text/model_text.h"

static cJSON *
file_json(const struct model_file *f)
{
	cJSON *o = json_object();

	json_set_str(o, "name", f->name);
	json_set_str(o, "kind", f->is_manifest ? "manifest" : f->media != MEDIA_UNKNOWN
			? media_name(f->media) : f->media_type ? "unknown" : "file");
	json_set_str(o, "media_type", f->media_type);
	json_set_str(o, "digest", *f->digest ? f->digest : NULL);
	json_set_u64(o, "size", f->missing ? f->want_size : f->id.size);
	json_set_str(o, "path", model_file_place(f));
	json_set_bool(o, "missing", f->missing);
	return o;
}

static bool
licence_json(void *arg, enum text_kind kind, const char *name, const char *text)
{
	(void)kind;
	(void)name;
	json_push_str(arg, text);
	return true;
}

/* "license" is the first of them. */
static cJSON *
licences_json(const struct model *m)
{
	cJSON *list = json_array();

	(void)!texts_each(m, 1u << TEXT_LICENCE, licence_json, list, NULL);	/* told already */
	return list;
}

static void
texts_json(cJSON *o, const struct show *s)
{
	for (enum text_kind k = 0; k < TEXT_COUNT; k++) {
		const struct text_info *t = &text_info[k];
		cJSON *doc = NULL;
		struct tb_err err;
		char *text;

		if (text_first(s->m, k, &text, &err))
			show_no_text(s, &err);
		if (text && t->json && !json_parse(&doc, text, strlen(text), t->key, NULL))
			json_set(o, t->key, doc);
		else
			json_set_str(o, t->key, text);
		free(text);
	}
}

cJSON *
show_json(const struct show *s)
{
	const struct model *m = s->m;
	cJSON *o = json_object(), *files = json_array(), *problems = json_array();
	struct template_used used;
	char time[32];

	if (model_template_used(m, &used, NULL))
		cli_lost();
	json_set_str(o, "name", m->loc.name);
	json_set_str(o, "kind", kind_name(m->loc.kind));
	json_set_str(o, "path", show_place(m));
	json_set_str(o, "architecture", *m->arch ? m->arch : NULL);
	json_set_str(o, "model_type", *m->model_type ? m->model_type : NULL);
	json_set_u64(o, "parameters", m->params);
	json_set_str(o, "scheme", *m->scheme ? m->scheme : NULL);
	json_set_u64(o, "size", m->bytes);
	json_set_u64(o, "tensors", m->ntensors);
	json_set_str(o, "modified", s->far->look ? NULL : tb_time_rfc3339(m->loc.mtime_ns, time));
	show_set_params(s, o);
	json_set(o, "memory", show_memory_json(s));
	for (size_t i = 0; i < m->nfiles; i++)
		json_push(files, file_json(&m->files[i]));
	json_set(o, "files", files);
	show_set_metadata(s, o);
	texts_json(o, s);
	json_set(o, "licenses", licences_json(s->m));
	json_set_str(o, "template_used", used.source);
	json_set_str(o, "template_language", !used.source ? NULL : used.go ? "go" : "jinja");
	json_set_bool(o, "template_own_unused", used.own && used.why != TEMPLATE_OWN);
	for (size_t i = 0; i < m->nproblems; i++)
		json_push_str(problems, m->problems[i].message);
	json_set(o, "problems", problems);
	json_set_str(o, "remark", m->remark);
	if (s->far->look)
		json_set(o, "remote", show_far_json(s));
	return o;
}
