#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/mem.h"
#include "src/store/store.h"
#include "src/store/store_kind.h"
#include "src/store/walk.h"

/* Programs that keep models in folders like any other. */
static const struct store_usual others[] = {
	{ NULL, "/.lmstudio/models", "" },
	{ NULL, "/.cache/lm-studio/models", "" },
	{ "LLAMA_CACHE", "/.cache/llama.cpp", "" },
	{ NULL, NULL, NULL }
};

size_t
store_roots_find(const struct store_roots *r, const char *dir)
{
	size_t i = 0;

	while (i < r->n && strcmp(r->path[i], dir) != 0 && !tb_same_place(r->path[i], dir))
		i++;
	return i;
}

size_t
store_roots_above(const struct store_roots *r, const char *path)
{
	size_t best = r->n, longest = 0;

	for (size_t i = 0; i < r->n; i++) {
		size_t len = strlen(r->path[i]);

		if (len >= longest && tb_path_inside(path, r->path[i], len)) {
			best = i;
			longest = len;
		}
	}
	return best;
}

enum tb_status
store_roots_add(struct store_roots *r, const char *path, struct tb_err *err)
{
	char *abs = store_absolute(path);

	if (!abs || !tb_grow(&r->path, &r->cap, r->n + 1, sizeof(*r->path))) {
		free(abs);
		return tb_nomem(err);
	}
	if (store_roots_find(r, abs) < r->n)
		free(abs);
	else
		r->path[r->n++] = abs;
	return TB_OK;
}

static char *
roots_default_path(const struct store_usual *p)
{
	static const char around[] = " \t\r\n\"'";	/* Ollama takes these away */
	const char *home = getenv("HOME"), *value = p->env ? getenv(p->env) : NULL;
	size_t n;

	value = value ? value + strspn(value, around) : "";
	n = strlen(value);
	while (n && strchr(around, value[n - 1]))
		n--;
	if (n)
		return tb_asprintf("%.*s%s", (int)n, value, p->tail);
	if (!p->home)
		return tb_strdup(p->env ? "" : p->tail);
	return home && *home ? tb_asprintf("%s%s%s", home, p->home, p->tail) : tb_strdup("");
}

static enum tb_status
add_usual(struct store_roots *r, const struct store_usual *p, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	for (; p && p->tail && !status; p++) {
		char *path = roots_default_path(p);

		if (!path)
			status = tb_nomem(err);
		else if (*path)
			status = store_roots_add(r, path, err);
		free(path);
	}
	return status;
}

enum tb_status
store_usual(struct store_roots *out, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*out = (struct store_roots){ 0 };
	for (const struct store_kind *const *k = store_kinds; *k && !status; k++)
		status = add_usual(out, (*k)->usual, err);
	if (!status)
		status = add_usual(out, others, err);
	if (status)
		store_roots_free(out);
	return status;
}

enum tb_status
store_roots_add_usual(struct store_roots *r, struct tb_err *err)
{
	struct store_roots all;
	enum tb_status status = store_usual(&all, err);

	for (size_t i = 0; i < all.n && !status; i++)
		if (tb_is_dir(all.path[i]))
			status = store_roots_add(r, all.path[i], err);
	store_roots_free(&all);
	return status;
}

enum tb_status
store_roots_init(struct store_roots *r, const char *const *dirs, size_t n, struct tb_err *err)
{
	enum tb_status status = TB_OK;

	*r = (struct store_roots){ .given = n > 0 };
	if (n == 0)
		status = store_roots_add_usual(r, err);
	for (size_t i = 0; i < n && !status; i++)
		status = *dirs[i] ? store_roots_add(r, dirs[i], err)
				  : tb_fail(err, TB_EUSAGE, "a store's path is empty");
	if (status)
		store_roots_free(r);
	return status;
}

bool
store_root_away(const struct store_roots *r, size_t i)
{
	return !r->given && tb_absent(r->path[i]);
}

void
store_roots_free(struct store_roots *r)
{
	while (r->n)
		free(r->path[--r->n]);
	free(r->path);
	*r = (struct store_roots){ 0 };
}
