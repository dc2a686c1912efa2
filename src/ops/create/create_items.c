/* create_items.c - the layers of a new model: those of its source, and what its Modelfile says
 * over them, in the order in which Ollama has them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/file.h"
#include "src/base/job.h"
#include "src/base/mem.h"
#include "src/ops/create/create_parts.h"

#define WINDOW (1u << 20)

bool
items_is_text(enum media kind)
{
	return kind == MEDIA_TEMPLATE || kind == MEDIA_PROMPT || kind == MEDIA_SYSTEM ||
	       kind == MEDIA_PARAMS || kind == MEDIA_MESSAGES || kind == MEDIA_LICENSE;
}

enum tb_status
items_add(struct items *list, struct item item, struct tb_err *err)
{
	if ((items_is_text(item.kind) && !item.text) ||
	    !tb_grow(&list->v, &list->cap, list->n + 1, sizeof(item))) {
		free(item.text);
		return tb_nomem(err);
	}
	list->v[list->n++] = item;
	return TB_OK;
}

static enum tb_status
items_add_text(struct items *list, enum media kind, const char *text, struct tb_err *err)
{
	return items_add(list, (struct item){ .kind = kind, .text = tb_strdup(text),
					      .len = strlen(text) }, err);
}

static bool
same_text(const struct item *a, const struct item *b)
{
	return a->kind == b->kind && a->text && b->text && a->len == b->len &&
	       !memcmp(a->text, b->text, a->len);
}

/* Those of a kind; of a text (not NULL) those that are it. */
static void
items_drop(struct items *list, enum media kind, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct item *it = &list->v[i];

		if (it->kind != kind || (text && (it->len != strlen(text) ||
						  memcmp(it->text, text, it->len))))
			list->v[n++] = *it;
		else
			free(it->text);
	}
	list->n = n;
}

/* A licence that is there already need not be said twice. */
static enum tb_status
say_licences(struct items *list, const struct modelfile *m, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < m->n && !status; i++) {
		const struct modelfile_command *c = &m->commands[i];

		if (c->word != MODELFILE_LICENSE || !*c->value)
			continue;
		items_drop(list, MEDIA_LICENSE, c->value);
		status = items_add_text(list, MEDIA_LICENSE, c->value, err);
	}
	return status;
}

static enum tb_status
say_messages(struct items *list, const struct modelfile *m, struct tb_err *err)
{
	struct tb_buf b = TB_BUF(CREATE_TEXT_MAX);
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < m->n; i++) {
		const struct modelfile_command *c = &m->commands[i];

		if (c->word != MODELFILE_MESSAGE)
			continue;
		tb_buf_str(&b, b.len ? ",{\"role\":" : "[{\"role\":");
		json_quote_go(&b, c->name);
		tb_buf_str(&b, ",\"content\":");
		json_quote_go(&b, c->value);
		tb_buf_chr(&b, '}');
	}
	if (b.len) {
		tb_buf_str(&b, "]\n");
		status = tb_buf_status(&b, "the messages", err);
		items_drop(list, MEDIA_MESSAGES, NULL);
		if (!status)
			status = items_add_text(list, MEDIA_MESSAGES, b.p, err);
	}
	tb_buf_free(&b);
	return status;
}

/* Those of the source that the Modelfile does not set stay. */
static enum tb_status
say_params(struct items *list, struct param_set *ps, struct tb_err *err)
{
	struct tb_buf b = TB_BUF(CREATE_TEXT_MAX);
	enum tb_status status = TB_OK;
	cJSON *old = NULL;

	for (size_t i = 0; i < list->n && !old && !status; i++)
		if (list->v[i].kind == MEDIA_PARAMS)
			status = json_parse(&old, list->v[i].text, list->v[i].len,
					    "the parameters of what FROM names", err);
	if (!status)
		status = params_inherit(ps, old, err);
	if (!status && ps->n) {
		params_print(ps, &b);
		status = tb_buf_status(&b, "the parameters", err);
		items_drop(list, MEDIA_PARAMS, NULL);
		if (!status)
			status = items_add_text(list, MEDIA_PARAMS, b.p, err);
	}
	tb_buf_free(&b);
	json_free(old);
	return status;
}

/* The same layers in another order? */
static bool
same_items(const struct item *a, size_t na, const struct items *b)
{
	if (na != b->n)
		return false;
	for (size_t i = 0; i < na; i++) {
		bool found = false;

		for (size_t k = 0; k < b->n && !found; k++)
			found = a[i].text ? same_text(&a[i], &b->v[k]) : a[i].layer == b->v[k].layer &&
				a[i].path == b->v[k].path;
		if (!found)
			return false;
	}
	return true;
}

