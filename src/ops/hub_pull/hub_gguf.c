#include "config.h"

#include "src/ops/hub_pull/hub_gguf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/buf.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/store/split.h"

#define SHOWN 8
#define ENDING ".gguf"
#define NEAR 8			/* files of one model lie close together, in order */

/* A model in one file or several. */
struct gguf_model {
	size_t first;			/* of the list of files */
	size_t base;			/* bytes of its path without number and ending */
	unsigned parts, count;		/* files that are there, and should be */
	uint64_t bytes;
};

struct gguf_models { struct gguf_model *v; size_t n, cap; };

/* Pictures' encoders and what measured importance are no models by themselves. */
static bool
is_model_file(const char *path)
{
	const char *name = tb_path_name(path);

	return tb_ends(path, ENDING) && strncasecmp(name, "mmproj", 6) && !tb_contains(name, "imatrix");
}

static enum tb_status
find_models(const struct hub_files *f, struct gguf_models *out, struct tb_err *err)
{
	for (size_t i = 0; i < f->n; i++) {
		const char *path = f->v[i].path;
		struct gguf_model *m = NULL;
		struct split s;
		bool split = split_parse(path, &s);

		if (!is_model_file(path))
			continue;
		for (size_t k = out->n < NEAR ? 0 : out->n - NEAR; split && k < out->n && !m; k++)
			if (split_same(f->v[out->v[k].first].path, path))
				m = &out->v[k];
		if (!m) {
			if (!tb_grow(&out->v, &out->cap, out->n + 1, sizeof(*out->v)))
				return tb_nomem(err);
			m = &out->v[out->n++];
			*m = (struct gguf_model){ .first = i, .count = split ? s.count : 1,
				.base = split ? s.base : strlen(path) - strlen(ENDING) };
		}
		m->parts++;
		m->bytes += f->v[i].size;
	}
	return TB_OK;
}

/* Is `which` a whole word of the name?  *plain: and not one of another ("UD-Q4_K_XL"). */
static bool
has_word(const char *name, size_t n, const char *which, bool *plain)
{
	size_t len = strlen(which);

	*plain = false;
	for (size_t i = 0; i + len <= n && !*plain; i++) {
		bool begins = !i || strchr("-./_", name[i - 1]), ends = i + len == n ||
			      strchr("-./", name[i + len]);

		if (strncasecmp(name + i, which, len) || !begins || !ends)
			continue;
		*plain = i < 3 || strncasecmp(name + i - 3, "UD-", 3) != 0;
		if (!*plain)
			return true;
	}
	return *plain;
}

static bool
is_named(const struct hub_files *f, const struct gguf_model *m, const char *which)
{
	const char *path = f->v[m->first].path, *name = tb_path_name(path);
	size_t n = strlen(which), below = (size_t)(name - path);

	if (!strcmp(path, which) || !strcmp(name, which))
		return true;
	return (n == m->base && !strncasecmp(path, which, n)) ||
	       (n == m->base - below && !strncasecmp(name, which, n));
}

/* How well `which` fits: its name, its quantization, that of a variant; 0: not at all. */
static unsigned
fits(const struct hub_files *f, const struct gguf_model *m, const char *which)
{
	bool plain;

	if (is_named(f, m, which))
		return 3;
	if (!has_word(f->v[m->first].path, m->base, which, &plain))
		return 0;
	return plain ? 2 : 1;
}

/* Bytes that all names have in common, to the end of a word. */
static size_t
common_part(const struct hub_files *f, const struct gguf_models *all)
{
	const char *first = f->v[all->v[0].first].path;
	size_t n = all->v[0].base;

	for (size_t i = 1; i < all->n; i++) {
		const char *path = f->v[all->v[i].first].path;
		size_t k = 0;

		while (k < n && k < all->v[i].base && path[k] == first[k])
			k++;
		n = k;
	}
	while (n && !strchr("-./", first[n - 1]))
		n--;
	return n;
}

static enum tb_status
say_which(const struct hub_files *f, const struct gguf_models *all, const struct hub_wish *w,
	  struct tb_err *err)
{
	size_t common = common_part(f, all);
	struct tb_buf list = TB_BUF(2048);
	const char *one = f->v[all->v[0].first].path + common;
	char bytes[16];

	for (size_t i = 0; i < all->n && i < SHOWN; i++)
		tb_buf_printf(&list, "%s%.*s (%s)", i ? ", " : "",
			      (int)(all->v[i].base - common < 40 ? all->v[i].base - common : 40),
			      f->v[all->v[i].first].path + common,
			      tb_human_bytes(all->v[i].bytes, bytes));
	if (w->which && *w->which)
		tb_fail(err, TB_ENOENT, "%s: it has no GGUF model \"%.60s\", or several; there are %zu: "
			"%s%s", w->what, w->which, all->n, tb_buf_cstr(&list),
			all->n > SHOWN ? ", ..." : "");
	else
		tb_fail(err, TB_EUSAGE, "%s: it has %zu GGUF models; say which, like %s:%.*s: %s%s",
			w->what, all->n, w->what, (int)(all->v[0].base - common), one,
			tb_buf_cstr(&list), all->n > SHOWN ? ", ..." : "");
	tb_buf_free(&list);
	return w->which && *w->which ? TB_ENOENT : TB_EUSAGE;
}

static const struct gguf_model *
find_wanted(const struct hub_files *f, const struct gguf_models *all, const char *which)
{
	const struct gguf_model *best = NULL;
	unsigned most = 0;

	if (!which || !*which)
		return all->n == 1 ? all->v : NULL;
	for (size_t i = 0; i < all->n; i++) {
		unsigned fit = fits(f, &all->v[i], which);

		if (fit && fit == most)
			best = NULL;
		else if (fit > most)
			best = &all->v[i];
		most = fit > most ? fit : most;
	}
	return best;
}

enum tb_status
hub_choose_gguf(const struct hub_files *f, const struct hub_wish *w, bool *take, bool *any,
		struct tb_err *err)
{
	struct gguf_models all = { 0 };
	const struct gguf_model *m;
	enum tb_status status = find_models(f, &all, err);

	*any = all.n > 0;
	m = !status && *any ? find_wanted(f, &all, w->which) : NULL;
	if (!status && *any && !m)
		status = say_which(f, &all, w, err);
	if (m && m->parts != m->count)
		status = tb_fail(err, TB_EFORMAT, "%s: of %.200s there are %u of %u files", w->what,
				 f->v[m->first].path, m->parts, m->count);
	for (size_t i = 0; m && !status && i < f->n; i++)
		take[i] |= i == m->first || (m->count > 1 && split_same(f->v[m->first].path,
									f->v[i].path));
	free(all.v);
	return status;
}
