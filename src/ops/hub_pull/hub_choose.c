#include "config.h"

#include "src/ops/hub_pull/hub_choose.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/ops/hub_pull/hub_gguf.h"
#include "src/store/split.h"

#define SAFETENSORS ".safetensors"
#define SHOWN 4

/* ---- globs ---- */

/* As `hf` has them: "deep/" is all that is below. */
static bool
matches(const char *const *globs, const char *path)
{
	for (; globs && *globs; globs++) {
		size_t n = strlen(*globs);

		if (tb_glob(*globs, path) || (n && (*globs)[n - 1] == '/' && tb_starts(path, *globs)))
			return true;
	}
	return false;
}

static enum tb_status
choose_by_glob(const struct hub_files *f, const struct hub_wish *w, bool *take, struct tb_err *err)
{
	struct tb_buf some = TB_BUF(1024);
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += take[i] = matches(w->include, f->v[i].path);
	if (n)
		return TB_OK;
	for (size_t i = 0; i < f->n && i < SHOWN; i++)
		tb_buf_printf(&some, "%s%.60s", i ? ", " : "", f->v[i].path);
	tb_fail(err, TB_ENOENT, "%s: none of its %zu files matches --include %.60s; it has %s%s", w->what,
		f->n, *w->include, tb_buf_cstr(&some), f->n > SHOWN ? ", ..." : "");
	tb_buf_free(&some);
	return TB_ENOENT;
}

/* ---- safetensors ---- */

/* Bytes of `path` that are its folder with the slash. */
static size_t
folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool
same_folder(const char *a, const char *b)
{
	size_t n = folder_of(a);

	return n == folder_of(b) && !strncmp(a, b, n);
}

/* "model.fp16.safetensors" beside "model.safetensors", "consolidated.safetensors" beside both:
 * the same weights once more. */
static bool
is_other_form(const struct hub_files *f, size_t at)
{
	const char *path = f->v[at].path, *name = path + folder_of(path);
	size_t stem = strcspn(name, ".-");
	bool plain = !strcmp(name + stem, SAFETENSORS), consolidated = tb_starts(name, "consolidated");
	struct split s;

	if (plain && !consolidated)
		return false;
	if (split_parse_as(name, SAFETENSORS, &s) && s.base == stem && !consolidated)
		return false;
	for (size_t i = 0; i < f->n; i++) {
		const char *other = f->v[i].path + folder_of(f->v[i].path);

		if (i == at || !same_folder(f->v[i].path, path) || !tb_ends(other, SAFETENSORS))
			continue;
		if (consolidated && tb_starts(other, "model") && !is_other_form(f, i))
			return true;
		if (!consolidated && name[stem] == '.' && !strncmp(other, name, stem) &&
		    (!strcmp(other + stem, SAFETENSORS) ||
		     (split_parse_as(other, SAFETENSORS, &s) && s.base == stem)))
			return true;
	}
	return false;
}

static bool
is_weights(const struct hub_files *f, size_t i)
{
	return tb_ends(f->v[i].path, SAFETENSORS) && !is_other_form(f, i);
}

/* Parts of one model lie in folders like "1_Pooling", or where a description at the top says so
 * (model_index.json); other folders hold the same in other forms. */
static bool
is_part_folder(const char *path, bool pipeline)
{
	size_t digits = strspn(path, "0123456789");

	return pipeline || (digits && path[digits] == '_');
}

/* Of several folders with weights and none at the top each may be a model. */
static enum tb_status
several_folders(const struct hub_files *f, const struct hub_wish *w, struct tb_err *err)
{
	struct tb_buf list = TB_BUF(1024);
	const char *last = NULL, *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		const char *path = f->v[i].path;

		if (!is_weights(f, i) || (last && same_folder(path, last)))
			continue;
		first = first ? first : path;
		last = path;
		if (n++ < SHOWN)
			tb_buf_printf(&list, "%s%.*s", n > 1 ? ", " : "", (int)folder_of(path), path);
	}
	if (n > 1)
		tb_fail(err, TB_EUSAGE, "%s: it has models in %zu folders (%s%s); say which: --include "
			"'%.*s*'", w->what, n, tb_buf_cstr(&list), n > SHOWN ? ", ..." : "",
			(int)folder_of(first), first);
	tb_buf_free(&list);
	return n > 1 ? TB_EUSAGE : TB_OK;
}

/* *any: it has some. */
static enum tb_status
choose_safetensors(const struct hub_files *f, const struct hub_wish *w, bool *take, bool *any,
		   struct tb_err *err)
{
	bool pipeline = hub_files_find(f, "model_index.json"), top = false;
	enum tb_status status = TB_OK;

	*any = false;
	for (size_t i = 0; i < f->n; i++) {
		top |= is_weights(f, i) && !folder_of(f->v[i].path);
		*any |= is_weights(f, i);
	}
	if (!top && !pipeline)
		status = several_folders(f, w, err);
	for (size_t i = 0; i < f->n && !status; i++) {
		const char *path = f->v[i].path;

		take[i] = is_weights(f, i) && (!top || !folder_of(path) || is_part_folder(path, pipeline));
	}
	return status;
}

/* ---- what is beside weights ---- */

static bool
is_small_text(const char *name)
{
	static const char *const ends[] = { ".json", ".jinja", ".model", ".tiktoken", ".txt", NULL };
	static const char *const begins[] = { "README", "LICEN", "NOTICE", "COPYING", "USE_POLICY",
					      NULL };

	if (tb_ends(name, ".index.json") && !tb_ends(name, SAFETENSORS ".index.json"))
		return false;		/* of weights that are left */
	for (size_t i = 0; ends[i]; i++)
		if (tb_ends(name, ends[i]))
			return true;
	for (size_t i = 0; begins[i]; i++)
		if (!strncasecmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static void
add_texts(const struct hub_files *f, bool *take)
{
	for (size_t i = 0; i < f->n; i++) {
		const char *path = f->v[i].path;
		bool wanted = !folder_of(path) || is_part_folder(path, false);

		if (!is_small_text(path + folder_of(path)))
			continue;
		for (size_t k = 0; k < f->n && !wanted; k++)
			wanted = take[k] && tb_ends(f->v[k].path, SAFETENSORS) &&
				 same_folder(f->v[k].path, path);
		take[i] |= wanted;
	}
}

static enum tb_status
choose_model(const struct hub_files *f, const struct hub_wish *w, bool *take, struct tb_err *err)
{
	bool any = false, which = w->which && *w->which;
	enum tb_status status = which ? TB_OK : choose_safetensors(f, w, take, &any, err);

	if (!status && !any)
		status = hub_choose_gguf(f, w, take, &any, err);
	if (!status && !any)
		return tb_fail(err, TB_ENOENT, "%s: none of its %zu files is safetensors or GGUF%s",
			       w->what, f->n, which ? "" : "; others can be had with --include");
	if (!status)
		add_texts(f, take);
	return status;
}

enum tb_status
hub_choose(const struct hub_files *f, const struct hub_wish *w, bool *take, struct tb_err *err)
{
	enum tb_status status;
	size_t n = 0;

	memset(take, 0, f->n * sizeof(*take));
	if (w->include && *w->include)
		status = choose_by_glob(f, w, take, err);
	else
		status = choose_model(f, w, take, err);
	for (size_t i = 0; i < f->n && !status; i++) {
		take[i] &= !matches(w->exclude, f->v[i].path);
		n += take[i];
	}
	if (!status && !n)
		return tb_fail(err, TB_EUSAGE, "%s: --exclude leaves nothing", w->what);
	return status;
}