static enum tb_status
say_all(struct items *list, struct create_spec *s, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	if (s->template) {
		items_drop(list, MEDIA_TEMPLATE, NULL);
		items_drop(list, MEDIA_PROMPT, NULL);
		status = items_add_text(list, MEDIA_TEMPLATE, s->template, err);
	}
	if (s->system && !status) {
		items_drop(list, MEDIA_SYSTEM, NULL);
		status = items_add_text(list, MEDIA_SYSTEM, s->system, err);
	}
	if (!status)
		status = say_licences(list, s->m, err);
	if (!status)
		status = say_params(list, &s->params, err);
	return status ? status : say_messages(list, s->m, err);
}

static enum tb_status
copy_items(struct items *to, const struct items *from, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < from->n && !status; i++) {
		struct item it = from->v[i];

		if (it.text)
			it.text = tb_strndup(it.text, it.len);
		status = items_add(to, it, err);
	}
	return status;
}

enum tb_status
items_say(struct items *list, struct create_spec *s, struct tb_err *err)
{
	struct items before = { 0 };
	enum tb_status status = copy_items(&before, list, err);

	if (!status)
		status = say_all(list, s, err);
	/* Who says what the model says already gets that model. */
	if (!status && same_items(before.v, before.n, list)) {
		struct items other = *list;

		*list = before;
		before = other;
	}
	items_free(&before);
	return status;
}

static enum tb_status
stream(struct tb_file *f, struct tb_out *o, struct tb_sha256 *sha, struct tb_job *job,
       struct tb_err *err)
{
	char *buf = malloc(WINDOW);
	enum tb_status status = buf ? TB_OK : tb_nomem(err);

	for (uint64_t at = 0, n; at < f->id.size && !status; at += n) {
		n = f->id.size - at < WINDOW ? f->id.size - at : WINDOW;
		status = tb_job_check(job, err);
		if (!status)
			status = tb_file_read(f, at, buf, n, err);
		if (!status)
			status = tb_out_write(o, buf, n, err);
		tb_sha256_add(sha, buf, n);
		tb_job_step(job, n, 0);
	}
	free(buf);
	return status;
}

/* A file becomes a blob. */
static enum tb_status
write_file(const struct item *it, struct ollama_writer *w, struct tb_job *job, struct tb_err *err)
{
	const char *name = it->layer ? it->layer->name : NULL;
	struct tb_out o = { .fd = -1 };
	char digest[TB_DIGEST_MAX];
	struct tb_sha256 sha;
	struct tb_file f;
	enum tb_status status = tb_file_open(&f, it->path, err);

	if (status)
		return status;
	tb_job_what(job, "%s", name ? name : tb_path_name(it->path));
	status = ollama_blob_open(w, &o, err);
	if (!status)
		status = tb_sha256_init(&sha, err);
	if (status) {
		tb_out_abort(&o);
		tb_file_close(&f);
		return status;
	}
	status = stream(&f, &o, &sha, job, err);
	tb_sha256_done(&sha, digest);
	if (!status && it->layer && strcmp(digest, it->layer->digest))
		status = tb_fail(err, TB_EFORMAT, "%s: is damaged: its bytes are %s; \"tbtui heal\" "
				 "may help", it->path, digest);
	if (!status)
		status = ollama_add_blob(w, it->kind, name, &o, digest, f.id.size, err);
	else
		tb_out_abort(&o);
	tb_file_close(&f);
	return status;
}

/* A blob of this very store is named once more, one of another is copied. */
static enum tb_status
write_layer(const struct item *it, struct ollama_writer *w, struct tb_job *job, struct tb_err *err)
{
	const struct manifest_layer *l = it->layer;
	struct manifest_layer *made;
	enum tb_status status = TB_OK;

	if (!l || ollama_add_there(w, it->kind, l->name, l->digest, l->size, NULL))
		status = write_file(it, w, job, err);
	if (status || !l)
		return status;
	made = &w->manifest.layers[w->manifest.nlayers - 1];
	made->media_type = tb_arena_str(&w->manifest.texts, l->media_type);
	made->from = l->from ? tb_arena_str(&w->manifest.texts, l->from) : NULL;
	return made->media_type && (made->from || !l->from) ? TB_OK : tb_nomem(err);
}

enum tb_status
items_write(const struct items *list, struct ollama_writer *w, struct tb_job *job,
	    struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (size_t i = 0; i < list->n && !status; i++) {
		const struct item *it = &list->v[i];

		status = it->text ? ollama_add_bytes(w, it->kind, NULL, it->text, it->len, err)
				  : write_layer(it, w, job, err);
		tb_job_step(job, 0, 1);
	}
	return status;
}

void
items_free(struct items *list)
{
	while (list->n)
		free(list->v[--list->n].text);
	free(list->v);
	*list = (struct items){ 0 };
}
